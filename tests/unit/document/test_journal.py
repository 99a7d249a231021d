from __future__ import annotations

import hashlib
import os
import re
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout import files
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.model.plan import Policy
from shootout.model.run import RunDocument, RunHeader, StartRecord

RUN = "20250102T030405Z-abc123"

# A whole document as it lies on disk, without digests.
HEADER = (
    '{"record":"run","format":6,"run":"20250102T030405Z-abc123","started":"2025-01-02T03:04:05Z",'
    '"shootout":"0.1.0","seed":7,"profile_name":"quick","profile":{"description":"d","workloads":["reads"],"threads":[4],'
    '"servers":["a","b"],"settings":"in-memory","dataset":{"tables":4,"rows":25000,'
    '"warehouses":1,"seed":1,"engine":"InnoDB"},"load":{"protocol":"text","rate":null,"arrivals":"poisson","think_s":0.0,'
    '"think":"fixed","reconnect":false},"options":{},"distribution":null,"sampling":{"starts_min":6,"starts_max":12,"slice_s":0.1,"ramp_s":0.02,'
    '"measure_s":1.2,"transactions":null,"warmup_max_s":6.0,"isolation":"auto","placement":"auto","half_width":0.015,'
    '"budget_s":310.0},"policy":{"confidence":0.95,'
    '"judged":["throughput"],"margin":0.02,"margins":{},"workloads":{},"trim":0.1,"floor_factor":1.5,'
    '"confirm_starts":2,"false_alarms_max":0.05,"inconclusive_fails":false},"container":{"network":"host","memory":null},'
    '"published":null,"stand_ins":{},"scales":{}},"runner":{"fingerprint":"f","cpu":"c","cpus":2,"memory_bytes":1024,'
    '"kernel":"k","system":"s","virtual":"","filesystem":"ext4","disk":"ssd","placement":{"client":[0],'
    '"servers":[1],"single":1,"reading":[]},"warnings":[],"facts":{}},"servers":['
    '{"label":"a","reference":"a","family":"mysql","version":"8.0.12","comment":"","build":"","settings_name":"s",'
    '"settings":[],"checksum":"","load_s":null,"warnings":[],"image":"","commit":""},'
    '{"label":"b","reference":"b","family":"mysql","version":"8.0.12","comment":"","build":"","settings_name":"s",'
    '"settings":[],"checksum":"","load_s":null,"warnings":[],"image":"","commit":""}],'
    '"blocks":[{"workload":"reads","dataset":"sbtest-4x25000-innodb","threads":4,"servers":["a","b"]}],'
    '"workloads":[],"given":{},"digests":{},"planned":null,"parts":[]}\n'
)
START = (
    '{"record":"start","block":"reads-t4","start":1,"order":[[0,1],[1,0]],"samples":[{"server":"a",'
    '"steady":true,"warmup_rounds":8,"drift":0.001,"transactions":[100.5,99.5],"window_s":[0.1,0.1],'
    '"server_cpu_s":[0.09,0.09],"client_cpu_s":[0.02,0.02],"completed":[120,119],"latencies":"HISTF",'
    '"statements":{"point_select":"HISTF"},"reads":239,"writes":0,"other":0,"errors":{"1213":1},'
    '"counters":{"Handler_read_key":239.0},"returned":{"select":{"executions":239,"slices":2,"rows":478,'
    '"rows_error":0.0,"bytes":4780,"bytes_error":0.5,"alike":true}},"times":{}}],"confirming":false,"twin":null,'
    '"plans":[],"spent_s":2.5}\n'
)
FAILURE = (
    '{"record":"failure","cell":{"workload":"reads","dataset":"sbtest-4x25000-innodb","server":"b",'
    '"threads":4},"start":1,"reason":"it died: [ERROR] out of memory"}\n'
)
INTERRUPTION = (
    '{"record":"end","finished":"2025-01-02T03:04:35Z","elapsed_s":30.0,"interrupted":true}\n'
    '{"record":"resume","resumed":"2025-01-02T03:04:40Z","shootout":"0.1.0"}\n'
)
END = '{"record":"end","finished":"2025-01-02T03:05:05Z","elapsed_s":60.0,"interrupted":false}\n'
RECORDS = START + FAILURE + INTERRUPTION + END


def sealed(text: str) -> str:
    """The lines, each with the digest of the line before it and of itself as its last field."""
    found, digest = [], ""
    for line in text.splitlines():
        digest = hashlib.blake2b(f"{digest}{line}".encode(), digest_size=16).hexdigest()
        found.append(f'{line.removesuffix("}")},"digest":"{digest}"}}\n')
    return "".join(found)


GOLDEN = sealed(HEADER + RECORDS)
WHOLE: list[Any] = [
    msgspec.json.decode(line, type=journal.Record) for line in (HEADER + RECORDS).splitlines()
]
A_FAILURE, CUT_SHORT, RESUMED, AN_END = WHOLE[2:]


