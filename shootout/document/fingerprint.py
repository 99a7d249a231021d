"""Which machine measured: its fingerprint, and in what two machines differ."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from shootout.model.run import Runner


def fingerprint(facts: Mapping[str, str]) -> str:
    """The same for the same facts, in any order."""
    return hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()[:12]


def facts(runner: Runner) -> dict[str, str]:
    """What must be equal for two measurements to be comparable: the machine, and which CPUs served whom."""
    if not runner.facts:
        return {}
    place = runner.placement
    client, servers = (",".join(map(str, cpus)) for cpus in (place.client, place.servers))
    return {**runner.facts, "placement": f"load on CPU {client}, servers on {servers}"}


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What differs, in words: `memory 16 GiB, now 24 GiB; …`; "": nothing, or one of them is not known."""
    if not then or not now:
        return ""
    names = dict.fromkeys([*then, *now])
    return "; ".join(
        f"{name} {then.get(name) or 'none'}, now {now.get(name) or 'none'}"
        for name in names
        if then.get(name, "") != now.get(name, "")
    )
