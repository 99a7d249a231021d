"""The text of verdicts, figures and sentences, shared by pages, terminal output and comments."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from msgspec import structs

from shootout.analysis import gate, ledger, metrics
from shootout.analysis import remaining as remaining_
from shootout.learn.learning import LearningReport
from shootout.model.plan import THROUGHPUT, Dataset, Load, Policy
from shootout.model.run import RunHeader, ServerRecord
from shootout.model.verdict import (
    Cause,
    CellComparison,
    ClaimResult,
    Comparison,
    Interval,
    Outcome,
    Verdict,
)
from shootout.numbers import MINUS, SPACE, decimals, grouped, number, percents, share
from shootout.settings import differences

# Of the table of verdicts, for terminal and comments; `#` before a column's name: numbers.
VERDICT_COLUMNS = (
    "workload", "#threads", "server", "#base, tps", "#tps", "#change", "interval", "#detectable", "verdict",
)  # fmt: skip
NONE = "\N{EN DASH}"  # no number
ALONE = "Measured alone, with nothing to compare it with"
NOT_VISIBLE = "not visible"  # to the machine that measured

SYMBOLS = {
    Verdict.REGRESSED: "▼",
    Verdict.IMPROVED: "▲",
    Verdict.EQUIVALENT: "=",
    Verdict.INCONCLUSIVE: "?",
    Verdict.FAILED: "✕",
    Verdict.UNJUDGED: "○",
}
MEANINGS = {
    Verdict.REGRESSED: "Significantly slower than the base: the whole interval lies below zero, "
    "and the change is at least the margin.",
    Verdict.IMPROVED: "Significantly faster than the base, by the same criteria.",
    Verdict.EQUIVALENT: "As fast as the base: the whole interval lies within the margin around zero.",
    Verdict.INCONCLUSIVE: "The measurement is too noisy or the change too small for a verdict. "
    "This is neither a pass nor a failure: the interval shows which changes remain possible.",
    Verdict.FAILED: "No result: the server did not start, crashed, or reported an error. "
    "The cell's page quotes the error.",
    Verdict.UNJUDGED: "Nothing to compare with. The base itself is always unjudged.",
}
LEANINGS = {"slower": "▽", "faster": "△"}  # of inconclusive cells: hollow, for unproven
NOISY = 0.1  # a loss that no absence of a significant difference may hide
DEFAULTS_SHOWN = 5  # names of settings in a sentence
OUTCOME_SYMBOLS = {Outcome.HOLDS: "✓", Outcome.FAILS: "✗", Outcome.INCONCLUSIVE: "?"}
WORST_FIRST = (
    Verdict.REGRESSED,
    Verdict.FAILED,
    Verdict.INCONCLUSIVE,
    Verdict.UNJUDGED,
    Verdict.EQUIVALENT,
    Verdict.IMPROVED,
)


# Control characters, including bidirectional ones, alter the display of the text around them.
_VISIBLE = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: 0x2421}
    | dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}")
    | {
        code: f"[U+{code:04X}]"
        for code in (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
    }
    | dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")  # not characters, and not allowed in XML
)
_CONTROL = re.compile(f"[{''.join(re.escape(chr(code)) for code in _VISIBLE)}]")
# What starts a mention, a reference, an emoji or an address. GitHub decodes entities before it looks for
# these, so a zero-width space has to break them (github/cmark-gfm#181).
_LINKED = re.compile(r"[@#:](?=\S)|www(?=\.)|GH-(?=\d)", re.IGNORECASE)
# That space, characters that could start markup, and the bar of tables.
_MARKUP = re.compile(r"([\u200b\\`*_{}\[\]<>()#!|~@&:$^])")
TEXT_MAX = 20_000  # characters; quoted ends of server logs are shorter


def visible(text: str) -> str:
    """`text` truncated to TEXT_MAX, with a visible replacement for each control character."""
    if len(text) > TEXT_MAX:
        text = f"{text[:TEXT_MAX]}… and {number(len(text) - TEXT_MAX, 0)} more characters"
    if text.isprintable():  # fast path: most texts are
        return text
    return text.translate(_VISIBLE) if _CONTROL.search(text) else text


def first_line(text: str) -> str:
    """The first line of a reason, whose others quote a log; empty if it is empty."""
    return next(iter(text.splitlines()), "")


def escaped(text: str) -> str:
    """Any text on one line, escaped so that it cannot form markup, links or mentions."""
    one_line = " ".join(visible(text).split())
    broken = _LINKED.sub("\\g<0>\N{ZERO WIDTH SPACE}", one_line)
    return _MARKUP.sub(lambda found: f"&#{ord(found[1])};", broken)


def table_head(columns: Sequence[str]) -> tuple[str, str]:
    """A table's first lines in Markdown; `#` before a column's name: numbers."""
    names = (name.removeprefix("#") for name in columns)
    rules = ("--:" if name.startswith("#") else "---" for name in columns)
    return f"| {' | '.join(names)} |", f"|{'|'.join(rules)}|"


# --- numbers --------------------------------------------------------------------------------------


def estimate(interval: Interval) -> str:
    """The estimate, rounded to its interval's precision; at least one significant digit."""
    places = _places(interval, scale=1)
    if places is not None and interval.estimate:
        places = max(places, -math.floor(math.log10(abs(interval.estimate))))
    return number(interval.estimate, places)


