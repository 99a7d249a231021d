"""A comment on a pull request comes of the gate's document alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from lab.commits import git
from shootout.analysis import compare
from shootout.document import ledgers
from shootout.model.history import LedgerEntry
from shootout.report import run_answer
from shootout.report.github import markdown
from shootout.writers.markdown import write
from tests.support.analysis import builders as made_up
from tests.support.report.github.github_server import REPOSITORY
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import commented, committed, example, handed_over, written
from tests.unit.test_cli import saved

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def a_measure(artifact: int | None, **changes: object) -> dict[str, object]:
    """GitHub's record of a job that has measured, with a regression, and has uploaded that artifact."""
    step = {"name": "Hand over shootout-build as artifact ${{ … }}", "conclusion": "skipped"}
    if artifact is not None:
        step = {"name": handed_over("shootout-build", artifact), "conclusion": "success"}
    times = {"started_at": "2026-01-01T10:00:00Z", "completed_at": "2026-01-01T11:00:00Z"}
    runner = {"labels": ["self-hosted", "linux", "perf-ssd"], "runner_group_name": "Default"}
    job = {"id": 21, "name": "build / Measure", "conclusion": "failure", "steps": [step]}
    return job | times | runner | changes


DURING = "2026-01-01T10:30:00Z"  # while a_measure ran


def test_a_comment_says_what_the_gate_says_and_believes_no_ledger_of_a_fork(
    hub_of: Hub, ours: Hub, tmp_path: Path
) -> None:
    """By its five starts alone the head is slower; A/A cells know this runner to be too noisy to tell."""
    document = made_up.a_document(made_up.starts_of(-4))
    path = saved(document, tmp_path)
    noisy = [made_up.an_entry(0.1)] * 9
    runner = document.header.runner.fingerprint
    said = [compare.compare(document), compare.compare(document, ledger_entries=noisy)]
    alone, gate = (markdown.comment([write(run_answer.answer(each))], "main") for each in said)
    assert ("inconclusive" in alone, "inconclusive" in gate) == (False, True)

    def posted(repository: str, artifacts: list[LedgerEntry], branch: list[LedgerEntry]) -> str:
        case = f"{repository.partition('/')[0]}-{len(artifacts)}-{len(branch)}"
        hub = replace(hub_of, folder=tmp_path / case)
        results = tmp_path / f"artifact-{case}" / "results"
        results.mkdir(parents=True)
        shutil.copy2(path, results)
        ledgers.append(results / ledgers.FOLDER, runner, artifacts)
        number = hub.service.upload("shootout-build", results.parent, DURING)
        data = tmp_path / f"data-{case}"
        ledgers.append(data / "results" / ledgers.FOLDER, runner, branch)
        if branch:
            committed(data, "A/A cells")
            git(data, "push", "--quiet", str(hub.origin / REPOSITORY), f"HEAD:{data.name}")
        caller = written(hub.folder, ours.sha, example("comment"), data=data.name)
        return commented(hub, caller, repository, a_measure(number))

    def linked(text: str, page: str) -> str:
        return f"{text[:-1]} [The full report](https://github.example/owner/servers/actions/runs/1{page})\n"

    assert posted(REPOSITORY, noisy, []) == linked(gate, "")
    assert posted("someone/servers", [], noisy) == linked(gate, "/job/21")
    assert posted("someone/servers", noisy, []) == linked(alone, "/job/21")


def test_of_what_measured_nothing_no_comment_is_built(hub_of: Hub, ours: Hub, tmp_path: Path) -> None:
    hub = replace(hub_of, folder=tmp_path / "run")
    assert commented(hub, written(tmp_path, ours.sha, example("comment")), REPOSITORY) == ""
    ran = [name for name, outcome in hub.done["comment/comment[0]"].steps.items() if outcome != "skipped"]
    assert ran == ["Ask", "Find what was measured"]
