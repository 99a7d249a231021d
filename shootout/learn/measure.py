"""`shootout learn`: a server with the dump, the log, the workload file, and how faithful it is."""

from __future__ import annotations

import os
import re
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from shootout import files
from shootout.errors import InputError
from shootout.inputs.opening import opened
from shootout.inputs.workload import compile_program, dump_dataset, load
from shootout.learn import judge, learning, logs
from shootout.learn.binding import bind, unqualified
from shootout.learn.judge import Fidelity, RefusedError
from shootout.learn.learning import LearningReport
from shootout.learn.schema import read_schema
from shootout.measure import dataset
from shootout.measure.workplace import workplace
from shootout.model.plan import DatasetSize, ServerReference
from shootout.model.value import Value
from shootout.paths import cache_folder
from shootout.servers.processes import instances
from shootout.servers.sources import installations
from shootout.settings import layers, profiles
from shootout.settings.setting import variable
from shootout.signals import interrupting

WORKLOAD, REPORT = "workload.toml", "learned.json"
SETTINGS = "defaults"
REFUSED_MAX = 50  # statements; more mean that the dump is another application's
_FLUSHING = {"innodb_flush_log_at_trx_commit": "1"}  # every version's; sync_binlog has another one in some
COMMITS_MIN = 0.05  # share of the log's time from which on it matters
_GROUP = re.compile(r"^\s*\[", re.MULTILINE)  # of an option file
# As a table, with tabs, or as CSV; and what \G makes of a row.
_ROW = re.compile(r"""^[|" ]*(?P<name>[a-z_]+)[|", \t]+(?P<value>[^|",\s]+)[|" \t\r]*$""", re.MULTILINE)
_UPRIGHT = re.compile(r"^ *Variable_name: (\w+)\s+Value: ", re.MULTILINE)


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
    """Write the workload file and the document to `out`. Raises InputError and MeasureError."""
    tables = dump_dataset(dump, DatasetSize())
    settings = () if variables is None else settings_of(variables)
    with files.writing(out):
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()  # before a server starts
    with interrupting(signal.SIGTERM, signal.SIGHUP), ExitStack() as held:
        observe(reference.text)
        program = installations.find(reference, held)
        combined = layers.combine(SETTINGS, "+".join(filter(None, (*settings, reference.settings))) or None)
        options = profiles.compile(combined, program.family, program.version).options
        observe(f"loading {dump.name}")
        template = dataset.template(program, options, [tables], cache_folder(), held)
        name = f"learn-{os.getpid()}-{secrets.token_hex(2)}"
        home = held.enter_context(workplace(name, loads=False))[0] / "0"
        template.copy_to(home)
        instance = held.enter_context(instances.start(program, home, options))
        schema = dataset.schema_of(instance, tables)
        known = read_schema(instance, schema)
        observe("reading the log")
        log = unqualified(logs.read(queries, families=known.families), known)
        make = partial(
            learning.learn,
            log,
            [bind(template, known) for template in log.templates],
            known,
            learning.values_of(instance, schema),
            server=instance.version,
            dump=os.path.relpath(dump.resolve(), out.resolve()),
            logs=[file.name for file in queries],
            keep=keep,
            settings=settings,
        )

        def send(report: LearningReport, attempt: int) -> Fidelity:
            file = str(out / WORKLOAD)
            compiled = compile_program(Path(file).stem, load(file), tables)
            names = {statement.sql: statement.name for statement in report.statements}
            families = tuple(known.families)
            return judge.measured(log, names, compiled, instance, tables, families=families, attempt=attempt)

        report, fidelity = _accepted(make, send, out / WORKLOAD, observe)
        told = dict.fromkeys(warning.text for warning in template.told)
    notes = () if settings else unknown_flushing(fidelity)
    report = msgspec.structs.replace(report, warnings=(*report.warnings, *notes, *told))
    concerns = tuple(judge.concerns(report, fidelity))
    outcome = LearnedWorkload(
        format=3, workload=str(out / WORKLOAD), learned=report, fidelity=fidelity, concerns=concerns
    )
    files.write(out / REPORT, msgspec.json.format(msgspec.json.encode(outcome)).decode() + "\n")
    return outcome


def _accepted(
    make: Callable[..., tuple[str, LearningReport]],
    send: Callable[[LearningReport, int], Fidelity],
    file: Path,
    observe: Callable[[str], None],
) -> tuple[LearningReport, Fidelity]:
    """Write the workload, and send it; without the statements that the server refuses."""
    refused: dict[str, str] = {}
    while True:
        again = f", without {len(refused)} that the server refused" if refused else ""
        observe(f"learning statements{again}")
        text, report = make(refused=refused)
        files.write(file, text)
        observe(f"sending what was learned{again}")
        try:
            return report, send(report, len(refused))
        except RefusedError as error:
            named = {
                one.sql: f"the server refused it: {error.refused[one.name]}"
                for one in report.statements
                if one.name in error.refused and one.sql not in refused
            }
            if not named or len(refused) >= REFUSED_MAX:
                raise
            refused |= named


def settings_of(file: Path) -> tuple[str, ...]:
    """Read the file's settings of flushing, each as NAME=VALUE. Raises InputError."""
    with opened(file) as content:
        text = content.read().decode(errors="replace")
    if _GROUP.search(text):
        found = {variable(name): value for name, value in profiles.load(str(file)).options.items()}
    else:
        found = {row["name"]: row["value"] for row in _ROW.finditer(_UPRIGHT.sub(r"\1\t", text))}
        if not found.keys() & _FLUSHING.keys():
            raise InputError(f"{file}: expected a my.cnf, or what SHOW VARIABLES returns")
    wanted = (*_FLUSHING, "sync_binlog")
    return tuple(f"{name}={value}" for name, value in (_FLUSHING | found).items() if name in wanted)


def unknown_flushing(fidelity: Fidelity) -> Iterator[str]:
    """Warn of what is missing without such a file."""
    if fidelity.commits is not None and fidelity.commits >= COMMITS_MIN:
        yield (
            f"COMMIT and the like take {100 * fidelity.commits:.0f} % of the log's time, and a log does not "
            "say how its server flushes: without --variables, a run flushes as its settings say, by default "
            "not at each commit"
        )
