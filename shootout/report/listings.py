"""Results of commands without verdicts: servers, the cache, the runner, the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shootout.answer import Answer, Field, Figure, Mark, Table, Topic
from shootout.answer import change as change_of
from shootout.figures import counted, moment, percent, size
from shootout.measure.session import Endpoint
from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.verdict import Verdict
from shootout.numbers import percents
from shootout.runner.doctor import CHANGES, Report
from shootout.servers.sources.cache import Cleared, Contents, Entry
from shootout.servers.sources.catalogue import Fetched, Offer

HISTORY_COLUMNS = (
    "workload", "settings", "threads", "server", "anchor", "runs", "first", "newest", "change",
)  # fmt: skip


def history(series: Sequence[HistorySeries]) -> Answer:
    """Each series, with a row for each further change."""
    rows: list[tuple[Field, ...]] = []
    for one in series:
        names = (one.workload, one.settings, Figure(one.threads, places=0), one.server, one.anchor)
        levels = (change_of(one.points[end].ratio) for end in (0, -1))
        first, *more = map(_change, one.changes) if one.changes else ["none"]
        rows.append((*names, Figure(len(one.points), places=0), *levels, first))
        rows += [(*[""] * (len(HISTORY_COLUMNS) - 1), change) for change in more]
    return _listed({"series": series}, HISTORY_COLUMNS, rows)


def _listed(value: Any, columns: tuple[str, ...], rows: Iterable[tuple[Field, ...]]) -> Answer:
    return Answer("", "", (Topic(tables=(Table(columns, tuple(rows), whole=True),)),), value)


def _change(change: ChangePoint) -> Mark:
    worse = change.after < change.before
    state = "confirmed" if change.confirmed else "suspected"
    where = f"last good {change.last_good}, first {'bad' if worse else 'better'} {change.first_bad}"
    where += f"; commits {change.commits}" if change.commits else ""
    verdict = Verdict.REGRESSED if worse else Verdict.IMPROVED
    return Mark(verdict, f"{percent(change.after / change.before)}, {state}: {where}")


def descriptions(by_name: Mapping[str, str]) -> Answer:
    """List what comes with shootout, by name."""
    return _listed(by_name, ("name", "description"), by_name.items())


def servers(offers: Sequence[Offer]) -> Answer:
    """The catalogue, and the availability of each server."""
    rows = ((offer.id, offer.released, offer.edition, _state(offer), offer.note) for offer in offers)
    return _listed(offers, ("server", "released", "edition", "state", "note"), rows)


def _state(offer: Offer) -> str:
    """`ready`, the client that can fetch the server, or what that requires."""
    if offer.state == "ready":
        return "ready"
    if offer.state == "fetchable":
        client = next(way.client for way in offer.ways if way.missing is None)
        return f"can be fetched with {client}" if client else "can be fetched"
    absent = [way.missing for way in offer.ways if way.missing is not None]
    return "; or ".join("needs " + ": ".join(filter(None, (tool.what, tool.install))) for tool in absent)


def fetched(server: Fetched) -> str:
    """Say where a server is."""
    return f"{server.reference}  {server.family} {server.version}  {server.directory}"


def access(server: str, endpoint: Endpoint) -> Answer:
    """Say how to reach a running server."""
    lines = {
        "server": f"{server}, version {endpoint.version}, running until Ctrl-C",
        "client": endpoint.command,
        "socket": endpoint.socket,
        "address": f"{endpoint.host}:{endpoint.port}",
        "user": endpoint.user,
        "password": endpoint.password,
        "error log": endpoint.error_log,
    }
    width = max(map(len, lines))
    said = tuple(f"{name:{width}}  {text}" for name, text in lines.items())
    return Answer("", "", (Topic(lines=said),), endpoint)


def doctor(report: Report) -> Answer:
    """The losses that a machine can show, its disturbances, and the noise of A/A cells."""
    findings: list[tuple[Field, ...]] = []
    for finding in report.findings:
        findings.append(("✓" if finding.fit else "!", finding.what, finding.found))
        if not finding.fit:
            findings.append(("", "", finding.why))
        if not finding.fit and finding.mend:
            findings.append(("", "", f"$ {finding.mend}"))
    changes = f"runner {report.runner.fingerprint}; doctor changes nothing: run the commands yourself"
    tables = (Table(("", "", ""), tuple(findings), whole=True),)
    noise = (_noise(report),) if report.noise else ()
    topics = (Topic(tables=tables), Topic(lines=(changes,)), *noise)
    return Answer("", _fitness(report), topics, report)


def _fitness(report: Report) -> str:
    marked = sum(not finding.fit for finding in report.findings)
    disturb = f"; {counted(marked, 'disturbance')}, marked ! below" if marked else ""
    if not report.noise:
        remedy = "`shootout doctor --calibrate`, or any longer run, measures which losses this runner can see"
        return f"no A/A cells measured yet: {remedy}{disturb}"
    if report.visible is None:
        return f"unfit: at least one run in five would miss a loss of {100 * CHANGES[-1]:g} %{disturb}"
    minutes = f" in {report.budget_min:g} minutes" if report.budget_min is not None else ""
    return f"fit to see losses of {100 * report.visible:g} %{minutes}{disturb}"


def _noise(report: Report) -> Topic:
    losses, alarms = tuple(report.noise[0].power), report.false_alarms
    powers = (f"detects −{100 * float(loss):g} %" for loss in losses)
    columns = ("A/A cell", "dataset", "settings", "threads", "runs", "spread per start", *powers)
    rows = tuple(
        (
            cell.workload, cell.dataset, cell.settings or None, Figure(cell.threads, places=0),
            Figure(cell.runs, places=0), Figure(100 * cell.spread, "%", 1),
            *(Figure(100 * cell.power[loss], "%", 0) for loss in losses),
        )
        for cell in report.noise
    )  # fmt: skip
    share = f"{percents(alarms.share.low)} to {percents(alarms.share.high)}"
    of_gates = f"{share} of gates of {counted(alarms.comparisons, 'comparison')}"
    lines = [f"false alarms: {alarms.alarms} in {alarms.cells} A/A cells ({of_gates})"]
    if wanting := report.aa_cells_wanting:
        lines.append(
            f"until {counted(wanting, 'more A/A cell')} show no false alarm, "
            "only confirmed regressions beyond the margin fail a gate"
        )
    return Topic(lines=tuple(lines), tables=(Table(columns, rows, whole=True),))


def cache(contents: Contents) -> Answer:
    """The cache's entries, and its size."""
    rows = tuple(
        (entry.kind, _content(entry), size(entry.size_bytes), moment(entry.used.isoformat()), entry.state)
        for entry in contents.entries
    )
    lines = [f"{size(contents.total_bytes)} of {size(contents.limit_bytes)}"]
    if any(entry.state == "broken" for entry in contents.entries):
        lines.append(
            "broken: incomplete or changed; the next run that needs the entry replaces it, and "
            "`shootout cache clear` removes it"
        )
    table = Table(("kind", "content", "size", "last used", "state"), rows, whole=True)
    listed = (Topic(tables=(table,)),) if rows else ()
    return Answer("", "", (*listed, Topic(lines=tuple(lines))), contents)


def cleared(result: Cleared) -> Answer:
    """The entries still in use, and how much space was freed."""
    kept = (f"in use, not removed: {entry.kind} {_content(entry)}" for entry in result.kept)
    entries = counted(len(result.removed), "entry", "entries")
    lines = (*kept, f"removed {entries}, {size(result.freed_bytes)} freed")
    return Answer("", "", (Topic(lines=lines),), result)


def _content(entry: Entry) -> str:
    return f"{entry.server}: {', '.join(entry.datasets)}" if entry.datasets else entry.name
