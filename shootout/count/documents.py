"""Counts on disk: `count/RUN.json` beside the run documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from msgspec import structs

from shootout.count.values import CountDocument, KindCount
from shootout.document import compatibility
from shootout.document.formats import Format, Record
from shootout.document.store import Store
from shootout.errors import InputError


def joined(paths: Sequence[Path]) -> CountDocument:
    """Join documents of equal statements. Raises InputError if they differ, or overlap."""
    first, *others = map(COUNTS.read, paths)
    whole = first
    for path, other in zip(paths[1:], others, strict=True):
        if difference := _difference(whole, other):
            raise InputError(f"{path}: not counted like {paths[0]}: {difference}")
        whole = _union(whole, other)
    started = min(document.started for document in (first, *others))
    names = " ".join(sorted(document.run for document in (first, *others)))
    stamp = f"{datetime.fromisoformat(started):%Y%m%dT%H%M%SZ}"
    run = f"{stamp}-{blake2b(names.encode(), digest_size=16).hexdigest()[:6]}"
    return structs.replace(whole, run=run, started=started, elapsed_s=None)


def _difference(one: CountDocument, other: CountDocument) -> str:
    for name in ("format", "version", "valgrind", "seed", "confidence", "bar", "settings", "options"):
        if getattr(one, name) != getattr(other, name):
            return f"another {name}"
    if one.starts != other.starts:
        return "another number of starts"
    if {dataset.key for dataset in one.datasets} != {dataset.key for dataset in other.datasets}:
        return "other datasets"
    if any(one.digests.get(name, digest) != digest for name, digest in other.digests.items()):
        return "other statements"
    known = {server.label: server for server in one.servers}
    for server in other.servers:
        for difference in compatibility.servers(known.get(server.label, server), server):
            return difference
    done = {(count.server, count.workload, count.kind) for count in one.counts}
    for count in other.counts:
        if (count.server, count.workload, count.kind) in done:
            return f"{count.kind} of {count.workload} on {count.server} is in both"
    return ""


def _union(one: CountDocument, other: CountDocument) -> CountDocument:
    labels = {server.label for server in one.servers}
    kinds = {(kind.workload, kind.name): kind.units for kind in one.kinds}
    theirs = {(kind.workload, kind.name): kind.units for kind in other.kinds}
    known = {record.name for record in one.workloads}
    numbers = {name: number for number, name in enumerate(one.functions)}
    profiles = tuple(
        structs.replace(
            profile,
            names=tuple(numbers.setdefault(other.functions[name], len(numbers)) for name in profile.names),
        )
        for profile in other.profiles
    )
    return structs.replace(
        one,
        workloads=(*one.workloads, *(record for record in other.workloads if record.name not in known)),
        digests={**one.digests, **other.digests},
        servers=(*one.servers, *(server for server in other.servers if server.label not in labels)),
        kinds=(*one.kinds, *(kind for kind in other.kinds if (kind.workload, kind.name) not in kinds)),
        counts=(*one.counts, *(_scaled(count, kinds, theirs) for count in other.counts)),
        functions=tuple(numbers),
        profiles=one.profiles + profiles,
        failures=one.failures + other.failures,
        plans={
            name: one.plans.get(name, ()) + other.plans.get(name, ()) for name in {**one.plans, **other.plans}
        },
    )


def _scaled(
    count: KindCount, units: Mapping[tuple[str, str], int], theirs: Mapping[tuple[str, str], int]
) -> KindCount:
    """A count of repetitions of another length: what an execution takes decides how many one has."""
    key = count.workload, count.kind
    if (wanted := units.get(key, theirs[key])) == theirs[key]:
        return count
    factor = wanted / theirs[key]
    scaled = tuple(max(1, round(each * factor)) for each in count.instructions)
    return structs.replace(count, instructions=scaled)


def _fault(document: CountDocument) -> str:
    servers = {server.label for server in document.servers}
    kinds = {(kind.workload, kind.name) for kind in document.kinds}
    if len(servers) != len(document.servers) or len(kinds) != len(document.kinds) or not servers:
        return "servers or kinds appear twice, or there is none"
    for kind in document.kinds:
        if any((kind.workload, other) not in kinds for other in (*kind.less, *kind.sums)):
            return f"kind {kind.name} of {kind.workload} needs one that is not there"
    for count in document.counts:
        if count.server not in servers or (count.workload, count.kind) not in kinds:
            return f"counts of {count.kind} on {count.server}, which the document does not name"
    for profile in document.profiles:
        lengths = {len(profile.names), len(profile.exclusive), len(profile.inclusive)}
        if len(lengths) != 1 or any(not 0 <= name < len(document.functions) for name in profile.names):
            return f"the functions of {profile.kind} on {profile.server} are damaged"
    if any(failure.server not in servers for failure in document.failures):
        return "a failure of a server that the document does not name"
    return ""


def _counts_1(record: Record) -> Record:
    """All starts that were planned were made, a refused kind cost its workload, and there were no plans."""
    return record | {"format": 2, "starts": max((count["start"] for count in record["counts"]), default=1)}


COUNTS = Store(
    "a count of instructions", "count/*.json", CountDocument, "valgrind", Format(2, (_counts_1,)), _fault,
    "work/*.json",
)  # fmt: skip
