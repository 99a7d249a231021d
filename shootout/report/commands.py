"""The commands that pages and issues print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shootout.document import journal
from shootout.inputs.options import renewed
from shootout.model.plan import Cell
from shootout.model.run import RunHeader
from shootout.paths import REPORTS

OPTION = "--set options."  # begins the flag of a workload's option
OF_THE_RUN = ("--budget", "--shard")  # wrong or pointless for a single cell
OF_THE_MACHINE = ("--set port", "--data")
_PASSWORD = re.compile(r"(://[^:/@,]*):[^,]*@")


def measure_again(header: RunHeader, base: str, cell: Cell) -> str:
    """Write the command that measures a cell again, with the same seed; `base`: the label of its base."""
    return line("run", options_again(header, base, cell))


def options_again(header: RunHeader, base: str, cell: Cell) -> dict[str, str]:
    """The options of that command, by flag."""
    references = {
        record.label: named(header, record.label, record.reference) for record in header.part(cell).servers
    }
    record = next((record for record in header.workloads if record.name == cell.workload), None)
    chosen = {
        "--profile": header.profile_name,
        "--servers": ",".join(references.get(label, label) for label in dict.fromkeys((base, cell.server))),
        "--workloads": record.written if record else cell.workload,
        "--threads": str(cell.threads),
        "--seed": str(header.seed),
    }
    names = {f"{OPTION}{name}" for name in (record.options if record else ())}
    options = _again(header, chosen, OF_THE_RUN)
    return {flag: text for flag, text in options.items() if not flag.startswith(OPTION) or flag in names}


def named(header: RunHeader, label: str, reference: str) -> str:
    """A server's reference with `NAME=` before it, if a user gave it a name: history goes by labels."""
    given = {text.partition("=")[0].strip() for text in header.profile.servers if "=" in text}
    return f"{label}={reference}" if label in given else reference


def repeat(header: RunHeader) -> str:
    """Write the command that measures everything that a run measured, on any machine."""
    return line("run", _again(header, {"--profile": header.profile_name}, ["--shard"]))


def _again(header: RunHeader, chosen: Mapping[str, str], omitted: Iterable[str]) -> dict[str, str]:
    """These options, and the run's others that any machine takes."""
    omitted = {*chosen, *omitted, *OF_THE_MACHINE}
    given = renewed(header.given)
    return {**chosen, **{flag: text for flag, text in given.items() if flag not in omitted}}


def go_on(given: Mapping[str, str]) -> str:
    """Write the command that continues a run; `given`: its options as written."""
    return line("run", {**given, "--resume": ""})


def judge_with_base(header: RunHeader, base: str) -> str:
    """Write the command that judges a run against another base, in the folder of its results."""
    return line("compare", {"--base": base}, journal.new_name(header.run))


def look_further(run: str, cell: Cell, out: Path | None = None) -> str:
    """Write the command that looks for the cause of a cell's change; `out`: the run's folder."""
    return line("explain", {"--out": str(out)} if out else {}, run, cell.name)


def out_of(results: Path) -> Path | None:
    """The `--out` with this folder of results; None: the default, or it lies in no such folder."""
    whole = results.resolve()
    return None if whole.name != "results" or whole.parent == REPORTS.resolve() else whole.parent


def again(given: Sequence[str], *, resume: bool = False) -> str:
    """Write a command as it was given, without passwords; `resume`: one that continues."""
    words = [_PASSWORD.sub(r"\1@", word) for word in given if word != "--resume"]
    return shlex.join(["shootout", *words, *(["--resume"] if resume else [])])


def line(name: str, options: Mapping[str, str], *arguments: str) -> str:
    """A command as one types it; `options`: texts by flag, empty for switches."""
    words = ["shootout", name, *arguments]
    for flag, text in renewed(options).items():
        switch, _, key = flag.partition(" ")
        words += [switch, *filter(None, [f"{key}={text}" if key else text])]
    return shlex.join(words)
