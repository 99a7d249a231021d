"""`shootout learn`: a server with the dump, the log, the workload file, and how faithful it is."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shootout.errors import InputError
from shootout.inputs import workload as workloads
from shootout.learn import fidelity, learning, logs
from shootout.learn import schema as schemas
from shootout.learn.binding import unqualified
from shootout.learn.fidelity import Fidelity, RefusedError
from shootout.learn.learning import LearningReport
from shootout.learn.schema import Schema
from shootout.measure import dataset
from shootout.measure.signals import interrupting
from shootout.model.learned import Log
from shootout.model.plan import Dataset, DatasetSize, ServerReference
from shootout.model.value import Value
from shootout.paths import cache_folder
from shootout.servers import installations, instances
from shootout.servers.instances import Instance
from shootout.servers.leftovers import working_directory
from shootout.settings import layers, profiles

WORKLOAD, REPORT = "workload.toml", "learned.json"
SETTINGS = "defaults"
REFUSED_MAX = 50  # statements; more mean that the dump is another application's


class LearnedWorkload(Value):
    """What `shootout learn` found; the document learned.json."""

    workload: str  # the file
    learned: LearningReport
    fidelity: Fidelity


def learn(
    dump: Path,
    queries: Sequence[Path],
    out: Path,
    reference: ServerReference,
    *,
    keep: bool,
    observe: Callable[[str], None],
) -> LearnedWorkload:
    """Write the workload file and the document to `out`. Raises InputError and MeasureError.

    The server starts with the dump loaded, from the cache if it was loaded before.
    """
    for file in (dump, *queries):
        if not file.is_file():
            raise InputError(f"{file}: no such file")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be created: {error.strerror}") from None
    with interrupting(signal.SIGTERM, signal.SIGHUP), ExitStack() as held:
        observe(f"{reference.text}")
        program = installations.find(reference, held)
        options = profiles.compile(
            layers.of(SETTINGS, reference.settings), program.family, program.version
        ).options
        loaded = workloads.dump_dataset(dump, DatasetSize())
        observe(f"{reference.text}: loading {dump.name}")
        template = dataset.template(program, options, [loaded], cache_folder(), held)
        place = f"learn-{os.getpid()}-{secrets.token_hex(2)}"
        home = held.enter_context(working_directory(cache_folder(), place)) / "0"
        template.copy_to(home)
        with instances.start(program, home, options) as instance:
            known = schemas.read(instance, dataset.schema_of(instance, loaded))
            observe("reading the log")
            log = unqualified(logs.read(queries, families=known.families), known)
            bench = _Bench(log, instance, loaded, known, out, observe)
            relative = os.path.relpath(dump.resolve(), out.resolve())
            report, found = bench.learned(relative, [file.name for file in queries], keep=keep)
    outcome = LearnedWorkload(workload=str(out / WORKLOAD), learned=report, fidelity=found)
    (out / REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(outcome)) + b"\n")
    return outcome


@dataclass(frozen=True)
class _Bench:
    """A log, and the server that has the dump loaded."""

    log: Log
    instance: Instance
    loaded: Dataset
    known: Schema
    out: Path
    observe: Callable[[str], None]

    def learned(self, dump: str, names: Sequence[str], *, keep: bool) -> tuple[LearningReport, Fidelity]:
        """Write the workload, and send it; without the statements that the server refuses."""
        schema = dataset.schema_of(self.instance, self.loaded)
        refused: dict[str, str] = {}
        while True:
            self.observe("learning")
            text, report = learning.learn(
                self.log, self.instance, schema, self.known, dump=dump, logs=names, keep=keep, refused=refused
            )
            (self.out / WORKLOAD).write_text(text, "utf-8")
            self.observe("sending what was learned")
            try:
                return report, self._sent(report)
            except RefusedError as error:
                named = {each.sql for each in report.statements if each.name == error.name} - refused.keys()
                if not named or len(refused) == REFUSED_MAX:
                    raise
                refused |= dict.fromkeys(named, f"the server refused it: {error.message}")

    def _sent(self, report: LearningReport) -> Fidelity:
        file = str(self.out / WORKLOAD)
        program = workloads.compile_program(Path(file).stem, workloads.load(file), self.loaded)
        names = {each.sql: each.name for each in report.statements}
        return fidelity.measured(
            self.log, names, program, self.instance, self.loaded, families=tuple(self.known.families)
        )
