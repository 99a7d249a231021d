from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Archive, CatalogueEntry, Debian, Maven, Npm, Source
from shootout.servers.sources import catalogue
from shootout.servers.sources.fetch import packages
from tests.support.servers.sources.fetch.archives import (
    a_failing_client,
    an_archive,
    directories,
    fetch_archive,
)
from tests.unit.document.test_journal import files_no_larger_than

NAME = "mysql-5.7.22"


def an_entry(*sources: Source, name: str = NAME) -> CatalogueEntry:
    entry = catalogue.load()[name]
    return msgspec.structs.replace(entry, sources=sources or entry.sources)


def a_maven(name: str = NAME, **fields: str) -> Maven:
    (source,) = catalogue.load()[name].sources
    assert isinstance(source, Maven)
    return msgspec.structs.replace(source, **fields)


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


MAVEN_SAYS = """\
[\x1b[1;31mERROR\x1b[m] Failed to execute goal org.apache:copy:3.6 (default-cli) on project any: \
Unable to find artifact. -> [Help 1]
[ERROR] To see the full stack trace, run again with -e.
"""
NPM_SAYS = """\
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:1/any failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error     at ClientRequest.<anonymous> (index.js:130:14)
"""
NPM_REASON = "FetchError: request to http://127.0.0.1:1/any failed, reason: connect ECONNREFUSED 127.0.0.1:1"
MAVEN, NPM = Maven(artifact="any:any:1", sha256="0" * 64), Npm(package="any@1", sha256="0" * 64)


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        (MAVEN, MAVEN_SAYS, "any:any:1: Unable to find artifact."),
        (MAVEN, "", "any:any:1: mvn printed nothing"),
        (NPM, NPM_SAYS, f"any@1: {NPM_REASON}"),
        (NPM, "", "any@1: npm printed nothing"),
    ],
)
def test_the_reason_is_found(
    source: Maven | Npm, output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_failing_client(packages.client(source), output, tmp_path, monkeypatch)
    with pytest.raises(MeasureError) as caught:
        packages.from_registry(source, tmp_path)
    assert str(caught.value) == f"cannot download {message}"
