"""What the templates see of many runs: ratios to the anchor over time, and where they changed."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.inputs import acknowledgements
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries
from shootout.model.plan import Cell
from shootout.model.verdict import Acknowledgement
from shootout.report import wording
from shootout.report.site.charts import Figure, Series
from shootout.report.site.names import history_page, run_folder

HISTORY_COLUMNS = (
    "runner", "workload", "dataset", "threads", "server", "anchor", "run", "started", "ratio", "tps",
)  # fmt: skip
CHANGE_COLUMNS = (
    "runner", "workload", "dataset", "threads", "server", "anchor", "last_good", "first_bad", "started",
    "before", "after", "confirmed", "acknowledged", "page",
)  # fmt: skip
CHANGES_SHOWN = 200  # on one page, the newest
MARKED_MAX = 60  # runs of a chart; with more, points would run into each other
SPARK_POINTS = 40
SPARK_SIZE = (96, 24)  # CSS pixels


@dataclass(frozen=True)
class Change:
    """A change of level, with what is known of it."""

    series: HistorySeries
    point: ChangePoint
    started: str  # of the first run of the new level, ISO
    acknowledged: Acknowledgement | None

    @property
    def size(self) -> float:
        """The new level over the old one."""
        return self.point.after / self.point.before

    @property
    def worse(self) -> bool:
        """Whether throughput fell."""
        return self.size < 1

    @property
    def kind(self) -> str:
        """The verdict whose colour and sign it has."""
        if not self.point.confirmed:
            return "inconclusive"
        return "regressed" if self.worse else "improved"

    @property
    def page(self) -> str:
        """Where its series is, from the site's top."""
        return f"{page_of(self.series)}#{anchor_of(self.series)}"

    @property
    def row(self) -> tuple[object, ...]:
        """Its line of CHANGE_COLUMNS."""
        series, point = self.series, self.point
        return (
            series.runner, series.workload, series.dataset, series.threads, series.server, series.anchor,
            point.last_good, point.first_bad, self.started, point.before, point.after, point.confirmed,
            self.acknowledged is not None, self.page,
        )  # fmt: skip

    @property
    def folders(self) -> tuple[str, str]:
        """Of the last good run and the first bad one."""
        return run_folder(self.point.last_good), run_folder(self.point.first_bad)


def changes(
    series: Sequence[HistorySeries], acknowledged: Sequence[Acknowledgement], newest: str
) -> tuple[Change, ...]:
    """All of them, the newest first; `newest`: when the newest run was started, ISO."""
    found = []
    for each in series:
        started = {point.run: point.started for point in each.points}
        for change in each.changes:
            known = None
            if change.after < change.before:
                known = acknowledgements.of_change(each, change, acknowledged, newest)
            found.append(Change(each, change, started[change.first_bad], known))
    return tuple(sorted(found, key=lambda change: (change.point.first_bad, -change.size), reverse=True))


def page_of(series: HistorySeries) -> str:
    """The page of a workload's series on a runner, from the site's top."""
    return history_page(series.runner, series.workload, series.dataset)


def anchor_of(series: HistorySeries) -> str:
    """Where the page shows the series."""
    return f"t{series.threads}"


@dataclass(frozen=True)
class Table:
    """The series of a workload at one number of threads: a chart, and a line for each run."""

    threads: int
    series: tuple[HistorySeries, ...]
    looks: tuple[Series, ...]  # one for each of them
    changes: tuple[Change, ...]

    @property
    def id(self) -> str:
        """Its place on the page."""
        return anchor_of(self.series[0])

    @property
    def columns(self) -> tuple[str, ...]:
        """Servers; with their anchor where there are several."""
        several = len({each.anchor for each in self.series}) > 1
        return tuple(f"{each.server} / {each.anchor}" if several else each.server for each in self.series)

    @cached_property
    def rows(self) -> tuple[tuple[HistoryPoint, tuple[HistoryPoint | None, ...]], ...]:
        """Run by run, the newest first: any point of the run, and each series' own."""
        by_run = [{point.run: point for point in each.points} for each in self.series]
        runs = {point.run: point for each in self.series for point in each.points}
        return tuple(
            (runs[run], tuple(points.get(run) for points in by_run)) for run in sorted(runs, reverse=True)
        )

    @property
    def chart(self) -> Figure:
        """Change against the anchor over time; dotted lines where a level changed."""
        return chart(self.series, self.looks, self.changes)


