"""Every kind of document that commands read: valid ones, where they lie, and the commands."""

from __future__ import annotations

import io
import json
import lzma
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Collection, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from shootout import capability, cli, command, paths, steps
from shootout._engine import Engine
from shootout.analysis import baseline, compare, ledger
from shootout.document import journal, merge
from shootout.document.store import Store
from shootout.errors import InputError
from shootout.explain.documents import EXPLANATIONS
from shootout.inputs import published, texts, toml, workload
from shootout.inputs.options import Selection
from shootout.model.catalogue import CatalogueEntry
from shootout.model.plan import Dataset
from shootout.model.run import RunDocument, Samples
from shootout.model.value import Family, Version
from shootout.settings import profiles
from tests.mutations import as_toml, corrupted, mutated, sealed, words_in
from tests.support import builders
from tests.support.bisect import builders as bisections
from tests.support.count import builders as counts
from tests.support.coverage import builders as maps
from tests.support.explain import builders as explanations
from tests.support.soak import builders as soaks
from tests.unit.document import test_formats
from tests.unit.upgrade import test_answer as upgrades

ROUNDS, STARTS = 3, 3


class Answer(NamedTuple):
    code: int
    out: str
    error: str


Command = Callable[[Path], Answer]


def run(*words: str) -> Command:
    """Make a command of shootout: {} stands for the document, {results} for the folder of runs."""

    def asked(path: Path) -> Answer:
        out, error = io.StringIO(), io.StringIO()
        results = next((each for each in path.parents if each.name == "results"), path.parent / "results")
        given = [word.format(path, results=results, out=results.parent / "out") for word in words]
        with redirect_stdout(out), redirect_stderr(error):
            code = cli.main(given)
        return Answer(code, out.getvalue(), error.getvalue())

    return asked


def read(reader: Callable[[Path], object]) -> Command:
    """Make a reader of users' files; the commands that call it would measure."""

    def asked(path: Path) -> Answer:
        said = io.StringIO()
        try:
            reader(path)
        except InputError as error:
            with redirect_stderr(said):
                command.warn(str(error))
        return Answer(2 if said.getvalue() else 0, "", said.getvalue())

    return asked


JUDGE = (run("compare", "{}"), run("compare", "{}", "--json"))
PUBLISH = (
    run("history", "--json", "--results={results}"),
    run("site", "--json", "--results={results}", "--out={out}"),
)
OF_RUNS = (
    run("github", "annotate", "{}"),
    run("baseline", "accept", "{}", "--to={out}"),
    run("history", "--results={results}"),
    read(lambda path: merge.merge([path], path.parent / "merged", command.left_out)),
)


