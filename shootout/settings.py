"""One settings profile, written for each server family and version as options of its my.cnf.

Profiles name settings by what they mean (`redo_capacity_bytes`); the table `SETTINGS` knows how each is
written in which versions. A new version, family or setting is a row there.
"""

from __future__ import annotations

import configparser
import re
import reprlib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation, Overflow
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

import msgspec

from shootout import toml
from shootout.errors import InputError
from shootout.model import SettingRecord, Value, Warning
from shootout.places import FIXTURES

Family = Literal["mysql", "mariadb", "percona"]
Version = tuple[int, int, int]
Scalar = bool | int | str

DIRECTORY = FIXTURES / "settings"


class SettingsFile(Value):
    """What a settings file says."""

    description: str = ""
    settings: dict[str, Scalar] = msgspec.field(default_factory=dict)  # names as in SETTINGS
    # my.cnf options, for the server verbatim; they win over `settings`
    options: dict[str, str] = msgspec.field(default_factory=dict)


class SettingsProfile(SettingsFile, kw_only=True):
    """What a server is configured to, in words that hold for every version."""

    name: str


class Row(NamedTuple):
    """How a setting is written where since ≤ version < before; `{}` is its value, `{half}` half of it."""

    options: Mapping[str, str]
    since: Version = (0, 0, 0)
    before: Version = (1000, 0, 0)
    families: tuple[Family, ...] = ("mysql", "mariadb", "percona")
    when: Scalar | None = None  # the row is for this value only


class Setting(NamedTuple):
    """A setting's type and its rows."""

    kind: Literal["bytes", "number", "switch", "text"]
    rows: tuple[Row, ...]
    in_files: bool = False  # shapes the data files: one made under another value is another one


SETTINGS: Mapping[str, Setting] = {
    "binary_log": Setting(
        "switch",
        (
            Row({"skip-log-bin": ""}, when=False),
            Row({"log-bin": "binlog", "server-id": "1"}, when=True),
        ),
    ),
    "buffer_pool_bytes": Setting("bytes", (Row({"innodb-buffer-pool-size": "{}"}),)),
    "character_set": Setting("text", (Row({"character-set-server": "{}"}),), in_files=True),
    "collation": Setting("text", (Row({"collation-server": "{}"}),), in_files=True),
    "doublewrite": Setting("switch", (Row({"innodb-doublewrite": "{}"}),)),
    "flush_log_at_trx_commit": Setting("number", (Row({"innodb-flush-log-at-trx-commit": "{}"}),)),
    "flush_method": Setting("text", (Row({"innodb-flush-method": "{}"}),)),
    "max_connections": Setting("number", (Row({"max-connections": "{}"}),)),
    "page_bytes": Setting("bytes", (Row({"innodb-page-size": "{}"}),), in_files=True),
    "performance_schema": Setting("switch", (Row({"performance-schema": "{}"}),)),
    "redo_capacity_bytes": Setting(
        "bytes",
        (
            Row(
                {"innodb-log-file-size": "{half}", "innodb-log-files-in-group": "2"},
                before=(8, 0, 30),
                families=("mysql", "percona"),
            ),
            Row({"innodb-redo-log-capacity": "{}"}, since=(8, 0, 30), families=("mysql", "percona")),
        ),
        in_files=True,  # another size would be made, and written out, at every start
    ),
    "sync_binlog": Setting("number", (Row({"sync-binlog": "{}"}),)),
    "table_open_cache": Setting("number", (Row({"table-open-cache": "{}"}),)),
}

