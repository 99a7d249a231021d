from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.model.plan import Dataset
from shootout.model.value import Family, Version
from shootout.settings import layers, profiles, readback
from shootout.settings.profiles import SettingsProfile
from shootout.settings.setting import Scalar

Write = Callable[[str, str], str]
DATA = Dataset(tables=4, rows=250_000)
SERVERS: list[tuple[Family, Version]] = [
    ("mysql", (5, 0, 92)), ("mysql", (5, 7, 22)), ("mysql", (8, 4, 0)), ("percona", (5, 5, 40)),
    ("mariadb", (5, 5, 68)), ("mariadb", (11, 8, 2)),
]  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return to


def options(profile: str, family: Family, version: Version) -> Mapping[str, str]:
    return profiles.compile(profiles.load(profile), family, version, [DATA]).options


def test_in_memory_is_the_same_on_both_sides_of_8_0() -> None:
    old, new = (options("in-memory", "mysql", version) for version in ((5, 7, 22), (8, 0, 12)))
    assert old == new
    assert old["character-set-server"] == "utf8mb4"
    assert old["skip-log-bin"] == ""


def test_no_collation_of_ours_stands_beside_a_character_set_of_the_users(write: Write) -> None:
    def given(line: str) -> set[tuple[str, str]]:
        profile = layers.combine("in-memory", write("my.cnf", f"[mysqld]\n{line}\n"))
        every = profiles.compile(profile, "mysql", (8, 0, 33)).options.items()
        return {
            (option.replace("-", "_"), value)
            for option, value in every
            if option[:9] in ("character", "collation")
        }

    assert given("character_set_server = utf8") == {("character_set_server", "utf8")}
    assert given("collation_server = utf8_bin") == {("collation_server", "utf8_bin")}
    both = {("character_set_server", "utf8mb4"), ("collation_server", "utf8mb4_bin")}
    assert given("collation-server = utf8mb4_bin") == both


def test_only_what_is_asked_for_is_written(write: Write) -> None:
    assert options("defaults", "mysql", (8, 0, 12)) == {}
    logged = write("logged.toml", "[settings]\nbinary_log = true\n")
    assert options(logged, "mysql", (5, 7, 22)) == {"log-bin": "binlog", "server-id": "1"}


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        ('buffer_pool_bytes = "1G"', 'innodb_buffer_pool_size = "2G"'),
        ('redo_capacity_bytes = "1G"', 'innodb_log_file_size = "2G"'),
        ("binary_log = true", 'skip-log-bin = ""'),
        ("max_connections = 10", 'loose-max_connections = "20"'),
    ],
)
def test_own_options_go_through_and_win(write: Write, setting: str, option: str) -> None:
    own = write("own.toml", f"[settings]\n{setting}\n[options]\n{option}\n")
    name, value = option.replace('"', "").split(" = ")
    for version in ((5, 5, 34), (8, 0, 12), (8, 0, 33)):
        assert options(own, "mysql", version) == {name: value}


PRODUCTION = """
[client]
port = 3306
[mysqld_safe]
socket = /run/mysqld/mysqld.sock
[mysqld]
user = mysql
port = 3306
extra-port = 3307
datadir = /var/lib/mysql
tmpdir = /tmp
secure_file_priv = /var/lib/mysql-files
plugin-dir = /usr/lib/mysql/plugin
log_error = /var/log/mysql/error.log
slow-query-log-file = /var/log/mysql/slow.log
slow_query_log = 1
bind-address = 0.0.0.0
admin-addr = 0.0.0.0
admin_port = 33062
loose-mysqlx-bind-address = *
ssl-ca = /etc/mysql/ca.pem
server-id = 17
report_host = db17
log-slave-updates
gtid_mode = ON
enforce-gtid-consistency = ON
relay-log = /var/lib/mysql/relay-bin
skip-slave-start
replicate-do-db = shop
read_only = 1
super-read-only = ON
rpl_semi_sync_master_enabled = 1
master-host = db1
loose-group_replication_group_seeds = "db1:33061,db2:33061"
wsrep-provider = /usr/lib/galera/libgalera_smm.so
loose_wsrep_cluster_address = gcomm://db1,db2
wsrep_clu = gcomm://db1
ndbcluster
ndb-connectstring = db9
innodb_buffer_pool_size = 64M
max_connections = 500
performance_schema_instrument = 'wait/io/file/%=ON'
init_connect = "SET NAMES utf8mb4; /* ours */"
ft_boolean_syntax = '+ -><()~*:""&|'
"""


