"""Settings profiles, compiled to my.cnf options for each family and version.

Profiles name settings by meaning (`redo_capacity_bytes`); table.py knows each version's options. A setting
that a version lacks is an error unless the profile declares it as lacking.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import msgspec

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.plan import Dataset
from shootout.model.value import Family, Value, Version
from shootout.paths import FIXTURES
from shootout.settings.setting import Scalar, meant, normalise, variable
from shootout.settings.table import MIB, SETTINGS

DIRECTORY = FIXTURES / "settings"

# Servers round a buffer pool of at least this size to a multiple of it times the number of instances.
POOL_CHUNK_BYTES = 128 * MIB
POOL_INSTANCES = 8  # default for a pool of at least …
POOL_SHARED_BYTES = 1024 * MIB  # … this size; a smaller one has one instance
POOL_MIN_BYTES = 6 * MIB
SHARE_MAX = 100  # of the data

# The groups of a my.cnf that servers of every version read, and those that only some versions read.
_GROUPS = {"mysqld", "server", "mariadb", "mariadbd", "galera"}
_SOME_SERVERS = re.compile(r"(?:mysqld|mariadbd?)-[0-9].*")
_UNCOMMENTED = re.compile(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^#])*""")
# A server takes all lines with one of these options; of other options the last one counts.
_GATHERED = {
    *("binlog_do_db", "binlog_ignore_db", "ignore_db_dir", "optimizer_switch"),
    *("performance_schema_instrument", "plugin_load_add"),
}

# shootout sets an instance's paths and addresses itself: these options of a .cnf file are left out.
_INSTANCE_OPTIONS = {
    *("basedir", "bind_address", "character_sets_dir", "datadir", "extra_port", "general_log_file"),
    *("init_file", "language", "lc_messages_dir", "log_error", "pid_file", "plugin_dir", "port"),
    *("secure_file_priv", "slow_query_log_file", "socket", "tmpdir", "user"),
}
# Left out by how they begin, which a unique start of a name does, too: what would join an instance to the
# cluster or the source of the server that the file is from, open further ports, or set up TLS, which no
# connection uses.
_OTHERS = (
    *("wsrep", "group_replication", "ndb", "master", "slave", "replica", "relay", "rpl_semi_sync"),
    *("read_only", "super_read_only", "admin", "mysqlx", "ssl"),
)
_JOINING_PLUGINS = re.compile("group_replication|semisync|mysqlx|handlersocket")
_PREFIXES = re.compile("((loose|skip|disable|enable|maximum)_)*")  # of an option's name, for servers
POOL, POOL_OF_DATA = "buffer_pool_bytes", "buffer_pool_of_data"  # they exclude each other
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
    left_out: tuple[str, ...] = ()  # options of its file that shootout sets itself


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
    """Read a profile of fixtures/settings by name, or a .toml or .cnf file by path.

    Raises InputError if it does not exist, cannot be read or is invalid.
    """
    if name_or_file.endswith(".cnf"):
        file = Path(name_or_file)
        written = _load_cnf(file)
    else:
        file = toml.find(name_or_file, DIRECTORY, "settings profile")
        written = toml.load(file, SettingsFile)
    if {POOL, POOL_OF_DATA} <= written.settings.keys():
        raise InputError(f"{file}: settings: buffer_pool_bytes and buffer_pool_of_data exclude each other")
    for name, why in written.lacking.items():
        if name not in written.settings:
            raise InputError(f"{file}: lacking: {name!r} is not among its settings")
        _require_printable(file, f"lacking.{name}", why)
    return SettingsProfile(
        name=file.stem,
        description=written.description,
        settings={name: _checked(file, name, value) for name, value in written.settings.items()},
        lacking=written.lacking,
        options=checked_options(file, written.options),
        left_out=tuple(filter(_places, written.options)),
    )


def compile(
    profile: SettingsProfile,
    family: Family,
    version: Version,
    datasets: Sequence[Dataset] = (),
    plugins: Collection[str] = (),
) -> Compiled:
    """Compile the profile for one version, for a server with `datasets` and these plugin files.

    Raises InputError for a setting that the version lacks and the profile does not declare as lacking, and
    for a buffer pool that would be too small.
    """
    overridden = _overridden(profile)
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
                    f"setting {name} of profile {profile.name}: {server} cannot be given "
                    f"{setting.display(value)}: {row.lacks}\n"
                    f'If the profile can do without it, declare it as lacking: [lacking] {name} = "why"'
                )
            note = "; ".join(filter(None, (row.lacks, profile.lacking[name])))
        options |= written
        requests[target] = Request(value=value, variables=variables, lacking=bool(row.lacks), note=note)
    return Compiled(options | profile.options, requests, profile.options, profile.left_out)


