"""How the server that wrote a log flushes: from its my.cnf, or from SHOW VARIABLES."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shootout.errors import InputError
from shootout.inputs.opening import opened
from shootout.learn.judge import Fidelity
from shootout.settings import profiles
from shootout.settings.setting import variable

DEFAULTS = {"innodb_flush_log_at_trx_commit": "1"}  # every version's; sync_binlog has another one in some
COMMITS_MIN = 0.05  # share of the log's time from which on it matters
_GROUP = re.compile(r"^\s*\[", re.MULTILINE)  # of an option file
# As a table, with tabs, or as CSV; and what \G makes of a row.
_ROW = re.compile(r"""^[|" ]*(?P<name>[a-z_]+)[|", \t]+(?P<value>[^|",\s]+)[|" \t\r]*$""", re.MULTILINE)
_UPRIGHT = re.compile(r"^ *Variable_name: (\w+)\s+Value: ", re.MULTILINE)


def read(file: Path) -> tuple[str, ...]:
    """Read the file's settings of flushing, each as NAME=VALUE. Raises InputError."""
    with opened(file) as content:
        text = content.read().decode(errors="replace")
    if _GROUP.search(text):
        found = {variable(name): value for name, value in profiles.load(str(file)).options.items()}
    else:
        found = {row["name"]: row["value"] for row in _ROW.finditer(_UPRIGHT.sub(r"\1\t", text))}
        if not found.keys() & DEFAULTS.keys():
            raise InputError(f"{file}: expected a my.cnf, or what SHOW VARIABLES returns")
    wanted = (*DEFAULTS, "sync_binlog")
    return tuple(f"{name}={value}" for name, value in (DEFAULTS | found).items() if name in wanted)


def unknown(fidelity: Fidelity) -> Iterator[str]:
    """Warn of what is missing without such a file."""
    if fidelity.commits is not None and fidelity.commits >= COMMITS_MIN:
        yield (
            f"COMMIT and the like take {100 * fidelity.commits:.0f} % of the log's time, and a log does not "
            "say how its server flushes: without --variables, a run flushes as its settings say, by default "
            "not at each commit"
        )
