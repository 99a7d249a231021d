"""Plans a run: everything that is decided before a server starts."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import msgspec
from msgspec import structs

from shootout.errors import InputError
from shootout.inputs import dump, matrix, published, toml, workload
from shootout.inputs.options import Selection
from shootout.model.plan import NUMBERS, Block, Cell, Dataset, Planned, Profile, ServerReference
from shootout.model.program import Program
from shootout.model.run import Warning, WorkloadRecord
from shootout.model.workload import Workload
from shootout.paths import cache_folder
from shootout.runner import machine
from shootout.servers.external import dsn
from shootout.servers.sources import cache, catalogue, installations, reference
from shootout.servers.sources.fetch.packages import Progress, no_progress
from shootout.settings import layers
from shootout.settings.setting import meant

PORT_MAX = 65_535
AA_CONTROL_SLICES = 11  # slices of servers for each slice of an A/A control


@dataclass(frozen=True)
class PlannedServer:
    """A server of a run."""

    reference: ServerReference
    absent: bool = False  # it is not here, and not measured
    password: str = field(default="", repr=False)  # of a running server


@dataclass(frozen=True)
class BoundWorkload:
    """A workload of a run, with what its profile decides for it."""

    workload: Workload
    written: str  # the name or file that was given
    dataset: Dataset
    program: Program

    @classmethod
    def bind(cls, name: str, written: str, loaded: Workload, profile: Profile) -> Self:
        """Apply the profile's options, sizes and load. Raises InputError."""
        options = workload.with_options(loaded, profile.options, profile.distribution)
        dataset = workload.dataset_of(options, profile.dataset, written)
        return cls(options, written, dataset, workload.compile_program(name, options, dataset, profile.load))


