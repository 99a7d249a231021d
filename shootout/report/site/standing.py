"""How a run's servers stand beside the one that its readers know: two sentences, and a chart per workload."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from shootout import figures, numbers
from shootout.chart import NAME_MAX, Axis, Chart, Line, Rule, Series
from shootout.figures import NONE
from shootout.model.run import ServerRecord
from shootout.model.verdict import Comparison, Interval, Verdict
from shootout.report.headlines import TITLES
from shootout.report.site import charts

OTHERS = (("--axis", 1), ("--ink-soft", 3), ("--axis", 2), ("--ink-soft", 5))  # colours and symbols
LABEL_MAX = 10  # characters of a server's name below a chart
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)
GAP = 0.6  # between families, in servers
WORDS = {
    Verdict.REGRESSED: "slower", Verdict.IMPROVED: "faster", Verdict.EQUIVALENT: "the same",
    Verdict.INCONCLUSIVE: "undecided",
}  # fmt: skip
SELF = Interval(estimate=1.0, low=1.0, high=1.0)

Ratios = dict[str, Interval]  # by server


@dataclass(frozen=True)
class Standing:
    comparison: Comparison  # with `base`
    base: str  # the server that is 1
    series: Mapping[str, Series]  # of the servers that are here, by label

    @cached_property
    def servers(self) -> tuple[ServerRecord, ...]:
        servers = [server for server in self.comparison.header.servers if server.label in self.series]
        families = [*dict.fromkeys(server.family for server in servers)]
        by_age = sorted(servers, key=charts.version)
        return tuple(sorted(by_age, key=lambda server: families.index(server.family)))

    @cached_property
    def ratios(self) -> dict[tuple[str, str], dict[int, Ratios]]:
        """Throughput relative to the base's by workload, dataset and threads."""
        found: defaultdict[tuple[str, str], dict[int, Ratios]] = defaultdict(dict)
        for c in self.comparison.cells:
            if c.base.server == self.base:
                here = found[c.cell.workload, c.cell.dataset].setdefault(c.cell.threads, {})
                ratio = SELF if c.cell == c.base and c.figures else c.ratio
                if ratio is not None:
                    here[c.cell.server] = ratio
        return dict(found)

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({threads for by_threads in self.ratios.values() for threads in by_threads}))

    @property
    def at(self) -> int:
        """The number of threads that the picture is about, which has others on both sides."""
        return self.threads[len(self.threads) // 2] if self.threads else 0

    @property
    def others(self) -> tuple[Series, ...]:
        """The other numbers of threads, in grey."""
        counts = [count for count in self.threads if count != self.at]
        return tuple(
            Series(figures.threads(count), number, shade)
            for count, (shade, number) in zip(counts, OTHERS, strict=False)
        )

    @property
    def leaders(self) -> str:
        """Say which server is fastest in which workloads, and by how much."""
        best: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        for (workload, _), by_threads in self.ratios.items():
            if here := by_threads.get(self.at):
                first = max(here, key=lambda server: here[server].estimate)
                best[first].append((workload, here[first].estimate))
        every = sorted(best.items(), key=lambda each: -len(each[1]))
        parts = [
            f"{server} in {_listed(_plain(workload) for workload, _ in of)}"
            f"{'' if server == self.base else f' ({_range([ratio for _, ratio in of])})'}"
            for server, of in every
        ]
        against = f", against {self.base}" if best.keys() - {self.base} else ""
        said = f"Fastest at {figures.threads(self.at)}: {', '.join(parts)}{against}"
        return said if parts else ""

    @property
    def newest(self) -> Iterator[str]:
        for family, of in groupby(self.servers, key=lambda server: server.family):
            *_, newest = of
            label, compared = newest.label, [c for c in self.comparison.cells if c.base.server == self.base]
            if label != self.base and (cells := [c for c in compared if c.cell.server == label and c.ratio]):
                verdicts = Counter(c.verdict for c in cells)
                parts = [f"{word} in {verdicts[each]}" for each, word in WORDS.items() if verdicts[each]]
                parts[0] += f" of {figures.counted(len(cells), 'cell')}"
                said = f"{', '.join(parts)} ({_range([c.ratio.estimate for c in cells if c.ratio])})"
                yield f"{label}, the newest {TITLES.get(family, family)} here, against {self.base}: {said}"

    @cached_property
    def places(self) -> dict[str, float]:
        families = [server.family for server in self.servers]
        gaps = [0, *(before != family for before, family in pairwise(families))]
        return {
            server.label: place + GAP * sum(gaps[: place + 1]) for place, server in enumerate(self.servers)
        }

    @cached_property
    def _ends(self) -> tuple[float, float]:
        shown = [
            each
            for by_threads in self.ratios.values()
            for count, here in by_threads.items()
            for ratio in here.values()
            for each in ((ratio.low, ratio.high) if count == self.at else (ratio.estimate,))
        ]
        low, high = charts.padded([math.log(each) for each in (1.0, *shown) if each > 0])
        return math.exp(low), math.exp(high)

    @property
    def panels(self) -> dict[tuple[str, str], Chart]:
        return {key: self._panel(by_threads) for key, by_threads in self.ratios.items()}

    def _panel(self, by_threads: dict[int, Ratios]) -> Chart:
        lines = []
        counts = [count for count in self.threads if count != self.at]
        for one, count in zip(self.others, counts, strict=False):
            here = by_threads.get(count, {})
            points = ((x, here[label].estimate) for label, x in self.places.items() if label in here)
            lines.append(Line(one, tuple(points), width=0))
        for server, ratio in by_threads.get(self.at, {}).items():
            if server in self.places:
                point, ends = (self.places[server], ratio.estimate), (ratio.low, ratio.high)
                one = Series(server, 0, self.series[server].color)
                lines.append(Line(one, (point,), (ends,), whiskers=True, width=0))
        labelled = [*zip(self.servers, self.places.values(), strict=True)]
        places, (low, high) = self.places.values(), self._ends
        ticks = tuple((at, f"{at:g}") for at in TICKS if low <= at <= high)
        families = {
            family: [place for _, place in of]
            for family, of in groupby(labelled, key=lambda each: each[0].family)
        }
        return Chart(
            Axis(
                ticks=tuple((place, _short(server)) for server, place in labelled),
                ends=(min(places, default=0) - 0.6, max(places, default=0) + 0.6),
                slanted=True,
                groups=tuple(
                    (sum(of) / len(of), TITLES.get(family, family)) for family, of in families.items()
                ),
            ),
            Axis(log=True, ends=(low, high), ticks=ticks),
            tuple(line for line in lines if line.points),
            rules=(Rule(1, "--ink-soft", vertical=False, width=1.25),),
            readouts=tuple(
                (place, "\n".join([server.label[:NAME_MAX], *self._read(by_threads, server.label)]))
                for server, place in labelled
            ),
        )

    def _read(self, by_threads: dict[int, Ratios], server: str) -> Iterator[str]:
        for count in self.threads:
            ratio = by_threads.get(count, {}).get(server)
            text = NONE
            if ratio is not None:
                ends = f" ({numbers.number(ratio.low)} to {numbers.number(ratio.high)})"
                text = f"{numbers.number(ratio.estimate)}{ends if ratio.low < ratio.high else ''}"
            yield f"{figures.threads(count)}: {text}"


def _short(server: ServerRecord) -> str:
    """A server's name below its family's: its version, mostly."""
    name = server.label.removeprefix(f"{server.family}-")
    return name if len(name) <= LABEL_MAX else f"{name[: LABEL_MAX - 1]}…"


def _plain(workload: str) -> str:
    return workload.removeprefix("oltp_").replace("_", " ")


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _range(ratios: Sequence[float]) -> str:
    """The least and the greatest of these changes, `+21 to +61 %`."""
    low, high = (figures.percent(ratio, 0) for ratio in (min(ratios), max(ratios)))
    return high if low == high else f"{low.removesuffix(f'{numbers.SPACE}%')} to {high}"