@dataclass(frozen=True)
class SeriesPage:
    """A workload's history on one runner."""

    runner: str
    workload: str
    dataset: str
    series: tuple[HistorySeries, ...]
    changes: tuple[Change, ...]

    @property
    def path(self) -> str:
        """From the site's top."""
        return page_of(self.series[0])

    @cached_property
    def looks(self) -> dict[str, Series]:
        """Of each server, the same in every chart of the page; number 0 is the anchor's."""
        servers = dict.fromkeys(each.server for each in self.series)
        return {server: Series(server, number) for number, server in enumerate(servers, 1)}

    @property
    def anchors(self) -> tuple[str, ...]:
        """What the ratios are relative to; one, unless the runs did not agree."""
        return tuple(dict.fromkeys(each.anchor for each in self.series))

    @property
    def runs(self) -> int:
        """How many there are."""
        return len({point.run for each in self.series for point in each.points})

    @property
    def widest(self) -> dict[str, HistorySeries]:
        """Each server's series at the most threads."""
        return {each.server: each for each in sorted(self.series, key=lambda each: each.threads)}

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """From few threads to many."""
        counts = sorted({each.threads for each in self.series})
        return tuple(self._table(count) for count in counts)

    def _table(self, threads: int) -> Table:
        series = tuple(each for each in self.series if each.threads == threads)
        return Table(
            threads=threads,
            series=series,
            looks=tuple(self.looks[each.server] for each in series),
            changes=tuple(change for change in self.changes if change.series.threads == threads),
        )


def pages(series: Sequence[HistorySeries], found: Sequence[Change]) -> tuple[SeriesPage, ...]:
    """Runner by runner, workload by workload."""
    grouped: dict[tuple[str, str, str], list[HistorySeries]] = {}
    for each in series:
        grouped.setdefault((each.runner, each.workload, each.dataset), []).append(each)
    of: dict[tuple[str, str, str], list[Change]] = {}
    for change in found:
        key = (change.series.runner, change.series.workload, change.series.dataset)
        of.setdefault(key, []).append(change)
    return tuple(
        SeriesPage(*key, series=tuple(group), changes=tuple(of.get(key, ())))
        for key, group in grouped.items()
    )


def servers(found: Sequence[SeriesPage]) -> tuple[str, ...]:
    """All that have a series."""
    return tuple(dict.fromkeys(each.server for page in found for each in page.series))


def history_rows(
    series: Sequence[HistorySeries],
) -> Iterator[tuple[tuple[object, ...], list[tuple[object, ...]]]]:
    """Series by series: how each of its lines of HISTORY_COLUMNS begins, and the rest of each."""
    for each in series:
        beginning = (
            each.runner, each.workload, each.dataset, each.threads, each.server, each.anchor,
        )  # fmt: skip
        yield beginning, [(point.run, point.started, point.ratio, point.tps) for point in each.points]


def spark(series: HistorySeries) -> str:
    """The series as the points of a small line: what an SVG polyline takes."""
    points = series.points
    step = max(1, len(points) / SPARK_POINTS)
    ratios = [points[int(place * step)].ratio for place in range(int(len(points) / step))]
    width, height = SPARK_SIZE
    low, high = min(ratios), max(ratios)
    tall = max(high - low, 0.02)  # noise of a percent is no mountain
    middle = (high + low) / 2
    return " ".join(
        f"{width * at / max(len(ratios) - 1, 1):.0f},{height * (0.5 - (ratio - middle) / tall * 0.9):.1f}"
        for at, ratio in enumerate(ratios)
    )


def chart(series: Sequence[HistorySeries], looks: Sequence[Series], found: Sequence[Change]) -> Figure:
    """The series of one number of threads over time, in percent against the anchor."""
    runs = sorted({(point.run, point.started) for each in series for point in each.points})
    place = {run: number for number, (run, _) in enumerate(runs)}
    data = [
        {
            "x": [place[point.run] for point in each.points],
            "y": [round((point.ratio - 1) * 100, 3) for point in each.points],
            "name": look.name,
            "mode": "lines+markers" if len(runs) <= MARKED_MAX else "lines",
            "line": {"color": look.color, "dash": look.dash, "width": 1.75},
            "marker": {"symbol": look.marker, "size": 6, "color": look.color},
            "hovertemplate": "%{y:+.1f} %<extra>%{fullData.name}</extra>",
        }
        for each, look in zip(series, looks, strict=True)
    ]
    ticks = [*range(0, len(runs), max(1, len(runs) // 6))]
    across = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    lines = {
        (place[change.point.first_bad], change.acknowledged is not None): change.kind for change in found
    }
    return {
        "data": data,
        "layout": {
            "xaxis": {
                "tickvals": ticks,
                "ticktext": [html.escape(wording.visible(wording.day(runs[tick][1]))) for tick in ticks],
                "range": [-0.5, max(len(runs) - 0.5, 0.5)],
                "showgrid": False,
            },
            "yaxis": {"title": {"text": "change against the anchor, %"}},
            "hovermode": "x unified" if len(series) <= 8 else "closest",
            "shapes": [
                {
                    **across,
                    "x0": at - 0.5,
                    "x1": at - 0.5,
                    "line": {"color": f"--{kind}", "width": 1.5, "dash": "dot" if known else "solid"},
                }
                for (at, known), kind in sorted(lines.items())
            ],
        },
    }


def cell_of(series: HistorySeries) -> Cell:
    """The cell that a series follows."""
    return Cell(
        workload=series.workload, dataset=series.dataset, server=series.server, threads=series.threads
    )
