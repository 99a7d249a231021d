"""Comparisons → pages: formats what was concluded, judges nothing. The only importer of Jinja2 and Plotly."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from shootout import charts, curves, doubts, metrics, wording
from shootout._engine import Histogram
from shootout.charts import Scale, Series
from shootout.errors import InputError
from shootout.model import (
    Block,
    Cell,
    CellComparison,
    CellFigures,
    Comparison,
    CurveComparison,
    Dataset,
    DatasetKind,
    FailureRecord,
    Interval,
    RunDocument,
    Samples,
    ServerRecord,
    SettingRecord,
    Verdict,
    Warning,
    WorkloadRecord,
)
from shootout.places import TEMPLATES

Renderer = Callable[..., str]

PLOTLY = f"plotly-{version('plotly')}.min.js"
MACHINE = "the machine"
SERVER_CPU = "server CPU, µs"
OF_HOST = (SERVER_CPU, "context_switches", "disk_written_bytes")  # by the kernel that the server runs on
SETTING_GROUPS = (
    "Not as requested, or lacking",
    "As requested",
    "Not requested, and not the same",
    "Not requested, and the same",
)
METRICS = {metric.name: metric for metric in metrics.METRICS}
READABLE = {"s": ("ms", 1e3), "bytes": ("bytes", 1.0), "": ("", 1.0)}
ERRORS = doubts.RETRIED | {
    "1040": "too many connections",
    "1053": "server shutting down",
    "1317": "interrupted",
    "2002": "server not reached",
    "2003": "server not reached",
    "2013": "connection lost",
}


def build(results: Sequence[tuple[RunDocument, Comparison]], out: Path) -> Path:
    """Write the site of these runs into `out` and return its index page, the overview of the newest.

    All pages are rendered before the first is put in place, the index last. Raises InputError where there is
    nothing to show, a run occurs twice, or `out` cannot be written.
    """
    runs = sorted((Run(*result) for result in results), key=lambda run: run.id, reverse=True)
    if not runs:
        raise InputError("No run document to make a site from: measure one first, with `shootout run`.")
    for name, count in Counter(run.id for run in runs).items():
        if count > 1:
            raise InputError(f"Run {name} is given {count} times; a site shows each run once.")
    render = _renderer(runs)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as folder:
            built = Path(folder)
            for path, text in _pages(runs, render):
                page = built / path
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text, encoding="utf-8", errors="replace")
            _publish(built, out)
    except OSError as error:
        raise InputError(f"{out}: the site cannot be written there: {error.strerror or error}.") from error
    return out / "index.html"


def file_stem(text: str) -> str:
    """A file name for any text: itself where that is safe, else its safe part and a digest, never shared."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9._]+', '-', text)[:60].strip('-.')}~{digest}"


def cell_stem(cell: Cell) -> str:
    """A file name that tells people which cell it is, and tells apart any two cells of a run."""
    identity = "\0".join((cell.workload, cell.dataset, cell.server, str(cell.threads)))
    digest = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:10]
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", f"{cell.workload}-t{cell.threads}-{cell.server}")
    return f"{readable[:80].strip('-.')}~{digest}"


