from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shootout.errors import InputError
from shootout.report.site import output
from shootout.report.site.output import Part
from shootout.report.site.page import File
from shootout.servers import locking


def write(out: Path, *files: File) -> None:
    output.write(out, lambda: iter([[file] for file in files]))


def inside(out: Path) -> dict[str, str]:
    """The files of a site, less their list."""
    found = (path for path in out.rglob("*") if path.is_file() and path.name != output.LIST)
    return {str(path.relative_to(out)): path.read_text() for path in found}


def test_obsolete_files_go_and_foreign_ones_stay(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "CNAME").write_text("mine")
    write(tmp_path, ("index.html", "old"), ("runs/1/a.html", "a"), ("runs/2/b.html", "b"))
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    write(tmp_path, ("index.html", "new"), ("runs/2/b.html", "b"))
    assert inside(tmp_path) == {
        "CNAME": "mine", "index.html": "new", "runs/notes.txt": "mine", "runs/2/b.html": "b",
    }  # fmt: skip
    assert not (tmp_path / "runs" / "1").exists()


def test_an_index_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(InputError, match=r"has an index\.html that shootout did not write; name another"):
        write(tmp_path, ("index.html", "new"), ("a.html", "a"))
    assert inside(tmp_path) == {"index.html": "mine"}


@pytest.mark.parametrize("error", [ValueError("no page"), OSError(28, "No space left on device")])
def test_a_failure_in_any_process_changes_nothing(tmp_path: Path, error: Exception) -> None:
    def parts() -> Iterator[Part]:
        yield [("index.html", "new")]
        yield [("a.html", "new")]
        yield failing()

    def failing() -> Iterator[File]:
        yield "b.html", "new"
        raise error

    write(tmp_path, ("index.html", "old"))
    with pytest.raises(type(error), match=str(error.args[-1])):
        output.write(tmp_path, parts)
    assert inside(tmp_path) == {"index.html": "old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [output.LIST, "index.html"]


def test_what_a_killed_build_has_left_goes(tmp_path: Path) -> None:
    left = tmp_path / ".building-xyz" / "runs"
    left.mkdir(parents=True)
    (left / "index.html").write_text("half")
    write(tmp_path, ("index.html", "top"))
    assert inside(tmp_path) == {"index.html": "top"}


def test_another_build_in_the_folder_waits(tmp_path: Path) -> None:
    def parts() -> Iterator[Part]:
        assert locking.is_held(tmp_path / output.LIST)
        yield [("index.html", "top")]

    for _ in range(2):  # without a list, and with one
        output.write(tmp_path, parts)
    assert not locking.is_held(tmp_path / output.LIST)


@pytest.mark.parametrize("place", ["../mine.txt", "/etc/hostname", "a/../../mine.txt"])
def test_a_list_that_names_files_elsewhere_removes_none(tmp_path: Path, place: str) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (out / output.LIST).write_bytes(msgspec.json.encode([place]))
    write(out, ("index.html", "top"))
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]"])
def test_a_list_that_cannot_be_read_names_no_files(tmp_path: Path, text: bytes) -> None:
    (tmp_path / output.LIST).write_bytes(text)
    write(tmp_path, ("index.html", "top"))
    assert inside(tmp_path) == {"index.html": "top"}


def test_an_interruption_ends_every_process_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C reaches those that draw pages, too."""
    ours = os.getpid()

    def endless() -> Iterator[File]:
        yield "pid", str(os.getpid())
        os.kill(ours, signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()

    with pytest.raises(KeyboardInterrupt):
        output.write(tmp_path, lambda: iter([endless()]))
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == [output.LIST]
