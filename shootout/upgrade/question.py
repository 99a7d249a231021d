"""The question: the servers, the user's my.cnf, and answers that another machine began."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path, PurePath

from msgspec.structs import replace

from shootout import __version__, files
from shootout.count.documents import COUNTS
from shootout.document import journal
from shootout.errors import InputError
from shootout.runner import fitting
from shootout.servers.sources import reference
from shootout.settings import layers
from shootout.settings.profiles import SettingsProfile
from shootout.upgrade import configuration
from shootout.upgrade.documents import UPGRADES
from shootout.upgrade.values import PARTS, UpgradeDocument


def begin(old: str, new: str, settings: str, workload: str, workloads: str) -> UpgradeDocument:
    """An empty answer. Raises InputError for servers that shootout does not start, or a bad my.cnf."""
    labels = _label(old), _label(new)
    mine = profile(settings)
    fitting.require_memory(settings, mine)
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
    """The references of the servers to start for an earlier answer: its own, or the given ones.

    The document may come from anywhere, so only the user names a program that is not of the catalogue.
    Raises InputError.
    """
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
                f"{path}: {label} is {text!r}, which is not of the catalogue\nTo start such a program, name "
                f"both servers: {' '.join(f'{name}=SERVER' for name in earlier.labels)} --again {path}"
            )
    return old, new


def _is_catalogued(text: str) -> bool:
    try:
        return reference.parse(text).source == "catalogue"
    except InputError:
        return False


def again(path: Path, servers: tuple[str, str], results: Path) -> UpgradeDocument:
    """Begin an answer with all of an earlier one that holds anywhere; copy its documents to the results.

    `servers`: their references here. Raises InputError if the earlier one, or a document that it names,
    cannot be read, or would replace another one.
    """
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
            raise InputError(f"{target}: differs from {source}, which would replace it")
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