def half_width(interval: Interval) -> str:
    """Half the interval's width, `± 12`; empty for a single start, whose interval has none."""
    half = (interval.high - interval.low) / 2
    return f"±{SPACE}{number(half, decimals(half))}" if half > 0 else ""


def percent(ratio: float, places: int | None = None) -> str:
    """A ratio as a change: 0.76 is −24 %."""
    change = (ratio - 1) * 100
    if places is None:
        places = 1 if abs(change) < 100 else 0
    return _percent(round(change, places), places) if change else f"0{SPACE}%"


@lru_cache(4096)  # a site has a hundred thousand changes, with few distinct values
def _percent(rounded: float, places: int) -> str:
    sign = "+" if rounded > 0 else ""
    return f"{sign}{grouped(rounded, places)}{SPACE}%"


def change(ratio: Interval) -> str:
    """A ratio's estimate as a change, rounded to its interval's precision."""
    return percent(ratio.estimate, _percent_places(ratio))


def change_range(ratio: Interval) -> str:
    """A ratio's interval as changes: `−25.3 to −22.9 %`."""
    places = _percent_places(ratio)
    low, high = (_signed((end - 1) * 100, places) for end in (ratio.low, ratio.high))
    return f"{low} to {high}{SPACE}%"


def detectable(cell: CellComparison) -> str:
    """The smallest loss that the cell's run would have detected, `−1.4 %`; empty if unknown."""
    known = [each.detectable for each in cell.judged if each.detectable is not None]
    if not known:
        return ""
    sign = MINUS if cell.judged[0].metric == THROUGHPUT else "+"
    return f"{sign}{percents(known[0])}"


def signed(value: float) -> str:
    """A difference with its sign, to three significant digits."""
    return number(value) if value <= 0 else f"+{number(value)}"


def rounded(value: float) -> str:
    """A difference with its sign, without decimals."""
    return _signed(value, 0)


def verdict(cell: CellComparison) -> str:
    mark = " (acknowledged)" if cell.acknowledged else ""
    return f"{symbol(cell)} {reading(cell)}{mark}"


def symbol(cell: CellComparison) -> str:
    return LEANINGS[cell.leaning] if cell.leaning else SYMBOLS[cell.verdict]


def reading(cell: CellComparison) -> str:
    """The verdict, or what an inconclusive cell still shows."""
    return f"likely {cell.leaning}, unproven" if cell.leaning else cell.verdict


def cpu_us(server_cpu_s: float | None) -> str:
    return NOT_VISIBLE if server_cpu_s is None else number(server_cpu_s * 1e6)


def p_value(p: float) -> str:
    """A p-value to three decimals; `< 0.001` below that."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@lru_cache(1024)  # all history pages list the same runs
def moment(iso: str) -> str:
    """An ISO time in readable form, to the minute; any other text unchanged."""
    return _formatted(iso, "%-d %B %Y, %H:%M UTC")


@lru_cache(1024)
def day(iso: str) -> str:
    """The day of an ISO time; any other text unchanged."""
    return _formatted(iso, "%-d %b %Y")


def hour(iso: str) -> str:
    """The time of day of an ISO time, to the minute; any other text unchanged."""
    return _formatted(iso, "%H:%M")


def _formatted(iso: str, form: str) -> str:
    try:
        return f"{datetime.fromisoformat(iso):{form}}"
    except ValueError:
        return iso


def duration(seconds: float) -> str:
    """A duration as hours and minutes, or minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def comment(text: str) -> str:
    """A server's version_comment; NONE instead of MariaDB's request for stars on GitHub."""
    return NONE if "://" in text else text