# --- what the templates see -----------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A run's document and its comparison, joined for reading."""

    document: RunDocument
    comparison: Comparison

    @property
    def id(self) -> str:
        """Unique, sorts by time."""
        return self.document.header.run

    @property
    def folder(self) -> str:
        """Where its pages lie in the site."""
        return f"runs/{file_stem(self.id)}"

    @cached_property
    def headlines(self) -> tuple[wording.Headline, ...]:
        """What it says, one sentence for each head."""
        return wording.headlines(self.comparison)

    @property
    def conditions(self) -> str:
        """How the load differs from the usual."""
        return wording.conditions(self.document.header)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The servers that are held against a base."""
        return wording.heads(self.comparison)

    def bases(self, head: str) -> tuple[str, ...]:
        """What that head is held against; one server, unless it was missing in a block."""
        return tuple(dict.fromkeys(c.base.server for c in self.judged if c.cell.server == head))

    @cached_property
    def judged(self) -> tuple[CellComparison, ...]:
        """All cells that ask for a verdict, worst first; a base that failed is one of them."""
        asked = [c for c in self.comparison.cells if c.cell != c.base or c.verdict is not Verdict.UNJUDGED]
        return wording.worst_first(asked)

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        """How many cells have each verdict, the worst first; all of them, also where there are none."""
        return {verdict: sum(c.verdict is verdict for c in self.judged) for verdict in wording.WORST_FIRST}

    @cached_property
    def workloads(self) -> tuple[str, ...]:
        """In the run's order."""
        return tuple(dict.fromkeys(c.cell.workload for c in self.comparison.cells))

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """From few to many."""
        return tuple(sorted({c.cell.threads for c in self.comparison.cells}))

    @cached_property
    def series(self) -> dict[str, Series]:
        """How each server looks in charts, the base first."""
        held_against = Counter(c.base.server for c in self.judged)
        labels = sorted(
            (s.label for s in self.document.header.servers), key=lambda label: -held_against[label]
        )
        return {label: Series(label, number) for number, label in enumerate(labels)}

    @cached_property
    def servers(self) -> dict[str, ServerRecord]:
        """By label."""
        return {server.label: server for server in self.document.header.servers}

    @cached_property
    def scale(self) -> Scale:
        """One axis for the intervals of all cells."""
        return Scale.over([c.ratio for c in self.judged if c.ratio], self.comparison.policy.margin)

    @cached_property
    def cells(self) -> dict[Cell, CellComparison]:
        """By cell."""
        return {c.cell: c for c in self.comparison.cells}

    @cached_property
    def sets(self) -> tuple[CellSet, ...]:
        """Workload by workload (and dataset, where there are several)."""
        keys = dict.fromkeys((c.cell.workload, c.cell.dataset) for c in self.comparison.cells)
        return tuple(CellSet(run=self, workload=workload, dataset=dataset) for workload, dataset in keys)

    @cached_property
    def datasets(self) -> tuple[Dataset, ...]:
        """Those that the blocks ran on."""
        header = self.document.header
        ran_on = {block.dataset for block in header.blocks}
        known = (header.profile.dataset.of(kind) for kind in get_args(DatasetKind))
        return tuple(dataset for dataset in known if dataset.key in ran_on)

    @cached_property
    def curves(self) -> tuple[CurveRow, ...]:
        """The scaling curves that are compared, with the peaks of their laws."""
        return tuple(
            CurveRow(
                curve=each,
                peak=self._peak(each.workload, each.dataset, each.server),
                base_peak=self._peak(each.workload, each.dataset, each.base),
            )
            for each in self.comparison.curves
        )

    def _peak(self, workload: str, dataset: str, server: str) -> float | None:
        tps = {
            cell.threads: each.figures.tps.estimate
            for cell, each in self.cells.items()
            if (cell.workload, cell.dataset, cell.server) == (workload, dataset, server) and each.figures
        }
        law = curves.law(dict(sorted(tps.items())))
        return None if law is None or law.peak_threads is None else round(law.peak_threads)

    @cached_property
    def settings(self) -> tuple[tuple[str, tuple[SettingRow, ...]], ...]:
        """Every setting of any server, by what is to be said of it; what matters most first."""
        servers = self.document.header.servers
        by_name = [{record.name: record for record in server.settings} for server in servers]
        asked_first = sorted(
            (record for server in servers for record in server.settings), key=lambda r: r.requested is None
        )
        groups: dict[str, list[SettingRow]] = {title: [] for title in SETTING_GROUPS}
        for name in dict.fromkeys(record.name for record in asked_first):
            row = SettingRow(name=name, records=tuple(records.get(name) for records in by_name))
            groups[row.group].append(row)
        return tuple((title, tuple(rows)) for title, rows in groups.items() if rows)

    @cached_property
    def told_of_servers(self) -> frozenset[Warning]:
        """The servers' warnings in the form in which their cells repeat them."""
        return frozenset(
            Warning(code=warning.code, text=f"{server.label}: {warning.text}")
            for server in self.document.header.servers
            for warning in server.warnings
        )

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """All warnings of the run, each once: of the machine, the servers, and the cells."""
        header = self.document.header
        cells: dict[Warning, list[CellComparison]] = {}
        for c in self.comparison.cells:
            for warning in c.warnings:
                if warning not in self.told_of_servers:
                    cells.setdefault(warning, []).append(c)
        return (
            *(Doubt(about=MACHINE, warning=warning) for warning in header.runner.warnings),
            *(Doubt(about=s.label, warning=warning) for s in header.servers for warning in s.warnings),
            *(Doubt(about=_places(found), warning=warning) for warning, found in cells.items()),
        )

    def block(self, cell: Cell) -> Block:
        """The block that the cell was measured in."""
        return next(block for block in self.document.header.blocks if cell in block.cells)

    def samples(self, cell: Cell) -> tuple[tuple[int, Samples], ...]:
        """What was measured, start by start."""
        key = self.block(cell).key
        return tuple(
            (record.start, samples)
            for record in self.document.starts
            if record.block == key
            for samples in record.samples
            if samples.server == cell.server
        )

    def failures(self, cell: Cell) -> tuple[FailureRecord, ...]:
        """Why it could not be measured (any further)."""
        return tuple(failure for failure in self.document.failures if failure.cell == cell)


