"""What the core knows of a capability beside the main job; it imports one only when it is needed.

A capability is a folder of shootout/ with its command, its kind of document, and its pages. Its `__init__.py`
imports nothing: its docstring says what it does, in the list of commands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shootout.errors import InputError, MeasureError, Skip

if TYPE_CHECKING:
    from shootout.conclusion import Conclusion
    from shootout.document.store import Store
    from shootout.inputs.options import Option
    from shootout.measure.plan import Plan
    from shootout.model.history import Regression
    from shootout.model.plan import Cell
    from shootout.model.run import Observe, RunHeader, ServerRecord, Warning
    from shootout.model.verdict import Comparison, Interval, Verdict
    from shootout.parser import Parser
    from shootout.report.github.issues import Origin
    from shootout.report.judged import Judged
    from shootout.report.sections import Section
    from shootout.report.site.page import Listing

NAMES: tuple[str, ...] = (
    "upgrade",
    "explain",
    "work",
    "bisect",
    "learn",
    "soak",
    "reach",
)


@dataclass(frozen=True)
class Count:
    """What an instrument says of one server's load, beside that of the base."""

    ratio: Interval  # to the base's
    verdict: Verdict
    spread: float | None  # standard deviation of the starts' log-ratios
    starts: int
    base_starts: int


@dataclass(frozen=True)
class Counted:
    """A document of an instrument."""

    counts: Mapping[str, Count]  # by the server's label
    failed: Mapping[str, str]  # why servers have none
    started: Collection[str]  # the servers that were measured
    bar: float  # the smallest change worth a verdict
    seconds: float  # that it took


class Instrument(Protocol):
    """Another measure than time, by which servers can be compared exactly."""

    name: str  # of its option, and of the command that compares two servers by it
    title: str  # "instructions"
    profile: str  # what a comparison by it measures by default

    def check(self, plan: Plan) -> None:
        """Raise InputError for servers that it cannot measure."""

    def measure(self, plan: Plan, results: Path, observe: Observe) -> None:
        """Measure all servers of a plan, and write a document to the folder. Raises MeasureError."""

    def counted(self, results: Path, base: str) -> dict[str, Counted]:
        """What its documents in a folder say, by file name, the oldest first. Raises InputError."""

    def differences(self, results: Path, older: str, newer: str) -> tuple[str, ...]:
        """The statements and functions by which two servers differ most, in words, of documents with both."""


@dataclass(frozen=True)
class Executed:
    """What an instrument saw a server execute."""

    server: ServerRecord
    program: Path
    # By workload and kind of statement, by plain name of a function: its share of the instructions, with what
    # it calls.
    shares: Mapping[tuple[str, str], Mapping[str, float]]
    beside: Collection[str]  # functions that threads without a connection executed meanwhile


class Capability:
    """A capability, with what most of them lack."""

    name: str
    store: Store[Any] | None = None  # its kind of document
    option: Option | None = None  # of `run` and `gate`: has it follow a conclusion
    instrument: Instrument | None = None  # what it measures in place of time

    def command(self, parser: Parser) -> None:
        """Declare the options of its command, which has its name, and what runs it."""

    def judge(self, path: Path, base: str | None = None) -> Judged:
        """Judge a document of its kind; `base`: the label to compare with. Raises InputError."""
        raise NotImplementedError

    def page(self, path: Path) -> str:
        """The page of a document of its kind, from the site's root."""
        raise NotImplementedError

    def merge(self, paths: Sequence[Path], results: Path) -> Path:
        """Join documents of its kind into one. Raises InputError."""
        raise InputError(f"{paths[0]}: documents of `shootout {self.name}` cannot be joined")

    def history(self, results: Path, skip: Skip) -> Judged | None:
        """What its documents of a folder say over time, `series` in its value; None without any."""
        return None

    def listing(self, results: Path, runs: Sequence[Comparison], skip: Skip) -> Listing | None:
        """The pages of its documents in a folder, beside those of these runs; None without any."""
        return None

    def remarks(self, plan: Plan, wish: Any, results: Path) -> Sequence[Warning]:
        """Say before a run is measured what its document is to have, of the head. Raises InputError."""
        return ()

    def follow(self, conclusion: Conclusion, wish: Any, observe: Observe, skip: Skip) -> None:
        """Go on where a judged run ends; `wish`: the parsed text of its option."""

    def cell_section(self, results: Path, run: str, cell: Cell) -> Section | None:
        """What it found out about a cell of a run. Raises InputError."""
        return None

    def executed(self, results: Path, run: str, started: str, servers: Sequence[Executed]) -> None:
        """An instrument has written a document with the id `run`. Raises InputError and MeasureError."""

    def evidence(self, results: Path, header: RunHeader) -> Section | None:
        """What its documents say of the first two servers and the first workload of a run."""
        return None

    def origin(self, results: Path, regression: Regression) -> Origin | None:
        """What its documents in a folder say of where a regression comes from. Raises InputError."""
        return None


