"""Fingerprints of machines, and the differences that make two runs or two baselines incompatible."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from shootout.model.history import Baseline
from shootout.model.run import RunHeader, Runner, ServerRecord

QUOTE_MAX = 60  # characters of a quoted value

# RunHeader fields that define what is measured and how; the profile includes the server references.
_PLAN_FIELDS = ("shootout", "profile_name", "profile", "workloads", "digests", "given")
_SENT_FIELDS = ("protocol", "options", "distribution")  # WorkloadRecord fields that define what is sent


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


def machines(then: tuple[str, Mapping[str, str]], now: tuple[str, Mapping[str, str]]) -> Iterator[str]:
    """Name the differences between two machines' fingerprints and facts, as far as both have facts."""
    names = dict.fromkeys([*then[1], *now[1]]) if then[1] and now[1] else ()
    differing = "; ".join(
        f"{name} {then[1].get(name) or 'none'}, now {now[1].get(name) or 'none'}"
        for name in names
        if then[1].get(name, "") != now[1].get(name, "")
    )
    if then[0] != now[0]:
        yield f"runner {then[0]}, now {now[0]}" + (f" ({differing})" if differing else "")
    elif differing:
        yield differing


def plans(then: RunHeader, now: RunHeader, ignored: Collection[str] = ()) -> Iterator[str]:
    """Name differences between the plans of two runs; `ignored`: options to disregard."""
    for name in _PLAN_FIELDS:
        one, other = _plain(getattr(then, name)), _plain(getattr(now, name))
        if name == "given":
            one, other = (
                {flag: text for flag, text in given.items() if flag not in ignored} for given in (one, other)
            )
        yield from _differences(name, one, other)


def servers(then: ServerRecord, now: ServerRecord, *, effective: bool = True) -> Iterator[str]:
    """Name differences between two records of one server; `effective`: of effective settings, too."""
    identity = "build" if then.build and now.build else "version"
    # A tree is known by its files: shards may have it in different places.
    trees = all(record.build and record.reference.startswith("path:/") for record in (then, now))
    for name in ("settings_name" if trees else "reference", identity):
        yield from _differences(f"server {then.label} {name}", getattr(then, name), getattr(now, name))
    for what in ("requested", "effective") if effective else ("requested",):
        every = ({each.name: getattr(each, what) for each in record.settings} for record in (then, now))
        earlier, later = ({name: text for name, text in one.items() if text is not None} for one in every)
        # A server that never started has no effective settings.
        if what == "requested" or (earlier and later):
            yield from _differences(f"server {then.label}, {what}", earlier, later)


def baselines(then: Baseline, now: Baseline) -> Iterator[str]:
    """Name differences between two baselines of one workload; builds are compared for the anchor only."""
    yield from machines((then.runner, then.machine), (now.runner, now.machine))
    yield from _differences("anchor", then.anchor, now.anchor)
    yield from _differences("load", _plain(then.load), _plain(now.load))
    for name in _SENT_FIELDS:
        one, other = _plain(getattr(then.workload, name)), _plain(getattr(now.workload, name))
        yield from _differences(name, one, other)
    if then.digest != now.digest:
        yield f"{then.workload.name} sends different statements"
    anchors = [baseline.servers.get(then.anchor) for baseline in (then, now)]
    if len({anchor.build for anchor in anchors if anchor and anchor.build}) > 1:
        yield f"the anchor {then.anchor} is a different build"
    for label, server in then.servers.items():
        if label in now.servers:
            yield from _differences(f"server {label},", server.settings, now.servers[label].settings)


def _differences(name: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            yield from _differences(f"{name} {key}".strip(), then.get(key), now.get(key))
    elif then != now:
        yield f"{name} {_text(then)}, now {_text(now)}"


def _plain(value: Any) -> Any:
    plain = msgspec.to_builtins(value)
    if isinstance(plain, tuple) and all(isinstance(item, dict) and "name" in item for item in plain):
        return {item["name"]: item for item in plain}
    return plain


def _text(value: Any) -> str:
    if value is None:
        return "none"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= QUOTE_MAX else f"{text[: QUOTE_MAX - 1]}…"