def memory(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def size(bytes_: int) -> str:
    """Bytes in decimal units, as disks are sold."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if bytes_ >= 10**power:
            return f"{number(bytes_ / 10**power)}{SPACE}{unit}"
    return f"{bytes_}{SPACE}B"


def amount(value: float, unit: str) -> str:
    """A value in its metric's unit (metrics.Metric); short times in ms or µs."""
    if unit != "s":
        return f"{number(value)}{SPACE}{unit}".rstrip()
    scale, name = (1e6, "µs") if abs(value) < 1e-3 else (1e3, "ms")
    return f"{number(value * scale)}{SPACE}{name}"


def setting(value: str, name: str) -> str:
    """A setting's value; bytes in the largest my.cnf unit that divides them exactly."""
    if value.isdecimal() and name.endswith(("_bytes", "_size")):
        for power, unit in ((30, "G"), (20, "M"), (10, "K")):
            if int(value) and int(value) % 2**power == 0:
                return f"{int(value) >> power}{unit}"
    return value


def dataset(dataset: Dataset) -> str:
    match dataset.kind:
        case "sbtest":
            what = f"{counted(dataset.tables, 'table')} of {counted(dataset.rows, 'row')}"
        case "tpcc":
            what = f"TPC-C with {counted(dataset.warehouses, 'warehouse')}"
        case "own":
            return f"the workload's own tables, {dataset.engine}"
        case "dump":
            return "a dump, loaded as it is"
    engine = "each server's default engine" if dataset.engine.lower() == "default" else dataset.engine
    return f"{what}, {engine}, seed {dataset.seed}"


def threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{number(count, 0)} {noun}s"


def lost(learned: LearningReport) -> str:
    """What the log lacks of transactions that were found in it; empty: nothing."""
    counts = ((learned.lost_begins, "BEGIN"), (learned.lost_commits, "COMMIT"))
    found = " and ".join(counted(count, noun) for count, noun in counts if count)
    return found and f"{found}, too fast for the log; other statements told where they were"


def _signed(value: float, places: int) -> str:
    text = number(value, places)
    return f"+{text}" if round(value, places) > 0 else text


def _percent_places(ratio: Interval) -> int:
    """Decimals of a change; at most two, even if every start gave the same value."""
    return min(max(_places(ratio, scale=100) or 0, 0), 2)


def _places(interval: Interval, scale: float) -> int | None:
    half = (interval.high - interval.low) / 2 * scale
    return decimals(half) if half > 0 else None


# --- sentences ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Headline:
    """The result for one head, or for all of a run: a claim, and the figures that support it."""

    claim: str
    details: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.claim}: {'; '.join(self.details)}" if self.details else self.claim


def conditions(header: RunHeader, workload: str | None = None) -> str:
    """Non-default load conditions of a workload, or of the whole run."""
    profile, load = header.profile, header.profile.load
    records = {record.name: record for record in header.workloads}
    record = records.get(workload) if workload is not None else None
    parts = []
    if (record.protocol if record else load.protocol) == "prepared":
        parts.append("prepared statements")
    parts += _pace(load)
    if load.reconnect:
        parts.append("lost connections reopened")
    parts += [
        f"{name} = {value}" for name, value in profile.options.items() if not record or name in record.options
    ]
    if profile.distribution is not None:
        tag, values = type(profile.distribution).__struct_config__.tag, structs.asdict(profile.distribution)
        parts.append(" ".join([f"{tag} rows", *(f"{name} = {value:g}" for name, value in values.items())]))
    return ", ".join(parts)


def setup(comparison: Comparison) -> str:
    """The conditions that readers ask for first: CPUs, rows, durability, starts."""
    header = comparison.header
    place, size = header.runner.placement, header.profile.dataset
    kinds = {block.dataset.partition("-")[0] for block in header.blocks}
    starts = [c.figures.starts for c in comparison.cells if c.figures]
    parts = [
        f"{counted(len(place.servers), 'CPU')} for servers",
        f"{len(place.reading)} while they read" if place.reading else "",
        f"{len(place.client)} for the load",
        f"{counted(size.tables, 'table')} of {number(size.rows, 0)} rows" if "sbtest" in kinds else "",
        counted(size.warehouses, "warehouse") if "tpcc" in kinds else "",
        *_durability(header.servers[0] if header.servers else None),
        _range(min(starts), max(starts), "start") if starts else "",
    ]
    return ", ".join(filter(None, parts))


