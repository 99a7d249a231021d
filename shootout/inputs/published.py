"""Loads published comparisons and matches their servers with those of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.published import Published, PublishedServer
from shootout.model.run import RunHeader, ServerRecord
from shootout.paths import FIXTURES

FOLDER = FIXTURES / "published"


def known() -> frozenset[str]:
    """The names of the published comparisons in fixtures/published."""
    return frozenset(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Published:
    """The comparison of that name. Raises InputError if there is none or it is inconsistent."""
    path = toml.find(name, FOLDER, "published comparison")
    found = toml.load(path, Published)
    _check(path, found)
    return found


def record_of(server: PublishedServer, header: RunHeader) -> ServerRecord | None:
    """The run's server that is the published one or its stand-in; None if the run has neither."""
    written = (server.server, header.profile.stand_ins.get(server.server, ""))
    return next((record for text in written if text and (record := _named(text, header.servers))), None)


def unpublished(comparison: Published, header: RunHeader) -> tuple[ServerRecord, ...]:
    """The run's servers that the comparison does not include."""
    theirs = {record.label for server in comparison.servers if (record := record_of(server, header))}
    return tuple(record for record in header.servers if record.label not in theirs)


def _named(text: str, records: Sequence[ServerRecord]) -> ServerRecord | None:
    """The first server with this reference; records hold absolute directories."""
    kind, colon, target = text.partition(":")
    for record in records:
        of_path = (
            colon and record.reference.startswith(f"{kind}:") and record.reference.endswith(f"/{target}")
        )
        if record.reference == text or of_path:
            return record
    return None


def _check(path: Path, found: Published) -> None:
    names = [server.name for server in found.servers]
    for server in found.servers:
        if names.count(server.name) > 1:
            raise InputError(f"{path}: servers: {server.name!r} appears twice")
        if server.tps and len(server.tps) != len(found.threads):
            raise InputError(
                f"{path}: servers {server.name!r}: tps: expected {len(found.threads)} values, one for each "
                f"of threads; found {len(server.tps)}"
            )
    for where, name in [
        ("reference", found.reference),
        *(
            (f"claims {claim.name!r}", name)
            for claim in found.claims
            for name in (claim.head.server, claim.base.server)
        ),
    ]:
        if name not in names:
            raise InputError(f"{path}: {where}: unknown server {name!r}{toml.hint(name, names)}")
