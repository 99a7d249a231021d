"""Options that place a server, or join it to others: shootout sets them, and no user's file does."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from pathlib import Path, PurePath

from shootout.errors import InputError
from shootout.settings.setting import meant, variable

# Paths, addresses, and what else belongs to the machine or the databases that a my.cnf is from.
_INSTANCE_OPTIONS = {
    *("basedir", "bind_address", "character_sets_dir", "datadir", "extra_port", "general_log_file"),
    *("init_file", "language", "lc_messages_dir", "log_error", "pid_file", "plugin_dir", "port"),
    *("secure_file_priv", "slow_query_log_file", "socket", "tmpdir", "user"),
    *("binlog_do_db", "binlog_ignore_db", "ignore_db_dir", "ignore_db_dirs", "named_pipe"),
    *("bootstrap", "chroot", "console", "daemonize", "grant_tables", "initialize", "initialize_insecure"),
    *("help", "print_defaults", "require_secure_transport", "shared_memory", "shared_memory_base_name"),
}
# Left out by how they begin, which a unique start of a name does, too: options that would join an instance to
# the cluster or the source of the server that the file is from, open further ports, or set up TLS, which no
# connection uses.
_OTHERS = (
    *("wsrep", "group_replication", "ndb", "master", "slave", "replica", "relay", "rpl_semi_sync"),
    *("read_only", "super_read_only", "admin", "mysqlx", "ssl"),
)
_JOINING_PLUGINS = re.compile("group_replication|semisync|mysqlx|handlersocket")
_PREFIXES = re.compile("((loose|skip|disable|enable|maximum)_)*")  # of an option's name, for servers
_OPTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OF_WINDOWS = re.compile(r"""(?:^|[;,='" ])(?:[A-Za-z]:[\\/]|\\\\\w)""")  # a path
REPEATED = {"performance_schema_instrument"}  # a server takes all lines with it, and none has several values


def checked(file: str | Path, options: Mapping[str, str]) -> dict[str, str]:
    """Drop the options that place a server; of two spellings of one option the later one wins.

    Raises InputError for what is no option, or points outside the instance directory: there a server could
    destroy another one's data.
    """
    kept: dict[str, tuple[str, str]] = {}
    for option, value in options.items():
        if not is_name(option):
            raise InputError(f"{file}: {reprlib.repr(option)} is not an option name")
        require_printable(file, option, value)
        if places(option):
            continue
        if is_outside(value):
            raise InputError(f"{file}: {option} = {value} is outside the instance directory; leave it out")
        if joins(option, value):
            raise InputError(f"{file}: {option} = {value} would join other servers; leave it out")
        name, _ = meant(option, value)
        key = option if name in REPEATED else name
        kept.pop(key, None)
        kept[key] = option, value
    return dict(kept.values())


def is_name(option: str) -> bool:
    """Whether an option could have this name."""
    return _OPTION.fullmatch(option) is not None


def places(option: str) -> bool:
    """Whether an option places a server, or joins it to others."""
    return bare(option) in _INSTANCE_OPTIONS or bare(option).startswith(_OTHERS)


def joins(option: str, value: str) -> bool:
    """Whether an option loads a plugin that joins a server to others."""
    return bare(option).startswith("plugin_load") and bool(_JOINING_PLUGINS.search(value.casefold()))


def bare(option: str) -> str:
    """Strip an option's name of prefixes."""
    return _PREFIXES.sub("", variable(option), count=1)


def is_outside(value: str) -> bool:
    """Whether a part of an option's value is a path that leaves the server's directory."""
    return bool(_OF_WINDOWS.search(value)) or any(map(_leaves, re.split("[;:,=]", value)))


def _leaves(part: str) -> bool:
    path = part.strip(" '\"")
    return (path.startswith(("/", "~")) and not path.startswith("/*")) or ".." in PurePath(path).parts


def require_printable(file: str | Path, name: str, value: str) -> None:
    """Reject line breaks above all: they would start another option or group in the server's my.cnf."""
    if not value.isprintable():
        raise InputError(f"{file}: {name}: expected printable characters, found {reprlib.repr(value)}")
