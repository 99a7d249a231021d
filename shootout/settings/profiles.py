"""Settings profiles, compiled to my.cnf options for each family and version.

Profiles name settings by meaning (`redo_capacity_bytes`); table.py knows each version's options. A setting
that a version lacks is an error unless the profile declares it as lacking.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.plan import Dataset
from shootout.model.value import Family, Value, Version
from shootout.paths import FIXTURES
from shootout.settings import optionfiles, placing
from shootout.settings.setting import Scalar, meant, normalise, variable
from shootout.settings.table import MIB, SETTINGS

DIRECTORY = FIXTURES / "settings"

# Servers round a buffer pool of at least this size to a multiple of it times the number of instances.
POOL_CHUNK_BYTES = 128 * MIB
POOL_INSTANCES = 8  # default for a pool of at least …
POOL_SHARED_BYTES = 1024 * MIB  # … this size; a smaller one has one instance
POOL_MIN_BYTES = 6 * MIB
SHARE_MAX = 100  # of the data

POOL, POOL_OF_DATA = "buffer_pool_bytes", "buffer_pool_of_data"  # they exclude each other
_SIZE = re.compile(r"[0-9]{1,20}")
_HARMLESS = {
    name
    for setting in SETTINGS.values()
    if not setting.in_files
    for row in setting.rows
    for name in map(variable, row.options)
    if not name.startswith("plugin_load")  # it may load a storage engine
}


class SettingsFile(Value):
    """The contents of a settings file."""

    description: str = ""
    settings: dict[str, Scalar] = msgspec.field(default_factory=dict)  # by name in SETTINGS
    # settings that a version may lack, with the reason why that does no harm
    lacking: dict[str, str] = msgspec.field(default_factory=dict)
    # verbatim my.cnf options; they override settings of the same variable
    options: dict[str, str] = msgspec.field(default_factory=dict)


class SettingsProfile(SettingsFile, kw_only=True):
    """A server's configuration in terms that mean the same on every version."""

    name: str
    # the options of versions for which its file has groups of their own, such as 8.0
    versions: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # of its file, with reasons

    def options_of(self, version: Version) -> dict[str, str]:
        """Return its verbatim options for a version."""
        return self.versions.get(".".join(map(str, version[:2])), self.options)

    @property
    def every_option(self) -> Iterator[tuple[str, str]]:
        """Its verbatim options for any version."""
        return chain.from_iterable(each.items() for each in (self.options, *self.versions.values()))


@dataclass(frozen=True, slots=True)
class Request:
    """One setting as requested from one version."""

    value: Scalar
    variables: tuple[str, ...]  # the version's names for it; empty if it needs no option
    lacking: bool = False  # whether the version lacks it
    note: str = ""  # why it is lacking, or how the value was computed


@dataclass(frozen=True, slots=True)
class Compiled:
    """A profile compiled for one version; an empty string is an option without a value."""

    options: Mapping[str, str] = field(default_factory=dict)  # my.cnf
    requests: Mapping[str, Request] = field(default_factory=dict)  # by setting
    verbatim: Mapping[str, str] = field(default_factory=dict)  # the profile's own my.cnf options
    left_out: tuple[str, ...] = ()  # those that shootout sets itself
    beside: Collection[str] = ()  # variables that other servers of the run set


def load(name_or_file: str) -> SettingsProfile:
    """Read a profile of fixtures/settings by name, or a file, TOML or my.cnf. Raises InputError."""
    if _is_option_file(name_or_file):
        file = Path(name_or_file)
        found = optionfiles.read(file)
        return SettingsProfile(
            name=file.stem, description=str(file), options=placing.checked(file, found.options),
            versions={version: placing.checked(file, options) for version, options in found.versions.items()},
            left_out=found.left_out,
        )  # fmt: skip
    file = toml.find(name_or_file, DIRECTORY, "settings")
    written = toml.load(file, SettingsFile)
    if {POOL, POOL_OF_DATA} <= written.settings.keys():
        raise InputError(f"{file}: settings: buffer_pool_bytes and buffer_pool_of_data exclude each other")
    for name, why in written.lacking.items():
        if name not in written.settings:
            raise InputError(f"{file}: lacking: {name!r} is not among its settings")
        placing.require_printable(file, f"lacking.{name}", why)
    return SettingsProfile(
        name=file.stem, description=written.description,
        settings={name: _checked(file, name, value) for name, value in written.settings.items()},
        lacking=written.lacking, options=placing.checked(file, written.options),
        left_out=tuple(optionfiles.placed(filter(placing.places, written.options))),
    )  # fmt: skip


def is_file(text: str) -> bool:
    """Whether a text names a file of settings, and not one of fixtures/settings."""
    return "/" in text or text.endswith(".toml") or _is_option_file(text)


def _is_option_file(text: str) -> bool:
    if text.endswith((".cnf", ".ini", ".toml")):
        return not text.endswith(".toml")
    return os.path.isfile(text) and not (DIRECTORY / f"{text}.toml").is_file()  # noqa: PTH113 (Path's raises for a long text)


