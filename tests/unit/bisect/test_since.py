"""Findings of the history are bisected by hand: several steps, or none; test_weekly.py has one step."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from shootout.bisect import proof, since
from shootout.bisect.answer import notes
from shootout.bisect.values import Bisected
from shootout.commands.bisect import CAPABILITY, _question
from shootout.conclusion import Conclusion
from shootout.errors import Skip
from shootout.explain import changed_cells
from shootout.measure import campaign
from shootout.model.history import Regression
from shootout.model.plan import Cell
from shootout.model.run import Observe
from shootout.parser import Parser
from shootout.report.sections import Section
from tests.unit.analysis.test_acknowledgements import known
from tests.unit.bisect.test_instruments import Cycles, offered
from tests.unit.bisect.test_measure import Runs
from tests.unit.report.github.test_issues import a_loss
from tests.unit.servers.sources.test_builds import MAKE, Repository

pytest_plugins = ["tests.support.runs", "tests.support.report.github.github_server"]


def between(good: str, bad: str, **changes: object) -> Regression:
    return a_loss(good_commit=good, bad_commit=bad, newest_commit=bad, **changes)


def test_the_worst_between_two_commits_is_bisected_and_the_worst_of_all_first() -> None:
    worst, worse, other = (
        between("b", "c", after=0.5),
        between("a", "b", after=0.8),
        between("a", "b", after=0.9),
    )
    left = [between("a", "a"), between("", "b"), between("c", "d", acknowledged=known())]
    assert since.cases([other, *left, worse, worst]) == [worst, worse]


@dataclass
class Timed:
    """A repository of servers that never start, and an instrument that cannot tell them apart."""

    args: argparse.Namespace
    regression: Regression
    commits: list[str]
    cycles: Cycles

    def search(self, budget_min: float = 60.0, explain_min: float | None = None) -> list[Bisected]:
        instruments = (self.cycles, None)
        ask = partial(_question, link="")
        found = since.Search(
            self.args, budget_min, instruments, ask, lambda progress: None, explain_min=explain_min
        )
        return [proof.read(path) for path in found.run([self.regression])]


@pytest.fixture
def timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Timed:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = Repository(tmp_path / "repository")
    made = [repository.commit(f"{number}", code=f"{number}", **{f"n{number}": ""}) for number in range(4)]
    parser = Parser(allow_abbrev=False)
    CAPABILITY.command(parser)
    args = parser.parse_args(
        [
            *("--repo", str(repository.folder), "--build", MAKE, "--set", "build.tree=out"),
            *("--out", str(tmp_path / "out")),
        ]
    )
    args.resume, args.profile = True, None
    options = {"--profile": "bisect", "--workloads": "oltp_point_select", "--threads": "1", "--seed": "7"}
    cycles = offered(monkeypatch)
    return Timed(args, between(made[0], made[-1], options=options), made, cycles)


def test_what_a_count_does_not_show_is_looked_for_by_time(
    timed: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = {commit[:10]: -0.05 for commit in timed.commits[2:]}
    runs = Runs(slower)
    monkeypatch.setattr(campaign, "measure", runs.measure)
    assert timed.search(budget_min=0.0) == []
    (found,) = timed.search()
    assert (found.kind, found.first, found.bisection.instrument) == ("step", timed.commits[2][:10], "time")
    assert len(timed.cycles.seen) == 1
    assert found.proof is not None
    assert found.proof.reason == f"{found.first} cannot be reverted on {timed.commits[-1][:10]}"
    monkeypatch.setattr(campaign, "measure", None)
    assert timed.search() == [found]  # in the next week
    assert len(timed.cycles.seen) == 1


def test_a_step_that_only_time_shows_is_explained(timed: Timed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], float]] = []

    def explain(conclusion: Conclusion, budget_min: float, observe: Observe, skip: Skip) -> None:
        asked.append(([each.cell.server for each in conclusion.comparison.cells], budget_min))

    def sections(results: Path, run: str, cells: Sequence[Cell], skip: Skip) -> dict[Cell, tuple[Section]]:
        known = Section("explain", "", "", cause="parse() +2 µs")
        return dict.fromkeys(cells, (known,)) if asked else {}

    monkeypatch.setattr(changed_cells, "explain", explain)
    monkeypatch.setattr(changed_cells, "sections", sections)
    monkeypatch.setattr(campaign, "measure", Runs({each[:10]: -0.05 for each in timed.commits[2:]}).measure)
    (found,) = timed.search(explain_min=3.0)
    assert asked == [([found.last], 3.0)]
    assert f"What {found.last} changed, in throughput: parse() +2 µs." in [*notes(found)]