def test_the_file_of_a_server_in_production_makes_a_server_that_is_alone(write: Write) -> None:
    profile = profiles.load(write("my.cnf", PRODUCTION))
    assert profile.options == {
        "slow_query_log": "1", "server-id": "17", "report_host": "db17", "log-slave-updates": "",
        "gtid_mode": "ON", "enforce-gtid-consistency": "ON", "innodb_buffer_pool_size": "64M",
        "max_connections": "500", "performance_schema_instrument": "'wait/io/file/%=ON'",
        "init_connect": '"SET NAMES utf8mb4; /* ours */"', "ft_boolean_syntax": "'+ -><()~*:\"\"&|'",
    }  # fmt: skip
    layered = layers.combine("defaults", write("my.cnf", PRODUCTION))
    _, (warning,) = readback.compare(profiles.compile(layered, "mysql", (5, 7, 22)), {})
    assert warning.code == "settings-left-out"
    for option in ("datadir", "slow-query-log-file", "read_only"):
        assert f" {option}" in warning.text


def test_of_two_spellings_the_later_one_counts(write: Write) -> None:
    twice = write("twice.toml", '[options]\nmax-connections = "1"\nmax_connections = "2"\n')
    assert options(twice, "mysql", (8, 0, 12)) == {"max_connections": "2"}


def in_toml(line: str) -> str:
    """A line of a my.cnf in a profile."""
    option, _, value = line.partition(" = ")
    return f'[options]\n{option} = "{value}"\n'


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "[settings]\nbuffer_pool_byte = 1\n", "did you mean 'buffer_pool_bytes'?"),
        ("a.toml", "[setings]\nbuffer_pool_bytes = 1\n", "did you mean 'settings'?"),
        ("a.toml", '[settings]\nbinary_log = "no"\n', "expected true or false, found 'no'"),
        ("a.toml", '[settings]\nbuffer_pool_bytes = "big"\n', "expected a size"),
        ("a.toml", "[settings]\nmax_connections = true\n", "expected a whole number"),
        ("a.toml", '[settings]\nbuffer_pool_of_data = "1G"\n', "expected a number up to 100"),
        ("a.toml", "[settings]\nbuffer_pool_of_data = nan\n", "expected a number up to 100"),
        ("a.toml", '[settings]\nredo_capacity_bytes = "3M"\n', "expected 8388608 or more"),
        ("a.toml", '[settings]\nredo_capacity_bytes = "33M"\n', "expected a multiple of 2097152"),
        ("a.toml", '[settings]\nflush_method = "direct"\n', "expected one of fsync, O_DSYNC, O_DIRECT"),
        ("a.toml", "[lacking]\nisolation = 'x'\n", "'isolation' is not among its settings"),
        (
            "a.toml",
            "[settings]\nbuffer_pool_bytes = 1\nbuffer_pool_of_data = 1\n",
            "buffer_pool_bytes and buffer_pool_of_data exclude each other",
        ),
        ("a.toml", "[settings\n", "not TOML"),
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
            "settings.max_connections: expected a number of at most 64 bits",
        ),
        *(
            ("a.toml", in_toml(line), f"{line} is outside the instance directory; leave it out")
            for line in (
                "innodb_undo_directory = ../undo",
                "innodb-undo-dir = /srv",  # a unique start of the same
                "aria-log-dir-path = /var/lib/mysql",
                "loose-rocksdb_datadir = '/var/lib/mysql/#rocksdb'",
                "innodb_data_file_path = ibdata1:12M;/srv/ibdata2:12M:autoextend",
                "log_bin = ~/binlog",
                "sock = /run/mysqld/mysqld.sock",
            )
        ),
        *(
            ("a.toml", in_toml(line), f"{line} would join other servers; leave it out")
            for line in (
                "plugin_load_add = group_replication.so",
                "loose-plugin-load = 'a=semisync_master.so;clone=mysql_clone.so'",
                "plugin-load = mysqlx.so",
            )
        ),
    ],
)
def test_a_fault_in_a_file_is_named(write: Write, name: str, text: str, said: str) -> None:
    file = write(name, text)
    with pytest.raises(InputError) as caught:
        profiles.load(file)
    assert file in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["in-memry", "no/such.toml", "no/such.cnf"])
def test_a_profile_that_is_not_there(name: str) -> None:
    with pytest.raises(InputError) as caught:
        profiles.load(name)
    assert name in str(caught.value)
    assert name != "in-memry" or "'in-memory'" in str(caught.value)


def test_what_a_version_lacks_is_refused_by_name(write: Write) -> None:
    cached = write("cached.toml", '[settings]\nquery_cache_bytes = "1M"\n')
    with pytest.raises(InputError) as caught:
        options(cached, "mysql", (8, 0, 12))
    for words in ("query_cache_bytes", "cached", "mysql 8.0.12", "1048576", "since 8.0.3", "[lacking]"):
        assert words in str(caught.value)
    assert options(cached, "mysql", (5, 7, 22))["query-cache-size"] == "1048576"


def test_what_a_version_may_lack_is_recorded_and_warned_of(write: Write) -> None:
    text = '[settings]\nquery_cache_bytes = "1M"\n[lacking]\nquery_cache_bytes = "we can do without"\n'
    profile = profiles.load(write("cached.toml", text))
    compiled = profiles.compile(profile, "mysql", (8, 0, 12))
    assert compiled.options == {}
    (record,), (warning,) = readback.compare(compiled, {})
    assert (record.name, record.requested, record.effective) == ("query_cache_bytes", "1048576", None)
    assert record.lacking
    assert not record.differs
    assert warning.code == "settings-lacking"
    assert "no query cache since 8.0.3; we can do without" in warning.text


