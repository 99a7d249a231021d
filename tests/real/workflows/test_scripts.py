"""The scripts of workflows and actions."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from shootout import __version__
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, GitHub
from tests.support.runs import until
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import (
    ACTIONS,
    FILES,
    WORKFLOWS,
    a_pull,
    commit,
    copied,
    git,
)

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def script_of(workflow: str, job: str, name: str) -> str:
    """The script of a step."""
    steps = yaml.safe_load((WORKFLOWS / f"{workflow}.yml").read_text())["jobs"][job]["steps"]
    (script,) = (step["run"] for step in steps if step["name"] == name)
    return str(script)


def scripted(script: str, folder: Path, state: GitHub, **environment: str) -> tuple[int, str]:
    """Run a script that may ask this GitHub; returns its exit code, and what it printed and put out."""
    files = {f"GITHUB_{name}": str(folder / name) for name in ("OUTPUT", "STEP_SUMMARY")}
    api = {"ASK": str(ACTIONS / "api" / "ask"), "API": f"{state.url}/repos/{REPOSITORY}"}
    known = os.environ | files | api | {"TOKEN": github_server.TOKEN} | environment
    words = ["bash", "-eo", "pipefail", "-c", script]
    done = subprocess.run(words, env=known, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changed", "given", "expected"),
    [
        ("docs/a/b.md README.md", {}, "false"),
        ("docs/a.md sql/a.cc", {}, "true"),
        ("", {}, "true"),
        ("sql/a.cc", {"LABELLED": "false"}, "false"),
        ("sql/a.cc", {"OTHER": "true"}, "false"),
        ("README.md", {"LABEL": "", "PULL": "", "INTO": ""}, "false"),  # a merge group
        ("sql/a.cc", {"FORK": "true"}, "none"),
        ("sql/a.cc", {"FORK": "true", "HOSTED_ONLY": "true"}, "true"),
    ],
)
def test_what_need_not_be_measured_is_not(
    changed: str, given: dict[str, str], expected: str, hub_of: Hub, tmp_path: Path
) -> None:
    own = {
        "BASE_SHA": commit(hub_of, "^1"), "HEAD_SHA": commit(hub_of, "^2"), "MERGED": hub_of.sha,
        "BASE_SHA_OF_GROUP": "", "ENVIRONMENT": "shootout-fork", "FORK": "false", "HOSTED_ONLY": "false",
        "IGNORE": "docs/* *.md", "INTO": "main", "LABEL": "measure", "LABELLED": "true", "OTHER": "false",
        "PULL": "3", "RETARGETED": "false",
    }  # fmt: skip
    with github_server.running() as state:
        state.git, state.changed = hub_of.origin / REPOSITORY, changed.split()
        code, said = scripted(script_of("gate", "decide", "Decide"), tmp_path, state, **(own | given))
    assert (code, f"measure={expected}\n" in said) == ((1, False) if expected == "none" else (0, True)), said


@pytest.mark.parametrize(
    ("given", "code"),
    [("  ", 1), ("v1  ", 1), ("v1 main 7", 1), ("  #7", 1), ("v1 main ", 0), ("  7", 0)],
)
def test_a_bisection_has_two_commits_or_an_issue(given: str, code: int, tmp_path: Path) -> None:
    asked = dict(zip(("GOOD", "BAD", "ISSUE"), given.split(" "), strict=True))
    script = script_of("bisect", "find", "Check the inputs")
    ended, said = scripted(script, tmp_path, GitHub(), **asked)
    assert ended == code
    assert ("::error::Expected good and bad, or the number of an issue." in said) == bool(code)


@pytest.mark.parametrize(
    ("body", "author", "message"),
    [
        ("/shootout", "bob", "Only people who may write"),
        ("/shootout", "eve", "comes from a fork"),
        ("/shootout", "dan", "or a bot"),
        ("/shootout head=$(id)", "ann", "Not understood"),
        ("/shootout options=--out=/", "ann", "Not understood"),
        ("/shootouts", "ann", ""),
        ("/shootout", "x/../y", ""),
        ("/shootout", "an-app[bot]", ""),
        ("thanks", "ann", ""),
    ],
)
def test_a_comment_that_may_not_ask_is_told_why(body: str, author: str, message: str, tmp_path: Path) -> None:
    with github_server.running() as state:
        state.writers = {"ann", "eve", "dan"}
        repository = "eve/servers" if author == "eve" else REPOSITORY
        pull = a_pull("owner:faster", "0", repository=repository)
        state.pulls.append(pull | {"user": {"type": "Bot" if author == "dan" else "User"}})
        asks = {"ACTOR": author, "BODY": body, "ASKED": "77", "NUMBER": "3", "ENDED": "", "MEASURES": "{}"}
        about = {"REPOSITORY": REPOSITORY, "RUN": "1", "LINK": "https://github.example"}
        script = f"exec {ACTIONS}/request/request"
        code, said = scripted(script, tmp_path, state, **asks, **about)
    told = "".join(each["body"] for each in state.comments)
    assert told.startswith("Nothing is measured. ") == bool(message), said
    assert message in told
    assert code == bool(message)
    assert not (tmp_path / "OUTPUT").exists()


def test_shootout_is_installed_once_for_each_state_of_its_sources(tmp_path: Path) -> None:
    copied(tmp_path / "sources")
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    # What the real one checks before it builds must be among the sources.
    make.write_text(
        f'#!/bin/sh\ncd "$2" && {shutil.which("make")} -s tools && mkdir .venv && ls >.venv/installed\n'
    )
    make.chmod(0o755)
    path = f"{make.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "RUNNER_TOOL_CACHE": str(tmp_path / "tools")}
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
    (tmp_path / "tools" / "shootout" / "run-1").mkdir()
    os.utime(tmp_path / "tools" / "shootout" / "run-1", (0, 0))
    mine = tmp_path / "mine"
    for version, told in ((__version__, False), ("9.9", True)):
        mine.write_text(f"#!/bin/sh\necho shootout {version}\n")
        mine.chmod(0o755)
        done = subprocess.run([install, mine], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{mine}\n"
        assert ("::warning::" in done.stderr) == told
    assert not (tmp_path / "tools" / "shootout" / "run-1").exists()


@pytest.fixture
def stub(tmp_path: Path) -> dict[str, str]:
    """The environment of `measure`, with a shootout that prints a workflow command and exits with $CODE."""
    script = tmp_path / "shootout"
    script.write_text(
        '#!/bin/sh\n[ "$1" = github ] && exit 0\nprintf "%s\\n" "$@" "::error::theirs"\nexit $CODE\n'
    )
    script.chmod(0o755)
    inputs = "BASE HEAD SERVERS PROFILE WORKLOADS THREADS BUDGET POLICY SHARD OPTIONS ACKNOWLEDGED CALIBRATE"
    inputs += " GOOD BAD SINCE BUILD BUILT REPO"
    environment = dict.fromkeys([*inputs.split(), "LIMIT", "LEDGER"], "") | {
        "SHOOTOUT": str(script),
        "CODE": "0",
        "PASS": "",
        "BY": "gate",
        "RESUME": "false",
        "OUT": str(tmp_path / "measured"),
        "REPORT": str(tmp_path / "report.html"),
        "PATH": "/usr/bin:/bin",
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
        stub, BASE="a b", HEAD="$(id)", BUDGET="5", OPTIONS="--set=a.b=c\n\n--seed=2", RESUME="true"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:8] == [
        "gate", "--base=a b", "--head=$(id)", "--budget=5", "--resume", "--set=a.b=c", "--seed=2",
    ]  # fmt: skip


def test_a_history_is_bisected(stub: dict[str, str]) -> None:
    commits = {"GOOD": "v1", "BAD": "main", "BUILD": "make -j2", "BUILT": "out", "REPO": "history"}
    lines = measured(stub, **commits, PROFILE="bisect", OPTIONS="--count", RESUME="true").stdout.splitlines()
    assert lines[1:7] == [
        "bisect", "--repo=history", "--good=v1", "--bad=main", "--build=make -j2", "--set=build.tree=out",
    ]  # fmt: skip
    assert lines[7:10] == ["--profile=bisect", "--resume", "--count"]
    assert not any(line.startswith("--junit-xml") for line in lines)


def test_what_a_history_confirms_is_bisected_on_from_what_is_known(
    stub: dict[str, str], tmp_path: Path
) -> None:
    for folder, name in (("data", "ours"), ("data", "both"), ("measured", "both")):
        (tmp_path / folder / "results" / "bisections" / name).mkdir(parents=True)
        (tmp_path / folder / "results" / "bisections" / name / "bisection.json").write_text(folder)
    (tmp_path / "data" / "acknowledged.toml").touch()
    given = {"SINCE": str(tmp_path / "data"), "BUILD": "make", "BUILT": "out", "REPO": "."}
    lines = measured(stub, **given, BUDGET="9").stdout.splitlines()
    assert lines[1:8] == [
        "bisect", "--since-history", f"--results={tmp_path}/data/results", "--repo=.", "--build=make",
        "--set=build.tree=out", "--budget=9",
    ]  # fmt: skip
    assert lines[8] == f"--acknowledged={tmp_path}/data/acknowledged.toml"
    kept = (tmp_path / "measured").glob("results/bisections/*/bisection.json")  # the branch has the others
    assert {path.parent.name: path.read_text() for path in kept} == {"both": "measured"}


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
        '#!/bin/sh\nprintf "%s\\n" "$@"\n[ "$1" = github ] || : >"$OUT/results/a.jsonl"\n'
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
        own = {"RUNNER_TOOL_CACHE": str(tmp_path / number), "OUT": str(tmp_path / number / "measured")}
        (tmp_path / number).mkdir()
        running.append(
            subprocess.Popen([script], env=stub | own | {"PROFILE": "p"}, stdout=subprocess.DEVNULL)
        )
    assert [process.wait(30) for process in running] == [0, 0]
    assert log.read_text().split() == ["begin", "end"] * 2


@pytest.mark.parametrize("action", ["build", "measure", "server"])
def test_nothing_is_downloaded_or_uploaded_while_others_measure(action: str) -> None:
    steps = yaml.safe_load((ACTIONS / action / "action.yml").read_text())["runs"]["steps"]
    assert steps[0]["run"] == 'exec "$GITHUB_ACTION_PATH/../hold"'
    assert (steps[-1]["run"], steps[-1]["if"]) == (
        'exec "$GITHUB_ACTION_PATH/../hold" end',
        "${{ always() }}",
    )


def test_a_job_holds_the_machine_from_step_to_step(stub: dict[str, str], tmp_path: Path) -> None:
    own = stub | {"RUNNER_TEMP": str(tmp_path)}

    def free(environment: dict[str, str] = stub) -> bool:
        script = f". {ACTIONS / 'lock.sh'}"
        asked = ["timeout", "0.3", "bash", "-eu", "-c", script]
        return subprocess.run(asked, env=environment, capture_output=True, check=False).returncode == 0

    for words, others in (([], False), ([], False), (["end"], True), (["end"], True)):
        subprocess.run([str(ACTIONS / "hold"), *words], env=own, check=True)
        assert free(own)
        assert free() == others


def test_what_a_build_leaves_running_does_not_keep_the_machine(stub: dict[str, str], tmp_path: Path) -> None:
    script = f"sleep 60 >/dev/null 2>&1 & echo $! >{tmp_path}/left; echo ::error::theirs"
    own = {"DIRECTORY": str(tmp_path), "BUILD": script, "BUILT": "build", "COMMIT": "c"}
    done = subprocess.run(
        [str(ACTIONS / "build" / "build")], env=stub | own, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines.index("::error::theirs") < lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    assert ["servers", "pack", f"{tmp_path}/build"] == lines[2:5]
    try:
        subprocess.run(["flock", "--nonblock", stub["SHOOTOUT_LOCK"], "true"], check=True)
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_a_lock_that_users_may_not_make_has_another_place(stub: dict[str, str], tmp_path: Path) -> None:
    text = (ACTIONS / "lock.sh").read_text()
    text = text.replace("/var/lock/", "/proc/").replace("/tmp/", f"{tmp_path}/")  # nobody may write to /proc
    for lock, code in (("", 0), ("/proc/mine.lock", 2)):
        environment = stub | {"SHOOTOUT_LOCK": lock}
        done = subprocess.run(
            ["bash", "-c", text], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert done.stderr == (
            "" if code == 0 else "shootout: /proc/mine.lock (SHOOTOUT_LOCK): cannot be made\n"
        )
    assert (tmp_path / "shootout.lock").exists()


def test_a_measurement_that_takes_too_long_ends(stub: dict[str, str]) -> None:
    Path(stub["SHOOTOUT"]).write_text('#!/bin/sh\n[ "$1" = github ] || exec sleep 60\n')
    done = measured(stub, PROFILE="p", LIMIT="0.01")
    assert done.returncode == 124
    assert "took longer than 0.01 minutes" in done.stderr


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
        (tmp_path / name / "bisection.json").write_text(name)  # the same one in both jobs
        ledger = tmp_path / name / "results" / "ledger" / "a.jsonl"
        ledger.parent.mkdir(parents=True)
        ledger.write_text(f"{name}\n")
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", push],
            cwd=tmp_path / name,
            env=os.environ | {"MESSAGE": name},
            check=False,
        )
        assert done.returncode == 0
    subjects = git(tmp_path / "origin", "log", "--format=%s", "shootout-data")
    assert subjects.split() == ["second", "first", "Begin"]
    assert git(tmp_path / "origin", "show", "shootout-data:bisection.json") == "second"
    known = git(tmp_path / "origin", "show", "shootout-data:results/ledger/a.jsonl")
    assert known.split() == ["first", "second"]

    # Others are faster eight times.
    (tmp_path / "bin").mkdir()
    pauses, sleep = tmp_path / "pauses", tmp_path / "bin" / "sleep"
    sleep.write_text(f"#!/bin/sh\necho >>{pauses}\n")
    hook = tmp_path / "second" / ".git" / "hooks" / "pre-push"
    other = "git commit --quiet --allow-empty --message=Other && git push --quiet origin HEAD"
    meanwhile = f"cd {tmp_path}/first && git pull --quiet --rebase origin shootout-data && {other}"
    hook.write_text(f"#!/bin/sh\n[ $(wc -l <{pauses}) -ge 8 ] || (unset GIT_DIR; {meanwhile}) >/dev/null\n")
    for file in (sleep, hook):
        file.chmod(0o755)
    pauses.touch()
    (tmp_path / "second" / "late").touch()
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", push],
        cwd=tmp_path / "second",
        env=os.environ | {"MESSAGE": "late", "PATH": path},
        check=True,
    )
    subjects = git(tmp_path / "origin", "log", "--format=%s", "shootout-data")
    assert subjects.split() == ["late", *["Other"] * 8, "second", "first", "Begin"]


def test_an_earlier_answer_is_not_shown_again(stub: dict[str, str], tmp_path: Path) -> None:
    for name in ("summary.md", "junit.xml"):
        (tmp_path / name).write_text("before")
    measured(stub, PROFILE="p", OUT=str(tmp_path), CODE="3")
    assert not (tmp_path / "junit.xml").exists()
    assert Path(stub["GITHUB_STEP_SUMMARY"]).read_text() == ""


def test_each_measurement_of_a_job_has_a_folder_of_its_own() -> None:
    action = yaml.safe_load((ACTIONS / "measure" / "action.yml").read_text())
    (step,) = (step for step in action["runs"]["steps"] if step["name"] == "Measure")
    outs = [
        actions.filled(
            step["env"]["OUT"], {"inputs": {"out": out, "artifact": name}, "runner": {"temp": "/t"}}
        )
        for out, name in (("", "a"), ("", "b"), ("/mine", "c"))
    ]
    assert outs == ["/t/shootout-a", "/t/shootout-b", "/mine"]


def test_what_is_measured_cannot_speak_to_the_runner(stub: dict[str, str], tmp_path: Path) -> None:
    """Neither servers nor, in a bisection, builds."""
    Path(stub["SHOOTOUT"]).write_text(f'#!/bin/sh\n[ "$1" = github ] || env >{tmp_path}/environment\n')
    files = {name: stub.get(name, str(tmp_path / name)) for name in FILES}
    assert measured(stub, PROFILE="p", **files).returncode == 0
    assert "GITHUB_" not in (tmp_path / "environment").read_text()
    assert "exit-code=0\n" in Path(stub["GITHUB_OUTPUT"]).read_text()


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


def test_a_fresh_runner_starts_with_the_branchs_ledger(stub: dict[str, str], tmp_path: Path) -> None:
    for folder, names in (("branch", "ab"), ("mine", "a")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.jsonl").write_text(folder)
    own = {"LEDGER": str(tmp_path / "branch"), "SHOOTOUT_LEDGER": str(tmp_path / "mine")}
    assert measured(stub, PROFILE="p", OUT=str(tmp_path / "out"), **own).returncode == 0
    found = {file.stem: file.read_text() for file in (tmp_path / "out" / "results" / "ledger").iterdir()}
    assert found == {"a": "mine", "b": "branch"}


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
