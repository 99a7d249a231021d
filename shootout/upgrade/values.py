"""An upgrade: what was asked, and what each part of the answer found."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.value import Quantity, Value

Part = Literal["settings", "data", "statements", "results", "restoring", "time"]
PARTS: tuple[Part, ...] = ("settings", "data", "statements", "results", "restoring", "time")
DURABLE = "production"  # the settings that flush each commit
LARGE = "io-bound"  # the one with a buffer pool of a fifth of the data
AS_ASKED = "left out as asked"
Reader = Literal["both", "old", "new"]
Pair = Annotated[tuple[str, ...], Meta(min_length=2, max_length=2)]


class OptionFate(Value):
    """The fate of one option of the user's my.cnf on the two servers."""

    option: str  # as written
    value: str
    variable: str
    old: str | None  # the variable's value; None: the server has no such variable
    new: str | None
    renamed: str = ""  # the variable's name on the new server
    refused: str = ""  # why a server does not start with it, or with a part of it
    told: str = ""  # the message on it in the new server's log alone
    read_by: Reader = "both"  # one: its group is of that version


class DataDirectory(Value):
    """The old server's data directory, started by the new server."""

    started: bool
    seconds: Quantity
    same_rows: bool
    told: tuple[str, ...]  # warnings and errors of the new server's log, without values


class UpgradeDocument(Value):
    """Everything that one `shootout upgrade` found; what its parts measured is in documents of their own."""

    format: Literal[3]
    upgrade: str
    started: str  # ISO 8601, UTC
    version: str  # of shootout
    labels: Pair  # the old server's, and the new one's
    references: Pair
    settings: str  # the user's my.cnf; empty: none
    workload: str  # the user's; empty: none
    workloads: str  # in place of the catalogue and sysbench's, as on the command line; empty: these
    budget_min: Quantity
    variables: dict[str, dict[str, str]] = field(default_factory=dict)  # SHOW GLOBAL VARIABLES by label
    versions: dict[str, str] = field(default_factory=dict)  # as the servers report them
    options: tuple[OptionFate, ...] = ()
    settings_left_out: tuple[str, ...] = ()  # of the user's my.cnf, with reasons
    data: DataDirectory | None = None
    statements: str = ""  # the file of a count of instructions, below the results
    results: tuple[str, ...] | None = None  # where the new server returns other rows; None: not compared
    restoring: str = ""  # the file of a count of the new server with old values
    trials: dict[str, str] = field(default_factory=dict)  # NAME=VALUE by label of that count
    timed: str = ""  # the file of a run of the new server with old values that act by time
    time_trials: dict[str, str] = field(default_factory=dict)  # NAME=VALUE by label of that run
    runs: tuple[str, ...] = ()  # the files of run documents, below the results
    elsewhere: tuple[str, ...] = ()  # those of other machines, which asked the same before
    done: tuple[Part, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)  # why, by part

    @property
    def own(self) -> tuple[str, ...]:
        """The workloads that are files: the user's statements, however given."""
        given = (self.workload, *self.workloads.split(","))
        return tuple(dict.fromkeys(each for each in given if each.endswith((".toml", ".sql"))))

    @property
    def files(self) -> tuple[str, ...]:
        """The files that its parts measured, below the results."""
        return tuple(filter(None, (self.statements, self.restoring, self.timed, *self.runs, *self.elsewhere)))