@dataclass(frozen=True)
class Plan:
    """The plan of a run, with its servers found."""

    profile_name: str  # or its file, as given
    profile: Profile
    given: Mapping[str, str]  # the options as written, by flag
    servers: Mapping[str, PlannedServer]  # by label, the base first
    workloads: Mapping[str, BoundWorkload]  # by name
    cells: tuple[Cell, ...]
    seed: int
    port: int | None  # of the first server; the others take the next ones; None: free ports
    data: Path | None  # the servers' data during the run; None: the cache folder
    cache_bytes: int  # size limit of the cache
    planned: Planned | None = None  # the blocks of all shards; None: the run is no shard
    resume: bool = False  # continue a run that was cut short
    told: Mapping[str, Sequence[Warning]] = field(default_factory=dict)  # of servers before the run, by label

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The cells' blocks."""
        return matrix.blocks(self.cells)

    @property
    def base(self) -> str:
        """The label of the first server that is here."""
        return next(label for label, server in self.servers.items() if not server.absent)

    @property
    def absent(self) -> frozenset[str]:
        """Labels of the servers that are not here."""
        return frozenset(label for label, server in self.servers.items() if server.absent)

    @property
    def aa_controls(self) -> frozenset[str]:
        """Keys of the blocks that get an A/A control, drawn by the seed.

        A/A controls may take a tenth of the time. Their share of slices is smaller, because their instance
        has to be started, too. The draw is over the blocks of all shards, so one shard may get fewer.
        """
        blocks = self._all_blocks
        slices = sum(len(set(block.servers) - self.absent) for block in blocks)
        generator = random.Random(f"{self.seed}/twins")
        return frozenset(
            block.key for block in generator.sample(blocks, min(slices // AA_CONTROL_SLICES, len(blocks)))
        )

    @property
    def set_variables(self) -> frozenset[str]:
        """The variables that options of any server set."""
        profiles = (
            layers.combine(self.profile.settings, server.reference.settings)
            for server in self.servers.values()
        )
        return frozenset(
            meant(option, value)[0] for profile in profiles for option, value in profile.every_option
        )

    @property
    def loaded(self) -> tuple[Dataset, ...]:
        """The datasets that every server has; numbers only where an own workload reads them."""
        used = dict.fromkeys(cell.workload for cell in self.cells)
        bound = [self.workloads[name] for name in used]
        datasets = dict.fromkeys(each.dataset for each in bound)
        if numbered := next((each.dataset for each in bound if workload.reads_numbers(each.workload)), None):
            datasets[structs.replace(numbered, digest=NUMBERS)] = None
        return tuple(datasets)

    @property
    def records(self) -> tuple[WorkloadRecord, ...]:
        """The workloads as sent, over all shards."""
        return tuple(
            WorkloadRecord(
                name=name,
                written=bound.written,
                protocol="prepared" if bound.program.prepared else "text",
                options=bound.workload.options,
                distribution=bound.workload.distribution,
            )
            for name, bound in self._used.items()
        )

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the workloads with all their statements, by name."""
        encoded = {name: _encoded(bound.workload) for name, bound in self._used.items()}
        return {name: hashlib.sha256(workload).hexdigest()[:16] for name, workload in encoded.items()}

    @property
    def _used(self) -> dict[str, BoundWorkload]:
        return {block.workload: self.workloads[block.workload] for block in self._all_blocks}

    @property
    def _all_blocks(self) -> tuple[Block, ...]:
        return self.blocks if self.planned is None else self.planned.blocks

    def judging(self, cells: Collection[Cell]) -> Plan:
        """Reduce the plan to these cells and those of the base. Raises InputError if none is here."""
        chosen = self.only(cells).cells
        return self.only({*chosen, *(structs.replace(cell, server=self.base) for cell in chosen)})

    def only(self, cells: Collection[Cell]) -> Plan:
        """Reduce the plan to these cells and the servers they need. Raises InputError if none is here."""
        needed = {cell.server for cell in cells}
        if needed and needed <= self.absent:
            raise InputError(f"not available here: {', '.join(sorted(needed))}; there is nothing to measure")
        return replace(
            self,
            cells=tuple(cell for cell in self.cells if cell in cells),
            servers={label: server for label, server in self.servers.items() if label in needed},
        )


def _encoded(workload: Workload) -> bytes:
    """Encode a workload; one without statements for sessions as before there were any: series continue."""
    text = msgspec.json.encode(workload)
    return text if workload.session else text.removesuffix(b',"session":[]}') + b"}"


def bind(
    profile: Profile,
    selection: Selection,
    environment: Mapping[str, str],
    report: Progress = no_progress,
    port: int | None = None,
) -> Plan:
    """Check a resolved profile against all that it names; servers say their version. Raises InputError."""
    written_servers, servers = _servers(profile, selection, environment, report)
    written = _workloads(profile)
    loaded = {name: workload.load(file) for name, file in written.items()}
    _check_options(selection, profile, loaded)
    workloads = {
        name: BoundWorkload.bind(name, file, loaded[name], profile) for name, file in written.items()
    }
    datasets = {name: bound.dataset for name, bound in workloads.items()}
    _check_dumps(datasets, servers)
    servers = _with_settings(profile, servers, loaded)
    profile = structs.replace(
        profile,
        servers=written_servers,
        stand_ins={slot: reference.without_password(text) for slot, text in profile.stand_ins.items()},
        workloads=tuple(workloads),
    )
    labels = tuple(servers)
    keys = {name: dataset.key for name, dataset in datasets.items()}
    planned = Planned(workloads=keys, threads=profile.threads, servers=labels)
    blocks = planned.blocks if selection.shard is None else _shard(selection.shard, planned.blocks)
    return Plan(
        profile_name=selection.profile,
        profile=profile,
        given={  # without passwords
            flag: ",".join(profile.servers) if flag == "--servers" else text
            for flag, text in selection.written.items()
            if flag != "--resume"
        },
        servers=servers,
        workloads=workloads,
        cells=tuple(cell for block in blocks for cell in block.cells),
        seed=secrets.randbits(32) if selection.seed is None else selection.seed,
        port=_first_port(port, len(labels)),
        data=selection.data,
        cache_bytes=cache.limit_bytes(environment),
        planned=None if selection.shard is None else planned,
        resume=selection.resume,
    )


def _servers(
    profile: Profile, selection: Selection, environment: Mapping[str, str], report: Progress
) -> tuple[tuple[str, ...], dict[str, PlannedServer]]:
    if not profile.servers:
        raise InputError(f"profile {selection.profile} names no servers; expected --servers A,B,…")
    texts, absent = _present(profile)
    if len(absent) == len(texts):
        raise InputError(
            f"profile {selection.profile}: none of its servers is available; expected --servers A,B,…"
        )
    references = tuple(absent.get(text) or reference.parse(text) for text in texts)
    _check_servers(profile, references, remote=selection.remote)
    passwords = [reference.password(text, environment) or "" for text in texts]
    here = {
        parsed: password
        for parsed, password, text in zip(references, passwords, texts, strict=True)
        if text not in absent and parsed.name is None
    }
    labels = reference.labels(references, installations.names(here, profile.container, report))
    planned = zip(labels, references, texts, passwords, strict=True)
    return tuple(map(reference.without_password, texts)), {
        label: PlannedServer(parsed, text in absent, password) for label, parsed, text, password in planned
    }


def _check_servers(profile: Profile, references: Sequence[ServerReference], *, remote: bool) -> None:
    for server in references:
        if server.source != "dsn":
            continue
        if not remote and not dsn.parse(server.target).dsn.is_local:
            raise InputError(
                f"{server.text}: this server is not on this machine, and a run puts full load on it; "
                "pass --remote to allow it"
            )
        if profile.sampling.stops_idle:
            raise InputError(
                f"isolation {profile.sampling.isolation}: {server.text} is external and cannot be paused; "
                "expected auto or share"
            )
    if profile.published is not None:
        published.load(profile.published)
    for settings in {server.settings for server in references}:
        layered = layers.combine(profile.settings, settings)
        if settings is not None and any(
            server.source != "dsn" for server in references if server.settings == settings
        ):
            machine.require_memory(settings, layered)


def _with_settings(
    profile: Profile, servers: Mapping[str, PlannedServer], loaded: Mapping[str, Workload]
) -> dict[str, PlannedServer]:
    """Give servers the settings that workloads ask for; their own are above these. Raises InputError."""
    asked: dict[str, str] = {}
    for name, one in loaded.items():
        for written in one.settings:
            if asked.setdefault(written.partition("=")[0], written) != written:
                raise InputError(f"workload {name}: other settings than another workload's; run them apart")
    if not asked:
        return dict(servers)
    layers.combine(profile.settings, "+".join(asked.values()))
    return {
        label: planned
        if planned.reference.source == "dsn"
        else dataclasses.replace(
            planned,
            reference=structs.replace(
                planned.reference,
                settings="+".join(filter(None, (*asked.values(), planned.reference.settings))),
            ),
        )
        for label, planned in servers.items()
    }


def _check_dumps(datasets: Mapping[str, Dataset], servers: Mapping[str, PlannedServer]) -> None:
    """Check that each dump has the schema of its database to itself on the servers that are started."""
    if all(server.reference.source == "dsn" for server in servers.values()):
        return
    named: dict[str, str] = {}
    for path, digest in {(one.dump, one.digest) for one in datasets.values() if one.kind == "dump"}:
        name = dump.database(Path(path), digest)
        if name and (other := named.setdefault(name.lower(), path)) != path:
            raise InputError(
                f"{' and '.join(sorted((other, path)))} are dumps of one database, {name}: "
                "a run can load only one of them"
            )


def _workloads(profile: Profile) -> dict[str, str]:
    names: dict[str, str] = {}
    for written in profile.workloads:
        name = workload.name_from(written)
        if name in names:
            raise InputError(f"workloads: {name} appears twice")
        names[name] = written
    return names


def _first_port(port: int | None, servers: int) -> int | None:
    last = PORT_MAX - servers + 1
    if port is not None and port > last:
        raise InputError(f"port {port}: expected at most {last}, so that every server gets a port")
    return port


def _shard(shard: tuple[int, int], planned: Sequence[Block]) -> tuple[Block, ...]:
    number, count = shard
    if count > len(planned):
        blocks = len(planned)
        raise InputError(
            f"--shard '{number}/{count}': expected at most {blocks} shards, as many as there are blocks"
        )
    return matrix.shard(planned, number, count)


def _present(profile: Profile) -> tuple[tuple[str, ...], dict[str, ServerReference]]:
    """The profile's servers after stand-ins, and those that are absent and have none."""
    servers: list[str] = []
    absent: dict[str, ServerReference] = {}
    for server in profile.servers:
        stand_in = profile.stand_ins.get(server, "")
        missing = reference.missing(server) if server in profile.stand_ins else None
        if missing is None or not _is_at_hand(stand_in):
            servers.append(server)
            absent |= {} if missing is None else {server: missing}
        elif stand_in not in (*profile.servers, *servers):
            servers.append(stand_in)
    return tuple(servers), absent


def _is_at_hand(stand_in: str) -> bool:
    """Whether a stand-in can be measured. One from a vendor's host can, once it has been fetched."""
    if not stand_in:
        return False
    named = reference.parse(stand_in)
    return named.source != "catalogue" or catalogue.is_at_hand(named.target, cache_folder())


def _check_options(selection: Selection, profile: Profile, workloads: Mapping[str, Workload]) -> None:
    """Check that every option belongs to a workload of the run; a profile's may belong to one left out."""
    known = tuple(dict.fromkeys(option for loaded in workloads.values() for option in loaded.options))
    asked = [("--set options", name) for name in (selection.set or {}).get("options", ())]
    if selection.workloads is None:
        asked += [(f"profile {selection.profile}: options", name) for name in profile.options]
    for where, name in asked:
        if name not in known:
            raise InputError(f"{where}: no workload of the run has {name!r}{toml.hint(name, known)}")
