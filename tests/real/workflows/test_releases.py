"""CI, releases, and the workflow that tests a repository."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from lab.commits import git
from shootout import __version__, paths
from tests.support.report.github import github_server
from tests.support.runs import HEAD
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.support.workflows.repositories import OURS, WORKFLOWS, asking

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


def test_a_release_is_what_its_sources_install_where_they_are_called(ours: Hub, tmp_path: Path) -> None:
    """Without compiling and downloading: a stub `make` provides a wheel of this tree, and its lock."""
    (programs := tmp_path / "programs").mkdir()
    wheel, lock, make = a_wheel(tmp_path), tmp_path / "requirements.txt", programs / "make"
    lock.write_text(f"./{wheel.name} --hash=sha256:{sha256(wheel.read_bytes()).hexdigest()}\n")
    make.write_text(f'#!/bin/sh\n[ "$*" = wheel ] && mkdir dist && cp {wheel} {lock} dist\n')
    make.chmod(0o755)
    (others := tmp_path / "others").mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("shootout", "pip")) and each.suffix != ".pth":
            (others / each.name).symlink_to(each)
    path = os.pathsep.join([str(programs), str(Path(sys.base_prefix) / "bin"), os.environ["PATH"]])
    elsewhere = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": str(others), "PATH": path}
    hub = replace(ours, folder=tmp_path / "run", environment={**ours.environment, **elsewhere})
    jobs = actions.run(hub, WORKFLOWS / "release.yml")
    assert jobs["wheel"].result == "success", jobs["wheel"].log
    assert HEAD in jobs["wheel"].log  # from the wheel's catalogue
    assert jobs["release"].result == "success", jobs["release"].log
    assert jobs["release"].steps["Draft the release"] == "skipped"  # it needs GitHub
    for tested in ("test", "nightly"):
        assert "everything is tested" in jobs[f"{tested}/test[0]"].log

    released = hub.artifacts / "wheel"
    state, address, checksum = (released / "release").read_text().split()
    assert address.endswith(f"/{OURS}/releases/download/v{__version__}")
    git(tmp_path, "clone", "--quiet", str(ours.origin / OURS), "called")
    install = tmp_path / "called" / ".github" / "actions" / "install"
    environment = os.environ | elsewhere | {"RUNNER_TOOL_CACHE": str(tmp_path / "tools")}
    for content, works in (
        (f"{state} {released.as_uri()} {'0' * 64}", False),
        (f"{state} {released.as_uri()} {checksum}", True),
    ):
        (install / "release").write_text(f"{content}\n")
        done = subprocess.run(
            [install / "install"], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) == works, done.stderr
    assert (
        subprocess.check_output([done.stdout.strip(), "--version"], text=True) == f"shootout {__version__}\n"
    )


@pytest.fixture(scope="module")
def selftest(hub_of: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """Run the self-test in a repository whose environment lacks reviewers."""
    with github_server.running() as state:
        job = {"steps": [{"name": "Hand over artifact 11"}], "runner_group_name": "GitHub Actions"}
        state.checks = [{"name": "selftest / Twice", "conclusion": each} for each in ("failure", "success")]
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
    assert {name: job.result for name, job in selftest.items() if "[" not in name} == {
        "failed": "failure", "successful": "success", "github": "success", "runner": "success",
    }, selftest["runner"].log  # fmt: skip
    said = selftest["github"].summary
    assert "| seeing which files changed | works |" in said
    assert "| finding the commits to compare | works |" in said
    assert "| telling GitHub's machines from yours | works |" in said
    assert "| verdicts on a fork's pull request | works |" in said
    assert "| reviewers before a fork's code runs | does not work |" in said
    assert "| asking by the label measure | works |" in said
    assert "| workflows on main that answer requests and comment | does not work |" in said
    assert "| builds that gates find in the cache of main | does not work |" in said
    assert "| taking a build by its digest | works |" in selftest["runner"].summary
    assert "| one job at a time on the machine | does not work |" in selftest["runner"].summary
    assert "| steps that no other job can name | works |" in said
    assert (
        "| listed checks of one name, after a failed and a successful one | failure, then success |" in said
    )
    assert "[look](https://github.example/report-selftest.html)" in said
    assert "CPU" in selftest["runner"].summary
