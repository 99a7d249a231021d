"""Empty data directories, however their server makes them."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.servers.processes import accounts, instances
from shootout.servers.sources import installations, reference
from shootout.servers.sources.trees import Tree

NAME = "mysql-5.6.24"
OPTIONS = {"innodb-log-file-size": "8M", "skip-log-bin": ""}


@pytest.fixture(scope="module")
def tree() -> Tree:
    found = installations.find(reference.parse(NAME))
    assert isinstance(found, Tree)
    return found


def without_sql(tree: Tree, top: Path) -> Tree:
    """The same server, its SQL taken away."""
    shutil.copytree(tree.files.share, top / "share", ignore=shutil.ignore_patterns("*.sql"))
    return replace(tree, files=replace(tree.files, basedir=top, share=top / "share", scripts=(top,)))


def assert_it_starts(tree: Tree, directory: Path) -> None:
    instances.initialise(tree, directory, OPTIONS)
    with instances.start(tree, directory, OPTIONS) as instance:
        found = instance.query("SELECT User, Host FROM mysql.user ORDER BY 1")
        assert found == (("root", "localhost"), (accounts.LOAD_USER, "localhost"))
        assert instance.query("SHOW DATABASES LIKE 'test'") == ()


def test_its_own_sql_is_run(tree: Tree, tmp_path: Path) -> None:
    assert_it_starts(tree, tmp_path / "i")


def test_else_the_data_directory_that_it_brings_is_copied(tree: Tree, tmp_path: Path) -> None:
    torn = without_sql(tree, tmp_path / "torn")
    instances.initialise(tree, tmp_path / "made", OPTIONS)
    with instances.start(tree, tmp_path / "made", OPTIONS) as instance:
        instance.query("GRANT ALL ON *.* TO ''@'%'")
        instance.query("CREATE DATABASE test")
        instance.query("FLUSH TABLES")
        ((theirs,),) = instance.query("SELECT @@server_uuid")
    shutil.copytree(tmp_path / "made" / "data", tmp_path / "torn" / "data")
    instances.initialise(torn, tmp_path / "i", OPTIONS | {"innodb-log-file-size": "16M"})
    with instances.start(torn, tmp_path / "i", OPTIONS | {"innodb-log-file-size": "16M"}) as instance:
        assert instance.query("SELECT User, Host FROM mysql.user WHERE User IN ('', 'root')") == (
            ("root", "localhost"),
        )
        assert instance.query("SHOW DATABASES LIKE 'test'") == ()
        ((ours,),) = instance.query("SELECT @@server_uuid")
        assert ours != theirs


def test_else_the_script_that_prints_its_sql_is_asked(tree: Tree, tmp_path: Path) -> None:
    torn = without_sql(tree, tmp_path / "torn")
    files = [tree.files.share / f"mysql_system_tables{kind}.sql" for kind in ("", "_data")]
    (tmp_path / "torn" / "mysql_create_system_tables").write_text(
        f"""#!/bin/sh
[ "$1 $3 $4" = "real localhost 0" ] && [ ! -e "$2/user.frm" ] || exit 1
exec cat {shlex.join(map(str, files))}
"""
    )
    assert_it_starts(torn, tmp_path / "i")


def test_a_script_that_fails_is_named(tree: Tree, tmp_path: Path) -> None:
    torn = without_sql(tree, tmp_path / "torn")
    (tmp_path / "torn" / "mysql_create_system_tables").write_text("echo no way >&2; exit 1\n")
    with pytest.raises(MeasureError, match=r"mysqld: its mysql_create_system_tables failed: no way$"):
        instances.initialise(torn, tmp_path / "i", OPTIONS)


def test_else_it_cannot_be_initialised(tree: Tree, tmp_path: Path) -> None:
    torn = without_sql(tree, tmp_path / "torn")
    with pytest.raises(InputError, match=r"mysql 5\.6\.24 cannot be initialised: it has neither SQL scripts"):
        instances.initialise(torn, tmp_path / "i", OPTIONS)
    assert not (tmp_path / "i").exists()


def test_sql_that_fails_is_told_by_the_log(tree: Tree, tmp_path: Path) -> None:
    torn = without_sql(tree, tmp_path / "torn")
    (tmp_path / "torn" / "share" / "mysql_system_tables.sql").write_text("CREATE NONSENSE;\n")
    with pytest.raises(MeasureError, match=r"(?s)initialising failed \(exit code 1\).*near 'NONSENSE"):
        instances.initialise(torn, tmp_path / "i", OPTIONS)