def a_header(run: str = RUN) -> RunHeader:
    header: RunHeader = structs.replace(WHOLE[0], run=run)
    return header


def a_start(number: int = 1) -> StartRecord:
    start: StartRecord = structs.replace(WHOLE[1], start=number)
    return start


def written(folder: Path, *records: journal.Record) -> Path:
    writer = journal.Writer(folder, RUN)
    for record in records:
        writer.append(record)
    return writer.path


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The kernel refuses to let any file of this process grow further, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_the_golden_document_is_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(GOLDEN)
    found = journal.read(path)
    assert found == RunDocument(
        header=a_header(), starts=(a_start(),), failures=(A_FAILURE,), end=AN_END, resumes=(RESUMED,)
    )
    assert found.header.profile.policy == Policy(trim=0.1, false_alarms_max=0.05)  # its own, not today's
    assert [block.key for block in found.header.blocks] == ["reads-t4"]
    assert found.starts[0].samples[0].completed == (120, 119)
    assert found.starts[0].aa_control is None  # "twin"


def test_the_golden_document_is_written(tmp_path: Path) -> None:
    path = written(tmp_path, *WHOLE)
    assert path == tmp_path / f"{RUN}.jsonl"
    assert path.read_text() == GOLDEN


def test_each_record_is_on_the_disk_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync, seen = os.fsync, []

    def watched(descriptor: int) -> None:
        place = Path(f"/proc/self/fd/{descriptor}").resolve()
        seen.append((place, place.read_bytes().count(b"\n") if place.is_file() else None))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    path = written(tmp_path, a_header(), a_start(1), a_start(2))
    assert seen == [(path, 1), (tmp_path, None), (path, 2), (path, 3)]
    del seen[:]
    files.append(tmp_path / "not durable", b"line\n", 0, sync=False)
    assert seen == []


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    journal.Writer(tmp_path / "results", RUN)
    assert list((tmp_path / "results").iterdir()) == []


def test_a_torn_last_line_is_dropped_and_the_run_counts_as_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    lines = GOLDEN.splitlines(keepends=True)
    for kept in range(1, len(lines)):
        path.write_text("".join(lines[:kept]))
        whole = journal.read(path)
        assert whole.end == (CUT_SHORT if 'interrupted":true' in lines[kept - 1] else None)
        assert (len(whole.starts), len(whole.failures)) == (min(kept - 1, 1), min(max(0, kept - 2), 1))
        for torn in (1, len(lines[kept]) // 2, len(lines[kept]) - 1):
            path.write_text("".join(lines[:kept]) + lines[kept][:torn])
            assert journal.read(path) == whole


def test_a_document_goes_on_wherever_it_was_torn(tmp_path: Path) -> None:
    """Cut at any byte, it takes up what is missing and is the same in the end."""
    path = tmp_path / f"{RUN}.jsonl"
    ends = [len("".join(GOLDEN.splitlines(keepends=True)[:lines])) for lines in range(1, len(WHOLE))]
    for size in (*ends, *range(ends[0], len(GOLDEN), 61)):
        path.write_text(GOLDEN[:size])
        whole = sum(end <= size for end in ends)
        writer = journal.Writer(tmp_path, RUN, resumed=True)
        assert path.read_text() == GOLDEN[:size]  # untouched, as long as there is nothing to say
        for record in WHOLE[whole:]:
            writer.append(record)
        assert path.read_text() == GOLDEN


@given(st.data())
def test_no_line_can_be_changed_moved_or_left_out(data: st.DataObject) -> None:
    lines = GOLDEN.encode().splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 1))
    match data.draw(st.sampled_from(("changed", "left out", "twice", "swapped"))):
        case "changed":
            at = data.draw(st.integers(0, len(lines[number]) - 2))
            byte = data.draw(st.integers(0, 255).filter(lambda byte: byte not in (lines[number][at], 10)))
            lines[number] = lines[number][:at] + bytes([byte]) + lines[number][at + 1 :]
            first = number
        case "left out":
            del lines[number]
            first = number
        case "twice":
            lines.insert(number, lines[number])
            first = number + 1
        case _:
            other = data.draw(st.integers(0, len(lines) - 1).filter(lambda other: other != number))
            lines[number], lines[other] = lines[other], lines[number]
            first = min(number, other)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.jsonl"
        path.write_bytes(b"".join(lines))
        if first == len(lines):  # the last was left out: as if the run had been cut short there
            assert journal.read(path).end is None
            return
        with pytest.raises(InputError) as caught:
            journal.read(path)
        if first:
            assert str(caught.value) == f"{path}:{first + 1}: changed, or not a line of this document"


