from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shootout import files
from shootout.analysis import acknowledgements, compare
from shootout.document import journal, judgements, ledgers
from shootout.errors import InputError
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, Verdict
from shootout.report import judged_runs
from tests.support import builders
from tests.support.analysis.builders import a_document, an_entry, starts_of
from tests.unit.analysis.test_acknowledgements import known


def a_run(run: str, change_percent: float = -10.0) -> RunDocument:
    read = a_document(starts_of(change_percent, (-0.1, 0.1)))
    return replace(read, header=replace(read.header, run=run, started="2026-01-02T03:04:05+00:00"))


def write(folder: Path, read: RunDocument) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / journal.new_name(read.header.run)
    path.write_bytes(journal.encoded(read))
    return path


def refuse(error: InputError) -> None:
    raise error


def judging(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that are judged from here on."""
    judged: list[str] = []
    real = compare.compare

    def counted(read: RunDocument, *arguments: object, **named: object) -> object:
        judged.append(read.header.run)
        return real(read, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(compare, "compare", counted)
    return judged


def accepted(at_most: float) -> Acknowledgement:
    return known(workload="*", server="*", at_most=at_most, expires=date.max)


def test_what_was_judged_is_read_and_not_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in ("r1", "r2"):
        write(tmp_path, a_run(run))
    first = judged_runs.find(tmp_path, refuse)
    judged = judging(monkeypatch)
    again = judged_runs.find(tmp_path, refuse)
    assert judged == []
    assert [run.comparison for run in again] == [run.comparison for run in first]
    assert again[0].whole() == first[0].whole()
    write(tmp_path, a_run("r3"))
    judged_runs.find(tmp_path, refuse)
    assert judged == ["r3"]


def test_the_lean_form_has_the_verdicts_and_little_else(tmp_path: Path) -> None:
    path = write(tmp_path, builders.a_run())
    (run,) = judged_runs.find(tmp_path, refuse)
    whole = run.whole()
    assert whole == judged_runs.whole(path) == (journal.read(path), compare.compare(journal.read(path)))
    for lean, long in zip(run.comparison.cells, whole.comparison.cells, strict=True):
        assert (lean.cell, lean.verdict, lean.ratio, lean.reason) == (
            long.cell, long.verdict, long.ratio, long.reason,
        )  # fmt: skip
    assert len(msgspec.json.encode(run.comparison)) < len(msgspec.json.encode(whole.comparison)) / 3


def test_against_another_base_runs_are_judged_and_not_cached(tmp_path: Path) -> None:
    acknowledged = [accepted(0.5)]
    path = write(tmp_path, a_run("r1", 10.0))
    alone = a_run("r2")
    block = replace(alone.header.blocks[0], servers=("a",))
    write(tmp_path, replace(alone, header=replace(alone.header, blocks=(block,)), starts=()))
    (run,) = judged_runs.find(tmp_path, refuse, acknowledged, base="b")
    comparison = compare.compare(journal.read(path), base="b")
    assert run.whole().comparison == acknowledgements.applied(comparison, acknowledged) != comparison
    assert not (tmp_path / judgements.FOLDER).exists()


@pytest.mark.parametrize("base", [None, "b"])
def test_two_documents_of_a_run_are_one_run(base: str | None, tmp_path: Path) -> None:
    read = a_run("r1")
    path = write(tmp_path, read)
    (tmp_path / "copy.jsonl").write_bytes(path.read_bytes())
    (run,) = judged_runs.find(tmp_path, refuse, base=base)
    assert run.id == "r1"
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(journal.encoded(replace(read, starts=read.starts[:1])))
    said: list[str] = []
    (run,) = judged_runs.find(tmp_path, lambda error: said.append(str(error)), base=base)
    assert said == [f"{cut}: not the same as {path}, which is of the same run"]
    assert run.whole().document.starts == read.starts
    path.unlink()  # of others the first counts
    (run,) = judged_runs.find(tmp_path, lambda error: said.append(str(error)), base=base)
    assert said[1:] == [f"{cut}: not the same as {tmp_path}/copy.jsonl, which is of the same run"]
    assert run.whole().document.starts == read.starts


def test_only_earlier_entries_of_the_ledger_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = a_run("r2")
    path = write(tmp_path, read)
    alone = judged_runs.whole(path)
    assert alone.comparison.cells[-1].verdict is Verdict.REGRESSED
    judged = judging(monkeypatch)
    fingerprint = read.header.runner.fingerprint
    ledgers.append(tmp_path / ledgers.FOLDER, fingerprint, [an_entry(0.2, run="r3")])
    judged_runs.whole(path)
    assert judged == []
    ledgers.append(tmp_path / ledgers.FOLDER, fingerprint, [an_entry(0.2, run="r1")])
    noisy = judged_runs.whole(path)
    assert judged == ["r2"]
    assert noisy.comparison.cells[-1].verdict is Verdict.INCONCLUSIVE


def test_an_acknowledgement_is_applied_without_judging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, a_run("r1"))
    judged_runs.whole(path)
    judged = judging(monkeypatch)
    run = judged_runs.whole(path, [accepted(0.5)])
    assert run.comparison.cells[-1].acknowledged == accepted(0.5)
    (listed,) = judged_runs.find(tmp_path, refuse, [accepted(0.5)])
    assert listed.comparison.cells[-1].acknowledged == listed.whole().comparison.cells[-1].acknowledged
    assert listed.comparison.cells[-1].acknowledged == accepted(0.5)
    assert judged == []
    assert judged_runs.whole(path, [accepted(0.01)]).comparison.cells[-1].acknowledged is None


def test_another_release_judges_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, a_run("r1"))
    judged_runs.whole(path)
    judged = judging(monkeypatch)
    monkeypatch.setattr(judgements, "library", lambda: b"another")
    judged_runs.whole(path)
    assert judged == ["r1"]


OLD = b'{"run":"r1","runners":[],"digests":[]}\n{"aa_entries":[]}\n{}'  # with a summary


@pytest.mark.parametrize("torn", [b"", b"{", OLD, None])
def test_a_judgement_that_cannot_be_read_is_made_again(tmp_path: Path, torn: bytes | None) -> None:
    path = write(tmp_path, a_run("r1"))
    before = judged_runs.whole(path)
    file = tmp_path / judgements.FOLDER / f"{path.stem}.judged"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 3].rsplit(b"\n", 1)[0] + b"\n" if torn is None else torn)
    assert judged_runs.whole(path).comparison == before.comparison


def test_a_folder_that_cannot_be_written_is_read_all_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, a_run("r1"))
    (tmp_path / judgements.FOLDER).write_text("no folder")
    run = judged_runs.whole(path)
    assert run.comparison == compare.compare(journal.read(path))


def test_what_is_stale_and_cannot_be_replaced_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, a_run("r1"))
    judged_runs.whole(path)

    def read_only(*_: object) -> None:  # root may write to every folder
        raise PermissionError

    monkeypatch.setattr(files, "replace", read_only)
    write(tmp_path, a_run("r1", change_percent=0.0))
    run = judged_runs.whole(path)
    assert run.comparison.cells[-1].verdict is Verdict.EQUIVALENT


def test_what_is_kept_of_a_removed_run_goes(tmp_path: Path) -> None:
    gone = write(tmp_path, a_run("r1"))
    write(tmp_path, a_run("r2"))
    judged_runs.find(tmp_path, refuse)
    gone.unlink()
    judged_runs.find(tmp_path, refuse)
    assert [path.name for path in (tmp_path / judgements.FOLDER).iterdir()] == ["r2.judged"]


def test_a_document_that_is_none_is_named_and_left_out(tmp_path: Path) -> None:
    write(tmp_path, a_run("r2"))
    (tmp_path / "r1.jsonl").write_text("nonsense\n")
    told: list[InputError] = []
    assert [run.id for run in judged_runs.find(tmp_path, told.append)] == ["r2"]
    assert "r1.jsonl: not a run document" in str(told[0])
