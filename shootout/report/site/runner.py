"""What the templates see of a runner: the machine, and what its A/A cells have shown of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.analysis import ledger, stats
from shootout.model.history import LedgerEntry, SeriesKey
from shootout.model.plan import Policy
from shootout.model.run import Runner, Warning
from shootout.model.verdict import FalseAlarms, Verdict
from shootout.paths import file_stem
from shootout.report import wording
from shootout.report.judgement_cache import Judged
from shootout.report.site.charts import Figure, Series
from shootout.runner import doctor
from shootout.runner.doctor import CellNoise

ENTRY_COLUMNS = ("run", "workload", "dataset", "threads", "verdict", "starts", "spread_throughput")
ALARMS = (Verdict.REGRESSED, Verdict.IMPROVED)


@dataclass(frozen=True)
class Doubted:
    """A doubt about the machine, as its runs recorded it."""

    warning: Warning  # as the newest of them has it
    newest: str  # run
    runs: int


@dataclass(frozen=True)
class Kind:
    """The A/A cells of one workload, dataset and number of threads."""

    noise: CellNoise
    floor: float  # the A/A noise floor of a run with doctor.STARTS starts: a loss, as a share
    cells: int
    alarms: int


@dataclass(frozen=True)
class Measured:
    """What the runner has measured of one run, which may have been dealt over several."""

    run: Judged
    runner: Runner  # as the run found it

    @cached_property
    def cells(self) -> tuple[SeriesKey, ...]:
        """Its own."""
        return tuple(cell for cell in self.run.cells if cell.runner == self.runner.fingerprint)

    @cached_property
    def aa_controls(self) -> tuple[LedgerEntry, ...]:
        """Its A/A cells."""
        return tuple(entry for entry in self.run.outline.entries if entry.runner == self.runner.fingerprint)

    @property
    def workloads(self) -> tuple[str, ...]:
        """Those of its cells."""
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))

    @property
    def others(self) -> tuple[str, ...]:
        """The fingerprints of the machines that measured the rest."""
        return tuple(each for each in self.run.runners if each != self.runner.fingerprint)

    @property
    def alarms(self) -> int:
        """How many of its A/A cells were called changed."""
        return sum(entry.verdict in ALARMS for entry in self.aa_controls)


@dataclass(frozen=True)
class RunnerPage:
    """All that one runner's page shows."""

    measured: tuple[Measured, ...]  # run by run, the newest first

    @property
    def runner(self) -> Runner:
        """As the newest run found it."""
        return self.measured[0].runner

    @property
    def path(self) -> str:
        """From the site's top."""
        return page_of(self.runner.fingerprint)

    @property
    def runs(self) -> tuple[Judged, ...]:
        """Those that it took part in, the newest first."""
        return tuple(each.run for each in self.measured)

    @property
    def policy(self) -> Policy:
        """What its verdicts are held against; the newest run's."""
        return self.runs[0].outline.policy

    @property
    def kernels(self) -> tuple[str, ...]:
        """All that it ran, the newest first."""
        return tuple(dict.fromkeys(each.runner.kernel for each in self.measured))

    @cached_property
    def findings(self) -> tuple[Doubted, ...]:
        """One for each kind of doubt, the one that was met last first."""
        newest: dict[str, tuple[Warning, str]] = {}
        count: Counter[str] = Counter()
        for each in self.measured:
            for warning in each.runner.warnings:
                newest.setdefault(warning.code, (warning, each.run.id))
                count[warning.code] += 1
        return tuple(Doubted(warning, run, count[code]) for code, (warning, run) in newest.items())

    @cached_property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What its A/A cells have shown, the oldest run first."""
        oldest_first = reversed(self.measured)
        return tuple(entry for each in oldest_first for entry in each.aa_controls)

    @cached_property
    def false_alarms(self) -> FalseAlarms | None:
        """How often they were called changed; None where there are none."""
        return ledger.false_alarms(self.entries, self.policy)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The noise of each kind of cell."""
        cells: Counter[tuple[str, str, int]] = Counter()
        alarms: Counter[tuple[str, str, int]] = Counter()
        for entry in self.entries:
            key = (entry.workload, entry.dataset, entry.threads)
            cells[key] += 1
            alarms[key] += entry.verdict in ALARMS
        keyed = [((n.workload, n.dataset, n.threads), n) for n in doctor.noise(self.entries, self.policy)]
        error = stats.quantile(self.policy.confidence) / math.sqrt(doctor.STARTS)
        return tuple(
            Kind(noise, -math.expm1(-error * noise.spread), cells[key], alarms[key]) for key, noise in keyed
        )

    @cached_property
    def shown(self) -> tuple[tuple[Series, CellNoise], ...]:
        """The quietest, the middle and the noisiest kind of cell, as far as these are several."""
        kinds = sorted((kind.noise for kind in self.kinds), key=lambda noise: noise.spread)
        places = {len(kinds) - 1: "noisiest", 0: "quietest"}
        if len(kinds) > 2:
            places[len(kinds) // 2] = "middle"
        return tuple(
            (Series(f"{places[place]}: {_name(kinds[place])}", number), kinds[place])
            for number, place in enumerate(sorted(places), 1)
            if kinds
        )

    @property
    def looks(self) -> tuple[Series, ...]:
        """The lines of the chart."""
        return tuple(look for look, _ in self.shown)

    @property
    def power(self) -> Figure | None:
        """Which losses would be seen, by kind of cell."""
        return _power_chart(self.shown) if self.shown else None

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """Every A/A cell's line of ENTRY_COLUMNS."""
        return [
            (e.run, e.workload, e.dataset, e.threads, e.verdict.value, e.starts, e.spreads.get("throughput"))
            for e in self.entries
        ]


def page_of(fingerprint: str) -> str:
    """A runner's page, from the site's top."""
    return f"runner-{file_stem(fingerprint)}.html"


def pages(runs: Sequence[Judged]) -> tuple[RunnerPage, ...]:
    """One for each runner, the one that measured last first; `runs`: the newest first."""
    grouped: dict[str, list[Measured]] = {}
    for run in runs:
        for one in run.outline.runners:
            grouped.setdefault(one.fingerprint, []).append(Measured(run, one))
    return tuple(RunnerPage(tuple(group)) for group in grouped.values())


def _name(noise: CellNoise) -> str:
    return f"{noise.workload}, {wording.threads(noise.threads)}"


def _power_chart(shown: Sequence[tuple[Series, CellNoise]]) -> Figure:
    return {
        "data": [
            {
                "x": [float(loss) * 100 for loss in noise.power],
                "y": [share * 100 for share in noise.power.values()],
                "name": look.name,
                "mode": "lines+markers",
                "line": {"color": look.color, "dash": look.dash, "width": 2.25},
                "marker": {"symbol": look.marker, "size": 8, "color": look.color},
                "hovertemplate": "%{y:.0f} %<extra>%{fullData.name}</extra>",
            }
            for look, noise in shown
        ],
        "layout": {
            "xaxis": {
                "title": {"text": "loss of throughput, %"},
                "tickvals": [float(loss) * 100 for loss in shown[0][1].power],
                "rangemode": "tozero",
            },
            "yaxis": {"title": {"text": "runs that would flag it, %"}, "range": [0, 103]},
            "hovermode": "x unified",
        },
    }