# Variables that explain differences between servers, recorded though nobody asked for them.
NOTABLE = (
    "binlog_format",
    "character_set_server",
    "collation_server",
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_spin_wait_delay",
    "innodb_thread_concurrency",
    "innodb_undo_tablespaces",
    "innodb_use_native_aio",
    "log_bin",
    "max_connections",
    "performance_schema",
    "query_cache_type",
    "sync_binlog",
    "table_open_cache",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
)

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
_UNITS = {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_SWITCH = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


def load(name_or_file: str) -> SettingsProfile:
    """Read a profile of fixtures/settings by its name, or a .toml or .cnf file by its path.

    Raises InputError where there is none, it cannot be read, or it says what is not known.
    """
    if name_or_file.endswith(".cnf"):
        file = Path(name_or_file)
        written = _read_cnf(file)
    else:
        file = toml.find(name_or_file, DIRECTORY, "settings profile")
        written = toml.load(file, SettingsFile)
    return SettingsProfile(
        name=file.stem,
        description=written.description,
        settings={name: _checked(file, name, value) for name, value in written.settings.items()},
        options=_checked_options(file, written.options),
    )


def compile(profile: SettingsProfile, family: Family, version: Version) -> dict[str, str]:
    """The profile as my.cnf options of one version; an empty value is an option written bare.

    Raises InputError for a setting that the version has no way to express.
    """
    options: dict[str, str] = {}
    for name, value in profile.settings.items():
        row = _row(name, value, family, version)
        half = str(value // 2) if isinstance(value, int) else ""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        options |= {option: form.format(text, half=half) for option, form in row.options.items()}
    return options | profile.options


def in_files(options: Mapping[str, str]) -> dict[str, str]:
    """Those of a server's options that shape its data files; one that this module does not know may."""
    harmless = {
        option
        for setting in SETTINGS.values()
        if not setting.in_files
        for row in setting.rows
        for option in row.options
    }
    return {option: value for option, value in options.items() if option.replace("_", "-") not in harmless}


def compare(
    requested: Mapping[str, str], effective: Mapping[str, str]
) -> tuple[tuple[SettingRecord, ...], tuple[Warning, ...]]:
    """Hold the requested my.cnf options against the server's variables.

    Gives a record for each option and for each notable variable nobody asked for, and a warning for each
    difference. An option that is no variable cannot be checked: servers refuse one they do not know,
    unless it is written `loose-`.
    """
    records: dict[str, SettingRecord] = {}
    for option, value in requested.items():
        record = _record(option, value, effective)
        records[record.name] = record
    for name in NOTABLE:
        if name in effective and name not in records:
            records[name] = SettingRecord(name=name, requested=None, effective=effective[name], differs=False)
    warnings = tuple(
        Warning(
            code="settings-differ",
            text=f"{each.name}: requested {each.requested}, the server has {each.effective or 'nothing'}.",
        )
        for each in records.values()
        if each.differs
    )
    return tuple(records.values()), warnings


def normalise(value: str) -> str:
    """One form for all ways to write a value: 1/ON/true, 512M/536870912, dir/ and ./dir, 90 and 90.000."""
    text = value.strip().strip("'\"").casefold()
    if text in _SWITCH:
        return _SWITCH[text]
    sized = re.fullmatch(r"([+-]?\d{1,20})([kmgtpe])", text)
    if sized:
        return str(int(sized[1]) * _UNITS[sized[2].upper()])
    try:
        number = Decimal(text).normalize()
    except (InvalidOperation, Overflow):
        return str(PurePath(text)) if "/" in text else text
    return format(number, "f") if number.is_finite() else text


def _read_cnf(file: Path) -> SettingsFile:
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
    kind = SETTINGS[name].kind
    if kind == "bytes" and isinstance(value, str):
        plain = normalise(value)
        value = int(plain) if _SIZE.fullmatch(plain) else value
    fits = {
        "bytes": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int) and not isinstance(value, bool),
        "switch": isinstance(value, bool),
        "text": isinstance(value, str),
    }
    if not fits[kind]:
        form = {
            "bytes": "a size (512M)",
            "number": "a whole number",
            "switch": "true or false",
            "text": "a text",
        }
        raise InputError(f"{file}: {name}: expected {form[kind]}, found {reprlib.repr(value)}")
    if isinstance(value, str):
        _require_printable(file, name, value)
    return value


def _checked_options(file: Path, options: Mapping[str, str]) -> dict[str, str]:
    """The options without those that only say where the instance lies."""
    kept = {}
    for option, value in options.items():
        if not _OPTION.fullmatch(option):
            raise InputError(f"{file}: {reprlib.repr(option)} is not the name of an option")
        _require_printable(file, option, value)
        name = _variable(option)
        if name in _PLACEMENT:
            continue
        where = value.strip("'\"")
        if name in _WRITTEN_TO and (where.startswith("/") or ".." in PurePath(where).parts):
            raise InputError(f"{file}: {option} = {value} lies outside the instance directory; leave it out")
        kept[option] = value
    return kept


def _require_printable(file: Path, name: str, value: str) -> None:
    """A line break would begin another option, or group, of the server's my.cnf."""
    if not value.isprintable():
        raise InputError(f"{file}: {name}: expected printable characters, found {reprlib.repr(value)}")


def _row(name: str, value: Scalar, family: Family, version: Version) -> Row:
    for row in SETTINGS[name].rows:
        if family in row.families and row.since <= version < row.before and row.when in (None, value):
            return row
    raise InputError(f"setting {name}: not known how {family} {'.'.join(map(str, version))} expresses it")


def _record(option: str, value: str, effective: Mapping[str, str]) -> SettingRecord:
    name = _variable(option)
    wanted = value
    if name not in effective and (opposite := re.fullmatch(r"(?:skip|disable)_(.+)", name)):
        name, wanted = opposite[1], "OFF"
    elif name not in effective and (same := re.fullmatch(r"enable_(.+)", name)):
        name, wanted = same[1], "ON"
    elif value == "":
        wanted = "ON"
    found = effective.get(name)
    if found is None:
        differs = option.replace("-", "_").startswith("loose_")
    elif name == "log_bin":  # the option holds a file's name, the variable whether there is one
        differs = (normalise(wanted) == "0") != (normalise(found) == "0")
    else:
        differs = normalise(wanted) != normalise(found)
    return SettingRecord(name=name, requested=wanted, effective=found, differs=differs)


def _variable(option: str) -> str:
    return option.replace("-", "_").casefold().removeprefix("loose_")
