"""Bisections of runs and builds that need no time; test_command.py has real ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from msgspec import structs

from shootout import steps
from shootout.bisect import measure
from shootout.bisect.documents import BISECTIONS, runs
from shootout.bisect.judge import TOGETHER_MAX
from shootout.bisect.measure import Question
from shootout.bisect.values import Bisected, BuildRecord, Revision
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.inputs.options import Selection
from shootout.measure import campaign
from shootout.measure.plan import Plan
from shootout.model.plan import Build
from shootout.model.run import EndRecord, Progress
from shootout.servers.sources.builds import Source
from tests.support.bisect.builders import a_run, failed, found_by_time

NONE: Mapping[str, float] = {}


class StoppedError(BaseException):
    """As a process is by kill -9: nothing is done afterwards."""


@dataclass
class Runs:
    """Takes the place of `campaign.measure`: writes run documents with known throughputs."""

    levels: Mapping[str, float]  # logarithms, by label; 0 for others
    stops: int = 10**6  # before this run
    failing: tuple[str, ...] = ()
    took_s: float = 60.0
    build_s: float = 0.0
    servers: list[tuple[str, ...]] = field(default_factory=list)  # of each run
    said: list[str] = field(default_factory=list)

    def measure(self, plan: Plan, results: Path, observe: Callable[[Progress], None]) -> Path:
        (block,) = plan.blocks
        if len(self.servers) == self.stops:
            raise StoppedError
        self.servers.append(block.servers)
        assert plan.profile.policy.confirm_starts == 0
        assert plan.profile.sampling.starts_min == plan.profile.sampling.starts_max
        document = a_run(
            {label: self.levels.get(label, 0.0) for label in block.servers if label not in self.failing},
            starts=plan.profile.sampling.starts_min,
            failures=[failed(label) for label in block.servers if label in self.failing],
            seed=plan.seed,
        )
        run = f"20261124T100000Z-{len(journal.find(results)):06d}"
        end = EndRecord(finished="", elapsed_s=self.took_s, interrupted=False)
        document = structs.replace(document, header=structs.replace(document.header, run=run), end=end)
        path = results / journal.new_name(run)
        path.write_bytes(journal.encoded(document))
        return path

    def build(self, source: Source, build: Build) -> BuildRecord:
        return BuildRecord(seconds=self.build_s, digest=uuid.uuid4().hex)

    def observe(self, progress: Progress) -> None:
        self.said.append(progress.detail)


def a_question(count: int, budget_min: float = 1000, **options: str | bool | list[str]) -> Question:
    names = [f"v{number:02d}" for number in range(1, count + 1)]
    servers = ",".join(f"{name}=mysql-5.7.22" for name in names)
    given = {"servers": servers, "profile": "bisect", "budget": str(budget_min), "seed": "7"}
    plan = steps.plan(Selection.read(**(given | options)))
    return Question(plan, tuple(Revision(label=name, server="mysql-5.7.22") for name in names))


def of_commits(count: int, *, resume: bool = False) -> Question:
    """A question about commits, whose builds take no time."""
    versions = a_question(count, resume=resume)
    commits = tuple(structs.replace(each, commit=each.label) for each in versions.revisions)
    return replace(versions, revisions=commits, build=Build(command="make"))


def bisect(question: Question, results: Path, observe: Callable[[Progress], None]) -> Bisected:
    """Bisect, and judge what was found in the end."""
    path = measure.bisect(question, results, observe)
    return found_by_time(BISECTIONS.read(path), *runs(path.parent).values()).answer


def since(count: int, first: int, level: float = -0.05) -> dict[str, float]:
    return {f"v{number:02d}": level for number in range(first, count + 1)}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Runs]:
    def use(levels: Mapping[str, float], **options: object) -> Runs:
        measured = Runs(levels, **options)  # type: ignore[arg-type]
        monkeypatch.setattr(campaign, "measure", measured.measure)
        monkeypatch.setattr(measure, "try_to_build", measured.build)
        return measured

    return use


def test_all_versions_are_measured_in_one_run(ran: Callable[..., Runs], tmp_path: Path) -> None:
    measured = ran(since(12, 5))
    found_ = bisect(a_question(12), tmp_path, measured.observe)
    assert (found_.kind, found_.first, found_.last) == ("step", "v05", "v05")
    assert [*map(len, measured.servers)] == [12]
    assert found_.bisection.finished


def test_commits_are_measured_where_the_step_may_be(ran: Callable[..., Runs], tmp_path: Path) -> None:
    measured = ran(since(30, 17))
    found_ = bisect(of_commits(30), tmp_path, measured.observe)
    assert (found_.kind, found_.first, found_.last) == ("step", "v17", "v17")
    assert measured.servers[0] == ("v01", "v30")
    assert all(servers[0] == "v01" and len(servers) <= 1 + TOGETHER_MAX for servers in measured.servers)
    assert measured.servers[-1] == ("v01", "v16", "v17", "v30")
    assert len({*sum(measured.servers, ())}) < 20
    assert any(text.startswith("after ") for text in measured.said)


def test_dear_builds_are_made_one_at_a_time(ran: Callable[..., Runs], tmp_path: Path) -> None:
    measured = ran(since(9, 5), build_s=600.0)
    bisect(of_commits(9), tmp_path, measured.observe)
    assert {*map(len, measured.servers[:-1])} == {2}


def test_a_version_that_does_not_start_is_left_out(ran: Callable[..., Runs], tmp_path: Path) -> None:
    measured = ran(since(8, 5), failing=("v04",))
    found = bisect(a_question(8), tmp_path, measured.observe)
    assert (found.kind, found.first, found.last) == ("step", "v04", "v05")
    assert found.findings[3].reason == "it died: [ERROR] no memory"
    assert all("v04" not in servers for servers in measured.servers[1:])


@pytest.mark.parametrize("end", ["v01", "v08"])
def test_an_end_that_does_not_start_ends_it(end: str, ran: Callable[..., Runs], tmp_path: Path) -> None:
    measured = ran(NONE, failing=(end,))
    with pytest.raises(MeasureError, match=f"{end}, an end of the history, cannot be measured: it died"):
        bisect(a_question(8), tmp_path, measured.observe)
    assert len(measured.servers) == 1


def test_it_ends_with_its_budget_and_goes_on_with_a_larger_one(
    ran: Callable[..., Runs], tmp_path: Path
) -> None:
    measured = ran(since(8, 5, -0.018), took_s=100.0)
    found = bisect(a_question(8, budget_min=2), tmp_path, measured.observe)
    assert found.kind == "open"
    assert not found.bisection.finished
    made_ = len(measured.servers)
    again = bisect(a_question(8, budget_min=60, resume=True), tmp_path, measured.observe)
    assert again.bisection.id == found.bisection.id
    assert again.spent_s > found.spent_s
    assert len(measured.servers) > made_


@pytest.mark.parametrize("stops", [0, 1])
def test_it_goes_on_where_it_was_stopped(stops: int, ran: Callable[..., Runs], tmp_path: Path) -> None:
    question = of_commits(9, resume=True)
    whole = bisect(question, tmp_path / "whole", ran(since(9, 6)).observe)
    measured = ran(since(9, 6), stops=stops)
    with pytest.raises(StoppedError):
        bisect(question, tmp_path / "stopped", measured.observe)
    done = bisect(question, tmp_path / "stopped", ran(since(9, 6)).observe)
    assert structs.replace(done, bisection=whole.bisection) == whole


def test_what_is_answered_is_not_measured_again(ran: Callable[..., Runs], tmp_path: Path) -> None:
    question = a_question(8, resume=True)
    found = bisect(question, tmp_path, ran(since(8, 5)).observe)
    assert bisect(question, tmp_path, ran(NONE, stops=0).observe) == found


def test_builds_that_failed_are_made_again(tmp_path: Path) -> None:
    question = a_question(8, resume=True)
    path, bisection = measure.begun(question, tmp_path, Runs(NONE).observe)
    builds = {"v02": BuildRecord(seconds=1.0, digest="d"), "v03": BuildRecord(seconds=1.0, reason="no disk")}
    BISECTIONS.write(tmp_path, bisection.id, structs.replace(bisection, builds=builds))
    again = measure.begun(question, tmp_path, Runs(NONE).observe)
    assert again == (path, structs.replace(bisection, builds={"v02": builds["v02"]}))


def test_a_bisection_gets_the_address_of_commits_that_it_lacked(tmp_path: Path) -> None:
    question = a_question(8, resume=True)
    path, bisection = measure.begun(question, tmp_path, Runs(NONE).observe)
    link = "https://example.org/{commit}"
    again = measure.begun(replace(question, link=link), tmp_path, Runs(NONE).observe)
    assert again == (path, structs.replace(bisection, link=link))


def test_another_question_is_another_bisection(tmp_path: Path) -> None:
    question = a_question(8, resume=True)
    others = (
        a_question(8, resume=True, threads="2"),
        a_question(8, resume=True, set=["dataset.rows=10"]),
        a_question(7, resume=True),
        replace(question, plan=replace(question.plan, resume=False)),
    )
    begun = [measure.begun(each, tmp_path, Runs(NONE).observe) for each in (question, question, *others)]
    ids = [bisection.id for _, bisection in begun]
    assert len({*ids}) == 5
    assert ids[0] == ids[1]


def test_one_of_an_older_format_is_not_continued(ran: Callable[..., Runs], tmp_path: Path) -> None:
    question = of_commits(8, resume=True)
    answer = bisect(question, tmp_path, ran(since(8, 5)).observe)
    bisection = structs.replace(answer.bisection, begun_in=1, shootout="0.0.1")
    BISECTIONS.write(tmp_path, bisection.id, bisection)
    assert bisect(question, tmp_path, ran(since(8, 5)).observe).bisection.id != bisection.id