def compile(
    profile: SettingsProfile,
    family: Family,
    version: Version,
    datasets: Sequence[Dataset] = (),
    plugins: Collection[str] = (),
) -> Compiled:
    """Compile the profile for one version, these datasets and plugins. Raises InputError."""
    own = profile.options_of(version)
    overridden = _overridden(profile, own)
    options: dict[str, str] = {}
    requests: dict[str, Request] = {}
    for name, requested in profile.settings.items():
        target, value, note = name, requested, ""
        if name == POOL_OF_DATA:
            target = POOL
            value, note = _pool_bytes(profile, datasets)
        setting = SETTINGS[target]
        row = setting.row(value, family, version, plugins)
        written = row.options_for(value)
        variables = tuple(meant(option, text)[0] for option, text in written.items())
        if overridden & {*variables, *setting.variables}:
            continue
        if row.lacks:
            if name not in profile.lacking:
                server = f"{family} {'.'.join(map(str, version))}"
                raise InputError(
                    f"settings {profile.name}: {name}: {server} cannot be given "
                    f"{setting.display(value)}: {row.lacks}\n"
                    f'If the settings can do without it, declare it as lacking: [lacking] {name} = "why"'
                )
            note = "; ".join(filter(None, (row.lacks, profile.lacking[name])))
        options |= written
        requests[target] = Request(value=value, variables=variables, lacking=bool(row.lacks), note=note)
    return Compiled(options | own, requests, own, profile.left_out)


def _overridden(profile: SettingsProfile, options: Mapping[str, str]) -> set[str]:
    """The variables of which the profile's own options for a version decide.

    Beside a character set of its own it has no collation of ours, and none of our character sets beside
    another one's collation: a server refuses such pairs.
    """
    own = dict(meant(option, value) for option, value in options.items())
    ours = normalise(str(profile.settings.get("character_set", "")))
    beside = set()
    if "character_set_server" in own:
        beside = {"collation_server"}
    elif not normalise(own.get("collation_server", ours)).startswith(ours):
        beside = {"character_set_server"}
    return {*own, *beside}


def in_files(options: Mapping[str, str]) -> dict[str, str]:
    """List the options that may affect data files: all except those known not to."""
    return {option: value for option, value in options.items() if variable(option) not in _HARMLESS}


def _pool_bytes(profile: SettingsProfile, datasets: Sequence[Dataset]) -> tuple[int, str]:
    """The buffer pool for a share of the data, in a size that no server rounds, and a note on it."""
    share = float(profile.settings["buffer_pool_of_data"])
    data_bytes = sum(dataset.nominal_bytes for dataset in datasets)
    wanted = share * data_bytes
    if wanted < POOL_MIN_BYTES:
        where = f"settings {profile.name}: buffer_pool_of_data"
        if data_bytes == 0:
            raise InputError(f"{where}: the run has no dataset of known size")
        raise InputError(
            f"{where}: {share:g} of {data_bytes} bytes of data is less than the smallest buffer pool, "
            f"{POOL_MIN_BYTES} bytes; make the dataset larger"
        )
    instances = int(profile.settings.get("buffer_pool_instances", POOL_INSTANCES))
    shared = POOL_CHUNK_BYTES * max(1, instances)
    nearest = (
        min(round(wanted / MIB) * MIB, POOL_CHUNK_BYTES),
        min(
            max(1, round(wanted / POOL_CHUNK_BYTES)) * POOL_CHUNK_BYTES, POOL_SHARED_BYTES - POOL_CHUNK_BYTES
        ),
        max(round(wanted / shared), -(-POOL_SHARED_BYTES // shared)) * shared,
    )
    return min(nearest, key=lambda size: abs(size - wanted)), f"{share:g} of about {data_bytes} bytes of data"


def _checked(file: Path, name: str, value: Scalar) -> Scalar:
    if name not in SETTINGS:
        raise InputError(f"{file}: unknown setting {name!r}{toml.hint(name, SETTINGS)}")
    setting = SETTINGS[name]
    if setting.kind == "bytes" and isinstance(value, str):
        plain = normalise(value)
        value = int(plain) if _SIZE.fullmatch(plain) else value
    whole = int(value) if isinstance(value, int) and not isinstance(value, bool) else None
    expected = ""
    match setting.kind:
        case "bytes" if whole is None:
            expected = "a size (512M)"
        case "number" if whole is None:
            expected = "a whole number"
        case "switch" if not isinstance(value, bool):
            expected = "true or false"
        case "text" if not isinstance(value, str):
            expected = "a string"
        case "share" if not (isinstance(value, float | int) and 0 < value <= SHARE_MAX):
            expected = f"a number up to {SHARE_MAX}"
        case _ if whole is not None and whole < setting.minimum:
            expected = f"{setting.minimum} or more"
        case _ if whole is not None and whole % setting.step:
            expected = f"a multiple of {setting.step}, as servers round other values"
    if expected:
        raise InputError(f"{file}: {name}: expected {expected}, found {reprlib.repr(value)}")
    if isinstance(value, str):
        placing.require_printable(file, name, value)
        value = setting.display(value)
        if setting.choices and value not in setting.choices:
            choices = ", ".join(setting.choices)
            raise InputError(f"{file}: {name}: expected one of {choices}; found {reprlib.repr(value)}")
    return value