NONE, OF_6 = ": not a run document:", "not a record of a run document of format 6:"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOLDEN[:50], f"{NONE} no complete line"),
        ("nonsense\n", f"{NONE} JSON is malformed: invalid character (byte 4)"),
        ("[1]\n", f"{NONE} Expected `object`, got `array`"),
        ('{"record":"run"}\n', f"{NONE} written in format 1, which only an older shootout reads"),
        (HEADER.replace('"format":6', '"format":3'),
         f"{NONE} written in format 3, which only an older shootout reads"),
        (HEADER.replace('"format":6', '"format":7'),
         f"{NONE} written by a newer shootout (format 7): update shootout to read it"),
        (HEADER, ":1: changed, or not a line of this document"),
        (sealed('{"format":6,"record":"x"}'), f":1: {OF_6} Invalid value 'x' - at `$.record`"),
        (sealed('{"format":6,"record":"end","finished":"x","elapsed_s":1,"interrupted":false}'),
         f":1: {OF_6} unknown field `format`"),
        (sealed(HEADER + START.replace('"steady":true', '"stedy":true')),
         f":2: {OF_6} unknown field `stedy` - at `$.samples[0]`"),
        (sealed(HEADER + START.replace('"window_s":[0.1,', '"window_s":[')),
         ":2: server 'a': its arrays have different numbers of rounds"),
        (sealed(HEADER + START.replace("reads-t4", "reads-t5")), ":2: block 'reads-t5' is not in the header"),
        (sealed(HEADER + END + START), ":3: the run ended on line 2; nothing may follow"),
        (sealed(HEADER * 2), ":2: a second header; a document holds only one run"),
        (sealed(HEADER + START * 2), ":3: start 1 of block 'reads-t4' appears twice"),
    ],
)  # fmt: skip
def test_the_line_that_is_wrong_is_named(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        journal.read(path)
    assert str(caught.value) == f"{path}{expected}"


def test_deep_nesting_and_bytes_that_are_no_text_are_no_record(tmp_path: Path) -> None:
    path, deep = tmp_path / "wrong.jsonl", 100_000 * b"[" + 100_000 * b"]"
    path.write_bytes(b'{"record":"run","x":' + deep + b',"digest":"%s"}\n' % (32 * b"0"))
    with pytest.raises(InputError, match=rf"^{path}: not a run document: "):
        journal.read(path)
    header, digest = journal.sealed(HEADER[:-1].encode(), b"")
    failure, _ = journal.sealed(FAILURE[:-1].encode().replace(b"it died", b"it \xff"), digest)
    path.write_bytes(header + failure)
    with pytest.raises(InputError, match=rf"^{path}:2: not a record of a run document of format 6: "):
        journal.read(path)


def test_a_folder_that_cannot_hold_a_document_is_named(tmp_path: Path) -> None:
    """/proc takes no file from anybody, root included, for whom permissions are no obstacle."""
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "results", Path("/proc")):
        with pytest.raises(InputError, match=rf"^{folder}: cannot hold the run document: "):
            journal.Writer(folder, RUN)
    full = pytest.raises(InputError, match="cannot hold the run document: File too")
    with files_no_larger_than(100_000), full:
        journal.Writer(tmp_path / "results", RUN)
    assert list((tmp_path / "results").iterdir()) == []


def test_a_disk_that_becomes_full_keeps_what_was_written(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path, RUN)
    writer.append(a_header())
    writer.append(a_start(1))
    size = writer.path.stat().st_size
    for room in (0, 1, 100):
        full = pytest.raises(MeasureError, match=rf"^{writer.path}: cannot be written: ")
        with files_no_larger_than(size + room), full:
            writer.append(a_start(2))
        assert writer.path.stat().st_size == size
    writer.append(a_start(2))
    assert [start.start for start in journal.read(writer.path).starts] == [1, 2]


def test_a_document_is_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path, a_header())
    with pytest.raises(InputError, match=rf"^{path}: this run already has a document$"):
        journal.Writer(tmp_path, RUN)


def test_runs_sort_by_their_time_in_utc() -> None:
    summer = timezone(timedelta(hours=2))
    runs = [
        journal.new_run(datetime(2025, 7, 1, 1, 59, 59, tzinfo=summer)),
        journal.new_run(datetime(2025, 7, 1, 0, 0, 0, tzinfo=UTC)),
        journal.new_run(datetime(2025, 10, 1, 0, 0, 0, tzinfo=UTC)),
    ]
    assert runs == sorted(runs)
    assert re.fullmatch(r"20250630T235959Z-[0-9a-f]{6}", runs[0])


def test_documents_are_found_the_newest_last(tmp_path: Path) -> None:
    runs = ("20250102T000000Z-000000", "20250101T000000Z-ffffff", "20241231T235959Z-777777")
    for run in runs:
        journal.Writer(tmp_path, run).append(a_header(run))
    (tmp_path / "notes.txt").touch()
    assert journal.find(tmp_path / "none") == ()
    found = journal.find(tmp_path)
    assert found == tuple(tmp_path / f"{run}.jsonl" for run in reversed(runs))
    assert [journal.read(path).header.run for path in found] == list(reversed(runs))
