import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from shootout.errors import MeasureError
from shootout.measure import dataset
from shootout.model.plan import Dataset
from shootout.model.value import Family
from shootout.servers.processes import instances
from shootout.servers.processes.accounts import LOAD_USER
from shootout.servers.sources import cache
from tests.support.measure.servers import fresh
from tests.support.runs import a_tree

SMALL = {
    "innodb-log-file-size": "8M",
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
}
DATASET = Dataset(tables=2, rows=5_007, seed=5)
EVERY = (DATASET, Dataset(kind="tpcc"), Dataset(kind="own"))
NAMES = ("mysql-5.7.22", "mysql-8.0.12")


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_of_a_template_is_a_server_with_the_dataset(
    name: str, cache_dir: Path, tmp_path: Path
) -> None:
    tree = a_tree(name)
    dataset.template(tree, SMALL, [DATASET], cache_dir)
    found = dataset.template(tree, SMALL | {"max-connections": "77"}, [DATASET], cache_dir)
    assert found.load_s is None  # restored: the number of connections is not in the files
    assert not (found.directory / "data" / "auto.cnf").exists()
    found.copy_to(tmp_path / "instance")
    with instances.start(tree, tmp_path / "instance", SMALL) as instance:
        dataset.verify(instance, DATASET)
        dataset.warm(instance, DATASET)
        reads = instance.status()["Innodb_buffer_pool_reads"]
        dataset.warm(instance, DATASET)
        assert instance.status()["Innodb_buffer_pool_reads"] == reads
        columns = instance.query(
            "SELECT column_name, column_type, is_nullable, column_default, column_key, extra "
            "FROM information_schema.columns WHERE table_schema = 'shootout' AND table_name = 'sbtest2' "
            "ORDER BY ordinal_position"
        )
        assert [(row[0], str(row[1]).split("(")[0], *row[2:]) for row in columns] == [
            ("id", "int", "NO", None, "PRI", "auto_increment"),
            ("k", "int", "NO", "0", "MUL", ""),
            ("c", "char", "NO", "", "", ""),
            ("pad", "char", "NO", "", "", ""),
        ]
        indexes = instance.query("SHOW INDEX FROM shootout.sbtest2")
        assert {(row[2], row[4]) for row in indexes} == {("PRIMARY", "id"), ("k_2", "k")}

        instance.query("UPDATE shootout.sbtest2 SET pad = REVERSE(pad) WHERE id = 5007")
        with pytest.raises(MeasureError, match=r"shootout\.sbtest2 .* expected 5007 rows .* found 5007 with"):
            dataset.verify(instance, DATASET)
        instance.query("DELETE FROM shootout.sbtest1 WHERE id = 1")
        with pytest.raises(MeasureError, match=r"shootout\.sbtest1 .* found 5006 with"):
            dataset.verify(instance, DATASET)


def test_one_template_holds_all_datasets_of_a_run(cache_dir: Path, tmp_path: Path) -> None:
    tree = a_tree(NAMES[0])
    found = dataset.template(tree, SMALL, EVERY, cache_dir)
    assert dataset.template(tree, SMALL, [*EVERY[::-1], DATASET], cache_dir).directory == found.directory
    assert dataset.template(tree, SMALL, [DATASET], cache_dir).directory != found.directory
    manifest = cache.manifest(found.directory)
    assert manifest is not None
    assert manifest.server == "mysql 5.7.22"
    assert manifest.datasets == (DATASET.key, "tpcc-1w-innodb")  # a set-up makes the schema of its own
    found.copy_to(tmp_path / "instance")
    with instances.start(tree, tmp_path / "instance", SMALL) as instance:
        schemas = instance.query("SHOW DATABASES LIKE 'shootout%'")
        assert schemas == (("shootout",), ("shootout_tpcc",))
        for each in dataset.with_rows(EVERY):
            dataset.verify(instance, each)
            dataset.warm(instance, each)
        indexes = instance.query(
            "SELECT table_name, index_name FROM information_schema.statistics "
            "WHERE table_schema = 'shootout_tpcc' AND index_name <> 'PRIMARY' AND seq_in_index = 1 ORDER BY 1"
        )
        assert indexes == (("customer", "customer_by_name"), ("orders", "orders_by_customer"))
        instance.query("UPDATE shootout_tpcc.customer SET c_data = 'x' WHERE c_id = 7 AND c_d_id = 3")
        with pytest.raises(MeasureError, match=r"shootout_tpcc\.customer of .* expected 30000 rows with"):
            dataset.verify(instance, EVERY[1])


def test_loading_leaves_the_server_as_it_was(tmp_path: Path) -> None:
    binary_log = {"log-bin": "binlog", "server-id": "1", "innodb-log-file-size": "8M"}
    for allowed in ("0", "1"):
        with fresh(NAMES[0], tmp_path / allowed, binary_log, {"local-infile": allowed}) as instance:
            dataset.load(instance, DATASET)
            assert instance.query("SELECT @@GLOBAL.local_infile") == ((int(allowed),),)
            written = str(instance.query("SHOW BINLOG EVENTS"))
            assert "sbtest" not in written
            assert "shootout`" not in written