def _overridden(profile: SettingsProfile) -> set[str]:
    """The variables of which the profile's own options decide.

    Beside a character set of its own it has no collation of ours, and none of our character sets beside
    another one's collation: a server refuses such pairs.
    """
    own = dict(meant(option, value) for option, value in profile.options.items())
    ours = normalise(str(profile.settings.get("character_set", "")))
    beside = set()
    if "character_set_server" in own:
        beside = {"collation_server"}
    elif not normalise(own.get("collation_server", ours)).startswith(ours):
        beside = {"character_set_server"}
    return {*own, *beside}


def in_files(options: Mapping[str, str]) -> dict[str, str]:
    """The options that may affect data files: all except those known not to."""
    return {option: value for option, value in options.items() if variable(option) not in _HARMLESS}


def _pool_bytes(profile: SettingsProfile, datasets: Sequence[Dataset]) -> tuple[int, str]:
    """The buffer pool for a share of the data, in a size that no server rounds, and a note on it."""
    share = float(profile.settings["buffer_pool_of_data"])
    data_bytes = sum(dataset.nominal_bytes for dataset in datasets)
    wanted = share * data_bytes
    if wanted < POOL_MIN_BYTES:
        where = f"setting buffer_pool_of_data of profile {profile.name}"
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


def _load_cnf(file: Path) -> SettingsFile:
    """Read what a my.cnf says to all servers. Raises InputError for what would be lost."""
    groups: set[str] = set()
    options: dict[str, str] = {}
    for where, group, option, value in _cnf_lines(file):
        groups.add(group)
        if option and _SOME_SERVERS.fullmatch(group):
            raise InputError(
                f"{where}: only some servers read [{group}]; put what all should have into [mysqld]"
            )
        if not option or group not in _GROUPS:
            continue
        if variable(option) in _GATHERED & set(map(variable, options)):
            raise InputError(f"{where}: {option} again; a server takes both, so expected a single line")
        options.pop(option, None)  # the later one counts, among other spellings, too
        options[option] = value
    if not groups & _GROUPS:
        raise InputError(f"{file}: contains no [mysqld] group")
    return SettingsFile(description=str(file), options=options)


def _cnf_lines(file: Path) -> Iterator[tuple[str, str, str, str]]:
    """Where it is, group, option and value of each line; a line that begins a group has no option."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None
    group = ""
    for number, line in enumerate(map(str.strip, lines), start=1):
        where = f"{file}: line {number}"
        if line.startswith("!"):
            raise InputError(f"{where}: {line!r} is not supported; put the options into this file")
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("["):
            group = line[1:].partition("]")[0].strip()
            yield where, group, "", ""
            continue
        if not group:
            raise InputError(f"{where}: not in a group such as [mysqld]")
        option, equals, value = map(str.strip, _UNCOMMENTED.findall(line)[0].partition("="))
        if not option:
            raise InputError(f"{where}: {line!r} is not an option")
        yield where, group, option, value or ('""' if equals else "")


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
        _require_printable(file, name, value)
        value = setting.display(value)
        if setting.choices and value not in setting.choices:
            choices = ", ".join(setting.choices)
            raise InputError(f"{file}: {name}: expected one of {choices}; found {reprlib.repr(value)}")
    return value


def checked_options(file: str | Path, options: Mapping[str, str]) -> dict[str, str]:
    """The options without those that place a server; of two spellings of one option the later one wins.

    Raises InputError for what is no option, or points outside the instance directory: there a server could
    destroy another one's data.
    """
    checked: dict[str, tuple[str, str]] = {}
    for option, value in options.items():
        if not _OPTION.fullmatch(option):
            raise InputError(f"{file}: {reprlib.repr(option)} is not an option name")
        _require_printable(file, option, value)
        if _places(option):
            continue
        if any(map(_is_outside, re.split("[;:,=]", value))):
            raise InputError(f"{file}: {option} = {value} is outside the instance directory; leave it out")
        if _bare(option).startswith("plugin_load") and _JOINING_PLUGINS.search(value.casefold()):
            raise InputError(f"{file}: {option} = {value} would join other servers; leave it out")
        name, _ = meant(option, value)
        checked.pop(name, None)
        checked[name] = option, value
    return dict(checked.values())


def _places(option: str) -> bool:
    """Whether an option places a server, or joins it to others."""
    return _bare(option) in _INSTANCE_OPTIONS or _bare(option).startswith(_OTHERS)


def _bare(option: str) -> str:
    return _PREFIXES.sub("", variable(option), count=1)


def _is_outside(part: str) -> bool:
    """Whether a part of an option's value is a path that leaves the server's directory."""
    path = part.strip(" '\"")
    return (path.startswith(("/", "~")) and not path.startswith("/*")) or ".." in PurePath(path).parts


def _require_printable(file: str | Path, name: str, value: str) -> None:
    """Reject line breaks above all: they would start another option or group in the server's my.cnf."""
    if not value.isprintable():
        raise InputError(f"{file}: {name}: expected printable characters, found {reprlib.repr(value)}")
