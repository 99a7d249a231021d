"""The circumstances of a run, in words: its load, the machine's CPUs, settings that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import structs

from shootout.analysis.warnings import OTHER_BASE
from shootout.figures import counted, settings
from shootout.model.plan import Load
from shootout.model.run import RunHeader, ServerRecord
from shootout.model.verdict import Comparison
from shootout.numbers import number
from shootout.settings import differences

DEFAULTS_SHOWN = 5  # names of settings in a sentence
# How long a profile says that it takes.
_PROMISED = re.compile(r",? in (?:about |at most )?[a-z0-9 ]*(?:minutes|hours?)\b[a-z ]*$")


def about(header: RunHeader) -> str:
    """Describe the run's profile; how long it was to take is not how long this run took."""
    return _PROMISED.sub("", header.profile.description)


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


def settings_of(header: RunHeader) -> str:
    """The settings of its servers, and what else is not as usual: runs that differ in it are no copies."""
    names = dict.fromkeys(settings(server.settings_name) for server in header.servers if not server.absent)
    return ", ".join(filter(None, ("settings " + ", ".join(filter(None, names)), conditions(header))))


def setup(comparison: Comparison) -> str:
    """The conditions that readers ask for first: CPUs, rows, durability, starts."""
    header = comparison.header
    place, size = header.runner.placement, header.profile.dataset
    kinds = {block.dataset.partition("-")[0] for block in header.blocks}
    starts = [c.figures.starts for c in comparison.cells if c.figures]
    made = counted(max(starts), "start") if starts else ""
    here = "On this machine" if len(header.runners) == 1 else "On these machines"
    reading = f" ({len(place.reading)} in read-only cells of several threads)" if place.reading else ""
    parts = [
        f"{here}: servers on {counted(len(place.servers), 'CPU')}{reading}",
        f"load on {counted(len(place.client), 'CPU')}",
        f"{counted(size.tables, 'table')} of {number(size.rows, 0)} rows" if "sbtest" in kinds else "",
        counted(size.warehouses, "warehouse") if "tpcc" in kinds else "",
        *_durability(header.servers[0] if header.servers else None),
        f"{min(starts)} to {made}" if len({*starts}) > 1 else made,
        "every server returns the base's rows" if header.same_rows else "",
        *warned(comparison, OTHER_BASE),
    ]
    return ", ".join(filter(None, parts))


def warned(comparison: Comparison, *codes: str) -> list[str]:
    """List the texts of warnings with these codes, each once."""
    warnings = (warning for c in comparison.cells for warning in c.warnings)
    return [*dict.fromkeys(warning.text for warning in warnings if warning.code in codes)]


def _durability(server: ServerRecord | None) -> Iterator[str]:
    effective = {setting.name: setting.effective for setting in server.settings} if server else {}
    flushed = {"0": "commits written once a second", "1": "every commit flushed", "2": "commits not flushed"}
    yield flushed.get(effective.get("flush_log_at_trx_commit") or "", "")
    yield {"ON": "binary log on", "OFF": "binary log off"}.get(effective.get("binary_log") or "", "")


def setting_differences(comparison: Comparison) -> tuple[str, ...]:
    """List what base and head differ in besides the server; defaults only where there is a single pair."""
    records = {record.label: record for record in comparison.header.servers if differences.is_known(record)}
    pairs = dict.fromkeys((c.base.server, c.cell.server) for c in comparison.cells if c.cell != c.base)
    here = [(records[base], records[head]) for base, head in pairs if {base, head} <= records.keys()]
    alone = len(pairs) == 1
    said = (each for base, head in here for each in _setting_differences(base, head, defaults=alone))
    return (*said, *(() if alone else _other_defaults(here)))


def _other_defaults(pairs: Iterable[tuple[ServerRecord, ServerRecord]]) -> Iterator[str]:
    """The defaults known to cost most that differ from a base's, and on which servers."""
    servers: dict[str, dict[tuple[int, str], list[str]]] = {}
    for base, head in pairs:
        _, unasked = differences.of_records(base, head)
        for name in unasked if base.build != head.build else ():
            if differences.rank(name) < differences.COSTLY:
                effective = next((s.effective for s in base.settings if s.name == name), None)
                called = differences.called(name, base, head)
                what = f"{called} ({'absent' if effective is None else effective})"
                by_setting = servers.setdefault(base.label, {})
                by_setting.setdefault((differences.rank(name), what), []).append(head.label)
    for base_label, by_setting in servers.items():
        ranked = sorted(by_setting.items(), key=lambda one: one[0][0])
        named = "; ".join(f"{what} on {', '.join(heads)}" for (_, what), heads in ranked[:DEFAULTS_SHOWN])
        yield f"Defaults that differ from {base_label}'s (in parentheses): {named}"


def _setting_differences(base: ServerRecord, head: ServerRecord, *, defaults: bool) -> Iterator[str]:
    differing = differences.of_records(base, head)
    asked, unasked = ([differences.called(name, base, head) for name in names] for names in differing)
    both = f"{base.label} and {head.label}"
    if asked:
        yield f"{both} differ in: {', '.join(asked)}"
    if unasked and base.build and base.build == head.build:
        yield f"{both} also differ in settings that were not requested: {', '.join(unasked)}"
    elif unasked and defaults:
        more = f" and {len(unasked) - DEFAULTS_SHOWN} more" if len(unasked) > DEFAULTS_SHOWN else ""
        yield f"{both} differ in the defaults of {', '.join(unasked[:DEFAULTS_SHOWN])}{more}"


def _pace(load: Load) -> list[str]:
    if load.rate is not None:
        return [f"{number(load.rate)} transactions/s with {load.arrivals} arrivals"]
    return [f"{load.think} think time of {load.think_s:g} s"] if load.think_s else []
