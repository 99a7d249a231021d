"""`shootout learn`: a server with the dump, the log, the workload file, and how faithful it is."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from shootout.errors import InputError
from shootout.inputs import workload as workloads
from shootout.learn import fidelity, learning, logs
from shootout.learn import schema as schemas
from shootout.learn.fidelity import Fidelity
from shootout.learn.learning import LearningReport
from shootout.measure import dataset
from shootout.measure.signals import interrupting
from shootout.model.plan import DatasetSize, ServerReference
from shootout.model.value import Value
from shootout.paths import cache_folder
from shootout.servers import installations, instances
from shootout.servers.leftovers import working_directory
from shootout.settings import layers, profiles

WORKLOAD, REPORT = "workload.toml", "learned.json"
SETTINGS = "defaults"


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
            log = logs.read(queries, families=known.families)
            observe("learning")
            text, report = learning.learn(
                log,
                instance,
                dataset.schema_of(instance, loaded),
                known,
                dump=os.path.relpath(dump.resolve(), out.resolve()),
                logs=[file.name for file in queries],
                keep=keep,
            )
            file = out / WORKLOAD
            file.write_text(text, "utf-8")
            observe("sending what was learned")
            sent = workloads.load(str(file))
            compiled = workloads.compile_program(file.stem, sent, loaded)
            names = {each.sql: each.name for each in report.statements}
            found = fidelity.measured(log, names, compiled, instance, loaded, families=tuple(known.families))
    outcome = LearnedWorkload(workload=str(file), learned=report, fidelity=found)
    (out / REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(outcome)) + b"\n")
    return outcome