def remaining(comparison: Comparison) -> str:
    """How many more minutes would decide the undecided cells; empty if there are none."""
    found = remaining_.remaining(comparison)
    if found is None:
        return ""
    undecided = f"the {found.cells} undecided cells" if found.cells > 1 else "the undecided cell"
    if not found.decided:
        return f"It would take more starts than the profile allows to decide {undecided}"
    minutes = counted(max(1, math.ceil(found.minutes)), "more minute")
    if found.decided == found.cells:
        return f"About {minutes} would decide {undecided}"
    return (
        f"About {minutes} would decide {found.decided} of {undecided}; "
        "the others need more starts than the profile allows"
    )


def _range(low: int, high: int, noun: str) -> str:
    return counted(high, noun) if low == high else f"{low} to {counted(high, noun)}"


def _durability(server: ServerRecord | None) -> Iterator[str]:
    effective = {each.name: each.effective for each in server.settings} if server else {}
    flushed = {"0": "commits written once a second", "1": "every commit flushed", "2": "commits not flushed"}
    yield flushed.get(effective.get("flush_log_at_trx_commit") or "", "")
    yield {"ON": "binary log on", "OFF": "binary log off"}.get(effective.get("binary_log") or "", "")


def setting_differences(comparison: Comparison) -> tuple[str, ...]:
    """What base and head differ in besides the server; defaults only where there is a single pair."""
    records = {record.label: record for record in comparison.header.servers if not record.absent}
    pairs = dict.fromkeys((c.base.server, c.cell.server) for c in comparison.cells if c.cell != c.base)
    here = [(records[base], records[head]) for base, head in pairs if {base, head} <= records.keys()]
    return tuple(
        sentence
        for base, head in here
        for sentence in _setting_differences(base, head, defaults=len(pairs) == 1)
    )


def _setting_differences(base: ServerRecord, head: ServerRecord, *, defaults: bool) -> Iterator[str]:
    asked, unasked = differences.of_records(base, head)
    both = f"{base.label} and {head.label}"
    if asked:
        yield f"{both} differ in: {', '.join(asked)}"
    if unasked and base.build and base.build == head.build:
        yield f"{both} also differ in what nobody asked for: {', '.join(unasked)}"
    elif unasked and defaults:
        more = f" and {len(unasked) - DEFAULTS_SHOWN} more" if len(unasked) > DEFAULTS_SHOWN else ""
        yield f"{both} have other defaults of {', '.join(unasked[:DEFAULTS_SHOWN])}{more}"


def _pace(load: Load) -> list[str]:
    if load.rate is not None:
        return [f"{number(load.rate)} transactions/s with {load.arrivals} arrivals"]
    return [f"{load.think} think time of {load.think_s:g} s"] if load.think_s else []


def standing(comparison: Comparison) -> str:
    """Which regressions fail a gate, and why; empty if all do."""
    state = gate.standing(comparison)
    if state == "proven" or not heads(comparison):
        return ""
    known, policy = comparison.false_alarms, comparison.policy
    if state == "refuted":
        alarms = f"{counted(known.alarms, 'false alarm')} in {counted(known.cells, 'A/A cell')}"
        rule = (
            f"after {alarms}, more than {share(policy.false_alarms_max)} of gates alarm by chance, so only a "
            "confirmed regression whose whole interval lies beyond three margins does"
        )
    else:
        more = counted(ledger.cells_needed(known, policy), "more A/A cell" if known.cells else "A/A cell")
        rule = (
            f"until {more} without a false alarm are known, only a confirmed regression whose whole interval "
            "lies beyond the margin does; shootout doctor --calibrate measures A/A cells"
        )
    regressed = [c for c in comparison.cells if c.verdict is Verdict.REGRESSED and c.acknowledged is None]
    if not regressed:
        return f"No regression fails the gate: {rule}"
    failing = sum(gate.counts(c, comparison) for c in regressed)
    verb = "fails" if failing == 1 else "fail"
    return f"{failing or 'None'} of {counted(len(regressed), 'regression')} {verb} the gate: {rule}"


