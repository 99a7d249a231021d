"""The part of an issue about a regression that names the commit it began with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shootout.bisect import answer, proof
from shootout.bisect.values import Bisected, Revision
from shootout.model.history import Regression
from shootout.report.github.issues import Origin
from shootout.writers.markdown import escaped, folded, span, table_lines


def origin(bisected: Bisected, regression: Regression) -> Origin:
    """Describe the commit that a regression began with, for an issue."""
    lines = [f"**{escaped(answer.headline(bisected))}**", ""]
    if bisected.kind == "step":
        first, last = proof.place(bisected)
        lines += [
            f"- {_commit(bisected, revision)}" for revision in bisected.bisection.revisions[first : last + 1]
        ]
    lines += [f"- {escaped(step)}" for step in answer.steps(bisected)]
    lines += [f"- {escaped(note)}" for note in (*_left(bisected, regression), *answer.notes(bisected))]
    lines += ["", *folded("The commits", table_lines(answer.table(bisected)))]
    commands_ = {"Bisect again": answer.again(bisected, {}), "Look for the reason": answer.why(bisected)}
    there = bisected.bisection.revisions[0].server.partition("git:")[2].rpartition("#")[0]
    asked = [(title, command.replace(there, ".")) for title, command in commands_.items()]
    lines += [f"- {title}: {span(command)}" for title, command in asked if command]
    return Origin(bisected.is_worse, tuple(lines))


def elsewhere(regression: Regression) -> Origin:
    """Describe a regression between two runs of one commit, for an issue."""
    return Origin(confirmed=False, lines=(f"**{escaped(not_in_server(regression))}**",))


def not_in_server(regression: Regression) -> str:
    """Say what a regression between two runs of one commit began with."""
    changed = "; ".join(regression.conditions) or "nothing that shootout records"
    return (
        f"Not in the server: {regression.server} had the same commit {regression.bad_commit[:12]} in the "
        f"last good and the first bad run. What changed: {changed}."
    )


def _left(bisected: Bisected, regression: Regression) -> Iterator[str]:
    """Explain an answer without a commit."""
    if answer.lost_end(bisected):
        if regression.conditions:
            yield f"What else changed: {'; '.join(regression.conditions)}."
    elif bisected.kind == "open":
        yield "The next weekly run continues it."
    elif bisected.kind == "none" and regression.conditions:
        yield f"So it is not in the server. What else changed: {'; '.join(regression.conditions)}."
    elif bisected.kind == "none":
        yield "Not found: no commit between the last good and the first bad run shows it."


def _commit(bisected: Bisected, revision: Revision) -> str:
    """A commit: its address, what it is, and its pull request."""
    address, name = answer.link(bisected, revision), escaped(revision.label)
    said = f"[{name}]({address})" if address else name
    pull = _PULL.search(revision.subject)
    if pull and address.endswith(f"/commit/{revision.commit}"):  # as GitHub has it
        base = address.removesuffix(f"/commit/{revision.commit}")
        return f"{said}: {escaped(answer.what(revision))}: [pull request {pull[1]}]({base}/pull/{pull[1]})"
    return f"{said}: {escaped(answer.what(revision))}"


_PULL = re.compile(r"(?:^Merge pull request #|\(#)(\d+)")