def about(name: str) -> str:
    """What it does, in the list of commands: its folder's docstring. Imports nothing else of it."""
    text = import_module(f"shootout.{name}").__doc__ or ""
    return text[:1].lower() + text[1:].rstrip(".")


def load(name: str) -> Capability:
    """Import one."""
    found = import_module(f"shootout.{name}.command").CAPABILITY
    assert isinstance(found, Capability)
    return found


def every() -> Iterator[Capability]:
    """All of them, imported one by one."""
    return map(load, NAMES)


def options() -> tuple[Option, ...]:
    """The options by which capabilities follow a run."""
    return tuple(each.option for each in every() if each.option is not None)


def following() -> tuple[Option, ...]:
    """Those of capabilities that measure after a run why its cells changed."""
    found = (each for each in every() if type(each).follow is not Capability.follow)
    return tuple(each.option for each in found if each.option is not None)


def owner(path: Path) -> Capability | None:
    """The capability whose kind of document a file is; None: a run's, or nobody's."""
    return next((each for each in every() if each.store is not None and each.store.owns(path)), None)


def by_owner(documents: Iterable[Path]) -> tuple[list[Path], dict[Capability, list[Path]]]:
    """The documents of runs, and those of capabilities."""
    runs: list[Path] = []
    others: dict[Capability, list[Path]] = {}
    for path in documents:
        found = owner(path)
        (runs if found is None else others.setdefault(found, [])).append(path)
    return runs, others


def sections(results: Path, run: str, cells: Sequence[Cell], skip: Skip) -> dict[Cell, tuple[Section, ...]]:
    """What capabilities found out about these cells; `skip` receives why something cannot be read."""
    found: dict[Cell, tuple[Section, ...]] = {}
    for each in every():
        for cell in cells:
            try:
                section = each.cell_section(results, run, cell)
            except InputError as error:
                skip(str(error))
                continue
            except Exception as error:  # a defect, which costs no verdict
                skip(f"{each.name}, {cell.name}: {type(error).__name__}: {error}")
                continue
            if section is not None:
                found[cell] = (*found.get(cell, ()), section)
    return found


def executed(results: Path, run: str, started: str, servers: Sequence[Executed], skip: Skip) -> None:
    """Tell all capabilities what an instrument saw; `skip` receives why one can do nothing with it."""
    for each in every():
        try:
            each.executed(results, run, started, servers)
        except (InputError, MeasureError) as error:
            skip(f"{each.name}: {error}")


def evidence(results: Path, header: RunHeader) -> Iterator[Section]:
    """What the documents of all capabilities say of a run's first two servers and its first workload."""
    for each in every():
        section = each.evidence(results, header)
        if section is not None:
            yield section


def origin(results: Path, regression: Regression, skip: Skip) -> Origin | None:
    """Where a regression comes from, by the first capability that knows; `skip`: why one cannot be read."""
    for each in every():
        try:
            if (found := each.origin(results, regression)) is not None:
                return found
        except InputError as error:
            skip(str(error))
    return None