def gate_exemption(c: CellComparison, comparison: Comparison) -> str:
    """Why a regression does not fail the gate; empty if it does."""
    if (known := c.acknowledged) is not None:
        return f"acknowledged by {known.owner} until {known.expires}: {known.reason}"
    return "" if gate.counts(c, comparison) else standing(comparison)


def properties(c: CellComparison) -> dict[str, str]:
    """A cell's properties for a test report; `detectable` qualifies a pass."""
    found = {
        "verdict": verdict(c),
        "change": decided_change(c) if c.cell != c.base else "",
        "detectable": detectable(c),
        "reason": visible(c.reason),
    }
    return {name: words for name, words in found.items() if words}


def causes_title(c: CellComparison) -> str:
    """The title above a cell's causes."""
    if c.verdict in (Verdict.REGRESSED, Verdict.IMPROVED):
        return "Likely causes"
    return "Changes without a verdict on throughput"


def cause(each: Cause) -> str:
    """What changed per transaction, and its approximate share of the transaction's time."""
    metric = metrics.BY_NAME.get(each.name) if each.kind == "work" else None
    title, unit = (metric.title, metric.unit) if metric else (each.name, "s")
    base, head = amount(each.base, unit), amount(each.head, unit)
    change = f" ({percent(each.head / each.base)})" if each.base else ""
    about = "about" if each.kind == "statement" else "roughly"
    part = f"{_signed(100 * each.share, 0 if abs(each.share) >= 0.01 else 1)}{SPACE}%"
    return f"{title}: {head} per transaction instead of {base}{change}, {about} {part} of transaction time"


def heads(comparison: Comparison) -> tuple[str, ...]:
    """The servers compared with a base, in the run's order.

    The run's base is no head, even in a block in which another server stands in for it.
    """
    found = [c for c in comparison.cells if c.cell != c.base]
    bases = {c.base.server for c in found}
    base = next((server.label for server in comparison.header.servers if server.label in bases), None)
    return tuple(dict.fromkeys(c.cell.server for c in found if c.cell.server != base))


def needs_verdict(c: CellComparison) -> bool:
    """Whether the cell is compared with a base, or is a base that failed."""
    return c.cell != c.base or c.verdict is not Verdict.UNJUDGED


def failures(comparison: Comparison) -> Iterator[str]:
    """Why cells failed, each reason once: both servers may refuse a statement, or one fail everywhere."""
    servers: dict[tuple[str, int, str], list[str]] = {}
    for c in comparison.cells:
        if c.verdict is Verdict.FAILED:
            servers.setdefault((c.cell.workload, c.cell.threads, c.reason), []).append(c.cell.server)
    everywhere = Counter((c.cell.workload, c.cell.threads) for c in comparison.cells)
    blocks: dict[tuple[str, str], list[str]] = {}
    for (workload, count, reason), labels in servers.items():
        all_ = len(labels) == everywhere[workload, count] > 1
        who = ("both servers" if len(labels) == 2 else "all servers") if all_ else ", ".join(labels)
        blocks.setdefault((who, reason), []).append(f"{workload}, {threads(count)}")
    for (who, reason), (first, *more) in blocks.items():
        also = f", and {len(more)} more" if more else ""
        yield f"{first}{also}, {who}: {reason}"


def unmeasured(comparison: Comparison) -> Iterator[str]:
    """Which cells were not measured, each reason once; a base only where nothing is compared with it."""
    found = gate.unmeasured(comparison)
    reasons: dict[str, list[str]] = {}
    for c in [c for c in found if c.cell != c.base or not heads(comparison)]:
        reasons.setdefault(c.reason.removeprefix("not measured: "), []).append(c.cell.name)
    for reason, names in reasons.items():
        yield f"Not measured, {reason}: {', '.join(names)}"


def worst_first(cells: Sequence[CellComparison]) -> tuple[CellComparison, ...]:
    """Sort cells by verdict, then from the slowest to the fastest."""

    def rank(c: CellComparison) -> tuple[int, float]:
        found = decisive(c)
        return WORST_FIRST.index(c.verdict), -worsening(found[0], found[1].estimate) if found else 0.0

    return tuple(sorted(cells, key=rank))


def decisive(c: CellComparison) -> tuple[str, Interval] | None:
    """The metric that decided the verdict, and its ratio; None if nothing was compared."""
    if c.judged:
        return c.judged[0].metric, c.judged[0].ratio
    return None if c.ratio is None else (THROUGHPUT, c.ratio)


