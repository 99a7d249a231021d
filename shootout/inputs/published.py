"""Loads published comparisons and matches their servers with those of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.published import Published, PublishedServer
from shootout.model.run import RunHeader, ServerRecord
from shootout.paths import FIXTURES

FOLDER = FIXTURES / "published"


def known() -> frozenset[str]:
    """List the names of the published comparisons in fixtures/published."""
    return frozenset(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Published:
    """Read the comparison of that name. Raises InputError if there is none or it is inconsistent."""
    path = toml.find(name, FOLDER, "published comparison")
    comparison = toml.load(path, Published)
    _check(path, comparison)
    return comparison


def record_of(server: PublishedServer, header: RunHeader) -> ServerRecord | None:
    """Find the run's server that is the published one or its stand-in; None if the run has neither."""
    written = (server.server, header.profile.stand_ins.get(server.server, ""))
    return next((record for text in written if text and (record := _named(text, header.servers))), None)


def unpublished(comparison: Published, header: RunHeader) -> tuple[ServerRecord, ...]:
    """List the run's servers that the comparison does not include."""
    theirs = {record.label for server in comparison.servers if (record := record_of(server, header))}
    return tuple(record for record in header.servers if record.label not in theirs)


def _named(text: str, records: Sequence[ServerRecord]) -> ServerRecord | None:
    kind, _, target = text.partition(":")  # records hold absolute directories
    pattern = re.compile(re.escape(text) + (rf"|{re.escape(kind)}:.*/{re.escape(target)}" if target else ""))
    return next((record for record in records if pattern.fullmatch(record.reference)), None)


def _check(path: Path, comparison: Published) -> None:
    names = [server.name for server in comparison.servers]
    for server in comparison.servers:
        if names.count(server.name) > 1:
            raise InputError(f"{path}: servers: {server.name!r} appears twice")
        if server.tps and len(server.tps) != len(comparison.threads):
            raise InputError(
                f"{path}: servers {server.name!r}: tps: expected {len(comparison.threads)} values, one for "
                f"each of threads; found {len(server.tps)}"
            )
    referred = [("reference", comparison.reference)]
    for claim in comparison.claims:
        referred += [(f"claims {claim.name!r}", end.server) for end in (claim.head, claim.base)]
    for where, name in referred:
        if name not in names:
            raise InputError(f"{path}: {where}: unknown server {name!r}{toml.hint(name, names)}")
