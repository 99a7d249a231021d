"""Option files as people bring them."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.settings import layers, optionfiles, profiles, readback
from shootout.settings.optionfiles import OptionFile

Read = Callable[[str], OptionFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def option_file(text: str) -> OptionFile:
        (tmp_path / "my.cnf").write_text(text)
        return optionfiles.read(tmp_path / "my.cnf")

    return option_file


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("log_bin = /var/log/mysql/mysql-bin", {"log_bin": "mysql-bin"}),
        ("log-bin = 'C:\\logs\\bin'", {"log-bin": "bin"}),
        ("log_bin = ~/..", {}),
        ("innodb_data_home_dir = /srv/ibdata", {}),
        ("innodb_log_group_home_dir = D:/logs", {}),
        ("innodb_data_home_dir = \\\\host\\share", {}),
        ("innodb_undo_directory = ../undo", {}),
        ("innodb-undo-dir = /srv", {}),  # a unique start of the same
        ("loose-rocksdb_datadir = '/var/lib/mysql/#rocksdb'", {}),
        ("innodb_data_file_path = ibdata1:12M;/srv/ibdata2:12M:autoextend", {}),
        ("sock = /run/mysqld/mysqld.sock", {}),
        ("loose-plugin-load = 'a=semisync_master.so;clone=mysql_clone.so'", {}),
        ("binlog-do-db = shop", {}),
        ("skip-grant-tables", {}),
        ("require_secure_transport = ON", {}),
    ],
)
def test_what_belongs_to_the_machine_of_a_file_is_left_out_and_said(
    line: str, kept: dict[str, str], read: Read
) -> None:
    found = read(f"[mysqld]\n{line}\nport = 3306\nmax_connections = 9\n")
    assert found.options == {**kept, "max_connections": "9"}
    said = "; ".join(found.left_out)
    assert line.partition(" = ")[0] in said
    assert "port, because shootout places servers itself" in said


def test_everything_left_out_is_said_once(read: Read, tmp_path: Path) -> None:
    text = (
        "My settings\nof 2019:\n[mysqld]\nport = 1\n```\nmax_connections 500\n!include /etc/x.cnf\nport = 2\n"
        "[mysqldump]\nquick!\n"
    )
    assert read(text).left_out == (
        "port, because shootout places servers itself", "!include /etc/x.cnf, which is not beside my.cnf",
        "2 lines of my.cnf before the first group", "in my.cnf what is no option, on line 5, 6",
    )  # fmt: skip
    compiled = profiles.compile(layers.combine("defaults", str(tmp_path / "my.cnf")), "mysql", (8, 0, 12))
    (warning,) = readback.compare(compiled, {})[1]
    assert warning.text.startswith("Left out: port, because shootout places servers itself; !include /etc")


def test_a_group_of_a_version_counts_for_that_version_alone_in_the_order_of_the_file(
    read: Read, tmp_path: Path
) -> None:
    text = """
        [mysqld-5.7]
        max_connections = 57
        query_cache_size = 1M
        [mysqld]
        max_connections = 5
        back_log = 7
        [mysqld-8.0]
        max_connections = 80
        [mariadb-10.11]
        max_connections = 1011
        [mysqld-8]
        max_connections = 8
        [client-server]
        back_log = 70
    """
    read(text)
    profile = profiles.load(str(tmp_path / "my.cnf"))
    assert profile.options == {"max_connections": "5", "back_log": "70"}
    assert profile.options_of((5, 7, 22)) == {"query_cache_size": "1M", **profile.options}
    for version, connections in (((8, 0, 33), "80"), ((10, 11, 2), "1011"), ((8, 4, 0), "5")):
        options = profiles.compile(profile, "mysql", version).options
        assert options == {"max_connections": connections, "back_log": "70"}
    added = layers.combine("in-memory", f"{tmp_path / 'my.cnf'}+max_connections=1")
    for version in ((5, 7, 22), (8, 4, 0)):
        assert profiles.compile(added, "mysql", version).verbatim["max_connections"] == "1"


def test_files_are_included_that_lie_beside_the_file(read: Read, tmp_path: Path) -> None:
    for name, text in {
        "conf.d/b.cnf": "[mysqld]\nmax_connections = 2\n!include /etc/mysql/extra/c.ini\n",
        "conf.d/a.cnf": "[mysqld]\nmax_connections = 1\nback_log = 1\n",
        "conf.d/a.txt": "[mysqld]\nback_log = 3\n",
        "conf.d/extra/c.ini": "stray = 1\n[server]\nback_log = 4\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    found = read(
        "[mysqld]\nsort_buffer_size = 1M\n!includedir /etc/mysql/conf.d/\nback_log = 5\n!includedir /etc\n"
    )
    assert found.options == {"sort_buffer_size": "1M", "max_connections": "2", "back_log": "5"}
    assert found.left_out == (
        "1 line of c.ini before the first group",
        "!includedir /etc, which is not beside my.cnf",
    )
    with pytest.raises(InputError, match="includes more than 100 files, or itself"):
        read("[mysqld]\n!include my.cnf\n")
    assert read("[mysqld]\n!include ../../etc/passwd\na=1\n").options == {"a": "1"}


def test_options_of_which_a_server_takes_every_line_stand_together(read: Read) -> None:
    found = read(
        "[mysqld]\nplugin-load-add = 'a.so'\nloose_plugin_load_add=b.so\n"
        "optimizer_switch='mrr=off'\noptimizer-switch = index_merge=off\n"
        + "".join(
            f"performance-schema-instrument = '{name}=ON'\n" for name in ("wait/%", "stage/%", "memory/%")
        )
        + "max-connections=1\nmax_connections = 2\n"
    )
    options = found.options
    assert options["loose_plugin_load_add"] == '"a.so;b.so"'
    assert options["optimizer-switch"] == '"mrr=off,index_merge=off"'
    instruments = [value for name, value in options.items() if name.startswith("performance")]
    assert instruments == ["'wait/%=ON'", "'stage/%=ON'", "'memory/%=ON'"]
    assert options["max_connections"] == "2"
    assert "max-connections" not in options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("set-variable = key_buffer=16M", {"key_buffer": "16M"}),
        ("innodb_buffer_pool_size=12G  # half", {"innodb_buffer_pool_size": "12G"}),
        ("init_connect = 'SET @a = \"#1\"'", {"init_connect": "'SET @a = \"#1\"'"}),
        ("maximum-sort_buffer_size = 4M", {"maximum-sort_buffer_size": "4M"}),
        ("skip-name-resolve", {"skip-name-resolve": ""}),
        (r"init_connect = 'SET @a=\'x\''", {"init_connect": r"'SET @a=\'x\''"}),
        ("max_connections = {{ connections }}", {}),
        ("sql_mode =", {"sql_mode": '""'}),
    ],
)
def test_lines_are_read_as_servers_read_them(line: str, expected: dict[str, str], read: Read) -> None:
    assert read(f"[mysqld] # ours\n{line}\n").options == expected


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("my.ini", codecs.BOM_UTF8 + b"[mysqld]\r\nmax_connections=7\r\n"),
        ("my.ini", codecs.BOM_UTF16_LE + "[mysqld]\r\nmax_connections=7\r\n".encode("utf-16-le")),
        ("my.cnf.old", b"# R\xe9glages\n[mysqld]\nmax_connections=7\n"),
        ("db1", b"[mysqld]\nmax_connections=7"),
    ],
)
def test_files_of_any_name_and_encoding_are_read(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert layers.combine("defaults", name).options == {"max_connections": "7"}
    assert layers.combine("in-memory", f"{name}+back_log=8").settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_connections = 1\n", "contains no [mysqld] group"),
        ("[client]\nport = 1\n[mysqld1]\n", "contains no [mysqld] group, only [client], [mysqld1]"),
        ("[mysqld]\n" + "# 1234567\n" * 2**17, "expected an option file, found more than 1 MB"),
    ],
)
def test_a_file_that_has_nothing_for_a_server_is_refused(text: str, said: str, read: Read) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).endswith(said)
