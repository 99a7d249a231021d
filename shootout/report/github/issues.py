"""Issues about regressions, in sync with the history: one per runner, server, workload and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from shootout import figures
from shootout.characters import visible
from shootout.model.history import Regression
from shootout.report.github.repository import Repository
from shootout.report.github.workflow import Record
from shootout.writers.markdown import code, escaped, table

LABEL = "performance regression"
MARKER = "<!-- shootout: regression "  # followed by the key and " -->"
TITLE_MAX = 200  # characters; GitHub takes 256
COLUMNS = (
    "#threads", "#change", "#before, relative to the anchor", "#now", "last good run", "first bad run",
)  # fmt: skip
OPENED_MAX = 20  # at once: a changed runner is one problem, not hundreds


@dataclass(frozen=True)
class Origin:
    """A capability's finding on where a regression comes from."""

    confirmed: bool  # it found the change itself, too
    lines: tuple[str, ...]  # Markdown


Find = Callable[[Regression], Origin | None]


@dataclass(frozen=True)
class Issue:
    """The intended state of an issue."""

    key: str  # Regression.issue
    title: str
    body: str
    confirmed: bool  # by what was found out about it


def group_regressions(
    regressions: Iterable[Regression], link: str | None = None, origin: Find | None = None
) -> tuple[Issue, ...]:
    """One issue per runner, server, workload and settings, with all its thread counts; worst first."""
    groups: dict[str, list[Regression]] = {}
    for regression in sorted(regressions, key=lambda regression: regression.remaining):
        groups.setdefault(regression.issue, []).append(regression)
    return tuple(_issue(key, group, link, origin) for key, group in groups.items())


def sync(
    repository: Repository,
    regressions: Iterable[Regression],
    link: str | None = None,
    *,
    complete: bool = True,
    origin: Find | None = None,
    hold: bool = False,
    only: str = "",
) -> Iterator[str]:
    """Open, update and close the repository's issues; yields a line for each change.

    `origin` says where a regression comes from; with `hold`, only those are opened that it confirms. `only`
    is the key of the regressions, if they are not all: issues of others stay as they are.
    Issues about acknowledged regressions are closed. Unless the run documents are `complete`, no other issue
    is closed: its regression may be in a missing one. At most `OPENED_MAX` are opened, worst first; later
    calls open the rest. Raises MeasureError as Repository does.
    """
    lasting = tuple(regressions)
    issues = group_regressions(
        [regression for regression in lasting if regression.acknowledged is None], link, origin
    )
    wanted = {issue.key: issue for issue in issues}
    keys = {regression.issue for regression in lasting}
    existing: dict[str, Record] = {}
    for old in repository.issues(LABEL, MARKER):
        key = old["body"].removeprefix(MARKER).partition(" ")[0]
        if only in ("", key):
            existing.setdefault(key, old)
    missing = [new for key, new in wanted.items() if key not in existing]
    if held := [new for new in missing if hold and not new.confirmed]:
        yield f"held back until a bisection confirms them: {len(held)}"
        missing = [new for new in missing if new.confirmed]
    for new in missing[:OPENED_MAX]:
        yield f"opened {repository.open(new.title, new.body, LABEL)}"
    if len(missing) > OPENED_MAX:
        yield f"not opened yet: {len(missing) - OPENED_MAX} more"
    for key, old in existing.items():
        if key in wanted:
            new = wanted[key]
            # GitHub changes the ends of lines.
            if (old["title"], old["body"].splitlines()) != (new.title, new.body.splitlines()):
                repository.update(old["number"], new.title, new.body)
                yield f"updated {old['html_url']}"
        elif key in keys:
            repository.close(old["number"], "not_planned", "Acknowledged: it no longer fails the gate.")
            yield f"closed {old['html_url']}"
        elif complete:
            recovered = "Recovered: the newest runs are back within the margin."
            repository.close(old["number"], "completed", recovered)
            yield f"closed {old['html_url']}"
        else:
            yield f"left open, as a run document is missing: {old['html_url']}"


def _issue(key: str, group: Sequence[Regression], link: str | None, origin: Find | None) -> Issue:
    cells = sorted(group, key=lambda regression: regression.threads)
    worst = min(cells, key=lambda regression: regression.remaining)
    size = figures.percent(worst.remaining)
    origins = [found for cell in cells if origin and (found := origin(cell)) is not None]
    title = f"{worst.server}: {worst.workload} {size} at {figures.threads(worst.threads)}"
    return Issue(
        key=key,
        title=visible(title).replace("\n", " ")[:TITLE_MAX],
        body="\n".join([f"{MARKER}{key} -->", *_body(cells, worst, origins, link)]) + "\n",
        confirmed=any(found.confirmed for found in origins),
    )


def _row(cell: Regression) -> list[str]:
    levels = map(figures.percent, (cell.remaining, cell.before, cell.after))
    return [str(cell.threads), *levels, cell.last_good, cell.first_bad]


def _body(
    cells: Sequence[Regression], worst: Regression, origins: Sequence[Origin], link: str | None
) -> Iterator[str]:
    names = [escaped(name) for name in (worst.server, worst.workload, worst.anchor)]
    yield "**{} has become slower in {}, relative to {}.**".format(*names)
    yield from ("", *table(COLUMNS, map(_row, cells)), "")
    for lines in dict.fromkeys(found.lines for found in origins):
        yield from (*lines, "")
    yield from _causes(cells)
    where = map(escaped, (worst.runner, worst.dataset, worst.settings))
    yield "On runner {}, dataset {}, settings {}. To reproduce it there:".format(*where)
    yield from ("", *code(worst.repeat), "")
    if link is not None:
        yield from (f"[The report]({link})", "")
    yield (
        f"The newest run is {escaped(worst.newest)}. shootout keeps this issue up to date and closes it "
        "once the regression has recovered. To acknowledge it, add it to `fixtures/acknowledged.toml`, or to "
        "the file that the workflow's input names."
    )


def _causes(cells: Sequence[Regression]) -> Iterator[str]:
    changes = dict.fromkeys(change for cell in cells for change in cell.changed)
    if changes:
        yield from ("Other changes between the last good and the first bad run:", "")
    for change in changes:
        of = [str(cell.threads) for cell in cells if change in cell.changed]
        where = "" if len(of) == len(cells) else f" (threads: {', '.join(of)})"
        yield f"- {escaped(change)}{where}"
    if changes:
        yield ""
