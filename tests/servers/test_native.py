"""Installations found in trees."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.measure.workplace import interrupting
from shootout.servers import native
from shootout.servers.native import Tree
from tests.runs import BASE, a_tree

pytestmark = pytest.mark.real


def test_a_tree_is_found_out(tmp_path: Path) -> None:
    tree = a_tree(BASE)
    (tmp_path / "libexec").symlink_to(tree.files.mysqld.parent)
    (tmp_path / "share").mkdir()
    (tmp_path / "share" / "mysql").symlink_to(tree.files.share)
    found = Tree.inspect(tmp_path)
    assert found.files.mysqld == tmp_path / "libexec" / "mysqld"
    assert found.files.share == tmp_path / "share" / "mysql"
    assert (found.version, found.family) == (tree.version, tree.family)


def test_what_is_no_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    with pytest.raises(InputError, match="no server found"):
        Tree.inspect(tmp_path)
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    server = tmp_path / "bin" / "mysqld"
    server.write_text("#!/bin/sh\necho I am a teapot >&2\nexit 1\n")
    server.chmod(0o755)
    with pytest.raises(InputError, match="does not report a version: I am a teapot"):
        Tree.inspect(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_between_fork_and_exec_leaves_no_process(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = native._child
    pid_file = tmp_path / "pid"

    def signalling(cpus: Sequence[int]) -> Callable[[], None]:
        prepare, parent = child(cpus), os.getpid()

        def then() -> None:
            prepare()
            pid_file.write_text(str(os.getpid()))
            os.kill(parent, number)

        return then

    monkeypatch.setattr(native, "_child", signalling)
    tree = a_tree(BASE)
    sleeping = replace(tree, files=replace(tree.files, mysqld=Path("/bin/sleep")))
    with interrupting(signal.SIGINT, signal.SIGTERM, signal.SIGHUP), pytest.raises(KeyboardInterrupt):
        sleeping.spawn(["600"], tmp_path, ())
    pid = int(pid_file.read_text())
    assert not Path(f"/proc/{pid}").exists()
