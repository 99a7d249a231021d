"""What the history confirms is bisected by hand: several steps, or none; test_weekly.py has one step."""

from __future__ import annotations

import argparse
import html
import json
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from benchmarks.bisect import commits
from shootout import capability
from shootout.app import Conclusion
from shootout.bisect import report, since
from shootout.bisect.command import CAPABILITY, _answer, _question
from shootout.bisect.values import Answer
from shootout.capability import Capability, Skip
from shootout.measure import campaign
from shootout.model.history import Regression
from shootout.model.plan import Cell
from shootout.model.run import Observe
from shootout.parser import Parser
from shootout.report.sections import Section
from tests import builders
from tests.analysis.test_acknowledgements import known
from tests.bisect.builders import STEP, weeks
from tests.bisect.test_instruments import Counting, Cycles, offered
from tests.bisect.test_measure import Runs
from tests.report.github.github_server import GitHub
from tests.report.github.test_issues import a_loss
from tests.runs import SHOOTOUT, Lab
from tests.servers.test_builds import MAKE, Repository

pytest_plugins = ["tests.runs", "tests.report.github.github_server"]

COUNTED = """\
description = "Point selects of a small table, counted"
workloads = ["oltp_point_select"]
threads = [1]
settings = "{settings}"

[dataset]
tables = 1
rows = 200

[sampling]
starts_min = 3
starts_max = 3

[policy]
margin = 0.02
"""
GOOD, BAD = 8, 5  # weeks
PATIENCE_S = 1800.0  # for what takes two minutes on an idle machine


@dataclass
class Place:
    """A repository, its history, and its issues."""

    lab: Lab
    hub: GitHub
    folder: Path

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @property
    def results(self) -> Path:
        return self.folder / "out" / "results"

    def bisected(self) -> subprocess.CompletedProcess[str]:
        profile = self.folder / "counted.toml"
        profile.write_text(COUNTED.format(settings=self.lab.folder / "small.toml"), "utf-8")
        command = (
            *(SHOOTOUT, "bisect", "--since-history", "--work", "--repo", str(self.repository)),
            *(*commits.BUILDING, "--profile", str(profile), "--json"),
            *("--out", str(self.folder / "out"), "--url", "https://github.com/me/it/commit/{commit}"),
        )
        return subprocess.run(
            command,
            env=self.lab.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def issues(self, *more: str) -> list[str]:
        return synced(self.lab, self.hub, self.results, *more)

    def slower(self, good: str, bad: str, newest: str, **changes: object) -> None:
        """Weeks of which the newest are 5 % slower."""
        weeks(self.results, [good] * GOOD, [1.0] * GOOD)
        weeks(self.results, [bad, *[newest] * (BAD - 1)], [0.95] * BAD, first=GOOD, **changes)


def synced(lab: Lab, hub: GitHub, results: Path, *more: str) -> list[str]:
    """What becomes of the issues."""
    done = subprocess.run(
        (SHOOTOUT, "github", "issues", "--results", str(results), "--json", *more),
        env=lab.environment | hub.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [line.split()[0] for line in json.loads(done.stdout)["done"]]


@pytest.fixture
def place(lab: Lab, hub: GitHub, tmp_path: Path) -> Place:
    return Place(lab, hub, tmp_path)


@pytest.mark.real
def test_of_a_drift_the_steps_are_named(place: Place) -> None:
    good, _, _, bad = commits.repository(place.repository, [0, 2 * STEP, 4 * STEP, 4 * STEP])
    place.slower(good, bad, bad)
    done = place.bisected()
    assert done.returncode == 1, done.stderr
    assert [each["answer"] for each in json.loads(done.stdout)["bisections"]] == ["several"]
    assert place.issues("--hold") == ["opened"]
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    assert "more than one step, or a drift, between" in said
    assert f"- {bad[:10]}" not in said


@pytest.mark.real
@pytest.mark.parametrize("same", [True, False])
def test_what_no_commit_changed_is_held_back_or_says_what_changed_instead(place: Place, same: bool) -> None:
    good, bad = commits.repository(place.repository, [0, 0])
    settings = builders.a_server().settings[1:]
    place.slower(good, good if same else bad, good if same else bad, settings=settings)
    done = place.bisected()
    assert done.returncode == (0 if same else 3), done.stderr
    found = json.loads(done.stdout)
    assert [each["answer"] for each in found["bisections"]] == []
    assert len(found["failed"]) == (0 if same else 1)
    assert place.issues("--hold") == ["held"]
    assert place.hub.issues == []
    assert place.issues() == ["opened"]
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    changed = "trunk: buffer_pool_bytes 536870912 → –"
    if same:
        found = f"Not in the server: trunk had the same commit {good[:12]} in the last good and the"
        assert f"{found} first bad run. What changed: {changed}." in said
        assert found in done.stderr
    else:
        assert f"it is the same program as {good[:10]}, byte for byte" in said
        assert f"What else changed: {changed}." in said


@pytest.mark.real
def test_an_end_that_does_not_build_is_said_and_fails(place: Place) -> None:
    good, bad = commits.repository(place.repository, [None, 0])
    place.slower(good, bad, bad)
    done = place.bisected()
    assert done.returncode == 3
    (reason,) = json.loads(done.stdout)["failed"]
    assert f"{good[:10]}, an end of the history, cannot be measured: build of {good[:12]}" in reason
    assert place.issues() == ["opened"]
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    assert f"not bisected, as {good[:10]} cannot be measured" in said
    assert "no step" not in said


# --- without servers ------------------------------------------------------------------------------


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

    def search(self, budget_min: float = 60.0, **wishes: float) -> list[Answer]:
        instruments = (self.cycles, None)
        ask = partial(_question, link="")
        found = since.Search(self.args, budget_min, instruments, _answer, ask, lambda progress: None, wishes)
        return [_answer(path) for path in found.run([self.regression])]


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


class Explaining(Capability):
    """Knows why every cell changed, once it was asked."""

    name = "explaining"

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], float]] = []

    def follow(self, conclusion: Conclusion, wish: float, observe: Observe, skip: Skip) -> None:
        self.asked.append(([each.cell.server for each in conclusion.comparison.cells], wish))

    def cell_section(self, results: Path, run: str, cell: Cell) -> Section | None:
        return Section(self.name, "", "", (), "", None, cause="parse() +2 µs") if self.asked else None


def test_a_step_that_only_time_shows_is_explained(timed: Timed, monkeypatch: pytest.MonkeyPatch) -> None:
    explaining = Explaining()
    every = (CAPABILITY, Counting(timed.cycles), explaining)
    monkeypatch.setattr(capability, "every", lambda: iter(every))
    monkeypatch.setattr(capability, "load", lambda name: explaining)
    monkeypatch.setattr(campaign, "measure", Runs({each[:10]: -0.05 for each in timed.commits[2:]}).measure)
    (found,) = timed.search(explaining=3.0)
    assert explaining.asked == [([found.last], 3.0)]
    assert f"What {found.last} changed, in throughput: parse() +2 µs." in [*report.notes(found)]
