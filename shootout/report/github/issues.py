"""Issues about regressions, in sync with the history: one per runner, server, workload and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shootout.model.history import Regression
from shootout.report import wording
from shootout.report.github import markdown
from shootout.report.github.repository import Repository, Text

LABEL = "performance regression"
MARKER = "<!-- shootout: regression "  # followed by the key and " -->"
TITLE_MAX = 200  # characters; GitHub takes 256
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
    for each in sorted(regressions, key=_remaining):
        groups.setdefault(_key(each), []).append(each)
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
    found = tuple(regressions)
    wanted = {each.key: each for each in of([each for each in found if each.acknowledged is None], link)}
    known = {_key(each) for each in found}
    existing: dict[str, Text] = {}
    for issue in repository.issues(LABEL, MARKER):
        existing.setdefault((issue.body or "").removeprefix(MARKER).partition(" ")[0], issue)
    missing = [new for key, new in wanted.items() if key not in existing]
    for new in missing[:OPENED_MAX]:
        yield f"opened {repository.open(new.title, new.body, LABEL)}"
    if len(missing) > OPENED_MAX:
        yield f"not opened yet: {len(missing) - OPENED_MAX} more"
    for key, old in existing.items():
        if key not in wanted:
            if complete or key in known:
                yield _closed(repository, old, known=key in known)
            else:
                yield f"left open, as a run document is missing: {old.html_url}"
        elif (old.title, _lines(old.body)) != (wanted[key].title, _lines(wanted[key].body)):
            repository.update(old.number, wanted[key].title, wanted[key].body)
            yield f"updated {old.html_url}"


def _closed(repository: Repository, old: Text, *, known: bool) -> str:
    if known:
        repository.close(old.number, "not_planned", "Acknowledged: it no longer fails the gate.")
    else:
        repository.close(old.number, "completed", "Recovered: the newest runs are back within the margin.")
    return f"closed {old.html_url}"


def _key(each: Regression) -> str:
    about = "\0".join((each.runner, each.workload, each.dataset, each.server, each.anchor, each.settings))
    return hashlib.sha256(about.encode()).hexdigest()[:16]


def _lines(body: str | None) -> list[str]:
    """The lines without their endings, which GitHub changes."""
    return (body or "").splitlines()


def _issue(key: str, group: Sequence[Regression], link: str | None) -> Issue:
    cells = sorted(group, key=lambda each: each.threads)
    worst = min(cells, key=_remaining)
    size = wording.percent(_remaining(worst))
    title = f"{worst.server}: {worst.workload} {size} at {wording.threads(worst.threads)}"
    return Issue(
        key=key,
        title=wording.visible(title).replace("\n", " ")[:TITLE_MAX],
        body="\n".join([f"{MARKER}{key} -->", *_body(cells, worst, link)]) + "\n",
    )


def _remaining(each: Regression) -> float:
    return each.after / each.before


def _body(cells: Sequence[Regression], worst: Regression, link: str | None) -> Iterator[str]:
    escaped = wording.escaped
    names = [escaped(name) for name in (worst.server, worst.workload, worst.anchor)]
    yield "**{} has become slower in {}, relative to {}.**".format(*names)
    yield ""
    yield "| threads | change | before, relative to the anchor | now | last good run | first bad run |"
    yield "|--:|--:|--:|--:|---|---|"
    for each in cells:
        levels = (wording.percent(level) for level in (_remaining(each), each.before, each.after))
        runs = (escaped(each.last_good), escaped(each.first_bad))
        yield f"| {' | '.join((str(each.threads), *levels, *runs))} |"
    yield ""
    yield from _causes(cells)
    where = map(escaped, (worst.runner, worst.dataset, worst.settings))
    yield "On runner {}, dataset {}, settings {}. To reproduce it there:".format(*where)
    yield ""
    yield from markdown.code(worst.repeat)
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
    changes = dict.fromkeys(change for each in cells for change in each.changed)
    if not changes:
        return
    yield "Other changes between the last good and the first bad run:"
    yield ""
    for change in changes:
        of = [str(each.threads) for each in cells if change in each.changed]
        where = "" if len(of) == len(cells) else f" (threads: {', '.join(of)})"
        yield f"- {wording.escaped(change)}{where}"
    yield ""