def worsening(metric: str, ratio: float) -> float:
    """How much worse a metric is than the base's, as a fraction; negative: better."""
    return 1 - ratio if metric == THROUGHPUT else ratio - 1


def headlines(comparison: Comparison) -> tuple[Headline, ...]:
    """One headline for each head; a single one for a run without comparisons."""
    found = heads(comparison)
    if not found:
        servers = ", ".join(server.label for server in comparison.header.servers)
        return (Headline(f"{servers} was measured alone", ("nothing to compare it with",)),)
    judged = [c for c in comparison.cells if needs_verdict(c)]
    return tuple(
        Headline(claim, (detail,))
        for head in found
        for claim, detail in [_headline([c for c in judged if c.cell.server == head], comparison)]
    )


def _headline(cells: Sequence[CellComparison], comparison: Comparison) -> tuple[str, str]:
    """What a head's cells show: a claim and its detail."""
    (base, _), *_ = Counter(c.base.server for c in cells if c.cell != c.base).most_common(1)
    head = cells[0].cell.server
    total = counted(len(cells), "cell")
    by_verdict = {verdict: [c for c in cells if c.verdict is verdict] for verdict in Verdict}
    slower, faster = worst_first(by_verdict[Verdict.REGRESSED]), worst_first(by_verdict[Verdict.IMPROVED])
    equal, failed = len(by_verdict[Verdict.EQUIVALENT]), len(by_verdict[Verdict.FAILED])
    lost = f"; {counted(failed, 'cell')} failed" if failed else ""
    if changed := slower or faster:
        worse, better = ("slower", "faster") if all(map(is_speed, changed)) else ("worse", "better")
        claim = f"{head} is {worse if slower else better} than {base} in {len(changed)} of {total}"
        best = f"best {_place(faster[-1])}" if faster else ""
        if not slower:
            return claim, f"{best}; {worse} in none{lost}"
        gained = "faster" if all(map(is_speed, faster)) else "better"
        also = f"; {gained} in {len(faster)}, {best}" if faster else ""
        return claim, f"worst {_place(slower[0])}{also}{lost}"
    if equal == len(cells):
        everywhere = "its only cell" if equal == 1 else f"all {total}"
        return f"{head} is as fast as {base} in {everywhere}", f"within ±{margins(cells, comparison.policy)}"
    if all(c.verdict is Verdict.UNJUDGED and c.figures is None for c in cells):
        return f"{head} was not measured", cells[0].reason
    if failed == len(cells):
        return f"{head} could not be measured", f"{failed} of {total} failed"
    if failed + len(by_verdict[Verdict.UNJUDGED]) == len(cells):
        return f"No verdict on {head}", _counts(by_verdict, total) if failed else cells[0].reason
    return _undecided(head, base, cells, _counts(by_verdict, total))


def _undecided(head: str, base: str, cells: Sequence[CellComparison], counts: str) -> tuple[str, str]:
    sides = [(side, sum(c.leaning == side for c in cells)) for side in ("slower", "faster")]
    if likely := " and ".join(f"{side} in {count}" for side, count in sides if count):
        return f"{head} is likely {likely} of {counted(len(cells), 'cell')} than {base}, unproven", counts
    if too_few_starts(cells):
        return f"No verdict on {head} and {base}: too few starts", counts
    if hiding := noisy(cells):
        return (
            f"Too noisy to compare {head} with {base}",
            f"{counts}; {hiding} could hide a loss of {share(NOISY)}",
        )
    return f"No significant difference between {head} and {base}", counts


def too_few_starts(cells: Sequence[CellComparison]) -> bool:
    """Whether no cell has the starts that a verdict takes; summaries lack those of cells that are equal."""
    return all(c.verdict is not Verdict.EQUIVALENT and len(c.per_start) < 2 for c in cells)


def noisy(cells: Sequence[CellComparison]) -> int:
    """How many cells do not rule out a loss of NOISY; 0 unless they are half of those compared or more."""
    found = [each for c in cells if (each := decisive(c)) is not None]
    losses = [max(worsening(metric, end) for end in (ratio.low, ratio.high)) for metric, ratio in found]
    hiding = sum(loss > NOISY for loss in losses)
    return hiding if 2 * hiding >= len(losses) else 0