def as_lines(records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


@dataclass(frozen=True)
class Kind:
    """A kind of document: `first` are the commands that judge or refuse it, `then` those that follow."""

    make: Callable[[], Sequence[Any]]  # valid documents as JSON values, or lists of lines
    file: str  # its place
    first: Sequence[Command] = JUDGE
    then: Sequence[Command] = PUBLISH
    encode: Callable[[Any], bytes] = as_json
    beside: Callable[[Path], object] = lambda folder: None  # writes what else lies in the folder
    fixed: Collection[str] = ()  # texts by which other documents beside it are found
    toml: bool = False

    @cached_property
    def valid(self) -> Sequence[Any]:
        return self.make()

    def write(self, folder: Path, content: bytes) -> Path:
        """Empty a folder, and write this document into it."""
        shutil.rmtree(folder, ignore_errors=True)
        path = folder / self.file
        path.parent.mkdir(parents=True)
        self.beside(folder / "results")
        path.write_bytes(content)
        return path

    def contents(self) -> st.SearchStrategy[bytes]:
        """Documents that are nearly right."""
        changed = mutated(self.valid, toml=self.toml).map(self._encoded)
        return changed | st.sampled_from(self.valid).map(self.encode).flatmap(corrupted)

    def _encoded(self, value: Any) -> bytes:
        if self.encode in (as_lines, sealed) and not isinstance(value, list):
            value = [value]
        return self.encode(value)


# --- documents ------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def records(document: RunDocument) -> list[Any]:
    return [json.loads(line) for line in journal.encoded(document).splitlines()]


def fewer(samples: Samples) -> Samples:
    arrays = ("transactions", "window_s", "server_cpu_s", "client_cpu_s", "completed")
    return replace(samples, **{name: getattr(samples, name)[:ROUNDS] for name in arrays})


def a_run() -> RunDocument:
    """Two blocks, one of which fails, with an A/A cell and a confirming start."""
    header = builders.a_header(workloads=["oltp_point_select"], threads=[1, 8])
    document = builders.a_run(replace(header, workloads=(builders.a_record("oltp_point_select"),)))
    starts = tuple(
        replace(
            start,
            order=start.order[:ROUNDS],
            samples=tuple(map(fewer, start.samples)),
            aa_control=fewer(start.samples[0]),
            confirming=start.start == STARTS,
        )
        for start in document.starts
        if start.start <= STARTS
    )
    return replace(document, starts=starts)


RUN = a_run()
EXPLAINED = explanations.an_explanation(RUN.header.run, RUN.header.blocks[0].cells[1])
OF_CELL = EXPLANATIONS.path_of_cell(Path("results"), RUN.header.run, EXPLAINED.cell.name)
OF_RUN = OF_CELL.parent


def with_run(results: Path) -> None:
    results.mkdir(exist_ok=True)
    (results / "run.jsonl").write_bytes(journal.encoded(RUN))


def explained(results: Path, *, whole: bool) -> None:
    """Put an explanation's files beside it; `whole`: beside its profiled run."""
    with_run(results)
    folder = results.parent / OF_RUN
    (folder / EXPLAINED.document).write_bytes(journal.encoded(explanations.profiled()))
    if whole:
        (results.parent / OF_CELL).write_bytes(msgspec.json.encode(EXPLAINED))


def ledgered() -> list[Any]:
    judged = compare.compare(RUN)
    entries = ledger.entries_of_run(RUN.header, judged.policy, judged.cells, judged.aa_controls)
    return [plain(replace(each, run="2025")) for each in entries]


def a_soak() -> list[Any]:
    slices = [each for label in "ab" for each in soaks.slices(label, 90 * [9.0, 11.0])]
    whole = soaks.document(["a", "b"], slices, ends={"a": {"memory": 1e6}, "b": {"memory": 0.0}})
    return [plain(each) for each in (whole.header, *whole.servers, *whole.slices, *whole.ends)]


def bisected(results: Path) -> None:
    step = {label: (-0.05 if label >= "e" else 0.0) for label in bisections.LABELS}
    bisections.written(results, bisections.a_bisection(), bisections.a_run(step))


def upgraded(results: Path) -> None:
    upgrades.stored_upgrade(results)


def place(owner: str) -> str:
    """The file of a capability's document."""
    store = capability.load(owner).store
    assert isinstance(store, Store)
    return "results/" + store.pattern.replace("*", "20261124T100000Z-000001")


def an_upgrade() -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        return [plain(upgrades.stored_upgrade(Path(folder)))]


def runs() -> list[Any]:
    old = [list(map(json.loads, path.read_text().splitlines())) for path in test_formats.RECORDED]
    return [records(RUN), *old]


DOCUMENTS = {
    "run": Kind(runs, "results/run.jsonl", then=(*PUBLISH, *OF_RUNS), encode=sealed),
    "baseline": Kind(
        lambda: [plain(each) for each in baseline.baselines_of_run(compare.compare(RUN))],
        "baseline.json",
        first=(run("compare", "--baseline={}", "{results}/run.jsonl"),),
        then=(),
        beside=with_run,
    ),
    "ledger": Kind(
        lambda: [2 * ledgered()],
        f"results/ledger/{RUN.header.runner.fingerprint}.jsonl",
        first=(run("compare", "{results}/run.jsonl"),),
        encode=as_lines,
        beside=with_run,
    ),
    "explanation": Kind(
        lambda: [plain(EXPLAINED)],
        str(OF_CELL),
        beside=partial(explained, whole=False),
        fixed={EXPLAINED.document, EXPLAINED.run, *words_in(plain(EXPLAINED.cell))},
    ),
    "profiled run": Kind(
        lambda: [records(explanations.profiled())],
        f"{OF_RUN}/{EXPLAINED.document}",
        first=(run("compare", "{results}/run.jsonl"),),
        encode=sealed,
        beside=partial(explained, whole=True),
    ),
    "count": Kind(
        lambda: [plain(counts.document({"a": counts.BASE, "b": counts.times(1.1)}))],
        place("count"),
    ),
    "soak": Kind(lambda: [a_soak()], place("soak"), encode=as_lines),
    "bisection": Kind(lambda: [plain(bisections.a_bisection())], place("bisect"), beside=bisected),
    "map": Kind(lambda: [plain(maps.a_map())], place("coverage"), encode=lambda v: lzma.compress(as_json(v))),
    "upgrade": Kind(an_upgrade, place("upgrade"), beside=upgraded),
}

# --- users' files ---------------------------------------------------------------------------------

SERVERS: tuple[tuple[Family, Version], ...] = (
    ("mysql", (5, 0, 15)),
    ("mysql", (8, 0, 12)),
    ("mariadb", (11, 8, 2)),
)


def read_workload(file: Path) -> None:
    program = workload.compile_program("mine", workload.load(str(file)), Dataset())
    Engine(msgspec.json.encode(program), 1)  # the engine accepts whatever compiles


def read_settings(file: Path) -> None:
    profile = profiles.load(str(file))
    for family, version in SERVERS:
        compiled = profiles.compile(profile, family, version, [Dataset(rows=10**6)])
        for line in compiled.options.items():
            assert not re.search(r"[\n\r\0]", "".join(line)), line  # each is one line of a my.cnf


def shipped(pattern: str) -> list[Any]:
    return [tomllib.loads(path.read_text("utf-8")) for path in sorted(paths.FIXTURES.glob(pattern))]


def files(pattern: str, reader: Callable[[Path], object], *more: Any) -> Kind:
    def encoded(table: Any) -> bytes:
        return "".join(f"{as_toml(key)} = {as_toml(each)}\n" for key, each in table.items()).encode()

    made = lambda: [*shipped(pattern), *more]  # noqa: E731
    return Kind(made, "file.toml", first=(read(reader),), then=(), encode=encoded, toml=True)


KNOWN = {
    "workload": "*", "server": "*", "at_most": 0.9, "expires": "2099-12-31", "owner": "me", "reason": "why"
}  # fmt: skip
FILES = {
    "workload": files("workloads/*.toml", read_workload),
    "profile": files("profiles/*.toml", lambda file: steps.plan(Selection.read(profile=str(file)))),
    "settings": files("settings/*.toml", read_settings),
    "published comparison": files("published/*.toml", lambda file: published.load(str(file))),
    "catalogue": files("servers.toml", lambda file: toml.load(file, dict[str, CatalogueEntry])),
    "policy": files("none", lambda file: texts.policy("--policy", str(file)), {"margin": 0.05}),
    "acknowledgements": files("none", texts.load_acknowledged, {"change": [KNOWN]}),
}
KINDS = DOCUMENTS | FILES
