"""The words of a bisection, for terminal, issues and pages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from shootout import numbers
from shootout.bisect.values import Answer, Revision, RevisionFinding
from shootout.model.verdict import Interval
from shootout.report import commands, wording
from shootout.report.github.markdown import code
from shootout.report.wording import escaped

COLUMNS = ("revision", "#step here", "#to the base", "#to the one before", "#starts", "what")
_WORDS = {"time": ("slower", "faster"), "work": ("fewer instructions", "more instructions")}
PROBABLE = 0.001  # revisions that are less likely, and were not measured, are left out of tables


def headline(answer: Answer) -> str:
    """The answer in a sentence or two."""
    subject = f"{answer.bisection.workload}, {wording.threads(answer.bisection.threads)}"
    exact = answer.bisection.instrument == "work"
    chance = "" if exact else f" ({chance_text(answer.probability)})"
    match answer.kind:
        case "none":
            least = "beyond the margin" if exact else "of 0.5 % or more"
            return f"{subject}: no step {least} between {_ends(answer)}{chance}."
        case "several":
            return f"{subject}: more than one step, or a drift, between {_ends(answer)}{chance}."
        case "step":
            return f"{subject}: {_change(answer, answer.size)} since {_place(answer)}{chance}."
    if exact:
        return f"{subject}: not decided; {_change(answer, answer.size)} somewhere in {_place(answer)}."
    return (
        f"{subject}: not decided. One step {chance_text(_step(answer))}, likeliest at {_place(answer)} "
        f"({chance_text(_there(answer))}); none {chance_text(answer.none)}; "
        f"several, or a drift, {chance_text(answer.several)}."
    )


def steps(answer: Answer) -> tuple[str, ...]:
    """Measured neighbours whose interval excludes no change, where there are several steps."""
    if answer.kind != "several":
        return ()
    measured = [each for each in answer.findings if each.ratio or each == answer.findings[0]]
    return tuple(
        f"{found.revision.label} beside {before.revision.label}: {_change(answer, found.step)}"
        for before, found in itertools.pairwise(measured)
        if found.step and not found.step.low <= 1 <= found.step.high
    )


def notes(answer: Answer) -> Iterator[str]:
    """What else there is to say."""
    last = next(each.revision for each in answer.findings if each.revision.label == answer.last)
    if answer.kind == "step" and answer.first != answer.last:
        yield f"What lies between {answer.first} and {answer.last} cannot be measured apart."
    if answer.kind == "step" and last.parents > 1:
        yield (
            f"{last.label} is a merge. Bisect its branch: "
            f"--good $(git merge-base {last.commit}^1 {last.commit}^2) --bad {last.commit}^2"
        )
    failed = [each for each in answer.findings if each.reason]
    if failed:
        yield f"{len(failed)} of {len(answer.findings)} revisions cannot be measured."
    yield (
        f"{answer.starts} starts of single servers, {len(answer.bisection.builds)} builds, "
        f"{answer.spent_s / 60:.0f} min; a start varies by {numbers.percents(answer.noise)}."
    )


def why(answer: Answer) -> str:
    """The command that asks what the neighbours of a step differ in; empty without one."""
    if answer.kind != "step":
        return ""
    labels = [each.revision.label for each in answer.findings]
    first, last = labels.index(answer.first), labels.index(answer.last)
    before = next(each for each in reversed(answer.findings[:first]) if each.starts and not each.reason)
    return commands.why(answer.bisection, before.revision, answer.findings[last].revision)


def shown(answer: Answer) -> tuple[RevisionFinding, ...]:
    """The revisions that a table lists."""
    few = len(answer.findings) <= 12
    return tuple(
        each for each in answer.findings if few or each.starts or each.reason or each.probability >= PROBABLE
    )


def row(answer: Answer, found: RevisionFinding) -> tuple[str, ...]:
    """A line of a table, in the order of COLUMNS. Counts leave places, and no probabilities."""
    possible = "possible" if answer.kind == "open" else "yes"
    chance = possible if answer.bisection.instrument == "work" else chance_text(found.probability)
    return (
        found.revision.label,
        chance if found.probability else "",
        _interval(found.ratio),
        _interval(found.step),
        str(found.starts or ""),
        " ".join(found.reason.splitlines()[:2]) if found.reason else what(found.revision),
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


def value(answer: Answer) -> dict[str, object]:
    """An answer as JSON has it."""
    return {
        "bisection": answer.bisection.id,
        "workload": answer.bisection.workload,
        "instrument": answer.bisection.instrument,
        "threads": answer.bisection.threads,
        "answer": answer.kind,
        "probability": answer.probability,
        "first": answer.first,
        "last": answer.last,
        "size": answer.size,
        "none": answer.none,
        "several": answer.several,
        "noise": answer.noise,
        "starts": answer.starts,
        "builds": answer.bisection.builds,
        "spent_s": answer.spent_s,
        "revisions": answer.findings,
        "documents": answer.documents,
    }


def markdown(answer: Answer) -> str:
    """The answer and its table, for an issue or a step summary."""
    lines = [f"## {escaped(headline(answer))}", ""]
    lines += [f"- {escaped(step)}" for step in steps(answer)] + [""]
    lines += wording.table_head(COLUMNS)
    for found in shown(answer):
        label, *rest = row(answer, found)
        address = link(answer, found.revision)
        first = f"[{escaped(label)}]({address})" if address else escaped(label)
        lines.append(f"| {' | '.join((first, *map(escaped, rest)))} |")
    lines += ["", *(f"- {escaped(note)}" for note in notes(answer))]
    if command := why(answer):
        lines += ["", "Why:", "", *code(command)]
    return "\n".join(lines) + "\n"


def chance_text(probability: float) -> str:
    """A probability, never rounded to certainty."""
    if probability > 0.999:
        return f"> 99.9{numbers.SPACE}%"
    if probability < PROBABLE:
        return f"< 0.1{numbers.SPACE}%"
    return f"{numbers.grouped(100 * probability, 1)}{numbers.SPACE}%"


def _step(answer: Answer) -> float:
    return sum(each.probability for each in answer.findings)


def _there(answer: Answer) -> float:
    """The probability of one step at its likeliest place."""
    labels = [each.revision.label for each in answer.findings]
    first, last = labels.index(answer.first), labels.index(answer.last)
    return sum(each.probability for each in answer.findings[first : last + 1])


def _ends(answer: Answer) -> str:
    return f"{answer.findings[0].revision.label} and {answer.findings[-1].revision.label}"


def _place(answer: Answer) -> str:
    return answer.last if answer.first == answer.last else f"{answer.first} to {answer.last}"


def _change(answer: Answer, ratio: Interval) -> str:
    """A ratio in words, with its interval."""
    less, more = _WORDS[answer.bisection.instrument]
    word = less if ratio.estimate < 1 else more
    return f"{numbers.percents(abs(ratio.estimate - 1))} {word} ({wording.change_range(ratio)})"


def _interval(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{wording.change(ratio)} ({wording.change_range(ratio)})"
