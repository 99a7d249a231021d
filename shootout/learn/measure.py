"""`shootout learn`: a server with the dump, the log, the workload file, and how faithful it is."""

from __future__ import annotations

import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from shootout import files
from shootout.inputs.workload import compile_program, dump_dataset, load
from shootout.learn import flushing, judge, learning, logs
from shootout.learn.binding import bind, unqualified
from shootout.learn.judge import Fidelity, RefusedError
from shootout.learn.learning import LearningReport
from shootout.learn.schema import Schema, read_schema
from shootout.learn.values import Log
from shootout.measure import dataset
from shootout.measure.workplace import workplace
from shootout.model.plan import Dataset, DatasetSize, ServerReference
from shootout.model.value import Value
from shootout.paths import cache_folder
from shootout.servers.installation import Installation
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from shootout.servers.sources import installations
from shootout.settings import layers, profiles
from shootout.signals import interrupting

WORKLOAD, REPORT = "workload.toml", "learned.json"
SETTINGS = "defaults"
REFUSED_MAX = 50  # statements; more mean that the dump is another application's


class LearnedWorkload(Value):
    """The findings of `shootout learn`; the document learned.json."""

    format: Literal[3]
    workload: str  # the file
    learned: LearningReport
    fidelity: Fidelity
    concerns: tuple[str, ...] = ()  # why it is not what the server ran


def learn(
    dump: Path,
    queries: Sequence[Path],
    out: Path,
    reference: ServerReference,
    *,
    variables: Path | None = None,
    keep: bool,
    observe: Callable[[str], None],
) -> LearnedWorkload:
    """Write the workload file and the document to `out`. Raises InputError and MeasureError.

    The server starts with the dump loaded, from the cache if it was loaded before.
    """
    tables = dump_dataset(dump, DatasetSize())
    settings = () if variables is None else flushing.read(variables)
    with files.writing(out):
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()  # before a server starts
    with interrupting(signal.SIGTERM, signal.SIGHUP), ExitStack() as held:
        observe(f"{reference.text}")
        program = installations.find(reference, held)
        options = profiles.compile(
            layers.combine(SETTINGS, "+".join(filter(None, (*settings, reference.settings))) or None),
            program.family,
            program.version,
        ).options
        started = _Starts(program, options, held, observe)
        instance = started.with_dump(tables)
        schema = dataset.schema_of(instance, tables)
        known = read_schema(instance, schema)
        observe("reading the log")
        log = unqualified(logs.read(queries, families=known.families), known)
        bench = _Bench(log, instance, schema, known, tables, out, settings, observe)
        relative = os.path.relpath(dump.resolve(), out.resolve())
        report, fidelity = bench.learned(relative, [file.name for file in queries], keep=keep)
        report = msgspec.structs.replace(report, warnings=(*report.warnings, *started.told))
    outcome = LearnedWorkload(
        format=3,
        workload=str(out / WORKLOAD),
        learned=report,
        fidelity=fidelity,
        concerns=tuple(judge.concerns(report, fidelity)),
    )
    with files.writing(out / REPORT):
        (out / REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(outcome)) + b"\n")
    return outcome


@dataclass(frozen=True)
class _Starts:
    """Starts a server with a dump loaded."""

    program: Installation
    options: Mapping[str, str]
    held: ExitStack
    observe: Callable[[str], None]
    told: dict[str, None] = field(default_factory=dict)  # while loading, each once

    def with_dump(self, tables: Dataset) -> Instance:
        """Start a server that has a dump's tables until `held` closes."""
        self.observe(f"loading {Path(tables.dump).name}")
        template = dataset.template(self.program, self.options, [tables], cache_folder(), self.held)
        self.told.update(dict.fromkeys(warning.text for warning in template.told))
        place = f"learn-{os.getpid()}-{secrets.token_hex(2)}"
        home = self.held.enter_context(workplace(place, loads=False))[0] / "0"
        template.copy_to(home)
        return self.held.enter_context(instances.start(self.program, home, self.options))


@dataclass(frozen=True)
class _Bench:
    """A log, and the server that has its dump loaded."""

    log: Log
    instance: Instance
    schema: str
    known: Schema
    loaded: Dataset
    out: Path
    settings: Sequence[str]
    observe: Callable[[str], None]

    def learned(self, dump: str, names: Sequence[str], *, keep: bool) -> tuple[LearningReport, Fidelity]:
        """Write the workload, and send it; without the statements that the server refuses."""
        refused: dict[str, str] = {}
        bound = [bind(template, self.known) for template in self.log.templates]
        values = learning.values_of(self.instance, self.schema)
        while True:
            again = f", without {len(refused)} that the server refused" if refused else ""
            self.observe(f"learning statements{again}")
            text, report = learning.learn(
                self.log,
                bound,
                self.known,
                values,
                server=self.instance.version,
                dump=dump,
                logs=names,
                keep=keep,
                settings=self.settings,
                refused=refused,
            )
            with files.writing(self.out / WORKLOAD):
                (self.out / WORKLOAD).write_text(text, "utf-8")
            self.observe(f"sending what was learned{again}")
            try:
                fidelity = self._sent(report, attempt=len(refused))
                notes = () if self.settings else flushing.unknown(fidelity)
                return msgspec.structs.replace(report, warnings=(*report.warnings, *notes)), fidelity
            except RefusedError as error:
                named = {
                    one.sql: f"the server refused it: {error.refused[one.name]}"
                    for one in report.statements
                    if one.name in error.refused and one.sql not in refused
                }
                if not named or len(refused) >= REFUSED_MAX:
                    raise
                refused |= named

    def _sent(self, report: LearningReport, *, attempt: int) -> Fidelity:
        file = str(self.out / WORKLOAD)
        program = compile_program(Path(file).stem, load(file), self.loaded)
        names = {statement.sql: statement.name for statement in report.statements}
        return judge.measured(
            self.log,
            names,
            program,
            self.instance,
            self.loaded,
            families=tuple(self.known.families),
            attempt=attempt,
        )
