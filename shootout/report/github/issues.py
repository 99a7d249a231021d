"""Issues about regressions, in sync with the history: one per runner, server, workload and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shootout.model.history import Regression
from shootout.report import figures
from shootout.report.characters import visible
from shootout.report.github.markdown import code, escaped, table
from shootout.report.github.repository import Repository, Text

LABEL = "performance regression"
MARKER = "<!-- shootout: regression "  # followed by the key and " -->"
TITLE_MAX = 200  # characters; GitHub takes 256
COLUMNS = (
    "#threads", "#change", "#before, relative to the anchor", "#now", "last good run", "first bad run",
)  # fmt: skip
OPENED_MAX = 20  # at once: a changed runner is one problem, not hundreds


@dataclass(frozen=True)
class Issue:
    """The intended state of an issue."""

    key: str  # identifies the regression; stable across runs
    title: str
    body: str


def of(regressions: Iterable[Regression], link: str | None = None) -> tuple[Issue, ...]:
    """One issue per runner, server, workload and settings, with all its thread counts; worst first."""
    groups: dict[str, list[Regression]] = {}
    for regression in sorted(regressions, key=_remaining):
        groups.setdefault(_key(regression), []).append(regression)
    return tuple(_issue(key, group, link) for key, group in groups.items())


def sync(
    repository: Repository,
    regressions: Iterable[Regression],
    link: str | None = None,
    *,
    complete: bool = True,
) -> Iterator[str]:
    """Open, update and close the repository's issues; yields a line for each change.

    Issues about acknowledged regressions are closed. Unless the run documents are `complete`, no other issue
    is closed: its regression may be in a missing one. At most `OPENED_MAX` are opened, worst first; later
    calls open the rest. Raises MeasureError as Repository does.
    """
    lasting = tuple(regressions)
    issues = of([regression for regression in lasting if regression.acknowledged is None], link)
    wanted = {issue.key: issue for issue in issues}
    keys = {*map(_key, lasting)}
    existing: dict[str, Text] = {}
    for old in repository.issues(LABEL, MARKER):
        existing.setdefault((old.body or "").removeprefix(MARKER).partition(" ")[0], old)
    missing = [new for key, new in wanted.items() if key not in existing]
    for new in missing[:OPENED_MAX]:
        yield f"opened {repository.open(new.title, new.body, LABEL)}"
    if len(missing) > OPENED_MAX:
        yield f"not opened yet: {len(missing) - OPENED_MAX} more"
    for key, old in existing.items():
        if key in wanted:
            new = wanted[key]
            if (old.title, _lines(old.body)) != (new.title, _lines(new.body)):
                repository.update(old.number, new.title, new.body)
                yield f"updated {old.html_url}"
        elif key in keys:
            repository.close(old.number, "not_planned", "Acknowledged: it no longer fails the gate.")
            yield f"closed {old.html_url}"
        elif complete:
            recovered = "Recovered: the newest runs are back within the margin."
            repository.close(old.number, "completed", recovered)
            yield f"closed {old.html_url}"
        else:
            yield f"left open, as a run document is missing: {old.html_url}"


def _key(regression: Regression) -> str:
    r = regression
    about = "\0".join((r.runner, r.workload, r.dataset, r.server, r.anchor, r.settings))
    return hashlib.sha256(about.encode()).hexdigest()[:16]


def _lines(body: str | None) -> list[str]:
    """The lines without their endings, which GitHub changes."""
    return (body or "").splitlines()


def _issue(key: str, group: Sequence[Regression], link: str | None) -> Issue:
    cells = sorted(group, key=lambda regression: regression.threads)
    worst = min(cells, key=_remaining)
    size = figures.percent(_remaining(worst))
    title = f"{worst.server}: {worst.workload} {size} at {figures.threads(worst.threads)}"
    return Issue(
        key=key,
        title=visible(title).replace("\n", " ")[:TITLE_MAX],
        body="\n".join([f"{MARKER}{key} -->", *_body(cells, worst, link)]) + "\n",
    )


def _remaining(regression: Regression) -> float:
    return regression.after / regression.before


def _row(cell: Regression) -> list[str]:
    levels = map(figures.percent, (_remaining(cell), cell.before, cell.after))
    return [str(cell.threads), *levels, escaped(cell.last_good), escaped(cell.first_bad)]


def _body(cells: Sequence[Regression], worst: Regression, link: str | None) -> Iterator[str]:
    names = [escaped(name) for name in (worst.server, worst.workload, worst.anchor)]
    yield "**{} has become slower in {}, relative to {}.**".format(*names)
    yield ""
    yield from table(COLUMNS, map(_row, cells))
    yield ""
    yield from _causes(cells)
    where = map(escaped, (worst.runner, worst.dataset, worst.settings))
    yield "On runner {}, dataset {}, settings {}. To reproduce it there:".format(*where)
    yield ""
    yield from code(worst.repeat)
    yield ""
    if link is not None:
        yield f"[The report]({link})"
        yield ""
    yield (
        f"The newest run is {escaped(worst.newest)}. shootout keeps this issue up to date and closes it "
        "once the regression has recovered. To acknowledge it, add it to `fixtures/acknowledged.toml`, or to "
        "the file that the workflow's input names."
    )


def _causes(cells: Sequence[Regression]) -> Iterator[str]:
    """Other changes at the start of the regression, each listed once for all its thread counts."""
    changes = dict.fromkeys(change for cell in cells for change in cell.changed)
    if not changes:
        return
    yield "Other changes between the last good and the first bad run:"
    yield ""
    for change in changes:
        of = [str(cell.threads) for cell in cells if change in cell.changed]
        where = "" if len(of) == len(cells) else f" (threads: {', '.join(of)})"
        yield f"- {escaped(change)}{where}"
    yield ""
