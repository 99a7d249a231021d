"""The comment of a pull request, and annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shootout.analysis import gate
from shootout.characters import visible
from shootout.figures import threads
from shootout.model.verdict import Comparison, Verdict
from shootout.report import run_answer, wording
from shootout.report.github.request import BEFORE, MARKER, WAITING
from shootout.writers.markdown import escaped

COMMENT_MAX = 60_000  # characters; GitHub takes 65 536
ANNOTATIONS_MAX = 10  # per step: GitHub shows no more
_ANNOTATED = (Verdict.REGRESSED, Verdict.FAILED)


def comment(summaries: Iterable[str], into: str, link: str | None = None) -> str:
    """Write a pull request's comment: all runs' summaries, cut to GitHub's limit; `into`: its base branch."""
    text = "\n".join([MARKER, *summaries])
    if len(text) > COMMENT_MAX:
        text = (
            text[: text.rindex("\n", 0, COMMENT_MAX)] + "\n\n… truncated to the length that GitHub allows.\n"
        )
    report = "" if link is None else f" [The full report]({link})"
    return f"{text}\nMeasured as merged into {escaped(into)}.{report}\n"


def beside(old: str, new: str, run: str) -> str:
    """Replace a comment when that run ended: `new`, below the announcement of another run."""
    announced, before, _ = old.partition(BEFORE)
    if not before or WAITING.format(run) in announced:
        return new
    return announced + before + new.removeprefix(MARKER)


def annotate(comparison: Comparison) -> Iterator[str]:
    """Workflow commands that annotate regressions and failures, worst first."""
    annotated = [c for c in wording.worst_first(comparison.cells) if c.verdict in _ANNOTATED]
    shown = annotated if len(annotated) <= ANNOTATIONS_MAX else annotated[: ANNOTATIONS_MAX - 1]
    for c in shown:
        fails = c.verdict is Verdict.FAILED or gate.counts(c, comparison)
        level = "notice" if c.acknowledged else "error" if fails else "warning"
        title = f"{run_answer.mark(c)}: {c.cell.workload}, {threads(c.cell.threads)}"
        text = f"{c.cell.server}: {run_answer.told(c)}"
        yield f"::{level} title={_property(title)}::{_data(text)}"
    if more := len(annotated) - len(shown):
        yield f"::warning title={more} more cells::The job's summary lists every regression and failure."


def refusal(link: str | None = None) -> str:
    """The comment on a pull request that changes workflows, in place of its verdicts."""
    text = (
        f"{MARKER}\n**No verdicts are shown here: this pull request changes files under `.github`.** "
        "Its gate may therefore differ from the default branch's, and its run document may be forged. "
        "Reviewers find the measurements in the run.\n"
    )
    return text if link is None else f"{text}\n[The run]({link})\n"


def _data(text: str) -> str:
    """The message of a workflow command, escaped as runners expect."""
    line = visible(text.replace("\n", " ⏎ "))
    return line.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
