"""The words of a bisection, for terminal, issues and pages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from shootout import figures, numbers, renamed
from shootout.analysis.exit_codes import UNMEASURED, exit_code
from shootout.bisect import proof
from shootout.bisect.values import FORMAT, Answer, Revision, RevisionFinding
from shootout.model.history import Regression
from shootout.model.verdict import Interval, Verdict
from shootout.report import commands
from shootout.report.github.issues import Origin
from shootout.writers.judged import Judged, Line, Table
from shootout.writers.markdown import Markup, code, escaped, folded, span, table

COLUMNS = ("revision", "step here", "#to the base", "verdict", "#to the one before", "#starts", "what")
FEW = 12  # revisions: a table lists all of them


def headline(answer: Answer) -> str:
    """The answer in a sentence."""
    subject = f"{answer.bisection.workload}, {figures.threads(answer.bisection.threads)}"
    least = f"{100 * answer.margin:g}{numbers.SPACE}%"
    match answer.kind:
        case "none":
            return f"{subject}: no step of {least} or more between {_ends(answer)}."
        case "several":
            return f"{subject}: more than one step, or a drift, between {_ends(answer)}."
        case "step" if answer.size:
            return f"{subject}: {_change(answer, answer.size)} since {_place(answer)}."
    if end := _lost_end(answer):
        return f"{subject}: not bisected, as {end.revision.label} cannot be measured: {end.reason}"
    last = answer.findings[-1]
    if last.ratio is None:
        return f"{subject}: not decided; {last.revision.label} is not measured yet."
    changed = _change(answer, last.ratio)
    if last.verdict is Verdict.INCONCLUSIVE:
        return f"{subject}: not decided whether {last.revision.label} differs by {least} or more: {changed}."
    ends = f"{last.revision.label} beside {answer.findings[0].revision.label}"
    return f"{subject}: not decided; {ends}: {changed}, somewhere in {_place(answer)}."


def steps(answer: Answer) -> tuple[str, ...]:
    """Measured neighbours that differ, where there are several steps."""
    return tuple(
        f"{step.newer} beside {step.older}: {_change(answer, step.ratio)}"
        for step in (answer.steps if answer.kind == "several" else ())
    )


def notes(answer: Answer) -> Iterator[str]:
    """What else there is to say."""
    last = answer.bisection.revisions[proof.place(answer)[1]]
    if answer.kind == "step" and answer.first != answer.last:
        yield f"What lies between {answer.first} and {answer.last} cannot be measured apart."
    if answer.kind == "step" and last.parents > 1:
        yield (
            f"{last.label} is a merge. Bisect its branch: "
            f"--good $(git merge-base {last.commit}^1 {last.commit}^2) --bad {last.commit}^2"
        )
    yield from _proven(answer)
    if answer.bisection.begun_in < FORMAT:
        yield "Begun by an older shootout: judged by today's rule, and not continued."
    if failed := sum(bool(finding.reason) for finding in answer.findings):
        yield f"{failed} of {len(answer.findings)} revisions cannot be measured."
    yield (
        f"{answer.starts} starts of single servers, {len(answer.bisection.builds)} builds, "
        f"{answer.spent_s / 60:.0f} min; a start varies by {numbers.percents(answer.spread)}."
    )


def _proven(answer: Answer) -> Iterator[str]:
    """What the neighbours of a step differ in, and what becomes of it without its commits."""
    found = answer.proof
    if found is None:
        return
    yield from (f"What {answer.last} changed, in {answer.measure}: {each}." for each in found.differences)
    if found.ratio is None or found.without is None:
        yield f"No proof by revert: {found.reason}."
        return
    without, now = (_interval(ratio) for ratio in (found.without, found.ratio))
    yield (
        f"Proof by revert, in {answer.measure} compared with {found.before}: {found.newest} {now}, "
        f"{found.newest} without {_place(answer)} {without}."
    )


def why(answer: Answer) -> str:
    """The command that asks what the neighbours of a step differ in; empty without one."""
    if answer.kind != "step":
        return ""
    _, last = proof.place(answer)
    bisection, before = answer.bisection, proof.before(answer)
    omitted = ("--servers", "--threads", "--seed", *commands.OF_THE_RUN, *commands.OF_THE_MACHINE)
    given = {flag: text for flag, text in bisection.given.items() if flag not in omitted}
    servers = f"{before.revision.server},{bisection.revisions[last].server}"
    compared = {"--servers": servers, "--workloads": bisection.workload} | given
    if bisection.is_exact:
        return commands.line(renamed.current("command", bisection.instrument), compared)
    return commands.line("run", compared | {"--threads": str(bisection.threads), "--explain": "5"})


def go_on(answer: Answer) -> str:
    """The command that continues an undecided bisection, to twice its time; empty if it is decided."""
    budget = {"--resume": "", "--budget": str(math.ceil(answer.spent_s / 30))}
    if answer.bisection.begun_in < FORMAT:
        del budget["--resume"]
    return again(answer, budget) if answer.kind == "open" else ""


def again(answer: Answer, changed: Mapping[str, str]) -> str:
    """The command that asks the same, with these options."""
    bisection, first, last = answer.bisection, answer.bisection.revisions[0], answer.bisection.revisions[-1]
    if first.commit:
        repository = first.server.partition("git:")[2].rpartition("#")[0]
        asked = {"--repo": repository, "--good": first.commit, "--bad": last.commit}
    else:
        asked = {"--over": ",".join(revision.server for revision in bisection.revisions)}
    counted = {f"--{renamed.current('command', bisection.instrument)}": ""} if bisection.is_exact else {}
    given = {flag: text for flag, text in bisection.given.items() if flag not in ("--budget", "--resume")}
    return commands.line("bisect", asked | given | counted | {**changed})


def shown(answer: Answer) -> tuple[RevisionFinding, ...]:
    """The revisions that a table lists."""
    if len(answer.findings) <= FEW:
        return answer.findings
    return tuple(each for each in answer.findings if each.starts or each.reason or each.here == "yes")


def row(answer: Answer, finding: RevisionFinding) -> tuple[str, ...]:
    """A line of a table, in the order of COLUMNS."""
    return (
        finding.revision.label,
        finding.here,
        _interval(finding.ratio),
        finding.verdict or "",
        _interval(finding.step),
        str(finding.starts or ""),
        " ".join(finding.reason.splitlines()[:2]) if finding.reason else what(finding.revision),
    )


def what(revision: Revision) -> str:
    """Subject, author and day of a commit."""
    parts = (revision.subject, revision.author, revision.date[:10])
    return ", ".join(part for part in parts if part)


def link(answer: Answer, revision: Revision) -> str:
    """Address of a commit; empty without one."""
    template = answer.bisection.link
    if not template.startswith(("https://", "http://")) or not revision.commit.isalnum():
        return ""
    return template.replace("{commit}", revision.commit)


def judged(answer: Answer) -> Judged:
    """The answer, and what is known of each revision."""
    command = why(answer)
    return Judged(
        text=(
            Line(),
            Line(headline(answer), "bold"),
            *(Line(f"  {step}") for step in steps(answer)),
            Line(),
            Table(COLUMNS, tuple(_cells(answer, finding) for finding in shown(answer))),
            Line(),
            *map(Line, notes(answer)),
            *([Line(f"why           {command}")] if command else []),
            *([Line(f"go on         {more}")] if (more := go_on(answer)) else []),
        ),
        value=_value(answer),
        exit_code=exit_code(
            failed=_lost_end(answer) is not None, regressed=answer.is_worse, undecided=answer.kind == "open"
        ),
        markdown=_markdown(answer),
    )


def _cells(answer: Answer, finding: RevisionFinding) -> tuple[Line, ...]:
    style = "magenta" if finding.reason else ""
    return tuple(Line(cell, style) for cell in row(answer, finding))


def _value(answer: Answer) -> dict[str, object]:
    """An answer as JSON has it."""
    return {
        "bisection": answer.bisection.id,
        "workload": answer.bisection.workload,
        "instrument": renamed.current("command", answer.bisection.instrument),
        "threads": answer.bisection.threads,
        "answer": answer.kind,
        "first": answer.first,
        "last": answer.last,
        "size": answer.size,
        "steps": answer.steps,
        "margin": answer.margin,
        "spread": answer.spread,
        "starts": answer.starts,
        "builds": answer.bisection.builds,
        "spent_s": answer.spent_s,
        "revisions": answer.findings,
        "documents": answer.documents,
        "proof": answer.proof,
    }


def joined(judged: Sequence[Judged], failed: Sequence[str]) -> Judged:
    """The answers of several bisections, and why others failed; or that there is none."""
    said = [f"Not bisected: {reason}" for reason in failed]
    if not judged and not failed:
        said = ["The history has no regression between two commits that is to be bisected."]
    codes = [each.exit_code for each in judged if each.exit_code]
    return Judged(
        text=(*(line for each in judged for line in each.text), *map(Line, said)),
        value={"bisections": [each.value for each in judged], "failed": failed},
        exit_code=UNMEASURED if failed else min(codes, default=0),
        markdown="\n".join([*(each.markdown for each in judged), *(f"{escaped(line)}\n" for line in said)]),
    )


# --- an issue about a regression ------------------------------------------------------------------


def origin(answer: Answer, regression: Regression) -> Origin:
    """What an issue says of the commit that a regression began with."""
    lines = [f"**{escaped(headline(answer))}**", ""]
    if answer.kind == "step":
        first, last = proof.place(answer)
        lines += [
            f"- {_commit(answer, revision)}" for revision in answer.bisection.revisions[first : last + 1]
        ]
    lines += [f"- {escaped(step)}" for step in steps(answer)]
    lines += [f"- {escaped(note)}" for note in (*_left(answer, regression), *notes(answer))]
    lines += ["", *folded("The commits", [*_table(answer), ""])]
    commands_ = {"Bisect again": again(answer, {}), "Look for the reason": why(answer)}
    there = answer.bisection.revisions[0].server.partition("git:")[2].rpartition("#")[0]
    asked = [(title, command.replace(there, ".")) for title, command in commands_.items()]
    lines += [f"- {title}: {span(command)}" for title, command in asked if command]
    return Origin(answer.is_worse, tuple(lines))


def elsewhere(regression: Regression) -> Origin:
    """What an issue says of a regression between two runs of one commit."""
    return Origin(confirmed=False, lines=(f"**{escaped(not_in_server(regression))}**",))


def not_in_server(regression: Regression) -> str:
    """What a regression between two runs of one commit began with."""
    changed = "; ".join(regression.conditions) or "nothing that shootout records"
    return (
        f"Not in the server: {regression.server} had the same commit {regression.bad_commit[:12]} in the "
        f"last good and the first bad run. What changed: {changed}."
    )


def _left(answer: Answer, regression: Regression) -> Iterator[str]:
    """What an answer without a commit means."""
    if _lost_end(answer):
        if regression.conditions:
            yield f"What else changed: {'; '.join(regression.conditions)}."
    elif answer.kind == "open":
        yield "The next weekly run goes on with it."
    elif answer.kind == "none" and regression.conditions:
        yield f"So it is not in the server. What else changed: {'; '.join(regression.conditions)}."
    elif answer.kind == "none":
        yield "Not found: no commit between the last good and the first bad run shows it."


def _commit(answer: Answer, revision: Revision) -> str:
    """A commit: its address, what it is, and its pull request."""
    address, name = link(answer, revision), escaped(revision.label)
    said = f"[{name}]({address})" if address else name
    pull = _PULL.search(revision.subject)
    if pull and address.endswith(f"/commit/{revision.commit}"):  # as GitHub has it
        base = address.removesuffix(f"/commit/{revision.commit}")
        return f"{said}: {escaped(what(revision))}: [pull request {pull[1]}]({base}/pull/{pull[1]})"
    return f"{said}: {escaped(what(revision))}"


_PULL = re.compile(r"(?:^Merge pull request #|\(#)(\d+)")


def _table(answer: Answer) -> Iterator[str]:
    rows = []
    for finding in shown(answer):
        label, *rest = row(answer, finding)
        address = link(answer, finding.revision)
        rows.append([Markup(f"[{escaped(label)}]({address})") if address else label, *rest])
    return table(COLUMNS, rows)


def _markdown(answer: Answer) -> str:
    """The answer and its table, for a step summary."""
    lines = [f"## {escaped(headline(answer))}", ""]
    lines += [f"- {escaped(step)}" for step in steps(answer)] + [""]
    lines += _table(answer)
    lines += ["", *(f"- {escaped(note)}" for note in notes(answer))]
    if command := why(answer):
        lines += ["", "Why:", "", *code(command)]
    return "\n".join(lines) + "\n"


def _lost_end(answer: Answer) -> RevisionFinding | None:
    """The end of the history that cannot be measured, if there is one."""
    return next((end for end in (answer.findings[0], answer.findings[-1]) if end.reason), None)


def _ends(answer: Answer) -> str:
    return f"{answer.findings[0].revision.label} and {answer.findings[-1].revision.label}"


def _place(answer: Answer) -> str:
    return answer.last if answer.first == answer.last else f"{answer.first} to {answer.last}"


def _change(answer: Answer, ratio: Interval) -> str:
    """A ratio in words, with its interval."""
    less = ratio.estimate < 1
    if answer.bisection.is_exact:
        word = f"{'fewer' if less else 'more'} {answer.measure}"
    else:
        word = "slower" if less else "faster"
    return f"{numbers.percents(abs(ratio.estimate - 1))} {word} ({figures.change_range(ratio)})"


def _interval(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{figures.change(ratio)} ({figures.change_range(ratio)})"
