"""The scripts of workflows and actions."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from lab.commits import git
from shootout import __version__, paths
from tests.support.runs import until
from tests.support.workflows import actions
from tests.support.workflows.repositories import ACTIONS, FILES, copied

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def test_shootout_is_installed_once_for_each_state_of_its_sources(tmp_path: Path) -> None:
    copied(tmp_path / "sources")
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    # Everything that the real one checks before it builds must be among the sources.
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
    environment["SHOOTOUT_COMMAND"] = str(mine)
    for version, told in ((__version__, False), ("9.9", True)):
        mine.write_text(f"#!/bin/sh\necho shootout {version}\n")
        mine.chmod(0o755)
        done = subprocess.run([install], env=environment, capture_output=True, text=True, check=True)
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
        "INPUTS": "{}",
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
    given = {"base": "a b", "head": "$(id)", "budget": "5", "resume": "true", "out": "unused"}
    done = measured(stub, INPUTS=json.dumps(given | {"options": "--set=a.b=c\n\n--seed=2"}))
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


def test_a_runner_works_for_one_job_at_a_time_whatever_a_job_leaves_running(tmp_path: Path) -> None:
    """The job hooks of .ci/runner-setup, which GitHub's runner runs before and after all steps."""
    text = (paths.ROOT / ".ci" / "runner-setup").read_text().replace("/run/lock/", f"{tmp_path}/")
    begin, end = re.findall(r"<<'HOOK'\n(.*?)HOOK\n", text, re.S)
    lock, holder = tmp_path / "shootout.lock", tmp_path / "shootout.holder"
    lock.touch()

    def hook(script: str) -> str:
        environment = os.environ | {"RUNNER_TEMP": str(tmp_path)}
        return subprocess.check_output(["bash", "-e", "-c", script], env=environment, text=True)

    def free() -> bool:
        return subprocess.run(["flock", "--nonblock", lock, "true"], check=False).returncode == 0

    assert hook(begin) == ""
    assert not free()
    with subprocess.Popen(["flock", lock, "true"]) as another:
        hook(end)
        assert another.wait(30) == 0
    assert free()
    until(lambda: not Path(f"/proc/{holder.read_text().strip()}").exists())


def test_what_a_build_prints_is_no_command_to_the_runner(stub: dict[str, str], tmp_path: Path) -> None:
    own = {"DIRECTORY": str(tmp_path), "BUILD": "echo ::error::theirs", "BUILT": "build", "COMMIT": "c"}
    done = subprocess.run(
        [str(ACTIONS / "build" / "build")], env=stub | own, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines.index("::error::theirs") < lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    assert ["servers", "pack", f"{tmp_path}/build"] == lines[2:5]


def test_a_measurement_that_takes_too_long_ends(stub: dict[str, str]) -> None:
    Path(stub["SHOOTOUT"]).write_text('#!/bin/sh\n[ "$1" = github ] || exec sleep 60\n')
    done = measured(stub, PROFILE="p", LIMIT="0.01")
    assert done.returncode == 124
    assert "took longer than 0.01 minutes" in done.stderr


def kept(folder: Path, taken: str = ".", keep: int = 9, **environment: str) -> None:
    """Add what lies in kept/ to the data branch."""
    own = {"FOLDER": taken, "KEEP": str(keep), "GITHUB_RUN_ID": folder.name, **environment}
    subprocess.run([str(ACTIONS / "keep" / "keep")], cwd=folder, env=os.environ | own, check=True)


def measures(folder: Path, files: dict[str, str]) -> None:
    """Make kept/, an artifact's content."""
    for name, text in files.items():
        (folder / "kept" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "kept" / name).write_text(text)


def test_what_is_kept_comes_after_what_others_pushed_meanwhile(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    for name in ("first", "second", "late"):
        (tmp_path / name).mkdir()
        git(tmp_path, "clone", "--quiet", "origin", f"{name}/data")
        git(tmp_path / name / "data", "checkout", "--quiet", "-B", "shootout-data")
        if name == "first":
            git(tmp_path / name / "data", "commit", "--quiet", "--allow-empty", "--message=Begin")
            git(tmp_path / name / "data", "push", "--quiet", "origin", "HEAD")
        else:
            git(tmp_path / name / "data", "reset", "--quiet", "--hard", "origin/shootout-data")
    for name in ("first", "second"):
        run = {f"results/{name}.jsonl": name, "results/same.jsonl": name}
        made = {"results/judged/a.json": "{}", "site/a": ""}
        measures(tmp_path / name, run | made | {"results/ledger/a.jsonl": f"1\n{name}\n"})
        kept(tmp_path / name)

    def read(revision: str) -> str:
        return git(tmp_path / "origin", "show", f"shootout-data:{revision}")

    assert git(tmp_path / "origin", "log", "--format=%s", "shootout-data").split("\n") == [
        "Run second", "Run first", "Begin",
    ]  # fmt: skip
    assert read("results/same.jsonl") == "second"
    assert read("results/ledger/a.jsonl").split() == ["1", "first", "second"]
    assert set(git(tmp_path / "origin", "ls-tree", "-r", "--name-only", "shootout-data").split()) == {
        "results/first.jsonl", "results/second.jsonl", "results/same.jsonl", "results/ledger/a.jsonl",
    }  # fmt: skip

    # Others are faster eight times.
    (tmp_path / "bin").mkdir()
    pauses, sleep = tmp_path / "pauses", tmp_path / "bin" / "sleep"
    sleep.write_text(f"#!/bin/sh\necho >>{pauses}\n")
    hook = tmp_path / "late" / "data" / ".git" / "hooks" / "pre-push"
    other = "git commit --quiet --allow-empty --message=Other && git push --quiet origin HEAD"
    meanwhile = f"cd {tmp_path}/first/data && git pull --quiet --rebase origin shootout-data && {other}"
    hook.write_text(f"#!/bin/sh\n[ $(wc -l <{pauses}) -ge 8 ] || (unset GIT_DIR; {meanwhile}) >/dev/null\n")
    for file in (sleep, hook):
        file.chmod(0o755)
    pauses.touch()
    measures(tmp_path / "late", {"results/count/a.json": "{}"})
    kept(tmp_path / "late", "results/count", PATH=f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    subjects = git(tmp_path / "origin", "log", "--format=%s", "shootout-data")
    assert subjects.split("\n") == ["Run late", *["Other"] * 8, "Run second", "Run first", "Begin"]


def test_of_the_branch_only_the_newest_are_kept(tmp_path: Path) -> None:
    """A folder's entries are kept, else the runs with what explains them."""
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "data")
    older = ("results/R1.jsonl", "results/why/R1/cell.json", "results/bisections/B1/a.json")
    newer = tuple(name.replace("1", "2") for name in older)
    whole = dict.fromkeys((*older, *newer), "{}")
    measures(tmp_path, whole | {"results/ledger/a.jsonl": "a\n", "acknowledged.toml": ""})
    kept(tmp_path, "results/bisections", keep=1)
    tracked = set(git(tmp_path / "data", "ls-files").split())
    assert tracked == {"results/bisections/B2/a.json"}
    kept(tmp_path, keep=1)
    assert set(git(tmp_path / "data", "ls-files").split()) == {
        "acknowledged.toml", "results/R2.jsonl", "results/ledger/a.jsonl", "results/why/R2/cell.json",
        "results/bisections/B1/a.json", "results/bisections/B2/a.json",
    }  # fmt: skip


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