def _counts(by_verdict: Mapping[Verdict, Sequence[CellComparison]], total: str) -> str:
    """`87 of 112 cells inconclusive, 25 equivalent`."""
    (worst, cells), *others = [(v, by_verdict[v]) for v in WORST_FIRST if by_verdict[v]]
    return ", ".join([f"{len(cells)} of {total} {worst}", *(f"{len(cells)} {v}" for v, cells in others)])


def is_speed(c: CellComparison) -> bool:
    """Whether throughput or a latency decided the verdict."""
    found = decisive(c)
    return found is None or found[0] == THROUGHPUT or found[0].startswith("latency")


def decided_change(c: CellComparison) -> str:
    """The decisive change, `−21 %`; with the metric's name unless it is throughput."""
    found = decisive(c)
    if found is None:
        return NONE
    metric, ratio = found
    return change(ratio) if metric == THROUGHPUT else f"{metrics.TITLES[metric]} {change(ratio)}"


def decided_range(c: CellComparison) -> str:
    """The interval of the decisive change, `−25.3 to −22.9 %`; empty if nothing was compared."""
    found = decisive(c)
    return change_range(found[1]) if found else ""


def _place(c: CellComparison) -> str:
    return f"{decided_change(c)} ({c.cell.workload}, {threads(c.cell.threads)})"


def factor(ratio: Interval) -> str:
    """A ratio with its interval: as a change, or as a factor beyond 3 or below 1/3."""
    if 1 / 3 < ratio.estimate < 3:
        return (
            f"{change(ratio)}, {change_range(ratio)}" if ratio.low < ratio.high else percent(ratio.estimate)
        )
    ends = f", {number(ratio.low)} to {number(ratio.high)}" if ratio.low < ratio.high else ""
    return f"×{number(ratio.estimate)}{ends}"


def finding(result: ClaimResult) -> str:
    """The result of a published claim, with the figures behind it."""
    figures = f"{result.claim.ratio_words}: {factor(result.ratio)}" if result.ratio else result.reason
    return f"{result.claim.text} ({result.outcome}). {figures}"


def margin(c: CellComparison, policy: Policy) -> float:
    """The margin of the metric that decided, or of throughput."""
    return c.judged[0].margin if c.judged else policy.margin_of(THROUGHPUT, c.cell.workload)


def margins(cells: Sequence[CellComparison], policy: Policy) -> str:
    """The cells' margin, or from which to which: `2 %`, `2 % to 5 %`."""
    every = sorted({margin(c, policy) for c in cells} or {policy.margin})
    return " to ".join(dict.fromkeys(share(each) for each in (every[0], every[-1])))


def sentence(c: CellComparison, policy: Policy, *, alone: bool = False) -> str:
    """A cell's verdict in words, with the decisive figure; `alone`: the run has no head."""
    base = c.base.server
    if c.cell == c.base and c.verdict is Verdict.UNJUDGED:
        return ALONE if alone else "This is the base: the other servers are compared with it"
    if c.verdict is Verdict.FAILED:
        return "Only partly measured" if c.figures else "Could not be measured"
    if (found := decisive(c)) is None:
        return "Measured, with nothing to compare it with" if c.figures else "Not measured"
    metric, ratio = found
    size = change(ratio).lstrip(f"+{MINUS}")
    within = share(margin(c, policy))
    if metric == THROUGHPUT:
        decided = {
            Verdict.REGRESSED: f"{size} fewer transactions per second than {base}",
            Verdict.IMPROVED: f"{size} more transactions per second than {base}",
            Verdict.EQUIVALENT: f"As fast as {base}, within ±{within}",
        }
        undecided = (
            f"Likely {c.leaning} than {base}, {change_range(ratio)}, but unproven"
            if c.leaning
            else f"Inconclusive: the difference from {base} may be anywhere from {change_range(ratio)}"
        )
    else:
        title = metrics.TITLES[metric]
        titled = title[0].upper() + title[1:]
        decided = {
            Verdict.REGRESSED: f"{titled} {size} higher than on {base}",
            Verdict.IMPROVED: f"{titled} {size} lower than on {base}",
            Verdict.EQUIVALENT: f"{titled} the same as on {base}, within ±{within}",
        }
        undecided = (
            f"Inconclusive: the difference in {title} from {base} may be anywhere from {change_range(ratio)}"
        )
    return decided.get(c.verdict, undecided)
