"""Comparisons made up cell by cell, and their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from shootout import numbers
from shootout.analysis import figures
from shootout.model.plan import Cell, Policy
from shootout.model.verdict import CellComparison, Comparison, Interval, Verdict
from tests.support import builders

R, G, E, Q, F, U = (
    Verdict.REGRESSED, Verdict.IMPROVED, Verdict.EQUIVALENT, Verdict.INCONCLUSIVE, Verdict.FAILED,
    Verdict.UNJUDGED,
)  # fmt: skip
Shown = tuple[Verdict, float] | Literal["slower", "faster"]
FAMILIES = {"m": "mysql", "d": "mariadb"}


def plain(text: str) -> str:
    """The text with plain spaces and signs; BASE and HEAD are the servers of builders."""
    text = text.replace(numbers.SPACE, " ").replace(numbers.MINUS, "-")
    return text.replace(builders.BASE, "BASE").replace(builders.HEAD, "HEAD")


def an_interval(estimate: float, half: float) -> Interval:
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half)


def a_cell(
    cell: Cell, base: Cell, verdict: Verdict, ratio: Interval | None, **changes: object
) -> CellComparison:
    """A cell with this verdict; the base is unjudged, and has no ratio."""
    values: dict[str, object] = {
        "verdict": U if cell == base else verdict, "ratio": None if cell == base else ratio,
        "figures": None, "p_value": None, "per_start": (), "reason": "", "warnings": (),
    }  # fmt: skip
    return CellComparison(cell=cell, base=base, **(values | changes))  # type: ignore[arg-type]


def a_comparison_of(*verdicts: tuple[Verdict, float | None]) -> Comparison:
    """One block for each verdict, each with its ratio, at 1, 2, 3, … threads."""
    header = builders.a_header(workloads=["oltp_read_only"], threads=range(1, len(verdicts) + 1))
    cells = [
        a_cell(cell, block.cells[0], verdict, None if ratio is None else an_interval(ratio, 0.025))
        for block, (verdict, ratio) in zip(header.blocks, verdicts, strict=True)
        for cell in block.cells
    ]
    return Comparison(header=header, end=None, policy=header.profile.policy, cells=tuple(cells))


def changed(comparison: Comparison, changes: Iterable[dict[str, object]]) -> Comparison:
    """The same with changes of its compared cells, in their order."""
    one = iter(changes)
    cells = (replace(c, **next(one)) if c.cell != c.base else c for c in comparison.cells)
    return replace(comparison, cells=tuple(cells))


def comparison_of(by_server: dict[str, dict[str, list[Shown]]]) -> Comparison:
    """Servers with what they show by workload, at 1, 2, 3, … threads; `m…` is MySQL, `d…` MariaDB."""
    by_first = next(iter(by_server.values()))
    threads = range(1, 1 + max(map(len, by_first.values())))
    header = builders.a_header([builders.BASE, *by_server], list(by_first), threads)
    header = replace(
        header,
        servers=tuple(replace(server, family=FAMILIES[server.label[0]]) for server in header.servers),
    )
    measured = figures.of_cell({1: builders.a_samples()}, {1}, Policy())
    cells = []
    for block in header.blocks:
        of_block = measured and replace(measured, writes=builders.EFFECTS[block.workload][1])
        for cell in block.cells:
            shown = by_server.get(cell.server, by_first)[block.workload][block.threads - 1]
            verdict, ratio = (Q, 1.1) if isinstance(shown, str) else shown
            cells.append(
                a_cell(
                    cell, block.cells[0], verdict, Interval.exactly(ratio),
                    figures=of_block if ratio else None,
                    per_start=(ratio, ratio), leaning=shown if isinstance(shown, str) else None,
                )
            )  # fmt: skip
    return Comparison(header=header, end=None, policy=header.profile.policy, cells=tuple(cells))
