"""What the templates see of a runner: the machine, and what its A/A cells have shown of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout import doctor, ledger
from shootout.charts import Figure, Series
from shootout.doctor import CellNoise
from shootout.kept import Judged
from shootout.model import FalseAlarms, LedgerEntry, Policy, Runner, Verdict, Warning
from shootout.places import file_stem

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
    cells: int
    alarms: int


@dataclass(frozen=True)
class RunnerPage:
    """All that one runner's page shows."""

    runs: tuple[Judged, ...]  # its own, the newest first

    @property
    def runner(self) -> Runner:
        """As the newest run found it."""
        return self.runs[0].outline.runner

    @property
    def path(self) -> str:
        """From the site's top."""
        return page_of(self.runner.fingerprint)

    @property
    def policy(self) -> Policy:
        """What its verdicts are held against; the newest run's."""
        return self.runs[0].gist.policy

    @property
    def kernels(self) -> tuple[str, ...]:
        """All that it ran, the newest first."""
        return tuple(dict.fromkeys(run.outline.runner.kernel for run in self.runs))

    @cached_property
    def findings(self) -> tuple[Doubted, ...]:
        """One for each kind of doubt, the one that was met last first."""
        newest: dict[str, tuple[Warning, str]] = {}
        count: Counter[str] = Counter()
        for run in self.runs:
            for warning in run.outline.runner.warnings:
                newest.setdefault(warning.code, (warning, run.id))
                count[warning.code] += 1
        return tuple(Doubted(warning, run, count[code]) for code, (warning, run) in newest.items())

    @cached_property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What its A/A cells have shown, the oldest run first."""
        oldest_first = reversed(self.runs)
        return tuple(entry for run in oldest_first for entry in run.outline.entries)

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
        return tuple(Kind(noise, cells[key], alarms[key]) for key, noise in keyed)

    @property
    def by_run(self) -> tuple[tuple[Judged, int, int], ...]:
        """Run by run, how many A/A cells there were, and how many of them were called changed."""
        found = []
        for run in self.runs:
            twins = run.outline.entries
            found.append((run, len(twins), sum(entry.verdict in ALARMS for entry in twins)))
        return tuple(found)

    @property
    def power(self) -> Figure | None:
        """Which losses would be seen, by the quietest, the middle and the noisiest kind of cell."""
        kinds = sorted((kind.noise for kind in self.kinds), key=lambda noise: noise.spread)
        if not kinds:
            return None
        shown = {"quietest": kinds[0], "middle": kinds[len(kinds) // 2], "noisiest": kinds[-1]}
        return _power_chart({f"{word}: {_name(noise)}": noise for word, noise in shown.items()})

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
    grouped: dict[str, list[Judged]] = {}
    for run in runs:
        grouped.setdefault(run.runner, []).append(run)
    return tuple(RunnerPage(tuple(group)) for group in grouped.values())


def _name(noise: CellNoise) -> str:
    return f"{noise.workload}, {noise.threads} threads"


def _power_chart(kinds: dict[str, CellNoise]) -> Figure:
    looks = [Series(name, number) for number, name in enumerate(kinds, 1)]
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
            for look, noise in zip(looks, kinds.values(), strict=True)
        ],
        "layout": {
            "xaxis": {
                "title": {"text": "loss of throughput, %"},
                "tickvals": [float(loss) * 100 for loss in next(iter(kinds.values())).power],
                "rangemode": "tozero",
            },
            "yaxis": {"title": {"text": "runs that would flag it, %"}, "range": [0, 103]},
            "hovermode": "x unified",
        },
    }
