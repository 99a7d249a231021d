"""What makes two runs incompatible, or a run and a baseline, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from shootout.document import fingerprint
from shootout.model.history import Baseline
from shootout.model.run import RunHeader, Runner, ServerRecord

WORDS_MAX = 60  # of a value that is quoted

# Of a header: all that says what is measured, and how. The servers' references stand in the profile.
_ASKED = ("shootout", "profile_name", "profile", "workloads", "digests", "given")
_SENT = ("protocol", "options", "distribution")  # of a WorkloadRecord: what is sent


def plans(then: RunHeader, now: RunHeader, aside: Collection[str] = ()) -> Iterator[str]:
    """Where two runs were not asked for the same; `aside`: options that do not count."""
    for name in _ASKED:
        one, other = getattr(then, name), getattr(now, name)
        if name == "given":
            one, other = (
                {flag: text for flag, text in each.items() if flag not in aside} for each in (one, other)
            )
        if one != other:
            yield from _differences(name, _plain(one), _plain(other))


def runners(then: Runner, now: Runner) -> Iterator[str]:
    """Where two machines differ; nothing where their fingerprints are equal."""
    yield from _machines((then.fingerprint, then.facts), (now.fingerprint, now.facts))


def servers(then: ServerRecord, now: ServerRecord, *, effective: bool = True) -> Iterator[str]:
    """Where two records of one server differ, as far as both are known.

    `effective`: in the settings that are in effect, too.
    """
    identity = "build" if then.build and now.build else "version"
    one, other = ({"reference": each.reference, identity: getattr(each, identity)} for each in (then, now))
    yield from _differences(f"server {then.label}", one, other)
    for what in ("requested", "effective") if effective else ("requested",):
        asked, found = (
            {each.name: value for each in record.settings if (value := getattr(each, what)) is not None}
            for record in (then, now)
        )
        if what == "requested" or (asked and found):  # a server that was never started has none in effect
            yield from _differences(f"server {then.label}, {what}", asked, found)


def baselines(then: Baseline, now: Baseline) -> Iterator[str]:
    """Where two baselines of one workload differ; builds differ only where they are the anchor's."""
    yield from _machines((then.runner, then.machine), (now.runner, now.machine))
    yield from _differences("anchor", then.anchor, now.anchor)
    yield from _differences("load", _plain(then.load), _plain(now.load))
    for name in _SENT:
        yield from _differences(name, *(_plain(getattr(each.workload, name)) for each in (then, now)))
    if then.digest and now.digest and then.digest != now.digest:
        yield f"{then.workload.name} sends other statements"
    builds = {each.servers[then.anchor].build for each in (then, now) if then.anchor in each.servers}
    if len(builds) > 1:
        yield f"the anchor {then.anchor} is another build"
    for label in (each for each in then.servers if each in now.servers):
        yield from _differences(f"server {label},", then.servers[label].settings, now.servers[label].settings)


def _machines(then: tuple[str, Mapping[str, str]], now: tuple[str, Mapping[str, str]]) -> Iterator[str]:
    """Where fingerprints or facts differ; of older records the facts are not known."""
    facts = fingerprint.difference(then[1], now[1])
    if then[0] != now[0]:
        yield f"runner {then[0]}, now {now[0]}" + (f" ({facts})" if facts else "")
    elif facts:
        yield facts


def _differences(name: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            yield from _differences(f"{name} {key}".strip(), then.get(key), now.get(key))
    elif then != now:
        yield f"{name} {_text(then)}, now {_text(now)}"


def _plain(value: Any) -> Any:
    """Builtins; what has a name stands under it."""
    plain = msgspec.to_builtins(value)
    if isinstance(plain, tuple) and all(isinstance(each, dict) and "name" in each for each in plain):
        return {each["name"]: each for each in plain}
    return plain


def _text(value: Any) -> str:
    if value is None:
        return "none"
    words = msgspec.json.encode(value).decode()
    return words if len(words) <= WORDS_MAX else f"{words[: WORDS_MAX - 1]}…"
