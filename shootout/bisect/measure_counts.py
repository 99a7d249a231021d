"""A bisection of instructions: a build, a count, and half of what is left. It needs no quiet machine."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from shootout.bisect import counts as bisected_work
from shootout.bisect import documents as bisections
from shootout.bisect import measure as bisect
from shootout.bisect.measure import SERVERS_MAX, Question
from shootout.bisect.values import Answer
from shootout.model.run import Observe, Progress
from shootout.work import measure as work


def bisect_work(question: Question, results: Path, observe: Observe) -> Answer:
    """Count until a step's place is known or the budget is spent; returns what is known then.

    Goes on and raises as `bisect.bisect` does.
    """
    work.check(question.plan)
    folder, found = bisect.begun(question, results, observe)
    while True:
        documents = bisections.counted(folder)
        bisect.require_ends(found, bisected_work.unusable(found, documents))
        answer = bisected_work.answer(found, documents)
        next_ = bisected_work.next_revisions(found, documents)
        left_s = question.plan.profile.sampling.budget_s - answer.spent_s
        if not next_ or (documents and left_s <= 0):
            found = structs.replace(found, finished=not next_)
            bisections.write(folder, found)
            return structs.replace(answer, bisection=found)
        if question.build is None and not documents and len(found.revisions) <= SERVERS_MAX:
            next_ = tuple(range(1, len(found.revisions)))
        built = bisect.build(question, folder, found, (0, *next_), observe)
        if built != found:  # perhaps some failed, or are the same files as others
            found = built
            continue
        labels = [found.revisions[number].label for number in (0, *next_)]
        observe(Progress(stage="note", detail=f"counting {', '.join(labels)}"))
        plan = question.plan.only({cell for cell in question.plan.cells if cell.server in labels})
        work.measure(plan, folder, observe)
