"""A settings profile, and what it is in the my.cnf of each family and version.

Profiles name settings by what they mean (`redo_capacity_bytes`); settings_table.py knows how each is written
in which versions. What a version cannot express is refused, unless the profile says that it may lack it.
"""

from __future__ import annotations

import configparser
import re
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import msgspec

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.plan import Dataset
from shootout.model.value import Family, Value, Version
from shootout.paths import FIXTURES
from shootout.settings.setting import Scalar, normalise, variable
from shootout.settings.table import MIB, SETTINGS

DIRECTORY = FIXTURES / "settings"

# Servers make a buffer pool a multiple of this, times its instances; one smaller than this stays as it is.
POOL_CHUNK_BYTES = 128 * MIB
POOL_INSTANCES = 8  # where nothing else is said: of a pool of …
POOL_SHARED_BYTES = 1024 * MIB  # … so much or more; a smaller one has one
POOL_LEAST_BYTES = 6 * MIB
SHARE_MAX = 100  # of the data

# Where an instance lies is the suite's business: a .cnf file's word on it is passed over.
_PLACEMENT = {
    *("basedir", "bind_address", "datadir", "general_log_file", "init_file", "lc_messages_dir", "log_error"),
    *("pid_file", "port", "slow_query_log_file", "socket", "tmpdir", "user"),
}
# Where a server writes; outside its instance directory it could destroy what another server keeps there.
_WRITTEN_TO = {
    *(
        "innodb_buffer_pool_filename",
        "innodb_data_home_dir",
        "innodb_doublewrite_dir",
        "innodb_log_group_home_dir",
    ),
    *("innodb_temp_data_file_path", "innodb_temp_tablespaces_dir", "innodb_tmpdir", "innodb_undo_directory"),
    *("innodb_data_file_path", "log_bin", "log_bin_index", "relay_log", "relay_log_index"),
}
_OPTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
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
    """What a settings file says."""

    description: str = ""
    settings: dict[str, Scalar] = msgspec.field(default_factory=dict)  # names as in SETTINGS
    # names of those that a version may lack, each with the reason why that does no harm
    lacking: dict[str, str] = msgspec.field(default_factory=dict)
    # my.cnf options, for the server verbatim; a setting that is about the same variable gives way
    options: dict[str, str] = msgspec.field(default_factory=dict)


class SettingsProfile(SettingsFile, kw_only=True):
    """What a server is configured to, in words that hold for every version."""

    name: str


@dataclass(frozen=True, slots=True)
class Request:
    """One setting as it was asked of one version."""

    value: Scalar
    variables: tuple[str, ...]  # what the version calls it; none: it is so without being told
    lacking: bool = False  # the version has no such thing
    note: str = ""  # why, or how the value came about


@dataclass(frozen=True, slots=True)
class Compiled:
    """A profile written for one version; an empty option is written bare."""

    options: Mapping[str, str] = field(default_factory=dict)  # my.cnf
    requests: Mapping[str, Request] = field(default_factory=dict)  # by setting
    own: Mapping[str, str] = field(default_factory=dict)  # those options that the profile says verbatim


def load(name_or_file: str) -> SettingsProfile:
    """Read a profile of fixtures/settings by its name, or a .toml or .cnf file by its path.

    Raises InputError where there is none, it cannot be read, or it says what is not known.
    """
    if name_or_file.endswith(".cnf"):
        file = Path(name_or_file)
        written = _load_cnf(file)
    else:
        file = toml.find(name_or_file, DIRECTORY, "settings profile")
        written = toml.load(file, SettingsFile)
    if {"buffer_pool_bytes", "buffer_pool_of_data"} <= written.settings.keys():
        raise InputError(f"{file}: settings.buffer_pool_bytes and buffer_pool_of_data exclude each other")
    for name, why in written.lacking.items():
        if name not in written.settings:
            raise InputError(f"{file}: lacking: {name!r} is not among its settings")
        _require_printable(file, f"lacking.{name}", why)
    return SettingsProfile(
        name=file.stem,
        description=written.description,
        settings={name: _checked(file, name, value) for name, value in written.settings.items()},
        lacking=written.lacking,
        options=_checked_options(file, written.options),
    )


def compile(
    profile: SettingsProfile,
    family: Family,
    version: Version,
    datasets: Sequence[Dataset] = (),
    plugins: Collection[str] = (),
) -> Compiled:
    """The profile as one version writes it, for a server that holds `datasets` and has these plugin files.

    Raises InputError for a setting that the version lacks, where the profile does not say that it may, and
    for a share of too little data.
    """
    own = {variable(option) for option in profile.options}
    own |= {re.sub("^(skip|disable|enable)_", "", name) for name in own}
    options: dict[str, str] = {}
    requests: dict[str, Request] = {}
    for name, asked in profile.settings.items():
        target, value, note = name, asked, ""
        if name == "buffer_pool_of_data":
            target = "buffer_pool_bytes"
            value, note = _pool_bytes(profile, datasets)
        setting = SETTINGS[target]
        row = setting.row(value, family, version, plugins)
        written = row.written(value)
        variables = tuple(variable(option) for option in written)
        if own & {*variables, *setting.variables}:
            continue
        if row.lacks:
            if name not in profile.lacking:
                server = f"{family} {'.'.join(map(str, version))}"
                raise InputError(
                    f"setting {name} of profile {profile.name}: {server} cannot be given "
                    f"{setting.display(value)}: {row.lacks}\n"
                    f'Where the profile can do without, let it say so: [lacking] {name} = "why"'
                )
            note = "; ".join(filter(None, (row.lacks, profile.lacking[name])))
        options |= written
        requests[target] = Request(value=value, variables=variables, lacking=bool(row.lacks), note=note)
    return Compiled(options=options | profile.options, requests=requests, own=profile.options)


