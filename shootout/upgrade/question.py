"""The question: servers, my.cnf, an answer that another machine began; checks before anything starts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

from msgspec.structs import replace

from shootout import __version__, files, steps
from shootout.count.documents import COUNTS
from shootout.document import journal
from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.measure.plan import Plan
from shootout.paths import cache_folder
from shootout.runner import machine
from shootout.servers.sources import catalogue, reference
from shootout.servers.sources.fetch import packages
from shootout.servers.sources.trees import Tree
from shootout.settings import layers
from shootout.settings.profiles import SettingsProfile
from shootout.upgrade import configuration
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import PARTS, UpgradeDocument

LARGE_MIN = 30.0  # minutes of a budget that measures data larger than memory, too
COUNTED_MIN = 20.0  # below, some of the catalogue's statements are left out


def begin(old: str, new: str, settings: str, workload: str, workloads: str) -> UpgradeDocument:
    """An empty answer. Raises InputError for servers that shootout does not start, or a bad my.cnf."""
    labels = _label(old), _label(new)
    mine = profile(settings)
    machine.require_memory(settings, mine)
    started = datetime.now(UTC)
    return UpgradeDocument(
        format=3, upgrade=journal.new_run(started), started=started.isoformat(timespec="seconds"),
        version=__version__,
        labels=labels if labels[0] != labels[1] else (labels[0], f"{labels[1]}-again"),
        references=(old, new), settings=settings, settings_left_out=mine.left_out, workload=workload,
        workloads=workloads, budget_min=0.0,
    )  # fmt: skip


def profile(settings: str) -> SettingsProfile:
    """The user's my.cnf, with what follows it after a `+`, as in a server reference."""
    return layers.combine("defaults", settings or None)


def _label(text: str) -> str:
    server = reference.parse(text)
    if "," in text:  # which separates servers in a list
        raise InputError(f"{text}: expected one server, without a comma")
    if server.source not in ("catalogue", "path"):
        raise InputError(f"{text}: expected a server of the catalogue, such as mysql-8.0.33, or path:DIR")
    last = server.target if server.source == "catalogue" else PurePath(server.target).name
    return server.name or re.sub(r"[^A-Za-z0-9.+-]+", "-", last).strip("-.+") or "server"


def servers_again(path: Path, given: tuple[str, str]) -> tuple[str, str]:
    """The servers to start for an earlier answer; only the user names a program of his own."""
    earlier = UPGRADES.read(path)
    if any(given):
        labels = begin(*given, "", "", "").labels if all(given) else given
        if labels != earlier.labels:
            expected = " and ".join(f"{label}=SERVER" for label in earlier.labels)
            raise InputError(f"{path}: expected {expected}, found {' and '.join(filter(None, labels))}")
        return given
    old, new = earlier.references
    for label, text in zip(earlier.labels, earlier.references, strict=True):
        if not _is_catalogued(text):
            raise InputError(
                f"{path}: {label} is {text!r}, which is not in the catalogue\nTo start such a program, name "
                f"both servers: {' '.join(f'{name}=SERVER' for name in earlier.labels)} --again {path}"
            )
    return old, new


def _is_catalogued(text: str) -> bool:
    try:
        return reference.parse(text).source == "catalogue"
    except InputError:
        return False


def again(path: Path, servers: tuple[str, str], results: Path) -> UpgradeDocument:
    """Begin with all of an earlier answer that holds anywhere; copy its documents. Raises InputError."""
    earlier, folder = UPGRADES.read(path), path.resolve().parents[1]
    asked = begin(*servers, "", earlier.workload, earlier.workloads)
    for name in filter(None, (earlier.statements, earlier.restoring)):
        COUNTS.read(folder / name)
    for name in filter(None, (*earlier.runs, *earlier.elsewhere, earlier.timed)):
        journal.read(folder / name)
    for name in earlier.files:
        _copy(folder / name, results / name)
    document = replace(
        earlier, upgrade=asked.upgrade, references=servers, started=asked.started, version=asked.version,
        runs=(), timed="", time_trials={}, elsewhere=(*earlier.elsewhere, *earlier.runs),
        done=tuple(part for part in PARTS if part != "time"),
        left_out={part: why for part, why in earlier.left_out.items() if part != "time"},
    )  # fmt: skip
    write_settings(document, results)
    return document


def _copy(source: Path, target: Path) -> None:
    try:
        content = files.read(source)
        if not target.exists():
            files.replace(target, content)
        elif files.read(target) != content:
            raise InputError(f"{target}: differs from {source}, which would replace it; choose another --out")
    except OSError as error:
        raise InputError(f"{source}: cannot be copied: {error.strerror}") from None


def write_settings(document: UpgradeDocument, results: Path) -> None:
    """Write the user's my.cnf as each server gets it, if there is one. Raises InputError."""
    if document.options:
        for label, given in zip(("old", "new"), configuration.measured(document.options), strict=True):
            lines = [f"{name} = {value}" if value else name for name, value in given.items()]
            files.write(settings_file(document, results, label), "\n".join(("[mysqld]", *lines, "")))


def settings_file(document: UpgradeDocument, results: Path, label: str) -> Path:
    return results / "upgrades" / document.upgrade / f"{label}.cnf"


def require_counted(path: Path, document: UpgradeDocument) -> None:
    """Raise InputError for a file that is no count of both servers."""
    counted = [server.label for server in COUNTS.read(path).servers]
    for label in document.labels:
        if label not in counted:
            raise InputError(f"{path}: {label} is not in it; its servers are {', '.join(counted)}")


def require(document: UpgradeDocument, profile: str, written: Sequence[Path]) -> None:
    """Raise InputError for a server, a workload or a file to write with which parts could only fail."""
    cache_folder()  # may be out of reach
    for path in written:
        with files.writing(path):
            (files.require_folder if path.is_dir() else files.require_writable)(path)
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
