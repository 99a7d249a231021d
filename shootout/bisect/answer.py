"""The answer of a bisection."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from shootout import figures, numbers, renamed
from shootout.analysis.exit_codes import UNMEASURED, exit_code
from shootout.answer import Answer, Drawn, Field, Figure, Link, Mark, Table, Topic, Whole, change
from shootout.bisect import proof
from shootout.bisect.values import FORMAT, Bisected, Revision, RevisionFinding
from shootout.chart import Axis, Chart, Line, Series, readouts
from shootout.model.verdict import Interval, Verdict
from shootout.report import commands

COLUMNS = ("revision", "step here", "against the base", "verdict", "against the one before", "starts", "what")
TICKS_MAX = 8  # of the chart
FEW = 12  # revisions: a table lists all of them


def answer(bisected: Bisected, out: Path | None = None) -> Answer:
    """Since when servers are slower or faster, and what is known of each revision.

    `out`: the folder that the command that continues needs; None for the default.
    """
    bisection, command, more = bisected.bisection, why(bisected), go_on(bisected, out)
    title, drawn = f"{bisected.measure.capitalize()} by revision", _ratios(bisected)
    documents = f"; its documents: {', '.join(bisected.documents)}" if bisected.documents else ""
    return Answer(
        name="Since when?",
        headline=headline(bisected),
        topics=(
            Topic(lines=(*steps(bisected), *notes(bisected))),
            *([Topic("To explain the step", commands=(command,))] if command else []),
            *([Topic("To continue", commands=(more,))] if more else []),
            *([Topic(title, charts=(drawn,), page_only=True)] if drawn else []),
            Topic("Revisions", tables=(table(bisected),)),
        ),
        value=_value(bisected),
        exit_code=exit_code(
            failed=lost_end(bisected) is not None,
            regressed=bisected.is_worse,
            undecided=bisected.kind == "open",
        ),
        footer=(f"Begun {figures.moment(bisection.started)} by shootout {bisection.shootout}{documents}."),
        listed=(figures.moment(bisection.started),),
    )


def headline(bisected: Bisected) -> str:
    """The answer in a sentence."""
    subject = f"{bisected.bisection.workload}, {figures.threads(bisected.bisection.threads)}"
    least = f"{100 * bisected.margin:g}{numbers.SPACE}%"
    match bisected.kind:
        case "none":
            return f"{subject}: no step of {least} or more between {_ends(bisected)}."
        case "several":
            return f"{subject}: more than one step, or a drift, between {_ends(bisected)}."
        case "step" if bisected.size:
            return f"{subject}: {_change(bisected, bisected.size)} since {_place(bisected)}."
    if end := lost_end(bisected):
        return f"{subject}: not bisected, as {end.revision.label} cannot be measured: {end.reason}"
    last = bisected.findings[-1]
    if last.ratio is None:
        return f"{subject}: not decided; {last.revision.label} is not measured yet."
    changed = _change(bisected, last.ratio)
    if last.verdict is Verdict.INCONCLUSIVE:
        return f"{subject}: not decided whether {last.revision.label} differs by {least} or more: {changed}."
    ends = f"{last.revision.label} beside {bisected.findings[0].revision.label}"
    return f"{subject}: not decided; {ends}: {changed}, somewhere in {_place(bisected)}."


def steps(bisected: Bisected) -> tuple[str, ...]:
    """Measured neighbours that differ, where there are several steps."""
    return tuple(
        f"{step.newer} beside {step.older}: {_change(bisected, step.ratio)}"
        for step in (bisected.steps if bisected.kind == "several" else ())
    )


def notes(bisected: Bisected) -> Iterator[str]:
    """Add remarks on the step, or on a search without one."""
    last = bisected.bisection.revisions[proof.place(bisected)[1]]
    if bisected.kind == "step" and bisected.first != bisected.last:
        yield f"What lies between {bisected.first} and {bisected.last} cannot be measured apart."
    if bisected.kind == "step" and last.parents > 1:
        yield (
            f"{last.label} is a merge. Bisect its branch: "
            f"--good $(git merge-base {last.commit}^1 {last.commit}^2) --bad {last.commit}^2"
        )
    yield from _proven(bisected)
    if bisected.bisection.begun_in < FORMAT:
        yield "An older shootout began this bisection: today's rule judges it, and it cannot be resumed."
    if failed := sum(bool(finding.reason) for finding in bisected.findings):
        yield f"{failed} of {len(bisected.findings)} revisions cannot be measured."
    yield (
        f"{bisected.starts} starts of single servers, {len(bisected.bisection.builds)} builds, "
        f"{bisected.spent_s / 60:.0f} min; starts vary by {numbers.percents(bisected.spread)}."
    )


def _proven(bisected: Bisected) -> Iterator[str]:
    """Say what the neighbours of a step differ in, and what becomes of it without its commits."""
    found = bisected.proof
    if found is None:
        return
    yield from (f"What {bisected.last} changed, in {bisected.measure}: {each}." for each in found.differences)
    if found.ratio is None or found.without is None:
        yield f"No proof by revert: {found.reason}."
        return
    without, now = (change(ratio).whole for ratio in (found.without, found.ratio))
    yield (
        f"Proof by revert, in {bisected.measure} compared with {found.before}: {found.newest} {now}, "
        f"{found.newest} without {_place(bisected)} {without}."
    )


def why(bisected: Bisected) -> str:
    """The command that asks what the neighbours of a step differ in; empty without one."""
    if bisected.kind != "step":
        return ""
    _, last = proof.place(bisected)
    bisection, before = bisected.bisection, proof.before(bisected)
    omitted = ("--servers", "--threads", "--seed", *commands.OF_THE_RUN, *commands.OF_THE_MACHINE)
    given = {flag: text for flag, text in bisection.given.items() if flag not in omitted}
    servers = f"{before.revision.server},{bisection.revisions[last].server}"
    compared = {"--servers": servers, "--workloads": bisection.workload} | given
    if bisection.is_exact:
        return commands.line(renamed.current("command", bisection.instrument), compared)
    return commands.line("run", compared | {"--threads": str(bisection.threads), "--explain": "5"})


def go_on(bisected: Bisected, out: Path | None = None) -> str:
    """The command that continues an undecided bisection, to twice its time; empty if it is decided."""
    budget = {"--resume": "", "--budget": str(math.ceil(bisected.spent_s / 30))}
    budget |= {"--out": str(out)} if out else {}
    if bisected.bisection.begun_in < FORMAT:
        del budget["--resume"]
    return again(bisected, budget) if bisected.kind == "open" else ""


def again(bisected: Bisected, changed: Mapping[str, str]) -> str:
    """The command that asks the same, with these options."""
    bisection = bisected.bisection
    first, *_, last = bisection.revisions
    if first.commit:
        repository = first.server.partition("git:")[2].rpartition("#")[0]
        asked = {"--repo": repository, "--good": first.commit, "--bad": last.commit}
    else:
        asked = {"--over": ",".join(revision.server for revision in bisection.revisions)}
    counted = {f"--{renamed.current('command', bisection.instrument)}": ""} if bisection.is_exact else {}
    given = {flag: text for flag, text in bisection.given.items() if flag not in ("--budget", "--resume")}
    return commands.line("bisect", asked | given | counted | {**changed})


def shown(bisected: Bisected) -> tuple[RevisionFinding, ...]:
    """The revisions that a table lists."""
    if len(bisected.findings) <= FEW:
        return bisected.findings
    return tuple(each for each in bisected.findings if each.starts or each.reason or each.here == "yes")


def table(bisected: Bisected) -> Table:
    """The revisions that were measured, that cannot be, or where the step may be."""
    rows = tuple(_row(bisected, finding) for finding in shown(bisected))
    return Table(
        COLUMNS, rows, "Revisions that were measured, that cannot be, or where the step may be", whole=True
    )


def _row(bisected: Bisected, finding: RevisionFinding) -> tuple[Field, ...]:
    revision, verdict = finding.revision, finding.verdict
    address = link(bisected, revision)
    return (
        Link(revision.label, address) if address else revision.label,
        finding.here,
        _interval(finding.ratio),
        "" if verdict is None else Mark(verdict),
        _interval(finding.step),
        Figure(finding.starts, places=0) if finding.starts else None,
        " ".join(finding.reason.splitlines()[:2]) if finding.reason else what(revision),
    )


def what(revision: Revision) -> str:
    """Subject, author and day of a commit."""
    return ", ".join(filter(None, (revision.subject, revision.author, revision.date[:10])))


def link(bisected: Bisected, revision: Revision) -> str:
    """Address of a commit; empty without one."""
    template = bisected.bisection.link
    if not template.startswith(("https://", "http://")) or not revision.commit.isalnum():
        return ""
    return template.replace("{commit}", revision.commit)


def _value(bisected: Bisected) -> dict[str, object]:
    bisection = bisected.bisection
    return {
        "bisection": bisection.id, "workload": bisection.workload,
        "instrument": renamed.current("command", bisection.instrument), "threads": bisection.threads,
        "answer": bisected.kind, "first": bisected.first, "last": bisected.last, "size": bisected.size,
        "steps": bisected.steps, "margin": bisected.margin, "spread": bisected.spread,
        "starts": bisected.starts, "builds": bisection.builds, "spent_s": bisected.spent_s,
        "revisions": bisected.findings, "documents": bisected.documents, "proof": bisected.proof,
    }  # fmt: skip


def joined(answers: Sequence[Answer], failed: Sequence[str]) -> Answer:
    """The answers of several bisections, and why others failed; or that there is none."""
    codes = [each.exit_code for each in answers if each.exit_code]
    none = "The history has no regression between two commits that is to be bisected."
    first, *others = answers or [Answer("", "Nothing was bisected." if failed else none)]
    problems = tuple(f"Not bisected: {reason}" for reason in failed)
    return replace(
        first,
        topics=(
            *first.topics,
            *chain.from_iterable((Topic(each.headline), *each.topics) for each in others),
            Topic(lines=problems, is_problem=True),
        ),
        value={"bisections": [each.value for each in answers], "failed": failed},
        exit_code=UNMEASURED if failed else min(codes, default=0),
    )


def lost_end(bisected: Bisected) -> RevisionFinding | None:
    """The end of the history that cannot be measured, if there is one."""
    return next((end for end in (bisected.findings[0], bisected.findings[-1]) if end.reason), None)


def _ends(bisected: Bisected) -> str:
    return f"{bisected.findings[0].revision.label} and {bisected.findings[-1].revision.label}"


def _place(bisected: Bisected) -> str:
    return bisected.last if bisected.first == bisected.last else f"{bisected.first} to {bisected.last}"


def _change(bisected: Bisected, ratio: Interval) -> str:
    less = ratio.estimate < 1
    word = "slower" if less else "faster"
    if bisected.bisection.is_exact:
        word = f"{'fewer' if less else 'more'} {bisected.measure}"
    return f"{numbers.percents(abs(ratio.estimate - 1))} {word} ({figures.change_range(ratio)})"


def _interval(ratio: Interval | None) -> Whole | None:
    return None if ratio is None else Whole(change(ratio))


def _ratios(bisected: Bisected) -> Drawn | None:
    """Draw each measured revision's ratio to the base; None before two starts."""
    measured = [(n, finding.ratio) for n, finding in enumerate(bisected.findings) if finding.ratio]
    if not measured:
        return None
    points = ((0.0, 1.0), *((float(n), ratio.estimate) for n, ratio in measured))
    intervals = ((1.0, 1.0), *((ratio.low, ratio.high) for _, ratio in measured))
    line = Line(Series(bisected.measure, 1), points, intervals=intervals, dashed=False)
    title = f"{bisected.measure}, {bisected.findings[0].revision.label} = 1"
    revisions = bisected.bisection.revisions
    step = max(1, -(-len(revisions) // TICKS_MAX))
    ticks = tuple((float(n), revisions[n].label) for n in range(0, len(revisions), step))
    drawn = Chart(
        Axis(title="revision", ticks=ticks, ends=(-0.25, len(revisions) - 0.75)),
        Axis(title=title),
        (line,),
        readouts=readouts(
            (line,),
            lambda x: f"{revisions[int(x)].label} {revisions[int(x)].subject}".rstrip(),
            lambda y: numbers.number(y, 3),
        ),
    )
    label = f"{bisected.measure.capitalize()} of each measured revision relative to the base"
    return Drawn(drawn, f"{label}; the table has the numbers")
