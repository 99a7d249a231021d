"""How the server that wrote a log flushes: from its my.cnf, or from SHOW VARIABLES."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shootout.errors import InputError
from shootout.learn.judge import Fidelity
from shootout.settings import profiles
from shootout.settings.setting import variable

DEFAULTS = {"innodb_flush_log_at_trx_commit": "1"}  # every version's; sync_binlog has another one in some
COMMITS_MIN = 0.05  # share of the log's time from which on it matters
_ROW = re.compile(r"^[|\s]*(?P<name>[a-z_]+)[|\s]+(?P<value>[^|\s]+)[|\s]*$", re.MULTILINE)


def read(file: Path) -> tuple[str, ...]:
    """What the file says of flushing, each as NAME=VALUE. Raises InputError."""
    if file.suffix == ".cnf":
        found = {variable(name): value for name, value in profiles.load(str(file)).options.items()}
    else:
        try:
            text = file.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read: {error}") from None
        found = {row["name"]: row["value"] for row in _ROW.finditer(text)}
        if not found.keys() & DEFAULTS.keys():
            raise InputError(f"{file}: expected a .cnf file, or what SHOW VARIABLES returns")
    wanted = (*DEFAULTS, "sync_binlog")
    return tuple(f"{name}={value}" for name, value in (DEFAULTS | found).items() if name in wanted)


def unknown(fidelity: Fidelity) -> Iterator[str]:
    """What is missing without such a file."""
    if fidelity.commits is not None and fidelity.commits >= COMMITS_MIN:
        share = f"COMMIT and the like take {100 * fidelity.commits:.0f} % of the log's time"
        yield (
            f"{share}, and a log does not say how its server flushes: without --variables, a run does what "
            "its settings say, and that is by default not at each commit"
        )