@dataclass(frozen=True)
class SettingRow:
    """One setting on every server, in the run's order; None: nothing is known of it there."""

    name: str
    records: tuple[SettingRecord | None, ...]

    @property
    def known(self) -> tuple[SettingRecord, ...]:
        """Those of servers that have it."""
        return tuple(record for record in self.records if record is not None)

    @property
    def group(self) -> str:
        """Which of SETTING_GROUPS it belongs to."""
        deviating, asked, differing, same = SETTING_GROUPS
        if any(record.differs or record.lacking for record in self.known):
            return deviating
        if any(record.requested is not None for record in self.known):
            return asked
        return differing if len({record and record.effective for record in self.records}) > 1 else same

    @property
    def requested(self) -> tuple[str | None, ...]:
        """What was asked for, each value once."""
        return tuple(dict.fromkeys(record.requested for record in self.known))

    @property
    def notes(self) -> tuple[str, ...]:
        """How values came about, each once."""
        return tuple(dict.fromkeys(r.note for r in self.known if r.note and not r.lacking))

    @property
    def variables(self) -> tuple[str, ...]:
        """What every version calls it; empty where they do not agree."""
        names = {record.variables for record in self.known if record.variables}
        return next(iter(names)) if len(names) == 1 else ()


@dataclass(frozen=True)
class Doubt:
    """A warning and what it is about."""

    about: str
    warning: Warning


def _places(cells: Sequence[CellComparison]) -> str:
    """Cells by name, or counted where they are many."""
    if len(cells) > 3:
        return f"{len(cells)} cells"
    named = (f"{c.cell.workload}, {wording.threads(c.cell.threads)}, {c.cell.server}" for c in cells)
    return "; ".join(named)


@dataclass(frozen=True)
class CellSet:
    """The cells of one workload on one dataset: a row of the matrix for each head, and one chart."""

    run: Run
    workload: str
    dataset: str

    @cached_property
    def cells(self) -> tuple[CellComparison, ...]:
        """All of them, bases too."""
        return tuple(
            c
            for c in self.run.comparison.cells
            if (c.cell.workload, c.cell.dataset) == (self.workload, self.dataset)
        )

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """From few to many."""
        return tuple(sorted({c.cell.threads for c in self.cells}))

    def at(self, server: str, threads: int) -> CellComparison | None:
        """The cell of one server; None where it is not in the run."""
        cell = Cell(workload=self.workload, dataset=self.dataset, server=server, threads=threads)
        return self.run.cells.get(cell)

    @property
    def chart(self) -> charts.Figure:
        """Throughput over threads."""
        return charts.throughput(self.cells, tuple(self.run.series.values()))


