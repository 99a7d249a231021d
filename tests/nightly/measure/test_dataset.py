from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest

from shootout.inputs import workload
from shootout.measure import dataset
from shootout.model.plan import Dataset, DatasetSize
from shootout.servers.processes import instances
from tests.real.measure.test_dataset import DATASET, NAMES, SMALL
from tests.support.measure.servers import fresh
from tests.support.runs import a_tree


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("name", NAMES)
def test_another_storage_engine_holds_the_same_rows(name: str, cache_dir: Path, tmp_path: Path) -> None:
    tree = a_tree(name)
    on_myisam = msgspec.structs.replace(DATASET, engine="myisam")
    found = dataset.template(tree, SMALL, [on_myisam], cache_dir)
    assert found.directory != dataset.template(tree, SMALL, [DATASET], cache_dir).directory
    found.copy_to(tmp_path / "instance")
    with instances.start(tree, tmp_path / "instance", SMALL) as instance:
        assert dataset.verify(instance, on_myisam) != ""
        engines = instance.query(
            "SELECT engine FROM information_schema.tables WHERE table_schema = 'shootout'"
        )
        assert engines == (("MyISAM",), ("MyISAM",))
        indexes = instance.query("SHOW INDEX FROM shootout.sbtest2")
        assert {(row[2], row[4]) for row in indexes} == {("PRIMARY", "id"), ("k_2", "k")}
        assert instance.status()["Key_blocks_unused"] > 0
        dataset.warm(instance, on_myisam)
        reads = instance.status()["Key_reads"]
        assert reads > 0
        instance.query("SELECT COUNT(pad) FROM shootout.sbtest1 WHERE id IN (1, 2500, 5007) OR k < 100")
        assert instance.status()["Key_reads"] == reads


@pytest.mark.parametrize(("name", "unused"), [("mysql-8.0.12", "INVISIBLE"), ("mariadb-11.8", "IGNORED")])
def test_indexes_that_no_query_may_use_are_left_cold(
    name: str, unused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(
        f"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY used (a), KEY unused (b) {unused});\n"
        "INSERT INTO t VALUES (1, 2, 3);\n"
    )
    dumped = workload.dump_dataset(dump, DatasetSize())
    with fresh(name, tmp_path / "instance", SMALL) as instance:
        dataset.load(instance, dumped)
        spied = Mock(wraps=instance.query)
        monkeypatch.setattr(instance, "query", spied)
        dataset.warm(instance, dumped)
        forced = [call.args[0].partition("FORCE INDEX ")[2] for call in spied.call_args_list]
        assert [*filter(None, forced)] == ["(`used`)"]


def test_a_slow_shutdown_has_its_time(
    cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, other = a_tree(NAMES[0]), [Dataset(tables=1, rows=11)]
    monkeypatch.setattr(instances, "STOP_TIMEOUT_S", 0.0)
    dataset.template(tree, SMALL, other, cache_dir).copy_to(tmp_path / "instance")
    with instances.start(tree, tmp_path / "instance", SMALL) as instance:
        assert "crash recovery" not in instance.error_log_tail(1000)
