from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout import settings
from shootout.errors import InputError

Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return to


def test_redo_capacity_is_written_as_each_version_wants_it() -> None:
    profile = settings.load("in-memory")
    assert profile.name == "in-memory"
    old = settings.compile(profile, "mysql", (5, 7, 22))
    assert old["innodb-log-file-size"] == str(128 * 2**20)
    assert old["innodb-log-files-in-group"] == "2"
    new = settings.compile(profile, "percona", (8, 0, 30))
    assert new["innodb-redo-log-capacity"] == str(256 * 2**20)
    assert "innodb-log-file-size" not in new


def test_in_memory_is_the_same_on_both_sides_of_8_0() -> None:
    profile = settings.load("in-memory")
    versions: list[settings.Version] = [(5, 7, 22), (8, 0, 12)]
    old, new = (settings.compile(profile, "mysql", version) for version in versions)
    assert old == new
    assert old["character-set-server"] == "utf8mb4"
    assert old["skip-log-bin"] == ""


def test_defaults_ask_for_nothing() -> None:
    assert settings.compile(settings.load("defaults"), "mysql", (8, 0, 12)) == {}


def test_a_binary_log_can_be_asked_for(write: Write) -> None:
    profile = settings.load(write("logged.toml", "[settings]\nbinary_log = true\n"))
    assert settings.compile(profile, "mysql", (5, 7, 22)) == {"log-bin": "binlog", "server-id": "1"}


def test_own_options_go_through_and_win(write: Write) -> None:
    text = '[settings]\nbuffer_pool_bytes = "1G"\n[options]\ninnodb-buffer-pool-size = "2G"\n'
    profile = settings.load(write("own.toml", text))
    assert settings.compile(profile, "mysql", (8, 0, 12)) == {"innodb-buffer-pool-size": "2G"}


def test_a_cnf_file(write: Write) -> None:
    text = """
        [client]
        port = 3306
        [mysqld]
        datadir = /var/lib/mysql   # ours is elsewhere
        port = 3306
        skip-name-resolve
        innodb_io_capacity = 2000  # a comment
        init_connect =
    """
    profile = settings.load(write("my.cnf", text))
    assert profile.name == "my"
    assert settings.compile(profile, "mysql", (8, 0, 12)) == {
        "skip-name-resolve": "",
        "innodb_io_capacity": "2000",
        "init_connect": '""',
    }


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "[settings]\nbuffer_pool_byte = 1\n", "did you mean 'buffer_pool_bytes'?"),
        ("a.toml", "[setings]\nbuffer_pool_bytes = 1\n", "did you mean 'settings'?"),
        ("a.toml", '[settings]\nbinary_log = "no"\n', "expected true or false, found 'no'"),
        ("a.toml", '[settings]\nbuffer_pool_bytes = "big"\n', "expected a size"),
        ("a.toml", "[settings]\nmax_connections = true\n", "expected a whole number"),
        ("a.toml", "[settings\n", "not TOML"),
        ("a.cnf", "max_connections = 1\n", "line 1: no [mysqld] group begins before it"),
        (
            "a.toml",
            '[settings]\ncharacter_set = "utf8\\n[client]"\n',
            r"character_set: expected printable characters, found 'utf8\n",
        ),
        (
            "a.toml",
            '[options]\ninit_connect = "a\\tb"\n',
            r"init_connect: expected printable characters, found 'a\tb'",
        ),
        (
            "a.toml",
            "[settings]\nmax_connections = 0x10000000000000000\n",
            "settings.max_connections: expected a number of 64 bits",
        ),
        ("a.cnf", "[mysqld]\na = 1\n=\n=\n", "line 3: '=' is not an option"),
        ("a.cnf", "[client]\nport = 1\n", "no [mysqld] group"),
        ("a.cnf", "[mysqld]\n!include /etc/my.cnf\n", "not supported"),
        ("a.cnf", "[mysqld]\nlog-bin = /var/log/mysql/bin\n", "outside the instance directory"),
        ("a.cnf", "[mysqld]\ninnodb_undo_directory = ../undo\n", "outside the instance directory"),
    ],
)
def test_a_fault_in_a_file_is_named(write: Write, name: str, text: str, said: str) -> None:
    file = write(name, text)
    with pytest.raises(InputError) as caught:
        settings.load(file)
    assert file in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["in-memry", "no/such.toml", "no/such.cnf"])
def test_a_profile_that_is_not_there(name: str) -> None:
    with pytest.raises(InputError) as caught:
        settings.load(name)
    assert name in str(caught.value)
    assert name != "in-memry" or "'in-memory'" in str(caught.value)


def test_what_a_version_cannot_express_is_refused() -> None:
    with pytest.raises(InputError, match=r"redo_capacity_bytes: not known how mariadb 10\.11\.5"):
        settings.compile(settings.load("in-memory"), "mariadb", (10, 11, 5))


def test_only_what_shapes_files_keeps_templates_apart() -> None:
    options = {
        "innodb_buffer_pool_size": "1G",
        "skip-log-bin": "",
        "collation-server": "utf8mb4_bin",
        "innodb_file_per_table": "0",
    }
    assert settings.in_files(options).keys() == {"collation-server", "innodb_file_per_table"}


def test_requested_and_effective_are_held_against_each_other() -> None:
    requested = {
        "innodb-buffer-pool-size": "512M",
        "skip-log-bin": "",
        "skip_name_resolve": "",
        "innodb_log_group_home_dir": "redo/",
        "max-connections": "1000",
        "early-plugin-load": "x",
        "loose-thread_pool_size": "8",
    }
    effective = {
        "innodb_buffer_pool_size": "536870912",
        "log_bin": "OFF",
        "skip_name_resolve": "ON",
        "innodb_log_group_home_dir": "./redo",
        "max_connections": "214",
        "sync_binlog": "1",
    }
    records, warnings = settings.compare(requested, effective)
    by_name = {record.name: record for record in records}
    assert {name for name, record in by_name.items() if record.differs} == {
        "max_connections",
        "thread_pool_size",
    }
    assert by_name["early_plugin_load"].effective is None
    assert by_name["sync_binlog"].requested is None
    assert [warning.text for warning in warnings] == [
        "max_connections: requested 1000, the server has 214.",
        "thread_pool_size: requested 8, the server has nothing.",
    ]


def test_the_binary_logs_name_is_not_its_variable() -> None:
    records, warnings = settings.compare({"log-bin": "binlog"}, {"log_bin": "ON"})
    assert not warnings
    assert not records[0].differs
    assert settings.compare({"log-bin": "binlog"}, {"log_bin": "OFF"})[1]


sizes = st.tuples(st.integers(0, 10**6), st.sampled_from(["", "K", "M", "G"]))


@given(sizes, st.booleans())
def test_sizes_are_equal_in_every_unit(size: tuple[int, str], lower: bool) -> None:
    number, unit = size
    plain = number * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[unit]
    written = f"{number}{unit.lower() if lower else unit}"
    assert settings.normalise(written) == settings.normalise(str(plain)) == str(plain)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_numbers_are_equal_however_many_zeros_they_end_in(number: object) -> None:
    assert settings.normalise(f"{number}") == settings.normalise(f"{number}000")


@pytest.mark.parametrize(
    ("one", "other"), [("ON", "1"), ("TRUE", "yes"), ("off", "0"), ("O_DIRECT", "o_direct")]
)
def test_words_are_equal_in_any_spelling(one: str, other: str) -> None:
    assert settings.normalise(one) == settings.normalise(other)
