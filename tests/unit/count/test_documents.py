"""Counts on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout.count.documents import COUNTS, joined
from shootout.count.values import CountDocument, CountFailure
from shootout.document import journal
from shootout.errors import InputError
from shootout.model.plan import DatasetSize
from tests.support import builders
from tests.support.count.builders import BASE, KINDS, document, server


def test_a_document_is_read_as_written(tmp_path: Path) -> None:
    written = document({"a": BASE, "b": BASE})
    path = COUNTS.write(tmp_path, written.run, written)
    assert COUNTS.read(path) == written
    assert COUNTS.find(tmp_path) == (path,)
    before = COUNTS.write_to(tmp_path / "work" / "before.json", written)  # the folder's earlier name
    assert COUNTS.find(tmp_path) == (path, before)
    assert COUNTS.owns(path)


def test_a_run_is_no_count(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(journal.encoded(builders.a_run()))
    assert not COUNTS.owns(path)


def test_documents_of_shards_become_one(tmp_path: Path) -> None:
    base, head = (
        COUNTS.write(tmp_path, label, document({label: BASE}, run=f"r-{label}")) for label in ("a", "b")
    )
    whole = document({"a": BASE, "b": BASE})
    found = joined([base, head])
    assert found.run not in ("r-a", "r-b")
    assert structs.replace(found, run=whole.run) == whole
    assert joined([base, head]) == found


def test_a_dump_may_lie_elsewhere_on_each_machine(tmp_path: Path) -> None:
    paths = []
    for label in "ab":
        dump = structs.replace(DatasetSize().of_kind("dump"), dump=f"/{label}/tables.sql", digest="d")
        counted = structs.replace(document({label: BASE}, run=f"r-{label}"), datasets=(dump,))
        paths.append(COUNTS.write(tmp_path, label, counted))
    assert [each.label for each in joined(paths).servers] == ["a", "b"]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (document({"a": BASE}), "select of w on a is in both"),
        (structs.replace(document({"b": BASE}), seed=2), "another seed"),
        (structs.replace(document({"b": BASE}), starts=2), "another number of starts"),
        (structs.replace(document({"b": BASE}), digests={"w": "e"}), "other statements"),
        (
            structs.replace(document({"b": BASE}), datasets=(DatasetSize(rows=7).of_kind("sbtest"),)),
            "other datasets",
        ),
        (
            structs.replace(
                document({"b": BASE}), servers=(structs.replace(server("a"), build="other"), server("b"))
            ),
            "server a",
        ),
    ],
)
def test_documents_that_do_not_belong_together_are_refused(
    other: CountDocument, why: str, tmp_path: Path
) -> None:
    one = COUNTS.write(tmp_path, "r-1", document({"a": BASE}, run="r-1"))
    another = COUNTS.write(tmp_path, "r-2", structs.replace(other, run="r-2"))
    with pytest.raises(InputError, match=why):
        joined([one, another])


def damaged() -> list[CountDocument]:
    sound = document({"a": BASE})
    (profile, *_) = sound.profiles
    return [
        structs.replace(sound, servers=()), structs.replace(sound, servers=sound.servers * 2),
        structs.replace(sound, kinds=KINDS[2:]), structs.replace(sound, kinds=KINDS[:1]),
        structs.replace(sound, profiles=(structs.replace(profile, names=(0, 2)),)),
        structs.replace(sound, profiles=(structs.replace(profile, names=(0,)),)),
        structs.replace(sound, failures=(CountFailure(server="b", workload="", reason=""),)),
    ]  # fmt: skip


@pytest.mark.parametrize("document", damaged())
def test_a_document_that_points_nowhere_is_refused(document: CountDocument, tmp_path: Path) -> None:
    path = COUNTS.write(tmp_path, document.run, document)
    with pytest.raises(InputError, match="not a count of instructions"):
        COUNTS.read(path)


def test_repetitions_of_another_length_are_scaled(tmp_path: Path) -> None:
    longer = document({"b": BASE})
    longer = structs.replace(
        longer,
        kinds=tuple(structs.replace(kind, units=3 * kind.units) for kind in KINDS),
        counts=tuple(
            structs.replace(count, instructions=tuple(3 * each for each in count.instructions))
            for count in longer.counts
        ),
    )
    paths = [
        COUNTS.write(tmp_path, one.run, one)
        for one in (document({"a": BASE}), structs.replace(longer, run="r-b"))
    ]
    whole = joined(paths)
    assert {kind.units for kind in whole.kinds} == {kind.units for kind in KINDS}
    by_server = {name: [c.instructions for c in whole.counts if c.server == name] for name in "ab"}
    assert by_server["a"] == by_server["b"]