def in_files(options: Mapping[str, str]) -> dict[str, str]:
    """Those of a server's options that shape its data files; one that this module does not know may."""
    return {option: value for option, value in options.items() if variable(option) not in _HARMLESS}


def _pool_bytes(profile: SettingsProfile, datasets: Sequence[Dataset]) -> tuple[int, str]:
    """The buffer pool's bytes for a share of the data, such as no server rounds, and how it came about."""
    share = float(profile.settings["buffer_pool_of_data"])
    data_bytes = sum(dataset.nominal_bytes for dataset in datasets)
    wanted = share * data_bytes
    if wanted < POOL_LEAST_BYTES:
        where = f"setting buffer_pool_of_data of profile {profile.name}"
        if data_bytes == 0:
            raise InputError(f"{where}: there is no dataset of known size to take {share:g} of")
        raise InputError(
            f"{where}: {share:g} of {data_bytes} bytes of data is less than the smallest buffer pool, "
            f"{POOL_LEAST_BYTES} bytes; make the dataset larger"
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


def _load_cnf(file: Path) -> SettingsFile:
    """Read the [mysqld] and [server] groups of a my.cnf."""
    parser = configparser.ConfigParser(
        allow_no_value=True,
        delimiters=("=",),
        inline_comment_prefixes=("#",),
        interpolation=None,
        strict=False,
        default_section="",
    )
    try:
        lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
        parser.read_string("\n".join(lines), str(file))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None
    except configparser.MissingSectionHeaderError as error:
        raise InputError(f"{file}: line {error.lineno}: no [mysqld] group begins before it") from None
    except configparser.ParsingError as error:
        number, _ = error.errors[0]  # each of them would be a line of the message
        raise InputError(f"{file}: line {number}: {lines[number - 1]!r} is not an option") from None
    includes = [line for line in lines if line.startswith("!")]
    if includes:
        raise InputError(f"{file}: {includes[0]!r} is not supported; put the options into this file")
    groups = [group for group in ("server", "mysqld") if parser.has_section(group)]
    if not groups:
        raise InputError(f"{file}: no [mysqld] group in it")
    options = {
        option: "" if value is None else value or '""'
        for group in groups
        for option, value in parser.items(group)
    }
    return SettingsFile(description=str(file), options=options)


def _checked(file: Path, name: str, value: Scalar) -> Scalar:
    if name not in SETTINGS:
        raise InputError(f"{file}: unknown setting {name!r}{toml.hint(name, SETTINGS)}")
    setting = SETTINGS[name]
    if setting.kind == "bytes" and isinstance(value, str):
        plain = normalise(value)
        value = int(plain) if _SIZE.fullmatch(plain) else value
    whole = isinstance(value, int) and not isinstance(value, bool)
    expected = {
        "bytes": "" if whole else "a size (512M)",
        "number": "" if whole else "a whole number",
        "switch": "" if isinstance(value, bool) else "true or false",
        "text": "" if isinstance(value, str) else "a text",
        "share": ""
        if isinstance(value, float | int) and 0 < value <= SHARE_MAX
        else f"a number up to {SHARE_MAX}",
    }[setting.kind]
    if whole and not expected and int(value) < setting.least:
        expected = f"{setting.least} or more"
    elif whole and not expected and int(value) % setting.step:
        expected = f"a multiple of {setting.step}, which no server rounds"
    if expected:
        raise InputError(f"{file}: {name}: expected {expected}, found {reprlib.repr(value)}")
    if isinstance(value, str):
        _require_printable(file, name, value)
        value = setting.display(value)
        if setting.choices and value not in setting.choices:
            choices = ", ".join(setting.choices)
            raise InputError(f"{file}: {name}: expected one of {choices}; found {reprlib.repr(value)}")
    return value


def _checked_options(file: Path, options: Mapping[str, str]) -> dict[str, str]:
    """The options without those that only say where the instance lies; of two spellings, the later one."""
    kept: dict[str, tuple[str, str]] = {}
    for option, value in options.items():
        if not _OPTION.fullmatch(option):
            raise InputError(f"{file}: {reprlib.repr(option)} is not the name of an option")
        _require_printable(file, option, value)
        name = variable(option)
        if name in _PLACEMENT:
            continue
        where = value.strip("'\"")
        if name in _WRITTEN_TO and (where.startswith("/") or ".." in PurePath(where).parts):
            raise InputError(f"{file}: {option} = {value} lies outside the instance directory; leave it out")
        kept.pop(name, None)
        kept[name] = option, value
    return dict(kept.values())


def _require_printable(file: Path, name: str, value: str) -> None:
    """A line break would begin another option, or group, of the server's my.cnf."""
    if not value.isprintable():
        raise InputError(f"{file}: {name}: expected printable characters, found {reprlib.repr(value)}")