def test_what_comes_nearest_stands_in_for_what_is_lacking() -> None:
    compiled = profiles.compile(profiles.load("in-memory"), "mysql", (5, 1, 73))
    assert compiled.options["character-set-server"] == "utf8"
    records, warnings = readback.compare(compiled, {"character_set_server": "utf8"})
    record = next(record for record in records if record.name == "character_set")
    assert (record.requested, record.effective, record.lacking) == ("utf8mb4", "utf8", True)
    assert any("it has utf8." in warning.text for warning in warnings)


def test_a_version_that_is_so_anyway_lacks_nothing(write: Write) -> None:
    text = "[settings]\nquery_cache_bytes = 0\nperformance_schema = false\nbuffer_pool_instances = 1\n"
    text += "thread_concurrency = 0\nkey_cache_segments = 0\nthread_handling = 'one-thread-per-connection'\n"
    plain = write("plain.toml", text)
    assert options(plain, "mysql", (5, 1, 73)) == {
        "query-cache-type": "0", "query-cache-size": "0", "innodb-thread-concurrency": "0",
    }  # fmt: skip
    assert options(plain, "mariadb", (11, 4, 5)) == {
        "query-cache-type": "0", "query-cache-size": "0", "performance-schema": "0",
        "key-cache-segments": "0",
    }  # fmt: skip


def test_the_thread_pool_of_mysql_is_a_plugin() -> None:
    profile = profiles.load("scaling-thread-pool-36")
    with pytest.raises(InputError, match=r"thread_pool\.so"):
        profiles.compile(profile, "mysql", (5, 6, 21))
    compiled = profiles.compile(profile, "mysql", (5, 6, 21), plugins={"thread_pool.so"})
    assert compiled.options["plugin-load-add"] == "thread_pool.so"
    assert compiled.options["loose-thread-pool-size"] == "36"
    variables = {"thread_handling": "loaded-dynamically", "thread_pool_size": "36"}
    assert readback.compare(compiled, variables)[1] == ()
    not_loaded = {"thread_handling": "one-thread-per-connection"}
    told = [warning.text for warning in readback.compare(compiled, not_loaded)[1]]
    assert told == [
        "thread_handling: requested pool-of-threads, the server has one-thread-per-connection.",
        "thread_pool_size: requested 36, the server has nothing.",
    ]


@given(share=st.floats(0.01, 4), rows=st.integers(1, 500_000_000), instances=st.none() | st.integers(1, 64))
def test_a_share_of_the_data_is_a_pool_that_no_server_rounds(
    share: float, rows: int, instances: int | None
) -> None:
    asked: dict[str, Scalar] = {"buffer_pool_of_data": share}
    if instances is not None:
        asked["buffer_pool_instances"] = instances
    lacking = {"buffer_pool_instances": ""} if instances else {}
    profile = SettingsProfile(name="shared", settings=asked, lacking=lacking)
    data = Dataset(tables=1, rows=rows)
    wanted = share * data.nominal_bytes
    if wanted < profiles.POOL_MIN_BYTES:
        with pytest.raises(InputError, match="make the dataset larger"):
            profiles.compile(profile, "mysql", (8, 0, 12), [data])
        return
    sizes = {
        profiles.compile(profile, family, version, [data]).options["innodb-buffer-pool-size"]
        for family, version in SERVERS
    }
    (size,) = map(int, sizes)
    parts = 1 if size < 2**30 else instances or 8
    chunk = min(128 * 2**20, size // parts)
    assert size % (chunk * parts) == 0
    assert size % 2**20 == 0
    grain = 2**20 if wanted <= 2**27 else 2**27 * max(8, instances or 8)
    assert abs(size - wanted) <= grain / 2


def test_a_fifth_of_the_data_is_told_as_such() -> None:
    profile = profiles.load("io-bound")
    compiled = profiles.compile(profile, "mysql", (8, 0, 12), [DATA])
    assert compiled.requests["buffer_pool_bytes"].value == 48 * 2**20
    assert compiled.requests["buffer_pool_bytes"].note == "0.2 of about 250000000 bytes of data"
    with pytest.raises(InputError, match="the run has no dataset of known size"):
        profiles.compile(profile, "mysql", (8, 0, 12))


def test_only_what_shapes_files_keeps_templates_apart() -> None:
    options = {
        "innodb_buffer_pool_size": "1G", "skip-log-bin": "", "collation-server": "utf8mb4_bin",
        "innodb_file_per_table": "0", "innodb_checksum_algorithm": "none",
        "plugin-load-add": "ha_rocksdb.so", "loose-unheard-of": "1",
    }  # fmt: skip
    assert profiles.in_files(options).keys() == {*options} - {"innodb_buffer_pool_size", "skip-log-bin"}
