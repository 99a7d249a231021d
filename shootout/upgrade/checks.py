"""Checks of an upgrade's needs, within a second, before anything is fetched or started."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from shootout import files, steps
from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.measure.plan import Plan
from shootout.paths import cache_folder
from shootout.servers.sources import catalogue, reference
from shootout.servers.sources.fetch import packages
from shootout.servers.sources.trees import Tree
from shootout.upgrade.values import UpgradeDocument

LARGE_MIN = 30.0  # minutes of a budget that measures data larger than memory, too
COUNTED_MIN = 20.0  # below, some of the catalogue's statements are left out


def require(document: UpgradeDocument, profile: str, written: Sequence[Path]) -> None:
    """Raise InputError for a server, a workload or a file to write with which parts could only fail."""
    cache_folder()  # may be out of reach
    for path in written:
        with files.writing(path):
            files.require_writable(path)
    for text in document.references:
        _require_server(text)
    if document.workload or document.workloads:
        plan(document, profile)


def plan(document: UpgradeDocument, profile: str) -> Plan:
    """Plan to measure its servers with its own workloads, if it has any. Raises InputError."""
    pairs = zip(document.labels, document.references, strict=True)
    servers = ",".join(f"{label}={reference.parse(text).text}" for label, text in pairs)
    given = ",".join(filter(None, (document.workload, document.workloads)))
    chosen = {"workloads": given} if given else {}
    budget = f"{document.budget_min:g}"
    return steps.plan(Selection.read(profile=profile, servers=servers, budget=budget, **chosen))


def _require_server(text: str) -> None:
    server = reference.parse(text)
    if server.source == "path" and "://" not in server.target:
        Tree.inspect(Path(server.target))
        return
    if server.source != "catalogue":
        return
    sources = catalogue.load()[server.target].sources
    if any(packages.target(server.target, source, cache_folder()).is_dir() for source in sources):
        return
    lacks = [packages.missing(source) for source in sources]
    if None not in lacks:
        raise InputError(f"{server.target}: cannot be fetched here: {'; '.join(map(str, lacks))}")


def does_not_fit(document: UpgradeDocument, without: Collection[str]) -> Iterator[str]:
    """Name the parts that the budget has no time for."""
    given = f"--budget {document.budget_min:g}"
    counts = "statements" not in without and not document.workloads
    if document.budget_min < COUNTED_MIN and counts:
        yield f"{given}: statements are counted as far as there is time, your own first"
    if document.budget_min < LARGE_MIN and "time" not in without and not document.settings:
        yield f"{given}: data larger than memory is not measured (from --budget {LARGE_MIN:g} on)"
