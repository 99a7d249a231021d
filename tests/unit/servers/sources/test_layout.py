"""Trees as they are packed, installed and built, found out by looking."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.servers.sources import layout

# server binary, folder of the messages, folders of scripts, folder of plugins, basedir
LAYOUTS = {
    "tarball": ("bin/mysqld", "share", ["scripts", "bin"], "lib/plugin", ""),
    "tarball of 5.0": ("bin/mysqld", "share/mysql", ["scripts", "bin"], None, ""),
    "installed from source": ("libexec/mysqld", "share/mysql", ["bin"], "lib/mysql/plugin", ""),
    "below /usr": ("usr/sbin/mysqld", "usr/share/mysql", ["usr/bin"], "usr/lib/mysql/plugin", "usr"),
    "Fedora's": ("usr/libexec/mariadbd", "usr/share/mariadb", ["usr/bin"], "usr/lib64/mariadb/plugin", "usr"),
    "Debian's newest": (
        "usr/sbin/mariadbd",
        "usr/share/mariadb",
        [],
        "usr/lib/x86_64-linux-gnu/mariadb19/plugin",
        "usr",
    ),
    "other language folders": ("bin/mysqld", "share/mysql-8.0", ["bin"], None, ""),
    "build directory of 5.6": ("sql/mysqld", "sql/share", ["scripts"], None, ""),
    "build directory of 5.1": ("sql/.libs/mysqld", "sql/share", ["scripts"], None, ""),
    "build directory of 8.0": (
        "runtime_output_directory/mysqld",
        "share",
        ["scripts"],
        "plugin_output_directory",
        "",
    ),
    "beside its files": ("mysqld", "share", [], None, ""),
}


def a_tree(top: Path, name: str) -> Path:
    binary, share, scripts, plugins, _ = LAYOUTS[name]
    for folder in (*scripts, plugins or share):
        (top / folder).mkdir(parents=True, exist_ok=True)
    if plugins:
        (top / plugins / "a.so").touch()
    (top / share / "english").mkdir(parents=True, exist_ok=True)
    (top / share / "english" / "errmsg.sys").touch()
    (top / binary).parent.mkdir(parents=True, exist_ok=True)
    (top / binary).touch(mode=0o755)
    return top


@pytest.mark.parametrize("above", ["", "mysql-5.1.73-linux-x86_64-glibc23", "some/package/server"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_told_by_looking(name: str, above: str, tmp_path: Path) -> None:
    top = a_tree(tmp_path / above, name)
    (tmp_path / "META-INF").mkdir()
    (tmp_path / "README").touch()
    binary, share, scripts, plugins, basedir = LAYOUTS[name]
    found = layout.find(tmp_path)
    assert found.top == top
    assert found.basedir == top / basedir
    assert found.mysqld == top / binary == layout.find_mysqld(tmp_path)
    assert found.share == top / share
    beside = {top / "bin"} & {found.mysqld.parent}
    assert set(found.scripts) == {top / folder for folder in scripts} | beside
    assert found.plugins == (top / plugins if plugins else None)


def test_a_libtool_wrapper_is_not_the_server(tmp_path: Path) -> None:
    a_tree(tmp_path, "build directory of 5.1")
    (tmp_path / "sql" / "mysqld").touch(mode=0o755)
    assert layout.find_mysqld(tmp_path) == tmp_path / "sql" / ".libs" / "mysqld"


def test_a_build_directory_knows_its_sources(tmp_path: Path) -> None:
    build = a_tree(tmp_path / "build", "build directory of 5.6")
    (tmp_path / "source" / "scripts").mkdir(parents=True)
    (build / "CMakeCache.txt").write_text(
        f"# made by CMake\nCMAKE_HOME_DIRECTORY:INTERNAL={tmp_path / 'source'}\n"
    )
    assert layout.find(build).scripts == (build / "scripts", tmp_path / "source" / "scripts")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("chmod 644 bin/mysqld", r"^{top}/bin/mysqld: not executable; chmod \+x {top}/bin/mysqld$"),
        ("rm bin/mysqld", r"no server found; expected bin/, sbin/, libexec/, usr/sbin/ or a build directory"),
        ("rm share/english/*", r"contains no error messages; expected share/english/errmsg\.sys$"),
        (
            "rm -r *; mkdir sql; touch sql/mysqld.cc",
            r"sources without a build; expected sql/mysqld or bin/my",
        ),
        ("mkdir a; mv * a; cp -r a b", r"contains several servers; give one of a, b$"),
        ("rm -r $PWD", r"no such directory$"),
    ],
)
def test_what_is_missing_is_said_in_a_line(harm: str, said: str, tmp_path: Path) -> None:
    top = a_tree(tmp_path / "top", "tarball")
    subprocess.run(["sh", "-c", harm], cwd=top, stderr=subprocess.DEVNULL, check=False)
    with pytest.raises(InputError, match=said.format(top=top)) as caught:
        layout.find(top)
    assert "\n" not in str(caught.value)
