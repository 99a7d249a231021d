"""Words that an upgrade's topics share: how much a cell or a kind of statement changed."""

from __future__ import annotations

from shootout import figures
from shootout.answer import Figure, Whole, factor
from shootout.count.values import CountChange, CountFigure
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.numbers import SPACE, number, percent_places

MEANINGS = {
    Verdict.REGRESSED: "slower", Verdict.IMPROVED: "faster", Verdict.EQUIVALENT: "the same",
    Verdict.INCONCLUSIVE: "undecided",
}  # fmt: skip


def end(run: Comparison, cell: CellComparison) -> str:
    assert cell.ratio is not None  # of `cells`
    where = f"{cell.cell.workload}, {figures.threads(cell.cell.threads)}, {settings_of(run)}"
    return f"{figures.change(cell.ratio)} ({figures.change_range(cell.ratio)}; {where})"


def difference(change: CountChange | None) -> Whole | None:
    return None if change is None or change.ratio is None else Whole(factor(change.ratio))


def amount(change: CountChange) -> str:
    """Say how many more instructions, or fewer."""
    ratio = change.ratio
    assert ratio is not None  # of what is judged
    if figures.is_multiple(ratio):
        return f"{factor(ratio).whole} as many"
    if ratio.low <= 1 <= ratio.high:
        return factor(ratio).whole
    places = percent_places(ratio.low, ratio.high)
    size, *ends = (number(100 * abs(each - 1), places) for each in (ratio.estimate, ratio.low, ratio.high))
    low, high = ends if ratio.low > 1 else reversed(ends)
    return f"{size}{SPACE}% ({low} to {high}{SPACE}%) {'more' if ratio.low > 1 else 'fewer'}"


def instructions_of(figure: CountFigure | None) -> Figure | None:
    return None if figure is None else Figure(figure.mean, places=0)


def instructions(change: CountChange) -> str:
    return f"{amount(change)} instructions"


def settings_of(run: Comparison) -> str:
    """The settings of a run's servers, as their records name them."""
    return run.header.servers[-1].settings_name
