"""Figures as people read them: estimates, changes, intervals, times, sizes, counts."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from shootout.model.plan import Dataset
from shootout.model.run import ServerRecord
from shootout.model.verdict import Interval
from shootout.numbers import SPACE, number, percent_places

NONE = "\N{EN DASH}"  # no number
NOT_VISIBLE = "not visible"  # to the machine that measured
DIGITS = 4  # of a throughput
MULTIPLE = 3.0  # from here on a change is said as a multiple


def throughput(tps: float) -> str:
    """Transactions per second: a change of a thousandth shows, however much the machine drifts."""
    return number(tps, digits=DIGITS)


def percent(ratio: float, places: int | None = None) -> str:
    """Format a ratio as a change: 0.76 is −24 %, 32 is ×32.0."""
    if ratio >= MULTIPLE:
        return f"×{number(ratio)}"
    change = (ratio - 1) * 100
    if places is None:
        places = 1 if abs(change) < 100 else 0
    return f"{signed_to(change, places)}{SPACE}%"


def is_multiple(ratio: Interval) -> bool:
    """Whether a ratio is said as a multiple, not as a change in percent."""
    return ratio.estimate >= MULTIPLE


def change(ratio: Interval) -> str:
    """Format a ratio's estimate as a change, rounded to its interval's precision: −24 %, or ×32."""
    return percent(ratio.estimate, percent_places(ratio.low, ratio.high))


def change_range(ratio: Interval) -> str:
    """Format a ratio's interval in the form of its change: `−25.3 to −22.9 %`, `×31 to ×33`."""
    if is_multiple(ratio):
        return f"×{number(ratio.low)} to ×{number(ratio.high)}"
    places = percent_places(ratio.low, ratio.high)
    return " to ".join(signed_to((end - 1) * 100, places) for end in (ratio.low, ratio.high)) + f"{SPACE}%"


def factor(ratio: Interval) -> str:
    """Format a ratio with its interval, if it has one."""
    return f"{change(ratio)}, {change_range(ratio)}" if ratio.low < ratio.high else percent(ratio.estimate)


def times(ratio: Interval) -> str:
    """Format a quotient of two ratios: `×1.46`."""
    return f"×{number(ratio.estimate)}"


def times_range(ratio: Interval) -> str:
    """Format its interval: `1.31 to 1.62`."""
    return f"{number(ratio.low)} to {number(ratio.high)}"


def rounded(value: float) -> str:
    """Format a difference with its sign, without decimals."""
    return signed_to(value, 0)


def p_value(p: float) -> str:
    """Format a p-value to three decimals; `< 0.001` below that."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def amount(value: float, unit: str) -> str:
    """Format a value in its metric's unit (metrics.Metric); short times in ms or µs."""
    if unit != "s":
        return f"{number(value)}{SPACE}{unit}".rstrip()
    scale, name = _short(value)
    return f"{number(value * scale)}{SPACE}{name}"


def difference(seconds: Interval) -> str:
    """Format a difference of times with its interval."""
    scale, unit = _short(seconds.estimate)
    ends = (round(scale * end, 6) for end in (seconds.estimate, seconds.low, seconds.high))
    estimate, low, high = (f"{'+' if end > 0 else ''}{number(end)}" for end in ends)
    return f"{estimate}{SPACE}{unit} ({low} to {high})"


def _short(seconds: float) -> tuple[float, str]:
    return (1e6, "µs") if abs(seconds) < 1e-3 else (1e3, "ms")


@lru_cache(1024)  # all history pages list the same runs
def moment(iso: str) -> str:
    """Format an ISO time in readable form, to the minute; any other text unchanged."""
    return _formatted(iso, "%-d %B %Y, %H:%M UTC")


@lru_cache(1024)
def day(iso: str) -> str:
    """Format the day of an ISO time; any other text unchanged."""
    return _formatted(iso, "%-d %b %Y")


def hour(iso: str) -> str:
    """Format the time of day of an ISO time, to the minute; any other text unchanged."""
    return _formatted(iso, "%H:%M")


def _formatted(iso: str, form: str) -> str:
    try:
        return f"{datetime.fromisoformat(iso):{form}}"
    except ValueError:
        return iso


def duration(seconds: float) -> str:
    """Format a duration as hours and minutes, or minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (0 if hours else rest, "s"))
    return " ".join(f"{size} {unit}" for size, unit in parts if size) or "0 s"


def memory(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def size(bytes_: int) -> str:
    """Format bytes in decimal units, as disks are sold."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if bytes_ >= 10**power:
            return f"{number(bytes_ / 10**power)}{SPACE}{unit}"
    return f"{bytes_}{SPACE}B"


def setting(value: str, name: str) -> str:
    """Format a setting's value; bytes in the largest my.cnf unit that divides them exactly."""
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


def settings(name: str) -> str:
    """Format the name of a server's settings: a file has its own name, wherever it lies."""
    parts = name.split(" + ")
    return " + ".join(part if "=" in part else part.rpartition("/")[2] for part in parts)


def server(record: ServerRecord) -> str:
    """Format a server's version, settings and comment."""
    comment = "" if "://" in record.comment else record.comment  # MariaDB asks for stars on GitHub
    said = f"{record.version}, settings {settings(record.settings_name)}"
    return f"{said}; {comment}" if comment else said


def threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def counted(count: int, noun: str, plural: str = "") -> str:
    return f"1 {noun}" if count == 1 else f"{number(count, 0)} {plural or noun + 's'}"


def signed_to(value: float, places: int) -> str:
    text = number(value, places)
    return f"+{text}" if round(value, places) > 0 else text
