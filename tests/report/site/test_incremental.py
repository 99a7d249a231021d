from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shootout.report.site import incremental
from shootout.report.site.downloads import File
from shootout.report.site.incremental import Group


def a_group(key: str, *files: File) -> Group:
    return Group(key, lambda: [[file] for file in files])


def inside(out: Path) -> dict[str, str]:
    """The files of a site, less its record."""
    found = (path for path in out.rglob("*") if path.is_file() and path.name != incremental.RECORD)
    return {str(path.relative_to(out)): path.read_text() for path in found}


def never() -> list[list[File]]:
    raise AssertionError("made again")


def test_what_was_made_from_the_same_is_not_made_again(tmp_path: Path) -> None:
    incremental.update(tmp_path, [a_group("a", ("runs/1/index.html", "one"), ("index.html", "top"))])
    incremental.update(tmp_path, [Group("a", never)])
    assert inside(tmp_path) == {"runs/1/index.html": "one", "index.html": "top"}


def test_a_group_of_which_a_file_is_gone_is_made_again(tmp_path: Path) -> None:
    group = a_group("a", ("index.html", "top"), ("b.html", "b"))
    incremental.update(tmp_path, [group])
    (tmp_path / "b.html").unlink()
    incremental.update(tmp_path, [group])
    assert inside(tmp_path) == {"index.html": "top", "b.html": "b"}


def test_a_file_that_is_as_it_was_is_not_written(tmp_path: Path) -> None:
    incremental.update(tmp_path, [a_group("a", ("index.html", "top"), ("b.html", "b"))])
    before = (tmp_path / "b.html").stat().st_mtime_ns, (tmp_path / "b.html").stat().st_ino
    incremental.update(tmp_path, [a_group("another", ("index.html", "new"), ("b.html", "b"))])
    assert inside(tmp_path) == {"index.html": "new", "b.html": "b"}
    assert ((tmp_path / "b.html").stat().st_mtime_ns, (tmp_path / "b.html").stat().st_ino) == before


def test_files_of_no_group_go_and_foreign_ones_stay(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "CNAME").write_text("mine")
    incremental.update(tmp_path, [a_group("a", ("runs/1/a.html", "")), a_group("b", ("runs/2/b.html", "b"))])
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    incremental.update(tmp_path, [a_group("b", ("runs/2/b.html", "b"))])
    assert inside(tmp_path) == {"CNAME": "mine", "runs/notes.txt": "mine", "runs/2/b.html": "b"}
    assert not (tmp_path / "runs" / "1").exists()


def test_nothing_is_put_in_place_before_all_is_made(tmp_path: Path) -> None:
    incremental.update(tmp_path, [a_group("a", ("index.html", "old"))])
    with pytest.raises(AssertionError, match="made again"):
        incremental.update(tmp_path, [a_group("b", ("index.html", "new")), Group("c", never)])
    assert inside(tmp_path) == {"index.html": "old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [incremental.RECORD, "index.html"]


@pytest.mark.parametrize("place", ["../mine.txt", "/etc/hostname", "a/../../mine.txt"])
def test_a_record_that_names_files_elsewhere_removes_none(tmp_path: Path, place: str) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (out / incremental.RECORD).write_bytes(msgspec.json.encode({"groups": {"a": [place]}}))
    incremental.update(out, [a_group("b", ("index.html", "top"))])
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("record", [b"", b"[]", b'{"groups": 1}'])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, record: bytes) -> None:
    (tmp_path / incremental.RECORD).write_bytes(record)
    incremental.update(tmp_path, [a_group("a", ("index.html", "top"))])
    assert inside(tmp_path) == {"index.html": "top"}


PLACES = st.sampled_from(["index.html", "a.html", "runs/1/a.html", "runs/1/b.html", "runs/2/a.html"])
SITES = st.dictionaries(PLACES, st.sampled_from(["x", "y"]), min_size=1)


@pytest.mark.slow
@given(st.lists(SITES, min_size=1, max_size=4))
@settings(max_examples=60)
def test_after_any_updates_a_site_is_what_its_last_one_makes(
    tmp_path_factory: pytest.TempPathFactory, sites: list[dict[str, str]]
) -> None:
    out = tmp_path_factory.mktemp("site")
    for site in sites:
        groups = [a_group(f"{place} {text}", (place, text)) for place, text in site.items()]
        incremental.update(out, groups)
    assert inside(out) == sites[-1]
