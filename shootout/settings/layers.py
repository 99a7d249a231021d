"""Settings that a server reference adds to those of its run: `@NAME`, `@FILE`, `@VARIABLE=VALUE`."""

from __future__ import annotations

import os
import re

from shootout.errors import InputError
from shootout.settings import placing
from shootout.settings.behaviours import SWITCH
from shootout.settings.profiles import DIRECTORY, POOL, POOL_OF_DATA, SettingsProfile, is_file, load
from shootout.settings.setting import meant, variable
from shootout.settings.table import SETTINGS

ONLY = "only:"  # before a file that replaces the run's settings instead of adding to them
_VARIABLE = re.compile(r"[\w.-]+ *=")


def combine(run: str, added: str | None = None) -> SettingsProfile:
    """Combine a server's settings, from those of its run and what follows the `@` of its reference.

    `added` has parts, joined by `+`: the name of a profile replaces what is before it; a file or NAME=VALUE
    adds to it; `only:FILE` is that file alone. Raises as `load` does.
    """
    profile = load(run)
    for part in _parts(added):
        written = _one_option(part) if _VARIABLE.match(part) else _named(part.removeprefix(ONLY))
        profile = _layered(profile, written) if _adds(part) else written
    return profile


def name_of(run: str, added: str | None = None) -> str:
    """Name the settings as records and pages do."""
    parts = [run]
    for part in _parts(added):
        parts = [*parts, part] if _adds(part) else [part.removeprefix(ONLY)]
    return " + ".join(parts)


def _parts(added: str | None) -> list[str]:
    if added is None or os.path.isfile(added):  # noqa: PTH113 (Path's raises an error for a long text)
        return [] if added is None else [added]
    parts: list[str] = []
    profiles = {file.stem for file in DIRECTORY.glob("*.toml")}
    for text in added.split("+"):
        is_part = _adds(text) or text.startswith(ONLY) or text in profiles
        if parts and _VARIABLE.match(parts[-1]) and not is_part:
            parts[-1] += f"+{text}"
        else:
            parts.append(text)
    return parts


def _adds(part: str) -> bool:
    return bool(_VARIABLE.match(part)) or (is_file(part) and not part.startswith(ONLY))


def _named(part: str) -> SettingsProfile:
    try:
        return load(part)
    except InputError as error:
        if is_file(part) or "_" not in part:  # profiles have hyphens
            raise
        raise InputError(f"{error}\nA variable needs a value: @{part}=VALUE") from None


def _one_option(text: str) -> SettingsProfile:
    name, _, value = text.partition("=")
    options = placing.checked(f"@{text}", {name.strip(): value.strip()})
    if not options:
        raise InputError(f"@{text}: {name} is managed by shootout and cannot be set")
    return SettingsProfile(name=text, options=options)


def _joined(lower: dict[str, str], upper: dict[str, str]) -> dict[str, str]:
    switches = [[option for option in options if variable(option) == SWITCH] for options in (lower, upper)]
    if not all(switches):
        return lower | upper
    below, above = (each[0] for each in switches)
    flags = ",".join(value.strip("'\"") for value in (lower[below], upper[above]))
    rest = {option: value for option, value in lower.items() if option != below}
    return rest | upper | {above: flags}


def _layered(below: SettingsProfile, above: SettingsProfile) -> SettingsProfile:
    redefined = {
        meant(option, form)[0]
        for name in above.settings
        for row in SETTINGS[POOL if name == POOL_OF_DATA else name].rows
        for option, form in row.options.items()
    }
    pools = {POOL, POOL_OF_DATA}
    dropped = pools if pools & above.settings.keys() else set()

    def both(lower: dict[str, str], upper: dict[str, str]) -> dict[str, str]:
        kept = {option: value for option, value in lower.items() if meant(option, value)[0] not in redefined}
        return placing.checked(above.name, _joined(kept, upper))

    return SettingsProfile(
        name=f"{below.name} + {above.name}",
        description=above.description or below.description,
        settings={name: value for name, value in below.settings.items() if name not in dropped}
        | above.settings,
        lacking=below.lacking | above.lacking,
        options=both(below.options, above.options),
        versions={
            version: both(
                below.versions.get(version, below.options), above.versions.get(version, above.options)
            )
            for version in below.versions | above.versions
        },
        left_out=(*below.left_out, *above.left_out),
    )
