"""What a server reference adds to the settings of its run: `@NAME`, `@FILE`, `@VARIABLE=VALUE`."""

from __future__ import annotations

import re
from pathlib import Path

from shootout.errors import InputError
from shootout.settings.profiles import POOL, POOL_OF_DATA, SettingsProfile, checked_options, load
from shootout.settings.setting import meant
from shootout.settings.table import SETTINGS

ONLY = "only:"  # before a file that replaces the run's settings instead of adding to them
_VARIABLE = re.compile(r"[\w.-]+ *=")


def of(run: str, own: str | None = None) -> SettingsProfile:
    """The settings of a server, from those of its run and what follows the `@` of its reference.

    `own` has parts, joined by `+`: the name of a profile replaces what is before it; a file or NAME=VALUE
    adds to it; `only:FILE` is that file alone. Raises as `load` does.
    """
    profile = load(run)
    for part in _parts(own):
        if part.startswith(ONLY):
            profile = load(part.removeprefix(ONLY))
        elif _VARIABLE.match(part):
            profile = _layered(profile, _one_option(part))
        elif _is_file(part):
            profile = _layered(profile, load(part))
        else:
            profile = load(part)
    return profile


def name_of(run: str, own: str | None = None) -> str:
    """What the settings are called in records and on pages."""
    parts = [run]
    for part in _parts(own):
        adds = not part.startswith(ONLY) and (_is_file(part) or _VARIABLE.match(part))
        parts = [*parts, part] if adds else [part.removeprefix(ONLY)]
    return " + ".join(parts)


def _parts(own: str | None) -> list[str]:
    if own is None:
        return []
    return [own] if Path(own).is_file() else own.split("+")


def _is_file(part: str) -> bool:
    return "/" in part or part.endswith((".cnf", ".toml"))


def _one_option(text: str) -> SettingsProfile:
    """The profile of NAME=VALUE, a variable as my.cnf has it. Raises InputError."""
    name, _, value = text.partition("=")
    options = checked_options(f"@{text}", {name.strip(): value.strip()})
    if not options:
        raise InputError(f"@{text}: {name} places or joins servers, and that shootout does itself")
    return SettingsProfile(name=text, options=options)


def _layered(below: SettingsProfile, above: SettingsProfile) -> SettingsProfile:
    """Both profiles; where they say something of the same variable, the one above wins."""
    redefined = {
        meant(option, form)[0]
        for name in above.settings
        for row in SETTINGS[POOL if name == POOL_OF_DATA else name].rows
        for option, form in row.options.items()
    }
    pools = {POOL, POOL_OF_DATA}
    dropped = pools if pools & above.settings.keys() else set()
    kept = {
        option: value for option, value in below.options.items() if meant(option, value)[0] not in redefined
    }
    return SettingsProfile(
        name=f"{below.name} + {above.name}",
        description=above.description or below.description,
        settings={name: value for name, value in below.settings.items() if name not in dropped}
        | above.settings,
        lacking=below.lacking | above.lacking,
        options=checked_options(above.name, kept | above.options),
    )
