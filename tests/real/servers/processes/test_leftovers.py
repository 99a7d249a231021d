"""Leftovers of killed runs are found and cleared away, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.servers.locking import locked
from shootout.servers.processes import config, instances, leftovers
from shootout.servers.processes.leftovers import working_directory
from shootout.servers.sources.trees import Tree
from tests.support.runs import BASE, a_tree, until

OPTIONS = {"innodb-log-file-size": "8M", "skip-log-bin": ""}
SOON_S = 5.0


@pytest.fixture(scope="module")
def tree() -> Tree:
    return a_tree(BASE)


@pytest.fixture(scope="module")
def initialised(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("initialised") / "i"
    instances.initialise(tree, directory, OPTIONS)
    return directory


@pytest.fixture
def survivor(tree: Tree, initialised: Path, tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """The directory of a run that is gone, and its server, which nothing tied to that run."""
    run = tmp_path / "instances" / "gone"
    shutil.copytree(initialised, run / "0")
    run.with_suffix(".lock").touch()
    placed = {"socket": "s", "pid-file": "p", "skip-networking": ""}  # below its data directory
    file = config.write(tree, run / "0", OPTIONS, placed)
    with subprocess.Popen([tree.name, f"--defaults-file={file}"], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: (run / "0" / "data" / "p").exists() or process.poll() is not None)
            yield run, process
        finally:
            process.kill()


def test_a_server_that_survived_its_run_is_ended(
    survivor: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    _, process = survivor
    assert process.poll() is None
    with working_directory(tmp_path, "next") as directory:
        assert process.wait(SOON_S) == -9
        assert list((tmp_path / "instances").iterdir()) == [directory.with_suffix(".lock"), directory]
    assert list((tmp_path / "instances").iterdir()) == []


def test_what_another_process_runs_is_left_alone(
    survivor: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    run, process = survivor
    with locked(run.with_suffix(".lock")), working_directory(tmp_path, "next"):
        assert process.poll() is None
        assert (run / "0" / "my.cnf").exists()


def test_a_server_elsewhere_is_not_ours(
    survivor: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    run, process = survivor
    leftovers.end_servers(run.with_name("gon"))  # the beginning of its name
    leftovers.end_servers(run / "1")
    assert process.poll() is None


def test_an_instance_that_was_left_running_gives_way(
    tree: Tree, survivor: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    run, process = survivor
    with instances.start(tree, run / "0", OPTIONS) as again:
        assert process.wait(SOON_S) == -9
        assert again.query("SELECT 1") == ((1,),)


def test_the_socket_of_a_killed_run_is_cleared_away(tree: Tree, initialised: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("a long name " * 8) / "i"
    shutil.copytree(initialised, deep)
    script = f"""
import os
from pathlib import Path
from shootout.servers.processes import instances
from shootout.servers.sources.trees import Tree
tree = Tree.inspect(Path({str(tree.files.top)!r}))
instance = instances.start(tree, Path({str(deep)!r}), {OPTIONS!r})
print(instance.socket.parent, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    folder = Path(done.stdout.strip())
    assert folder.parent == Path(tempfile.gettempdir())
    assert folder.is_dir()
    with instances.start(tree, deep, OPTIONS) as instance, working_directory(tmp_path, "next"):
        assert folder.is_dir()  # the instance is in use again, if from another folder
        assert instance.socket.parent.is_dir()
    with working_directory(tmp_path, "next"):
        assert not folder.exists()


KILLED = """
import os, sys
from pathlib import Path
from shootout.servers.processes.leftovers import working_directory
with working_directory(*map(Path, sys.argv[1:])) as directory:
    (directory / "0").mkdir()
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_run_left_in_a_named_directory_is_removed_by_the_next(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, "run", data], check=False)
    assert {each.name for each in data.iterdir()} == {"shootout-run", "shootout-run.lock"}
    with working_directory(tmp_path, "next", data) as directory:
        assert {*data.iterdir()} == {directory, directory.with_suffix(".lock")}
    assert list(data.iterdir()) == []


def test_a_run_that_is_still_going_on_keeps_its_place(tmp_path: Path) -> None:
    with (
        working_directory(tmp_path, "run") as directory,
        pytest.raises(InputError, match=r"^run is still running in another process$"),
        working_directory(tmp_path, "run"),
    ):
        pass
    assert not directory.exists()
    with working_directory(tmp_path, "run") as again:
        assert again == directory


def test_what_others_put_into_a_shared_directory_blocks_no_run(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (tmp_path / "data").mkdir()
    hostile = {
        name: tmp_path / "data" / f"shootout-{name}.lock"
        for name in ("gone", "mine", "loop", "pipe", "folder")
    }
    victim.write_text("untouched")
    hostile["gone"].symlink_to(tmp_path / "created")
    hostile["mine"].symlink_to(victim)
    hostile["loop"].symlink_to(hostile["loop"])
    os.mkfifo(hostile["pipe"])
    hostile["folder"].mkdir()
    with working_directory(tmp_path, "run", tmp_path / "data") as directory:
        assert directory.is_dir()
    assert {*(tmp_path / "data").iterdir()} == {*hostile.values()}
    assert victim.read_text() == "untouched"
    assert not (tmp_path / "created").exists()


INTERRUPTED_AGAIN = """
import signal, sys
from pathlib import Path
from shootout.servers.processes.leftovers import working_directory
sys.addaudithook(lambda event, _: event == "shutil.rmtree" and signal.raise_signal(signal.SIGINT))
with working_directory(Path(sys.argv[1]), "run") as directory:
    (directory / "0").mkdir()
    raise KeyboardInterrupt
"""


def test_another_interrupt_while_a_run_clears_up_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_AGAIN, str(tmp_path)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert list((tmp_path / "instances").iterdir()) == []


BEGINS_AND_ENDS = """
import sys
from pathlib import Path
from shootout.servers.processes.leftovers import working_directory
cache, data, name = map(Path, sys.argv[1:])
for turn in range(40):
    with working_directory(cache, f"{name}-{turn}", data) as directory:
        (directory / "mine").touch()
        assert (directory / "mine").exists()
"""


def test_runs_that_begin_and_end_at_once_in_one_directory_leave_each_other_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "shootout-hostile.lock").symlink_to("nowhere")
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", BEGINS_AND_ENDS, tmp_path, data, f"run-{number}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    said = [run.communicate()[1] for run in runs]
    assert ([run.returncode for run in runs], said) == ([0] * 4, [""] * 4)
    assert [each.name for each in data.iterdir()] == ["shootout-hostile.lock"]


def test_a_directory_that_a_dying_process_still_writes_into_goes(tmp_path: Path) -> None:
    directory = tmp_path / "left"
    directory.mkdir()
    code = (
        "import itertools, os, sys, time; ends_s = time.monotonic() + 0.5\n"
        "for number in itertools.count():\n"
        "    with open(f'{sys.argv[1]}/{number}', 'w'): pass\n"
        "    if not number: print(flush=True)\n"
        "    if time.monotonic() > ends_s: break\n"
    )
    command = [sys.executable, "-c", code, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writing:
        assert writing.stdout is not None
        writing.stdout.readline()
        leftovers.clear(directory)
    assert not directory.exists()


def test_what_cannot_be_removed_keeps_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "CLEARING_S", 0.0)
    monkeypatch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
    with working_directory(tmp_path, "first") as directory:
        (directory / "file").touch()
    assert directory.with_suffix(".lock").exists()
    monkeypatch.undo()
    with working_directory(tmp_path, "second"):
        assert not directory.exists()
        assert not directory.with_suffix(".lock").exists()
