"""The commands that pages and issues print."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from shootout.document import journal
from shootout.model.plan import Cell
from shootout.model.run import RunHeader

OF_THE_RUN = ("--budget", "--shard")  # wrong or pointless for a single cell
OF_THE_MACHINE = ("--port", "--data")


def measure_again(header: RunHeader, base: str, cell: Cell) -> str:
    """Measures a cell as a run did, with the same seed; `base`: the label of its base."""
    part = header.part(cell)
    references = {record.label: record.reference for record in part.servers}
    record = next((record for record in header.workloads if record.name == cell.workload), None)
    chosen = {
        "--profile": header.profile_name,
        "--servers": ",".join(references.get(label, label) for label in dict.fromkeys((base, cell.server))),
        "--workloads": record.written if record else cell.workload,
        "--threads": str(cell.threads),
        "--seed": str(header.seed),
    }
    omitted = (*chosen, *OF_THE_RUN, *OF_THE_MACHINE)
    given = {flag: text for flag, text in header.given.items() if flag not in omitted}
    if "--option" in given:
        known = record.options if record else {}
        given["--option"] = _of_these(given["--option"], known)
        if not given["--option"]:
            del given["--option"]
    return line("run", chosen | given)


def repeat(header: RunHeader) -> str:
    """Measures everything that a run measured, on any machine."""
    omitted = ("--profile", "--shard", *OF_THE_MACHINE)
    given = {flag: text for flag, text in header.given.items() if flag not in omitted}
    return line("run", {"--profile": header.profile_name} | given)


def go_on(given: Mapping[str, str]) -> str:
    """Continues a run; `given`: its options as written."""
    return line("run", {**given, "--resume": ""})


def judge_with_base(header: RunHeader, base: str) -> str:
    """Judges a run's servers against another base, in the folder of its results."""
    return line("compare", {"--base": base}, journal.new_name(header.run))


def line(name: str, options: Mapping[str, str], *arguments: str) -> str:
    """A command as one types it; `options`: texts by flag, empty for switches."""
    words = [word for flag, text in options.items() for word in ((flag, text) if text else (flag,))]
    return shlex.join(["shootout", name, *arguments, *words])


def _of_these(text: str, known: dict[str, int]) -> str:
    """Those of `NAME=N,…` that have a known name."""
    items = (item.strip() for item in text.split(","))
    return ",".join(item for item in items if item.partition("=")[0] in known)
