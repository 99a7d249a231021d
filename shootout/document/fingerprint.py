"""Fingerprints of machines, and the differences between two machines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from shootout.model.run import Runner


def fingerprint(facts: Mapping[str, str]) -> str:
    """Hash the facts, independent of their order."""
    return hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()[:12]


def facts(runner: Runner) -> dict[str, str]:
    """Collect the facts that comparable measurements share: machine, and CPUs of client and servers."""
    if not runner.facts:
        return {}
    place = runner.placement
    client, servers, reading = (
        ",".join(map(str, cpus)) for cpus in (place.client, place.servers, place.reading)
    )
    words = f"load on CPU {client}, servers on {servers}" + (f", reading on {reading}" if reading else "")
    return {**runner.facts, "placement": words}


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Put the differences in words: `memory 16 GiB, now 24 GiB; …`. "": none, or one side is unknown."""
    if not then or not now:
        return ""
    names = dict.fromkeys([*then, *now])
    return "; ".join(
        f"{name} {then.get(name) or 'none'}, now {now.get(name) or 'none'}"
        for name in names
        if then.get(name, "") != now.get(name, "")
    )
