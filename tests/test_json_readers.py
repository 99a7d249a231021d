"""What is no JSON of ours: each reader says so in one line, and caches are made anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from shootout import capability, cli
from shootout.document import baselines, journal, judgements, ledgers
from shootout.errors import InputError
from shootout.model.plan import Cell
from shootout.model.value import decoded
from shootout.report import judged_runs
from shootout.report.site import output
from shootout.servers import cache
from tests import builders

DEPTH = 200_000
FAULTS = (
    b'{"\xff": 1}',
    b'{"x": "\xff"}',
    b"\xff",
    b"",
    b"\x00",
    b'{"\\u001b[31m\\n": 1}',
    b'{"x": ' + DEPTH * b"[" + DEPTH * b"]" + b"}",
    DEPTH * b'{"x":' + b"1" + DEPTH * b"}",
    b'{"x": 1e999}',
    b'{"x": ' + 10_000 * b"9" + b"}",
)
LINE = re.compile(r"[^\x00-\x1f]{1,1000}")


def a_run(path: Path, fault: bytes) -> None:
    path.write_bytes(journal.sealed(fault, b"")[0])
    journal.read(path)


def a_ledger(path: Path, fault: bytes) -> None:
    ledgers.path_of(path.parent, "f").write_bytes(fault + b"\n")
    said: list[str] = []
    assert ledgers.read(path.parent, "f", said.append) == ()
    (reason,) = said
    raise InputError(reason)


def of_file(read: Callable[[Path], object]) -> Callable[[Path, bytes], None]:
    def written(path: Path, fault: bytes) -> None:
        path.write_bytes(fault)
        read(path)

    return written


STORES = {each.name: each.store.read for each in capability.every() if each.store is not None}
READERS = {"run": a_run, "ledger": a_ledger, "baseline": of_file(baselines.read)}
READERS |= {name: of_file(read) for name, read in STORES.items()}


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_reader_refuses_it_with_one_line(
    read: Callable[[Path, bytes], None], fault: bytes, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a", fault)
    assert LINE.fullmatch(str(caught.value))


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_a_cache_that_holds_it_is_empty(fault: bytes, tmp_path: Path) -> None:
    (tmp_path / "template.json").write_bytes(fault)
    (tmp_path / output.LIST).write_bytes(fault)
    assert cache.manifest(tmp_path) is None
    output.write(tmp_path, lambda: iter([[("index.html", "a page")]]))
    assert (tmp_path / "index.html").read_text() == "a page"


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_a_judgement_that_holds_it_is_made_again(fault: bytes, lines: int, tmp_path: Path) -> None:
    """In either of its two lines."""
    path = tmp_path / "run.jsonl"
    header = builders.a_header(workloads=["oltp_point_select"], threads=[1])
    path.write_bytes(journal.encoded(builders.a_run(header, failing=False)))
    before = judged_runs.whole(path).comparison
    file = tmp_path / judgements.FOLDER / "run.judged"
    kept = file.read_bytes().split(b"\n")
    kept[lines] = fault.replace(b"\n", b"")
    file.write_bytes(b"\n".join(kept))
    assert judged_runs.whole(path).comparison == before


def test_what_is_wrong_is_said_on_one_line_that_can_be_printed() -> None:
    with pytest.raises(ValueError, match="unknown field") as caught:
        decoded(b'{"\\u001b[31m\\n' + 10_000 * b"a" + b'": 1}', Cell)
    assert LINE.fullmatch(str(caught.value))


def test_no_message_acts_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\x1b[31m.jsonl"
    path.write_bytes(b"{}\n")
    assert cli.main(["compare", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err
