"""Bisections that the history asks for: of regressions that it confirms, of servers built from commits.

Earlier findings lie in the results. A bisection is known by its two ends: it continues in the next week,
on another machine, too, and regressions that began between the same commits share it.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from shootout import steps
from shootout.bisect import answer as words
from shootout.bisect import measure, proof
from shootout.bisect.documents import BISECTIONS
from shootout.bisect.values import FORMAT, TIME, WITHOUT, Bisected, Revision
from shootout.count.instrument import Callgrind
from shootout.errors import InputError, MeasureError, Skip
from shootout.inputs.options import Selection, renewed
from shootout.measure.plan import Plan
from shootout.model.history import Regression
from shootout.model.run import Observe
from shootout.report.github.issues import Origin
from shootout.servers.sources import builds
from shootout.servers.sources.fetch.packages import no_progress
from shootout.writers.markdown import escaped, folded, span, table_lines

BUDGET_MIN = 60.0
# Keys of a profile that counts share with runs.
STATEMENTS = ("dataset.engine", "options.", "distribution.", "load.protocol")
# Options, and keys, that no run gives; each week has its own seeds, but a bisection continues.
OTHERS = ("servers", "seed", "build", "budget", "resume", "shard")
OTHER_KEYS = ("dataset.seed", "build.")
_PULL = re.compile(r"(?:^Merge pull request #|\(#)(\d+)")

Ask = Callable[[Plan, Sequence[builds.Commit], Callgrind | None], measure.Question]


def ends(regression: Regression) -> tuple[str, str]:
    """The commits of its last good and its first bad run."""
    return regression.good_commit, regression.bad_commit


def cases(regressions: Sequence[Regression]) -> list[Regression]:
    """Find the worst regression between each two commits, the worst first, without acknowledged ones."""
    found: dict[tuple[str, str], Regression] = {}
    for regression in sorted(regressions, key=lambda regression: regression.remaining):
        good, bad = ends(regression)
        if good and bad and good != bad and regression.acknowledged is None:
            found.setdefault((good, bad), regression)
    return [*found.values()]


def known(results: Path, regression: Regression) -> Bisected | None:
    """Find what bisections between its commits say: of the newest that found a loss, or of the newest."""
    read = [
        proof.read(BISECTIONS.path_of(results, each.id))
        for each in BISECTIONS.newest_first(results, lambda reason: None)
        if (each.revisions[0].commit, each.revisions[-1].commit) == ends(regression)
    ]
    return next((answer for answer in read if answer.is_worse), read[0] if read else None)


def origin(results: Path, regression: Regression) -> Origin | None:
    """Find the commit that a regression began with, by the bisections of its two runs. Raises InputError."""
    good, bad = ends(regression)
    if good and good == bad:
        return Origin(confirmed=False, lines=(f"**{escaped(not_in_server(regression))}**",))
    answer = known(results, regression) if good and bad else None
    return _origin(answer, regression) if answer else None


@dataclass(frozen=True)
class Search:
    """The limits of one call."""

    args: argparse.Namespace
    budget_min: float  # for everything together
    instruments: Sequence[Callgrind | None]  # in the order of their use; None: time
    ask: Ask
    observe: Observe
    explain_min: float | None = None  # minutes to explain a step by time
    report: Callable[[str], None] = no_progress
    skip: Skip = lambda reason: None
    failed: list[str] = field(default_factory=list)  # why regressions could not be bisected

    @property
    def results(self) -> Path:
        """The folder of the history, and of the bisections."""
        folder: Path = self.args.out.resolve() / "results"
        return folder

    def run(self, regressions: Sequence[Regression]) -> list[Path]:
        """Bisect the worst ones that are not decided, and prove what is found; returns all bisections."""
        ends_s = time.monotonic() + 60 * self.budget_min
        begun, paths = 0, []
        for regression in cases(regressions):
            answer = known(self.results, regression)
            if not self._is_over(answer) and begun < self.args.regressions and ends_s > time.monotonic():
                try:
                    if answer is None or not answer.is_worse:
                        answer = self._bisected(regression, ends_s)
                    answer = self._proven(regression, answer, ends_s)
                    begun += 1
                except (InputError, MeasureError) as error:
                    self.failed.append(f"{regression.server}, {regression.workload}: {error}")
            if answer is not None:
                paths.append(BISECTIONS.path_of(self.results, answer.bisection.id))
        return paths

    def _is_over(self, answer: Bisected | None) -> bool:
        if answer is None or not answer.bisection.finished:
            return False
        if answer.kind == "open" and answer.bisection.begun_in < FORMAT:
            return False
        if answer.is_worse:
            return answer.kind == "several" or WITHOUT in answer.bisection.builds
        return answer.bisection.instrument == _name(self.instruments[-1])

    def _bisected(self, regression: Regression, ends_s: float) -> Bisected:
        """The answer of the first instrument that finds a loss."""
        commits = builds.history(self.args.repo, *ends(regression))
        servers = proof.of_commits(self.args.repo, commits)
        for instrument in self.instruments:
            is_last = instrument is self.instruments[-1]
            try:
                plan = self._planned(regression, instrument, servers)
                question = self.ask(plan, commits, instrument)
                path, _ = measure.begun(question, self.results, lambda progress: None)
                left_s = proof.read(path).spent_s + ends_s - time.monotonic()
                sampling = structs.replace(plan.profile.sampling, budget_s=left_s)
                plan = replace(plan, profile=structs.replace(plan.profile, sampling=sampling))
                question = replace(question, plan=plan)
                answer = proof.read(measure.bisect(question, self.results, self.observe))
                if is_last or answer.is_worse or not answer.bisection.finished:
                    break
            except (InputError, MeasureError) as error:
                if is_last:
                    raise
                self.skip(f"{regression.server}, {regression.workload}: {error}")
        return answer

    def _proven(self, regression: Regression, answer: Bisected, ends_s: float) -> Bisected:
        """The answer; of a loss with one step, with its proof."""
        used, instruments = answer.bisection.instrument, {_name(each): each for each in self.instruments}
        wanted = answer.is_worse and answer.kind == "step" and used in instruments
        if not wanted or ends_s <= time.monotonic():
            return answer
        path, instrument = BISECTIONS.path_of(self.results, answer.bisection.id), instruments[used]
        newest = builds.find(self.args.repo, regression.newest_commit or regression.bad_commit)
        planned = partial(self._planned, regression, instrument)
        proof.prove(
            answer, path, newest, planned, instrument=instrument,
            observe=self.observe, explain_min=self.explain_min, skip=self.skip,
        )  # fmt: skip
        return proof.read(path)

    def _planned(self, regression: Regression, instrument: Callgrind | None, servers: str) -> Plan:
        """A plan of these servers that loads them as the run did, or counts the same statements."""
        given, keys = {}, {}
        for flag, text in renewed(regression.options).items():
            _, _, key = flag.partition("--set ")
            if key and not key.startswith(OTHER_KEYS):
                keys[key] = text
            elif not key and (name := flag.removeprefix("--")) not in OTHERS:
                given[name] = text
        if instrument is not None:
            keys = {key: text for key, text in keys.items() if key.startswith(STATEMENTS)}
            given = {name: text for name, text in given.items() if name == "workloads"}
            given["profile"] = instrument.profile
        if self.args.profile is not None:
            given["profile"] = self.args.profile
        own = {name for name in given if name != "profile" and getattr(self.args, name, None) is not None}
        changed: dict[str, Any] = {name: text for name, text in given.items() if name not in own}
        changed["set"] = [*(f"{key}={text}" for key, text in keys.items()), *(self.args.set or ())]
        return steps.plan(Selection.from_arguments(self.args, servers=servers, **changed), self.report)


# --- the part of an issue that names the commit ---------------------------------------------------


def _origin(bisected: Bisected, regression: Regression) -> Origin:
    lines = [f"**{escaped(words.headline(bisected))}**", ""]
    if bisected.kind == "step":
        first, last = proof.place(bisected)
        lines += [
            f"- {_commit(bisected, revision)}" for revision in bisected.bisection.revisions[first : last + 1]
        ]
    lines += [f"- {escaped(step)}" for step in words.steps(bisected)]
    lines += [f"- {escaped(note)}" for note in (*_left(bisected, regression), *words.notes(bisected))]
    lines += ["", *folded("The commits", table_lines(words.table(bisected)))]
    commands_ = {"Bisect again": words.again(bisected, {}), "Look for the reason": words.why(bisected)}
    there = bisected.bisection.revisions[0].server.partition("git:")[2].rpartition("#")[0]
    asked = [(title, command.replace(there, ".")) for title, command in commands_.items()]
    lines += [f"- {title}: {span(command)}" for title, command in asked if command]
    return Origin(bisected.is_worse, tuple(lines))


def not_in_server(regression: Regression) -> str:
    """Say what a regression between two runs of one commit began with."""
    changed = "; ".join(regression.conditions) or "nothing that shootout records"
    return (
        f"Not in the server: {regression.server} had the same commit {regression.bad_commit[:12]} in the "
        f"last good and the first bad run. What changed: {changed}."
    )


def _left(bisected: Bisected, regression: Regression) -> Iterator[str]:
    """Explain an answer without a commit."""
    if words.lost_end(bisected):
        if regression.conditions:
            yield f"What else changed: {'; '.join(regression.conditions)}."
    elif bisected.kind == "open":
        yield "The next weekly run goes on with it."
    elif bisected.kind == "none" and regression.conditions:
        yield f"So it is not in the server. What else changed: {'; '.join(regression.conditions)}."
    elif bisected.kind == "none":
        yield "Not found: no commit between the last good and the first bad run shows it."


def _commit(bisected: Bisected, revision: Revision) -> str:
    """A commit: its address, what it is, and its pull request."""
    address, name = words.link(bisected, revision), escaped(revision.label)
    said = f"[{name}]({address})" if address else name
    pull = _PULL.search(revision.subject)
    if pull and address.endswith(f"/commit/{revision.commit}"):  # as GitHub has it
        base = address.removesuffix(f"/commit/{revision.commit}")
        return f"{said}: {escaped(words.what(revision))}: [pull request {pull[1]}]({base}/pull/{pull[1]})"
    return f"{said}: {escaped(words.what(revision))}"


def _name(instrument: Callgrind | None) -> str:
    return instrument.stored if instrument else TIME
