"""A built server as one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shootout import cli
from shootout.errors import InputError
from shootout.servers.sources import layout, pack
from shootout.servers.sources.trees import Tree
from tests.support.runs import BASE, a_tree

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def built(folder: Path) -> Path:
    """Leave what a compiler does: a build directory beside much else, its SQL scripts in the sources."""
    tree = a_tree(BASE)
    build = folder / "sources" / "build"
    (build / "sql").mkdir(parents=True)
    (build / "sql" / "mysqld").symlink_to(tree.files.mysqld)
    (build / "sql" / "mysqld.o").write_text("an object file\n")
    (build / "sql" / "share").symlink_to(tree.files.share)
    (build / "plugin_output_directory").mkdir()
    (build / "plugin_output_directory" / "ha_mine.so").write_text("a plugin\n")
    (folder / "sources" / "scripts").mkdir()
    (folder / "sources" / "scripts" / "mysql_system_tables.sql").write_text("SELECT 1;\n")
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={folder / 'sources'}\n")
    return build


def test_a_build_is_the_same_server_wherever_it_is_unpacked(tmp_path: Path) -> None:
    before = Tree.inspect(built(tmp_path / "one"))
    assert cli.main(["servers", "pack", str(built(tmp_path / "two")), str(tmp_path / "a.tar")]) == 0
    pack.pack(before.files.top, tmp_path / "b.tar")
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert cli.main(["servers", "unpack", str(tmp_path / "a.tar"), str(tmp_path / "there" / "build")]) == 0
    after = Tree.inspect(tmp_path / "there" / "build")
    assert (after.digest, after.version) == (before.digest, before.version)
    assert after.shared("mysql_system_tables.sql") == before.shared("mysql_system_tables.sql")
    assert after.plugins == {"ha_mine.so"}
    assert list((tmp_path / "there").rglob("*.o")) == []


def test_another_plugin_is_another_server(tmp_path: Path) -> None:
    before = Tree.inspect(built(tmp_path))
    (before.files.basedir / "plugin_output_directory" / "ha_mine.so").write_text("slower\n")
    assert Tree.inspect(before.files.top).digest != before.digest


def test_a_server_keeps_the_commit_that_it_was_built_from(tmp_path: Path) -> None:
    build = built(tmp_path)
    assert layout.find(build).commit == ""
    sources = build.parent
    subprocess.run(["git", "init", "--quiet", sources], check=True)
    me = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", "-C", sources, *me, "commit", "-q", "--allow-empty", "-m", "A change"], check=True)
    head = subprocess.run(
        ["git", "-C", sources, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert layout.find(build).commit == head
    pack.pack(build, tmp_path / "checkout.tar")
    pack.pack(build, tmp_path / "given.tar", COMMIT)
    for name, commit in (("checkout", head), ("given", COMMIT)):
        pack.unpack(tmp_path / f"{name}.tar", tmp_path / name)
        assert layout.find(tmp_path / name).commit == commit
    with pytest.raises(InputError, match="expected its full hash"):
        pack.pack(build, tmp_path / "x.tar", "main")
