"""The tables workloads run on: loaded, proven equal by checksum, and kept ready to be copied."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pymysql

from shootout import _engine, settings
from shootout.errors import MeasureError
from shootout.model import Dataset, Value
from shootout.servers import native
from shootout.servers.native import Instance, Tree
from shootout.servers.store import build_once

SCHEMA = "shootout"
BATCH_ROWS = 5_000  # about 1 MB of SQL
FORMAT = 1  # of templates; another one makes all of them anew


def load(instance: Instance, dataset: Dataset) -> None:
    """Create and fill the dataset's tables, as sysbench lays them out, in a new schema `shootout`.

    Raises MeasureError with the server's words where it refuses.
    """
    try:
        with closing(instance.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_log_bin = 0, unique_checks = 0")
            cursor.execute(f"CREATE DATABASE {SCHEMA}")
            connection.select_db(SCHEMA)
            for table in _tables(dataset):
                cursor.execute(
                    f"CREATE TABLE sbtest{table} ("
                    "id INTEGER NOT NULL AUTO_INCREMENT, "
                    "k INTEGER DEFAULT '0' NOT NULL, "
                    "c CHAR(120) DEFAULT '' NOT NULL, "
                    "pad CHAR(60) DEFAULT '' NOT NULL, "
                    f"PRIMARY KEY (id)) /*! ENGINE = {dataset.engine} */"
                )
                head = f"INSERT INTO sbtest{table} (id, k, c, pad) VALUES ".encode()
                for first in range(1, dataset.rows + 1, BATCH_ROWS):
                    count = min(BATCH_ROWS, dataset.rows - first + 1)
                    connection.query(
                        head + _engine.sbtest_values(table, first, count, dataset.rows, dataset.seed)
                    )
                cursor.execute(f"CREATE INDEX k_{table} ON sbtest{table} (k)")
            names = ", ".join(f"sbtest{table}" for table in _tables(dataset))
            cursor.execute(f"ANALYZE NO_WRITE_TO_BINLOG TABLE {names}")
    except pymysql.Error as error:
        raise MeasureError(f"loading {dataset.key}: {error}\n{instance.error_log_tail()}") from error


def verify(instance: Instance, dataset: Dataset) -> str:
    """Sum up every row in the server and hold it against what was generated; gives one text for all tables.

    Raises MeasureError naming the first table that is not as it must be.
    """
    digest = hashlib.sha256(dataset.key.encode())
    for table in _tables(dataset):
        (row,) = instance.query(
            "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('#', id, k, c, pad))), 0) "
            f"FROM {SCHEMA}.sbtest{table} FORCE INDEX (PRIMARY)"
        )
        found = (int(row[0]), int(row[1]))
        expected = (dataset.rows, _engine.sbtest_checksum(table, dataset.rows, dataset.seed))
        if found != expected:
            raise MeasureError(
                f"table {SCHEMA}.sbtest{table} of {dataset.key} is not as it was generated: expected "
                f"{expected[0]} rows with checksum {expected[1]}, found {found[0]} with {found[1]}"
            )
        digest.update(repr(found).encode())
    return digest.hexdigest()[:16]


def warm(instance: Instance, dataset: Dataset) -> None:
    """Read every page of both indexes of each table once."""
    for table in _tables(dataset):
        instance.query(f"SELECT SUM(LENGTH(pad)) FROM {SCHEMA}.sbtest{table} FORCE INDEX (PRIMARY)")
        instance.query(f"SELECT SUM(k) FROM {SCHEMA}.sbtest{table} FORCE INDEX (k_{table})")


class _Manifest(Value):
    """What a template says about itself."""

    checksum: str
    load_s: float
    files: dict[str, int]  # sizes, by path under data/: a template that lacks any of it is torn


@dataclass(frozen=True, slots=True)
class Template:
    """A data directory that holds a loaded and verified dataset, shut down in good order."""

    directory: Path
    checksum: str
    load_s: float | None  # None: restored from the cache

    def copy_to(self, instance_directory: Path) -> None:
        """Make an instance directory with a copy of the data, sharing blocks where the file system can.

        The copy is on disk on return: writing back its pages (600 MB, most of them redo log) would go on
        for half a minute under the first slices. Raises MeasureError where it cannot be copied.
        """
        instance_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = instance_directory / "data"
        copy = ["cp", "-a", "--reflink=auto", str(self.directory / "data"), str(target)]
        for command in (copy, ["sync", "-f", str(target)]):
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                shutil.rmtree(target, ignore_errors=True)
                raise MeasureError(f"cannot copy the dataset to {target}: {done.stderr.strip()}")


def template(
    tree: Tree,
    options: Mapping[str, str],
    dataset: Dataset,
    cache: Path,
) -> Template:
    """The dataset on one server binary, from the cache or loaded now under these my.cnf options.

    Options that do not shape data files share a template.
    """
    facts = (FORMAT, tree.digest, sorted(settings.in_files(options).items()), dataset.key)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    directory = cache / "templates" / key
    made = build_once(
        directory,
        partial(_build, tree, options, dataset),
        lambda found: _manifest(found) is not None,
    )
    manifest = _manifest(directory)
    if manifest is None:
        raise MeasureError(f"{directory}: the loaded dataset did not stay as it was written")
    return Template(directory=directory, checksum=manifest.checksum, load_s=manifest.load_s if made else None)


def _build(tree: Tree, options: Mapping[str, str], dataset: Dataset, directory: Path) -> None:
    home = directory / "instance"
    native.initialise(tree, home, options)
    with native.start(tree, home, options) as instance:
        began = time.monotonic()
        load(instance, dataset)
        load_s = time.monotonic() - began
        checksum = verify(instance, dataset)
        instance.query("SET GLOBAL innodb_fast_shutdown = 0")  # leave no purge or merge to the copies
    data = directory / "data"
    (home / "data").rename(data)
    shutil.rmtree(home)
    (data / "auto.cnf").unlink(missing_ok=True)  # the server's UUID: each copy gets its own
    manifest = _Manifest(checksum=checksum, load_s=load_s, files=_sizes(data))
    (directory / "template.json").write_bytes(msgspec.json.encode(manifest))


def _manifest(directory: Path) -> _Manifest | None:
    """The manifest of a whole template; None where there is none, or files are not as it says."""
    try:
        manifest = msgspec.json.decode((directory / "template.json").read_bytes(), type=_Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    return manifest if manifest.files == _sizes(directory / "data") else None


def _sizes(data: Path) -> dict[str, int]:
    return {str(file.relative_to(data)): file.stat().st_size for file in data.rglob("*") if file.is_file()}


def _tables(dataset: Dataset) -> range:
    return range(1, dataset.tables + 1)