@dataclass(frozen=True)
class Row:
    """A figure of a cell beside its base's."""

    name: str
    here: float | None
    base: float | None
    here_hidden: bool = False  # it is counted where it cannot be seen from here: not none, but not known
    base_hidden: bool = False

    @property
    def ratio(self) -> float | None:
        """Here over base, where both have one."""
        return self.here / self.base if self.here is not None and self.base else None

    @property
    def weight(self) -> float:
        """Size of the change in either direction; below one event in 1000 transactions it hardly counts."""
        rare = 0.001
        return abs(math.log((max(self.here or 0, 0) + rare) / (max(self.base or 0, 0) + rare)))


@dataclass(frozen=True)
class Round:
    """One round of one start, both servers in transactions per second."""

    start: int
    number: int
    here: float | None
    base: float | None


@dataclass(frozen=True)
class CurveRow:
    """A scaling curve, and where the laws of both servers have their peaks, in threads."""

    curve: CurveComparison
    peak: float | None
    base_peak: float | None


@dataclass(frozen=True)
class MetricRow:
    """A figure of each transaction beside its base's, in a unit that reads well."""

    title: str
    unit: str
    base: float
    here: float
    ratio: Interval | None
    moved: bool  # significant after Holm over the cell's figures


@dataclass(frozen=True)
class CellPage:
    """All that one cell's page shows."""

    run: Run
    comparison: CellComparison

    @property
    def cell(self) -> Cell:
        """The cell itself."""
        return self.comparison.cell

    @property
    def base(self) -> CellComparison | None:
        """What it is compared with; None for a base."""
        return None if self.cell == self.comparison.base else self.run.cells.get(self.comparison.base)

    @cached_property
    def samples(self) -> tuple[tuple[int, Samples], ...]:
        """Start by start."""
        return self.run.samples(self.cell)

    @cached_property
    def base_samples(self) -> tuple[tuple[int, Samples], ...]:
        """The base's."""
        return self.run.samples(self.base.cell) if self.base else ()

    @cached_property
    def both(self) -> tuple[tuple[Series, tuple[tuple[int, Samples], ...]], ...]:
        """The base's samples and this cell's, each with its look; a base has only its own."""
        here = (self.run.series[self.cell.server], self.samples)
        return ((self.run.series[self.base.cell.server], self.base_samples), here) if self.base else (here,)

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """Every round of every start."""
        theirs = {start: charts.throughputs(samples) for start, samples in self.base_samples}
        return tuple(
            Round(start=start, number=number + 1, here=tps, base=_at(theirs.get(start, ()), number))
            for start, samples in self.samples
            for number, tps in enumerate(charts.throughputs(samples))
        )

    @property
    def metrics(self) -> tuple[MetricRow, ...]:
        """What is compared beside throughput."""
        doubt = 1 - self.run.comparison.policy.confidence
        rows = []
        for each in self.comparison.metrics:
            metric = METRICS[each.name]
            unit, factor = READABLE[metric.unit]
            if each.name == "server_cpu":
                unit, factor = "µs", 1e6
            rows.append(
                MetricRow(
                    title=metric.title,
                    unit=unit,
                    base=each.base * factor,
                    here=each.head * factor,
                    ratio=each.ratio,
                    moved=each.p_value < doubt,
                )
            )
        return tuple(rows)

    @cached_property
    def latency(self) -> tuple[Row, ...]:
        """Transaction latencies in seconds."""
        names = {
            "min_s": "fastest", "p50_s": "50 %", "mean_s": "mean", "p95_s": "95 %", "p99_s": "99 %",
            "p999_s": "99.9 %", "max_s": "slowest",
        }  # fmt: skip
        return self._figures(lambda f: {title: getattr(f.latency, field) for field, title in names.items()})

    @cached_property
    def costs(self) -> tuple[Row, ...]:
        """What one transaction takes; CPU time in seconds first."""
        return self._figures(
            lambda f: {
                SERVER_CPU: None if f.server_cpu_s is None else f.server_cpu_s * 1e6,
                "client CPU, µs": f.client_cpu_s * 1e6,
                "reads": f.reads,
                "writes": f.writes,
                "other statements": f.other,
            }
        )

    @cached_property
    def counters(self) -> tuple[Row, ...]:
        """The server's own, for each transaction, the largest change first."""
        rows = self._figures(lambda f: f.counters)
        return tuple(sorted(rows, key=lambda row: (-row.weight if self.base else 0, row.name)))

    @cached_property
    def errors(self) -> tuple[Row, ...]:
        """How often each error code was met."""
        return self._figures(lambda f: f.errors, absent=0)

    @cached_property
    def statements(self) -> tuple[tuple[str, Histogram | None, Histogram | None], ...]:
        """Latencies of each kind of statement, here and on the base."""
        kinds = dict.fromkeys(kind for _, samples in self.samples for kind in samples.statements)
        return tuple(
            (kind, _merged(kind, self.samples), _merged(kind, self.base_samples))
            for kind in kinds
        )  # fmt: skip

    @cached_property
    def settings(self) -> tuple[tuple[SettingRecord, str | None], ...]:
        """Each setting with the base's effective value, deviations first."""
        theirs = (
            {s.name: s.effective for s in self.run.servers[self.base.cell.server].settings}
            if self.base
            else {}
        )
        mine = self.run.servers[self.cell.server].settings
        rows = [(setting, theirs.get(setting.name)) for setting in mine]
        fine = {setting.name: not (setting.differs or setting.lacking) for setting in mine}
        return tuple(sorted(rows, key=lambda row: (fine[row[0].name], row[0].requested is None)))

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """All warnings that bear on this cell."""
        servers = dict.fromkeys((self.cell.server, self.comparison.base.server))
        own = [warning for warning in self.comparison.warnings if warning not in self.run.told_of_servers]
        return (
            *(Doubt(about="this cell", warning=warning) for warning in own),
            *(doubt for doubt in self.run.doubts if doubt.about in servers or doubt.about == MACHINE),
        )

    @property
    def siblings(self) -> tuple[CellComparison, ...]:
        """The same workload and server at each number of threads, this cell too."""
        found = [
            c
            for c in self.run.comparison.cells
            if (c.cell.workload, c.cell.dataset, c.cell.server)
            == (self.cell.workload, self.cell.dataset, self.cell.server)
        ]
        return tuple(sorted(found, key=lambda c: c.cell.threads))

    @property
    def rivals(self) -> tuple[CellComparison, ...]:
        """The cells of the same block, this cell too."""
        return tuple(
            self.run.cells[cell] for cell in self.run.block(self.cell).cells if cell in self.run.cells
        )

    @property
    def command(self) -> str:
        """What measures this cell again, with the same base and seed."""
        labels = dict.fromkeys((self.comparison.base.server, self.cell.server))
        servers = ",".join(self.run.servers[label].reference for label in labels)
        header = self.run.document.header
        words = ["shootout", "run", "--profile", header.profile_name, "--servers", servers]
        record = self._record
        words += ["--workloads", record.written if record else self.cell.workload]
        words += ["--threads", str(self.cell.threads), "--seed", str(header.seed)]
        for flag, text in header.given.items():
            asked = self._options_of(text) if flag == "--option" else text
            if flag not in (*words, "--port") and (asked or not text):
                words += [flag, asked] if text else [flag]
        return shlex.join(words)

    @property
    def _record(self) -> WorkloadRecord | None:
        records = self.run.document.header.workloads
        return next((record for record in records if record.name == self.cell.workload), None)

    def _options_of(self, text: str) -> str:
        """Of `NAME=N,…` what the cell's workload has."""
        known = self._record.options if self._record else {}
        items = (item.strip() for item in text.split(","))
        return ",".join(item for item in items if item.partition("=")[0] in known)

    @property
    def conditions(self) -> str:
        """How the load differs from the usual."""
        return wording.conditions(self.run.document.header, self.cell.workload)

    @property
    def charts(self) -> dict[str, charts.Figure | None]:
        """By name; None where nothing was measured."""
        series = self.run.series[self.cell.server]
        histograms = [(one, _transactions(samples)) for one, samples in self.both if samples]
        return {
            "ratios": charts.ratios(self.comparison, self.run.comparison.policy, series),
            "slices": charts.slices(self.both),
            "latencies": charts.latencies(histograms),
        }

    def _figures(
        self, of: Callable[[CellFigures], Mapping[str, float | None]], absent: float | None = None
    ) -> tuple[Row, ...]:
        here = of(self.comparison.figures) if self.comparison.figures else {}
        there = of(self.base.figures) if self.base and self.base.figures else {}
        return tuple(
            Row(
                name=name,
                here=here.get(name, absent),
                base=there.get(name, absent),
                here_hidden=name in OF_HOST and bool(here) and here.get(name) is None,
                base_hidden=name in OF_HOST and bool(there) and there.get(name) is None,
            )
            for name in dict.fromkeys((*here, *there))
        )


