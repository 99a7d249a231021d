"""A run from its request to its conclusion: the values that the main job passes on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shootout import files
from shootout.analysis import gate, remaining
from shootout.answer import Answer
from shootout.document import resume
from shootout.errors import Skip, leaving_out
from shootout.inputs.options import ACKNOWLEDGED, Selection
from shootout.measure.plan import Plan
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, ClaimResult, Comparison
from shootout.report import commands, run_answer
from shootout.report.sections import Section
from shootout.writers import junit


@dataclass(frozen=True)
class Request:
    """A requested run: what to measure, where to publish it, and which regressions are accepted."""

    selection: Selection
    out: Path
    acknowledged: Path = ACKNOWLEDGED.default
    markdown: Path | None = None  # file for the verdicts as Markdown
    junit_xml: Path | None = None  # file for the verdicts as a test report
    explain: float | None = None  # minutes to find out why cells changed
    coverage: str | None = None  # DIR:BASE..HEAD: a change whose functions are looked for
    switches: tuple[str, ...] = ()  # flags of the command that change no measurement

    @property
    def beside(self) -> dict[str, str]:
        """The options beside the selection, by flag, as a command repeats them."""
        given = {
            "--out": self.out,
            "--acknowledged": None if self.acknowledged == ACKNOWLEDGED.default else self.acknowledged,
            "--markdown": self.markdown,
            "--junit-xml": self.junit_xml,
            "--explain": None if self.explain is None else f"{self.explain:g}",
            "--coverage": self.coverage,
        }
        return {flag: str(text) for flag, text in given.items() if text is not None} | dict.fromkeys(
            self.switches, ""
        )

    def write_markdown(self, text: str, skip: Skip) -> None:
        """Write the verdicts as Markdown, if asked for; `skip` receives why they cannot be written."""
        _write(self.markdown, text, skip)

    def write_junit(self, suite: junit.Suite, skip: Skip) -> None:
        """Write the verdicts as a test report, likewise."""
        _write(self.junit_xml, junit.write(suite), skip)


def _write(file: Path | None, text: str, skip: Skip) -> None:
    if file is not None:
        with leaving_out(skip):
            files.write(file, text)


@dataclass(frozen=True)
class Prepared:
    """A request with everything that is decided before a server starts."""

    request: Request
    plan: Plan
    acknowledged: tuple[Acknowledgement, ...]

    @property
    def results(self) -> Path:
        """The folder of its documents."""
        return self.request.out / "results"

    def resuming(self, **changed: str) -> str:
        """Write the command that continues the run, with other values for some options."""
        changes = {f"--{name}": value for name, value in changed.items()}
        return commands.go_on({**self.plan.given, **changes, **self.request.beside})


@dataclass(frozen=True)
class Conclusion:
    """A judged run, with its document, and why its cells changed."""

    document: RunDocument
    comparison: Comparison
    claims: tuple[ClaimResult, ...]
    path: Path
    sections: Mapping[Cell, tuple[Section, ...]] = field(default_factory=dict)  # of changed cells
    page: Path | None = None  # None: it could not be made
    prepared: Prepared | None = None  # None: a merged run, or some cells of one

    @property
    def exit_code(self) -> int:
        """The exit code that docs/cli.md defines."""
        return gate.exit_code(self.comparison)

    @property
    def more_starts(self) -> str | None:
        """The command that gives the run the minutes to decide more cells; None if it would take no start."""
        wanting = remaining.remaining(self.comparison)
        if self.prepared is None or wanting is None:
            return None
        minutes = math.ceil(resume.given_s(self.document) / 60 + wanting.minutes)
        if resume.is_finished(self.document, minutes * 60):
            return None
        return self.prepared.resuming(budget=str(minutes))

    @property
    def answer(self) -> Answer:
        """The conclusion in words."""
        out = commands.out_of(self.path.parent)
        said = run_answer.answer(self.comparison, self.sections, self.claims, self.more_starts, out)
        return said.at(self.path, self.page)
