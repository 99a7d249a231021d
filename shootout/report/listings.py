"""Results of commands without verdicts: servers, the cache, the runner, the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shootout.answer import SYMBOLS
from shootout.figures import NONE, counted, moment, percent, size
from shootout.measure.session import Endpoint
from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.verdict import Verdict
from shootout.numbers import percents
from shootout.runner.doctor import CHANGES, Report
from shootout.servers.sources.cache import Cleared, Contents, Entry
from shootout.servers.sources.catalogue import Fetched, Offer
from shootout.writers.judged import STYLES, Judged, Line, Table

HISTORY_COLUMNS = (
    "workload", "settings", "#threads", "server", "anchor", "#runs", "#first", "#newest", "change",
)  # fmt: skip
OFFER_STYLES = {"ready": "green", "fetchable": "", "unavailable": "yellow"}


def history(series: Sequence[HistorySeries]) -> Judged:
    """Each series, with a row for each further change."""
    rows: list[tuple[str | Line, ...]] = []
    for one in series:
        names = (one.workload, one.settings, str(one.threads), one.server, one.anchor)
        levels = (percent(one.points[0].ratio), percent(one.points[-1].ratio))
        first, *more = map(_change, one.changes) if one.changes else [Line("none", "dim")]
        rows.append((*names, str(len(one.points)), *levels, first))
        rows += [(*[""] * (len(HISTORY_COLUMNS) - 1), change) for change in more]
    return Judged((Table(HISTORY_COLUMNS, tuple(rows)),), {"series": series})


def _change(change: ChangePoint) -> Line:
    worse = change.after < change.before
    state = "confirmed" if change.confirmed else "suspected"
    where = f"last good {change.last_good}, first {'bad' if worse else 'better'} {change.first_bad}"
    where += f"; commits {change.commits}" if change.commits else ""
    verdict = Verdict.REGRESSED if worse else Verdict.IMPROVED
    text = f"{SYMBOLS[verdict]} {percent(change.after / change.before)}, {state}: {where}"
    return Line(text, STYLES[verdict])


def descriptions(by_name: Mapping[str, str]) -> Judged:
    """List what comes with shootout, by name."""
    return Judged((Table(("name", "description"), tuple(by_name.items())),), by_name)


def servers(offers: Sequence[Offer]) -> Judged:
    """The catalogue, and the availability of each server."""
    rows = tuple(
        (offer.id, offer.released, offer.edition, Line(_state(offer), OFFER_STYLES[offer.state]), offer.note)
        for offer in offers
    )
    return Judged((Table(("server", "released", "edition", "state", "note"), rows),), offers)


def _state(offer: Offer) -> str:
    """`ready`, the client that can fetch the server, or what that requires."""
    if offer.state == "ready":
        return "ready"
    if offer.state == "fetchable":
        client = next(way.client for way in offer.ways if way.missing is None)
        return f"can be fetched with {client}" if client else "can be fetched"
    absent = [way.missing for way in offer.ways if way.missing is not None]
    return "; or ".join(
        f"needs {tool.what}" + (f": {tool.install}" if tool.install else "") for tool in absent
    )


def fetched(server: Fetched) -> Line:
    """Say where a server is."""
    return Line(f"{server.reference}  {server.family} {server.version}  {server.directory}")


def access(server: str, endpoint: Endpoint) -> Judged:
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
    return Judged(tuple(Line(f"{name:{width}}  {text}") for name, text in lines.items()), endpoint)


def doctor(report: Report) -> Judged:
    """The findings, the noise of A/A cells, and the power to detect losses."""
    return Judged(tuple(_doctor(report)), report)


def _doctor(report: Report) -> Iterator[Line | Table]:
    yield _fitness(report)
    yield Line()
    findings: list[tuple[str | Line, ...]] = []
    for finding in report.findings:
        sign = Line("✓", "green") if finding.fit else Line("!", "yellow")
        findings.append((sign, finding.what, finding.found))
        if not finding.fit:
            findings.append(("", "", Line(finding.why, "dim")))
        if not finding.fit and finding.mend:
            findings.append(("", "", Line(f"$ {finding.mend}", "cyan")))
    yield Table(("", "", ""), tuple(findings))
    yield Line()
    yield Line(f"runner {report.runner.fingerprint}; doctor changes nothing: run the commands yourself")
    if not report.noise:
        return
    yield Line()
    yield _noise(report)
    alarms = report.false_alarms
    share = f"{percents(alarms.share.low)} to {percents(alarms.share.high)}"
    of_gates = f"{share} of gates of {counted(alarms.comparisons, 'comparison')}"
    yield Line()
    yield Line(f"false alarms: {alarms.alarms} in {alarms.cells} A/A cells ({of_gates})")
    if wanting := report.aa_cells_wanting:
        yield Line(
            f"until {counted(wanting, 'more A/A cell')} show no false alarm, "
            "only confirmed regressions beyond the margin fail a gate"
        )


def _fitness(report: Report) -> Line:
    """The losses that this machine can show, in one sentence."""
    marked = sum(not finding.fit for finding in report.findings)
    disturb = f"; {counted(marked, 'disturbance')}, marked ! below" if marked else ""
    if not report.noise:
        remedy = "`shootout doctor --calibrate`, or any larger run, tells which losses it can see"
        return Line(f"no A/A cells measured on this runner yet: {remedy}{disturb}", "yellow")
    if report.visible is None:
        return Line(
            f"unfit: one of five runs, or more, would miss a loss of {100 * CHANGES[-1]:g} %{disturb}", "red"
        )
    minutes = f" in {report.budget_min:g} minutes" if report.budget_min is not None else ""
    return Line(f"fit to see losses of {100 * report.visible:g} %{minutes}{disturb}", "green")


def _noise(report: Report) -> Table:
    losses = tuple(report.noise[0].power)
    powers = (f"#detects −{100 * float(loss):g} %" for loss in losses)
    columns = ("A/A cell", "dataset", "settings", "#threads", "#runs", "#spread per start", *powers)
    rows = []
    for cell in report.noise:
        names = (cell.workload, cell.dataset, cell.settings or NONE)
        power = (f"{100 * cell.power[loss]:.0f} %" for loss in losses)
        rows.append((*names, str(cell.threads), str(cell.runs), percents(cell.spread), *power))
    return Table(columns, tuple(rows))


def cache(contents: Contents) -> Judged:
    """The cache's entries, and its size."""
    rows = tuple(
        (entry.kind, _content(entry), size(entry.size_bytes), moment(entry.used.isoformat()), entry.state)
        for entry in contents.entries
    )
    table = (Table(("kind", "content", "#size", "last used", "state"), rows),) if rows else ()
    total = Line(f"{size(contents.total_bytes)} of {size(contents.limit_bytes)}")
    broken = any(entry.state == "broken" for entry in contents.entries)
    why = (
        Line("broken: cut short or changed; it is made anew when it is needed, or `shootout cache clear`"),
    )
    return Judged((*table, total, *(why if broken else ())), contents)


def cleared(result: Cleared) -> Judged:
    """The entries still in use, and how much space was freed."""
    kept = (Line(f"in use, not removed: {entry.kind} {_content(entry)}") for entry in result.kept)
    entries = counted(len(result.removed), "entry", "entries")
    return Judged((*kept, Line(f"removed {entries}, {size(result.freed_bytes)} freed")), result)


def _content(entry: Entry) -> str:
    """An entry's content; its name if the content is unknown."""
    return f"{entry.server}: {', '.join(entry.datasets)}" if entry.datasets else entry.name