def _at(values: Sequence[float | None], number: int) -> float | None:
    return values[number] if number < len(values) else None


def _transactions(starts: Sequence[tuple[int, Samples]]) -> Histogram:
    return _sum(samples.latencies for _, samples in starts)


def _merged(kind: str, starts: Sequence[tuple[int, Samples]]) -> Histogram | None:
    texts = [samples.statements[kind] for _, samples in starts if kind in samples.statements]
    return _sum(iter(texts)) if texts else None


def _sum(texts: Iterator[str]) -> Histogram:
    total = Histogram()
    for text in texts:
        total.add(Histogram.decode(text))
    return total


# --- pages ----------------------------------------------------------------------------------------


def _pages(runs: Sequence[Run], render: Renderer) -> Iterator[tuple[str, str]]:
    """Every page's place in the site, and its text."""
    yield "index.html", render("run", root="", run=runs[0])
    yield "how-to-read.html", render("reading", root="")
    for run in runs:
        yield f"{run.folder}/index.html", render("run", root="../../", run=run)
        for comparison in run.comparison.cells:
            page = CellPage(run=run, comparison=comparison)
            yield (
                f"{run.folder}/{cell_stem(comparison.cell)}.html",
                render("cell", root="../../", run=run, page=page),
            )


def _renderer(runs: Sequence[Run]) -> Renderer:
    """Renders a template of that name with `root`, the way up from the page to the site's top."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: wording.visible(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {
        "breakable": _breakable,
        "change": wording.change,
        "change_range": wording.change_range,
        "cpu_us": wording.cpu_us,
        "dataset": wording.dataset,
        "duration": wording.duration,
        "estimate": wording.estimate,
        "half_width": wording.half_width,
        "memory": wording.memory,
        "moment": wording.moment,
        "number": wording.number,
        "p_value": wording.p_value,
        "percent": wording.percent,
        "sentence": wording.sentence,
        "setting": wording.setting,
        "percents": wording.percents,
        "share": wording.share,
        "signed": wording.signed,
        "threads": wording.threads,
    }
    environment.globals |= {
        "MEANINGS": wording.MEANINGS,
        "NONE": wording.NONE,
        "NOT_VISIBLE": wording.NOT_VISIBLE,
        "PLOTLY": PLOTLY,
        "ERRORS": ERRORS,
        "SAME_SETTINGS": SETTING_GROUPS[-1],
        "SYMBOLS": wording.SYMBOLS,
        "cell_stem": cell_stem,
        "runs": runs,
    }

    def render(name: str, **values: object) -> str:
        return environment.get_template(f"{name}.html.j2").render(values)

    return render


def _breakable(name: str) -> Markup:
    """A long name that may be broken where a person would break it."""
    return Markup(re.sub(r"(?<=[_/@,])", "<wbr>", str(escape(name))))


def _publish(built: Path, out: Path) -> None:
    """Move what was built to its place, each file in one step, the index last."""
    assets = built / "assets"
    assets.mkdir()
    (assets / PLOTLY).write_bytes((files("plotly") / "package_data" / "plotly.min.js").read_bytes())
    for name in ("style.css", "site.js"):
        (assets / name).write_bytes((TEMPLATES / name).read_bytes())
    index = built / "index.html"
    for page in [*(path for path in built.rglob("*") if path.is_file() and path != index), index]:
        place = out / page.relative_to(built)
        place.parent.mkdir(parents=True, exist_ok=True)
        page.replace(place)
