"""CI, releases, and the workflow that tests a repository."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from shootout import __version__, paths
from tests.support.report.github import github_server
from tests.support.runs import HEAD
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.support.workflows.repositories import WORKFLOWS, asking

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


# In a wheel, beside the package.
PACKED = ("conftest.py", "fixtures", "pyproject.toml", "suites", "templates")


def a_wheel(folder: Path) -> Path:
    """The package as `make wheel` packs it, with this tree's engine."""
    name = f"shootout-{__version__}"
    tag = f"cp311-abi3-linux_{platform.machine()}"
    files: dict[str, bytes] = {}
    for source, target in (("shootout", "shootout"), *((each, f"shootout/_data/{each}") for each in PACKED)):
        for file in (paths.ROOT / source, *(paths.ROOT / source).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                files[str(target / file.relative_to(paths.ROOT / source))] = file.read_bytes()
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: shootout\nVersion: {__version__}\n",
        "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\nshootout = shootout.cli:main\n",
    }
    files |= {f"{name}.dist-info/{key}": text.encode() for key, text in about.items()}
    files[f"{name}.dist-info/RECORD"] = "".join(f"{file},,\n" for file in files).encode()
    wheel = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for target, content in files.items():
            packed.writestr(target, content)
    return wheel


@pytest.fixture(scope="module")
def release(ours: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """A release without compiling and downloading: a stub `make` provides a wheel with this tree's engine."""
    folder = tmp_path_factory.mktemp("release")
    (programs := folder / "programs").mkdir()
    wheel = a_wheel(folder)
    make = programs / "make"
    make.write_text(f'#!/bin/sh\n[ "$*" = wheel ] && mkdir dist && cp {wheel} dist\n')
    make.chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.base_prefix) / "bin"), os.environ["PATH"]])
    (others := folder / "others").mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("shootout", "pip")) and each.suffix != ".pth":
            (others / each.name).symlink_to(each)
    elsewhere = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": str(others)}
    environment = {**ours.environment, **elsewhere, "PATH": path}
    hub = replace(ours, folder=folder / "run", environment=environment)
    return actions.run(hub, WORKFLOWS / "release.yml")


def test_a_wheel_is_tried_summed_up_and_handed_over(release: dict[str, Job]) -> None:
    assert release["wheel"].result == "success", release["wheel"].log
    assert HEAD in release["wheel"].log  # from the wheel's catalogue
    assert release["release"].result == "success", release["release"].log
    assert f"shootout-{__version__}-" in release["release"].log
    assert release["release"].steps["Draft the release"] == "skipped"  # it needs GitHub
    assert "everything is tested" in release["test/test[0]"].log


def test_a_wheel_is_installed_with_the_hashes_of_what_was_tested(release: dict[str, Job]) -> None:
    locked = release["wheel"].log.partition("--- Lock what")[2].partition("--- ")[0].splitlines()[1:]
    wheel, checksum = locked[0].split(" --hash=sha256:")
    assert wheel == f"./shootout-{__version__}-cp311-abi3-linux_{platform.machine()}.whl"
    assert len(checksum) == 64
    assert set(locked[1:]) <= set((paths.ROOT / "requirements.lock").read_text().splitlines())
    assert any(line.startswith("msgspec==") for line in locked)
    assert release["wheel"].steps["Try the wheel outside its sources"] == "success"


@pytest.fixture(scope="module")
def ci(ours: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """A push to a repository whose tests are short."""
    return actions.run(replace(ours, folder=tmp_path_factory.mktemp("ci")), WORKFLOWS / "ci.yml")


@pytest.fixture(scope="module")
def nightly(ours: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """The tests by night, of the same repository."""
    hub = replace(
        ours, folder=tmp_path_factory.mktemp("nightly"), environment={**ours.environment, "ACT": "true"}
    )
    return actions.run(hub, WORKFLOWS / "nightly.yml")


@pytest.fixture(scope="module")
def selftest(hub_of: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """What a repository whose environment lacks reviewers is told."""
    with github_server.running() as state:
        job = {"steps": [{"name": "Hand over artifact 11"}], "runner_group_name": "GitHub Actions"}
        state.jobs = lambda: [job]
        state.labels, state.workflows = {"measure"}, ["gate", "comment"]
        hub = replace(
            hub_of,
            folder=tmp_path_factory.mktemp("selftest"),
            environment=asking(state, hub_of),
            event={"repository": {"default_branch": "main"}},
        )
        return actions.run(hub, WORKFLOWS / "selftest.yml", {"label": "measure"})


def test_a_repository_learns_what_works_in_it(selftest: dict[str, Job]) -> None:
    assert [job.result for job in selftest.values()] == ["success"] * 4, selftest["runner"].log
    said = selftest["github"].summary
    assert "| seeing which files changed | works |" in said
    assert "| finding the commits to compare | works |" in said
    assert "| telling GitHub's machines from yours | works |" in said
    assert "| telling when a request is answered | works |" in said
    assert "| verdicts on a fork's pull request | works |" in said
    assert "| reviewers before a fork's code runs | does not work (false) |" in said
    assert "| asking by the label measure | works |" in said
    assert "| workflows on main that answer requests and comment | does not work (false) |" in said
    assert "| builds that gates find in the cache of main | does not work (false) |" in said
    assert "| taking a build by its digest | works |" in selftest["runner"].summary
    assert "[look](https://github.example/report-selftest.html)" in said
    assert "CPU" in selftest["runner"].summary


def test_what_takes_long_is_tested_by_night(nightly: dict[str, Job]) -> None:
    assert nightly["test"].result == "success", nightly["test"].log
    assert "everything is tested" in nightly["test"].log


def test_a_push_is_tested(ci: dict[str, Job]) -> None:
    assert ci["test"].result == "success", ci["test"].log
    assert "everything is tested" in ci["test"].log
    assert os.access(paths.ROOT / ".ci" / "run", os.X_OK)
