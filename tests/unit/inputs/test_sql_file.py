"""Where statements end in a file, as in the mysql client."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.inputs import sql_file
from tests.unit.measure.test_dump import DUMP


def every(text: bytes) -> list[tuple[int, bytes]]:
    return list(sql_file.statements(io.BytesIO(text)))


def test_statements_end_where_the_client_ends_them() -> None:
    found = every(DUMP.encode())
    assert [line for line, _ in found][:4] == [3, 5, 6, 7]
    texts = [text.decode() for _, text in found]
    assert texts[5].startswith("CREATE TABLE `a;b`")
    assert texts[8].endswith("(6/2,'--',NULL)")
    assert [text[-6:] for text in texts[10:12]] == ["END */", ";b` */"]
    assert texts[-1] == "INSERT INTO `a;b` VALUES (4, 'y', NULL)"
    assert len(found) == 14


@pytest.mark.parametrize("chunk", [1, 2, 7, 50])
def test_chunks_make_no_difference(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = every(DUMP.encode())
    monkeypatch.setattr(sql_file, "_CHUNK", chunk)
    assert every(DUMP.encode()) == whole


@given(
    delimiter=st.sampled_from(["//", "$$", ";;", "--", "-", "/", "-/-", "#", "$$$", "END"]),
    chunk=st.integers(1, 40),
)
def test_no_delimiter_is_missed_wherever_a_chunk_ends(delimiter: str, chunk: int) -> None:
    bodies = ["SELECT 6-2", "SELECT '//$$;;--#END' /* /-//$$;;-- # END$$$ */", "BEGIN x;\ny; E"]
    text = "".join(f"{body} {delimiter}\n" for body in bodies)
    if delimiter in ("-", "/", "-/-"):  # which are in the bodies, too
        text = text.replace("6-2", "2").replace("/* /-//$$;;-- # END$$$ */", "")
        bodies = ["SELECT 2", "SELECT '//$$;;--#END'", bodies[2]]
    text = f"DELIMITER {delimiter}\n{text}DELIMITER ;\nSELECT 3;\nSELECT 4"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql_file, "_CHUNK", chunk)
        found = [statement.decode() for _, statement in every(text.encode())]
    assert found == [*bodies, "SELECT 3", "SELECT 4"]


PIECES = (
    *("SELECT 1", "-2.5", "6 / 2", "a--b", "'it''s; '", r"'\'; --'", '"a;""b"', "`a;``b`", "'/*'"),
    *("/* ; ' */", "/*!50003 ; */", "-- ; '\n", "--\n", "# ; `\n", "\n", "é"),
)


@given(
    bodies=st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), max_size=5),
    chunk=st.integers(1, 40),
)
def test_no_delimiter_is_seen_within_quotes_and_comments(bodies: list[list[str]], chunk: int) -> None:
    texts = [" ".join(["DO", *body, "1"]) for body in bodies]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql_file, "_CHUNK", chunk)
        found = every("".join(f"-- x;\n{text};\n/* y; */ " for text in texts).encode())
    assert [statement.decode() for _, statement in found] == texts


@pytest.mark.parametrize("chunk", range(1, 30))
def test_a_comment_that_is_torn_has_no_delimiter(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_file, "_CHUNK", chunk)
    for delimiter, comment in ("//", "/* a // b */"), ("-/", "-- a -/ b\n"), ("/;", "# a /; b\n"):
        found = every(f"DELIMITER {delimiter}\nSELECT {comment} 1 {delimiter}\n".encode())
        assert found == [(2, f"SELECT {comment} 1".encode())]