def test_a_refused_load_is_reported_in_the_servers_words(tmp_path: Path) -> None:
    with fresh(NAMES[0], tmp_path / "instance", SMALL) as instance:
        dataset.load(instance, DATASET)
        with pytest.raises(MeasureError, match=rf"^loading {DATASET.key}: .*database exists"):
            dataset.load(instance, DATASET)
        instance.query("DROP DATABASE shootout")
        instance.query(f"REVOKE ALL ON *.* FROM {LOAD_USER}@localhost")
        with pytest.raises(MeasureError, match=rf"^loading {DATASET.key}: Access denied .*\(1044\)"):
            dataset.load(instance, DATASET)
        assert instance.query("SELECT @@GLOBAL.local_infile") == ((1,),)  # 5.7's default


def test_a_torn_template_is_never_used(cache_dir: Path) -> None:
    tree = a_tree(NAMES[0])
    whole = dataset.template(tree, SMALL, [DATASET], cache_dir)
    os.truncate(whole.directory / "data" / "shootout" / "sbtest1.ibd", 4096)
    again = dataset.template(tree, SMALL, [DATASET], cache_dir)
    assert again.load_s is not None  # reloaded
    assert again.checksum == whole.checksum
    assert again.directory == whole.directory


@pytest.mark.parametrize("engine", ["NoSuchEngine", "MEMORY"])
def test_a_template_that_cannot_be_made_leaves_nothing(engine: str, cache_dir: Path) -> None:
    unknown = Dataset(tables=1, rows=10, engine=engine)
    with pytest.raises(
        MeasureError,
        match=rf"server 5\.7\.22 has no storage engine {engine} to load .* it has InnoDB, MyISAM$",
    ):
        dataset.template(a_tree(NAMES[0]), SMALL, [unknown], cache_dir)
    assert not list((cache_dir / "templates").glob(".*.partial"))


def test_a_server_that_does_not_shut_down_makes_no_template(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "SHUTDOWN_TIMEOUT_S", 0.0)
    before = set((cache_dir / "templates").glob("[!.]*"))
    with pytest.raises(
        MeasureError, match=r"shut down cleanly .*\(signal SIGKILL\); its error log ends:\n.*\w"
    ):
        dataset.template(a_tree(NAMES[0]), SMALL, [Dataset(tables=1, rows=12)], cache_dir)
    assert set((cache_dir / "templates").glob("[!.]*")) == before


@pytest.mark.parametrize(
    ("given", "family", "engine", "loaded"),
    [
        ({}, "mariadb", "RocksDB", "ha_rocksdb"),
        ({}, "percona", "rocksdb", "ha_rocksdb"),
        ({}, "mysql", "rocksdb", None),
        ({}, "mariadb", "InnoDB", None),
        ({"plugin_load_add": "'a.so;b'"}, "mariadb", "RocksDB", "a.so;b;ha_rocksdb"),
        ({"plugin-load-add": "ha_rocksdb.so"}, "mariadb", "RocksDB", "ha_rocksdb.so"),
    ],
)
def test_a_storage_engine_that_is_a_plugin_is_loaded(
    given: dict[str, str], family: Family, engine: str, loaded: str | None
) -> None:
    tables = msgspec.structs.replace(DATASET, engine=engine)
    found = dataset.with_engines({"a": "1", **given}, family, [DATASET, tables])
    assert found.pop("a") == "1"
    assert list(found.values()) == ([] if loaded is None else [loaded])


def test_a_failed_copy_is_reported(cache_dir: Path, tmp_path: Path) -> None:
    template = dataset.Template(directory=tmp_path / "none", checksum="", load_s=None)
    with pytest.raises(MeasureError, match=r"cannot copy the dataset to .*No such file"):
        template.copy_to(tmp_path / "instance")
    (tmp_path / "file").touch()
    with pytest.raises(
        MeasureError, match=r"cannot copy the dataset to .*/file/instance/data: Not a directory"
    ):
        template.copy_to(tmp_path / "file" / "instance")


COPYING = """
import sys
from pathlib import Path
from shootout.errors import MeasureError
from shootout.measure.dataset import Template
try:
    Template(directory=Path(sys.argv[1]), checksum="", load_s=None).copy_to(Path(sys.argv[2]))
except MeasureError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("disk", "how"),
    [
        ("size=5m", "cp: error (?:writing|copying) [^:]+: No space left on device"),
        ("size=50m,nr_inodes=6", "cp: cannot create regular file '[^']+': No space left on device"),
    ],
)
def test_a_full_disk_is_said_in_one_line(disk: str, how: str, tmp_path: Path) -> None:
    data, full = tmp_path / "template" / "data", tmp_path / "full"
    for folder in (data, full):
        folder.mkdir(parents=True)
    for number in range(9):
        (data / f"t{number}.ibd").write_bytes(bytes(1 << 20))
    copying = shlex.join([sys.executable, "-c", COPYING, str(data.parent), str(full / "0")])
    script = f"mount -t tmpfs -o {disk} none {full} && {copying}"
    command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert re.fullmatch(rf"cannot copy the dataset to {full}/0/data: {how}\n", said)
