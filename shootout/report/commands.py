"""The commands that pages and issues print."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from shootout.document import journal
from shootout.inputs import matrix
from shootout.model.plan import Cell, DatasetSize
from shootout.model.run import RunHeader, ServerRecord
from shootout.model.workload import Distribution

OF_THE_RUN = ("--budget", "--shard")  # wrong or pointless for a single cell
OF_THE_MACHINE = ("--port", "--data")
NOT_COUNTED = ("image:", "dsn:")  # sources of servers that are no programs on this machine


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


def count(header: RunHeader) -> str | None:
    """Counts the instructions of what a run's first two servers did; None if they cannot be counted.

    Under the run's settings and with its statements, on the tables of the profile `work`.
    """
    profile, records = header.profile, header.workloads
    servers = [record.reference for record in header.servers[:2]]
    if not records or any(text.startswith(NOT_COUNTED) for text in servers):
        return None
    if profile.settings != matrix.load_profile("work").settings:
        servers = [_with_settings(each, profile.settings) for each in header.servers[:2]]
    sent = records[0]
    chosen = {"--base": servers[0], "--head": servers[1], "--workloads": sent.written}
    if options := {name: value for name, value in profile.options.items() if name in sent.options}:
        chosen["--option"] = ",".join(f"{name}={value}" for name, value in options.items())
    if profile.distribution is not None:
        chosen["--rand-type"] = _distribution(profile.distribution)
    if sent.protocol != "text":
        chosen["--protocol"] = sent.protocol
    if profile.dataset.engine != DatasetSize().engine:
        chosen["--engine"] = profile.dataset.engine
    if profile.build and any(text.startswith("git:") for text in servers):
        chosen |= {"--build": profile.build.command, "--tree": profile.build.tree}
    return line("work", chosen)


def _distribution(drawn: Distribution) -> str:
    """`NAME:PARAMETER=N,…`, as the option has it."""
    parameters = ",".join(f"{name}={value:g}" for name, value in structs.asdict(drawn).items())
    return ":".join(filter(None, (str(type(drawn).__struct_config__.tag), parameters)))


def _with_settings(server: ServerRecord, settings: str) -> str:
    """A server under the settings of a run; its own add to them, or replace them."""
    if server.settings_name == settings:  # it has none of its own, or the same
        return f"{server.reference.removesuffix('@' + settings)}@{settings}"
    if not server.settings_name.startswith(f"{settings} + "):  # its own replace them
        return server.reference
    own = server.settings_name.removeprefix(f"{settings} + ").replace(" + ", "+")
    return f"{server.reference.removesuffix('@' + own)}@{settings}+{own}"


def repeat(header: RunHeader) -> str:
    """Measures everything that a run measured, on any machine."""
    omitted = ("--profile", "--shard", *OF_THE_MACHINE)
    given = {flag: text for flag, text in header.given.items() if flag not in omitted}
    return line("run", {"--profile": header.profile_name} | given)


def explain(run: str, cell: Cell, setting: str, out: Path | None) -> str:
    """Explains a cell with a setting (NAME=VALUE) changed on its head; `out`: None for the default."""
    return line("explain", {"--try": setting} | ({"--out": str(out)} if out else {}), run, cell.name)


def go_on(given: Mapping[str, str]) -> str:
    """Continues a run; `given`: its options as written."""
    return line("run", {**given, "--resume": ""})


def judge_with_base(header: RunHeader, base: str) -> str:
    """Judges a run's servers against another base, in the folder of its results."""
    return line("compare", {"--base": base}, journal.new_name(header.run))


def line(name: str, options: Mapping[str, str], *arguments: str) -> str:
    """`options`: texts by flag, empty for switches."""
    words = [word for flag, text in options.items() for word in ((flag, text) if text else (flag,))]
    return shlex.join(["shootout", name, *arguments, *words])


def _of_these(text: str, known: dict[str, int]) -> str:
    """Those of `NAME=N,…` that have a known name."""
    items = (item.strip() for item in text.split(","))
    return ",".join(item for item in items if item.partition("=")[0] in known)
