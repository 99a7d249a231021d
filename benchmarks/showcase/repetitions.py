"""Print the tables of docs/published.md: each claim, and whether it holds on our machine.

Usage: `python -m benchmarks.showcase.repetitions [DOC …]`

Records the given documents, runs of profiles that repeat a published comparison, in reports/showcase/ without
latencies of statement kinds; then prints the tables of all that are recorded.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.showcase import record
from shootout import numbers
from shootout.analysis import claims
from shootout.document import journal
from shootout.inputs import published
from shootout.model.run import RunDocument
from shootout.model.verdict import Outcome
from shootout.paths import ROOT
from shootout.report import figures, wording

FINDINGS = ROOT / "docs" / "published.md"


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        record.record(path)
    for run in runs():
        print("\n".join(table(run)), end="\n\n")


def runs() -> list[RunDocument]:
    """The newest recorded run of each comparison, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        every = map(journal.read, record.unpacked(Path(folder)))
        found = {run.header.profile.published: run for run in every if run.header.profile.published}
    return [found[name] for name in sorted(found)]


def table(run: RunDocument) -> Iterator[str]:
    """Each claim with its ratio in the published figures and here, and its outcome here."""
    header = run.header
    comparison = published.load(header.profile.published or "")
    minutes = round(run.end.elapsed_s / 60) if run.end else 0
    yield f"### {comparison.title}: `{header.profile_name}`"
    yield ""
    yield f"{header.started[:10]}, {header.runner.cpus} CPUs ({header.runner.cpu}), in {minutes} minutes."
    stood_in = (
        f"{each.name} (`{record.reference}`)"
        for each in comparison.servers
        if (record := published.record_of(each, header))
        and record.reference == header.profile.stand_ins.get(each.server)
    )
    if names := ", ".join(stood_in):
        yield ""
        yield f"Not these servers were measured, but what stands in for them: {names}."
    yield ""
    yield "| claim | published | here | measured |"
    yield "|---|---|---|---|"
    for each in claims.evaluate_all(run, header.profile.policy):
        theirs = figures.factor(each.published_ratio) if each.published_ratio else figures.NONE
        if each.published_outcome is Outcome.FAILS:
            theirs += f" ({each.published_outcome})"
        here = f"{wording.OUTCOME_SYMBOLS[each.outcome]} {each.outcome}"
        ours = f"{each.claim.ratio_words}: {figures.factor(each.ratio)}" if each.ratio else each.reason
        yield f"| {each.claim.text} | {theirs} | {here} | {ours} |".replace(numbers.SPACE, " ")


if __name__ == "__main__":
    main()
