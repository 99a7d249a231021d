"""What makes two runs foreign to each other, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from shootout.document import fingerprint
from shootout.model.run import RunHeader, Runner, ServerRecord

WORDS_MAX = 60  # of a value that is quoted

# Of a header: all that says what is measured, and how. The servers' references stand in the profile.
_ASKED = ("shootout", "profile_name", "profile", "workloads", "digests", "given")


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
    if then.fingerprint != now.fingerprint:
        facts = fingerprint.difference(then.facts, now.facts)
        yield f"runner {then.fingerprint}, now {now.fingerprint}" + (f" ({facts})" if facts else "")


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
