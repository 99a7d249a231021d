"""Print the table of docs/versions.md: the published claims that hold on our machine, or do not.

Usage: `python -m lab.showcase.repetitions`, after `python -m lab.showcase.record DOC…`
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.showcase import record
from shootout import figures, numbers
from shootout.analysis import claims
from shootout.document import journal
from shootout.model.run import RunDocument
from shootout.model.verdict import ClaimResult, Outcome
from shootout.paths import ROOT
from shootout.report import wording

FINDINGS = ROOT / "docs" / "versions.md"


def main() -> None:
    print("\n".join(decided(runs())))


def runs() -> list[RunDocument]:
    """Read the newest recorded run of each comparison, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        every = map(journal.read, record.unpacked(Path(folder)))
        found = {run.header.profile.published: run for run in every if run.header.profile.published}
    return [found[name] for name in sorted(found)]


def decided(every: list[RunDocument]) -> Iterator[str]:
    """Each claim that holds or does not, with its ratio in the published figures and here."""
    yield "| comparison, claim | published | measured here |"
    yield "|---|---|---|"
    for run in every:
        for each in _claims(run):
            if each.ratio and each.outcome is not Outcome.INCONCLUSIVE:
                theirs = figures.factor(each.published_ratio) if each.published_ratio else figures.NONE
                ours = f"{wording.OUTCOME_SYMBOLS[each.outcome]} {figures.factor(each.ratio)}"
                row = f"| `{run.header.profile_name}`: {each.claim.text} | {theirs} | {ours} |"
                yield row.replace(numbers.SPACE, " ")


def _claims(run: RunDocument) -> tuple[ClaimResult, ...]:
    return claims.evaluate_all(run, run.header.profile.policy)


if __name__ == "__main__":
    main()
