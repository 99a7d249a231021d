"""What the user asked for, checked and complete: all that is decided before anything runs."""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, get_args

import msgspec

from shootout.errors import InputError
from shootout.inputs import matrix, options, published, scaled, toml, workload
from shootout.model.plan import (
    Block,
    Cell,
    Container,
    Dataset,
    Isolation,
    Load,
    Planned,
    Profile,
    Scale,
    ServerReference,
)
from shootout.model.program import Program
from shootout.model.run import WorkloadRecord
from shootout.model.value import RATE_MAX, THINK_MAX_S
from shootout.model.workload import Workload
from shootout.servers import cache, reference
from shootout.settings import profiles

BUDGET_MAX_MIN = 10_080.0  # a week
AA_CONTROL_SLICES = 11  # of the run's servers, for each of an A/A cell
PORTS = range(1024, 65_536)

_SEEDS = range(2**32)
_COUNTS = range(1, 2_000_000_001)  # model.Scale


def _option(metavar: str, help: str, *, default: str | None = None, shown: bool = True) -> Any:
    metadata = {"metavar": metavar, "help": help, "default": default}
    return field(default=default, metadata=metadata, repr=shown)


def _switch(help: str) -> Any:
    return field(default=False, metadata={"action": "store_true", "help": help})


@dataclass(frozen=True)
class Selection:
    """The options as given, each with how it is shown; None is the profile's own."""

    profile: str = _option("NAME", "a profile's name, or a .toml file (default: quick)", default="quick")
    scale: str | None = _option("NAME", "a smaller scale of the profile, such as small")
    servers: str | None = _option("A,B,…", "server references, the base first", shown=False)  # passwords
    workloads: str | None = _option("W,…", "workloads by name, or .toml files")
    threads: str | None = _option("N,…", "thread counts")
    tables: str | None = _option("N", "sbtest tables")
    table_size: str | None = _option("N", "rows in each of them")
    warehouses: str | None = _option("N", "TPC-C's scale")
    engine: str | None = _option("NAME", "the tables' storage engine")
    option: str | None = _option("NAME=N,…", "options of the workloads")
    rand_type: str | None = _option("NAME[:PARAM=N,…]", "how rows are hit: uniform, special, zipfian, …")
    protocol: str | None = _option("NAME", "text, or prepared")
    rate: str | None = _option(
        "TPS", "transactions begun on each server in a second (default, 0: as many as it takes)"
    )
    arrivals: str | None = _option("NAME", "of that rate: poisson, or uniform")
    think: str | None = _option("S", "seconds between a connection's transactions, fixed or exponential:S")
    reconnect: bool = _switch("open lost connections again, and count them, instead of failing the cell")
    policy: str | None = _option("FILE", "the bar that verdicts are held against, a .toml file")
    budget: str | None = _option("MIN", "minutes for all starts together")
    isolation: str | None = _option("NAME", "what servers do while it is another's turn: share, pause, …")
    seed: str | None = _option("N", "of everything random (default: a new one)")
    port: str | None = _option("N", "the first server's TCP port, the next ones follow (default: free ones)")
    data: str | None = _option("DIR", "where the servers' data lies meanwhile (default: in the cache folder)")
    container_network: str | None = _option("NAME", "of servers from images: host, or bridge")
    container_memory: str | None = _option("SIZE", "that each of them may take, such as 8G")
    shard: str | None = _option("I/N", "only the Ith of N parts of the blocks; `shootout merge` joins them")
    resume: bool = _switch("go on with the newest run of --out if it was cut short")

    @classmethod
    def of(cls, parsed: argparse.Namespace) -> Self:
        """What argparse, or pytest, has read."""
        return cls(**{option.name: getattr(parsed, option.name) for option in OPTIONS})

    @property
    def given(self) -> dict[str, str]:
        """What was asked for, by option, as it was written; a switch has no text."""
        values = {option.flag: getattr(self, option.name) for option in OPTIONS}
        return {flag: "" if value is True else value for flag, value in values.items() if value}


@dataclass(frozen=True)
class Option:
    """A command-line option; `shown` is what argparse and pytest want to know of it."""

    name: str  # Selection's
    shown: Mapping[str, Any]

    @property
    def flag(self) -> str:
        """As users write it."""
        return f"--{self.name.replace('_', '-')}"


OPTIONS = tuple(Option(each.name, each.metadata) for each in fields(Selection))


@dataclass(frozen=True)
class Plan:
    """A run to be."""

    profile_name: str  # or file, as given
    profile: Profile
    given: Mapping[str, str]  # Selection.given
    servers: Mapping[str, ServerReference]  # by label, the base first
    cells: tuple[Cell, ...]
    workloads: Mapping[str, Workload]  # by name, these four
    written: Mapping[str, str]  # as given: that name, or a file
    datasets: Mapping[str, Dataset]
    programs: Mapping[str, Program]
    seed: int
    port: int | None  # of the first server, the next ones follow; None: any free ones
    data: Path | None  # where the servers' data lies meanwhile; None: in the cache folder
    cache_bytes: int  # what the cache may take of the disk
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)  # by label, of running servers
    planned: Planned | None = None  # of a shard: the blocks of all shards
    resume: bool = False  # go on with a run that was cut short
    absent: frozenset[str] = frozenset()  # labels of those that are not here: nothing is measured of them

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The cells' blocks."""
        return matrix.blocks(self.cells)

    @property
    def aa_controls(self) -> frozenset[str]:
        """The keys of the blocks that get an A/A cell, drawn by the seed: at most a tenth of the time.

        So of slices it is less: their instance has to be started, too.
        They are drawn among the blocks of all shards: a shard may have fewer than it has one for.
        """
        blocks = self._whole
        slices = sum(len(set(block.servers) - self.absent) for block in blocks)
        generator = random.Random(f"{self.seed}/twins")
        return frozenset(
            block.key for block in generator.sample(blocks, min(slices // AA_CONTROL_SLICES, len(blocks)))
        )

    @property
    def loaded(self) -> tuple[Dataset, ...]:
        """The datasets that each server holds: those of the cells' workloads."""
        return tuple(dict.fromkeys(self.datasets[cell.workload] for cell in self.cells))

    @property
    def records(self) -> tuple[WorkloadRecord, ...]:
        """The workloads as they are sent; of a shard, those of all shards."""
        return tuple(
            WorkloadRecord(
                name=name,
                written=self.written[name],
                protocol="prepared" if self.programs[name].prepared else "text",
                options=self.workloads[name].options,
                distribution=self.workloads[name].distribution,
            )
            for name in self._names
        )

    @property
    def digests(self) -> dict[str, str]:
        """Those of the same workloads with all their statements, by name."""
        written = {name: msgspec.json.encode(self.workloads[name]) for name in self._names}
        return {name: hashlib.sha256(each).hexdigest()[:16] for name, each in written.items()}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(block.workload for block in self._whole))

    @property
    def _whole(self) -> tuple[Block, ...]:
        """The blocks of all shards."""
        return self.blocks if self.planned is None else self.planned.blocks

    def only(self, cells: Collection[Cell]) -> Plan:
        """The same run of those cells alone, and of the servers they need.

        Raises InputError where none of these is here.
        """
        needed = {cell.server for cell in cells}
        if needed and needed <= self.absent:
            raise InputError(f"not available here: {', '.join(sorted(needed))}; there is nothing to measure")
        return replace(
            self,
            cells=tuple(cell for cell in self.cells if cell in cells),
            servers={label: server for label, server in self.servers.items() if label in needed},
        )


def make(selection: Selection) -> Plan:
    """Check the selection against all that it names. Raises InputError; touches no server."""
    profile = matrix.load_profile(selection.profile)
    if selection.scale is not None:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        profile = scaled.scaled(profile, selection.scale, len(os.sched_getaffinity(0)), memory_bytes)
    profile = _selected(profile, selection)
    if not profile.servers:
        raise InputError(f"profile {selection.profile} names no servers; expected --servers A,B,…")
    written_servers, absent = _present(profile)
    if len(absent) == len(written_servers):
        raise InputError(
            f"profile {selection.profile}: none of its servers is here; expected --servers A,B,…"
        )
    references = tuple(absent.get(text) or reference.parse(text) for text in written_servers)
    profile = msgspec.structs.replace(
        profile,
        servers=tuple(map(reference.without_password, written_servers)),
        stand_ins={slot: reference.without_password(text) for slot, text in profile.stand_ins.items()},
        scales={},  # the one that was asked for is in the profile by now
    )
    if profile.sampling.stops_idle:
        for each in references:
            if each.source == "dsn":
                raise InputError(
                    f"isolation {profile.sampling.isolation}: {each.text} is not ours to stop; "
                    "expected auto or share"
                )
    if profile.published is not None:
        published.load(profile.published)
    for name in {each.settings or profile.settings for each in references}:
        profiles.load(name)
    loaded: dict[str, Workload] = {}
    files: dict[str, str] = {}
    for written in profile.workloads:
        name = workload.name_of(written)
        if name in loaded:
            raise InputError(f"workloads: {name} is there twice")
        loaded[name], files[name] = workload.load(written), written
    _check_options(selection, profile, loaded)
    workloads = {
        name: workload.adjusted(each, profile.options, profile.distribution) for name, each in loaded.items()
    }
    datasets = {name: profile.dataset.of(each.dataset) for name, each in workloads.items()}
    profile = msgspec.structs.replace(profile, workloads=tuple(workloads))
    labels = reference.labels(references)
    ports = PORTS[: len(PORTS) - len(labels) + 1]  # of the first server: the last one needs one, too
    cells = matrix.cells(profile, datasets, labels)
    planned = None
    if selection.shard is not None:
        keys = {name: dataset.key for name, dataset in datasets.items()}
        planned = Planned(workloads=keys, threads=profile.threads, servers=labels)
        cells = _cells_of_shard(selection.shard, planned.blocks)
    return Plan(
        profile_name=selection.profile,
        profile=profile,
        given=_shown(selection.given, profile.servers),
        servers=dict(zip(labels, references, strict=True)),
        cells=cells,
        workloads=workloads,
        written=files,
        datasets=datasets,
        programs={
            name: workload.compile(name, each, datasets[name], profile.load)
            for name, each in workloads.items()
        },
        seed=secrets.randbits(32)
        if selection.seed is None
        else options.whole("--seed", selection.seed, _SEEDS),
        port=None if selection.port is None else options.whole("--port", selection.port, ports),
        data=None if selection.data is None else options.directory("--data", selection.data),
        cache_bytes=cache.limit_bytes(os.environ),
        passwords={
            label: password
            for label, text in zip(labels, written_servers, strict=True)
            if (password := reference.password(text, os.environ)) is not None
        },
        planned=planned,
        resume=selection.resume,
        absent=frozenset(
            label for label, text in zip(labels, written_servers, strict=True) if text in absent
        ),
    )


def _cells_of_shard(text: str, planned: Sequence[Block]) -> tuple[Cell, ...]:
    number, count = options.shard("--shard", text)
    if count > len(planned):
        blocks = len(planned)
        raise InputError(f"--shard {text!r}: expected at most {blocks} shards, as many as there are blocks")
    return tuple(cell for block in matrix.shard(planned, number, count) for cell in block.cells)


def _present(profile: Profile) -> tuple[tuple[str, ...], dict[str, ServerReference]]:
    """The profile's servers, with what stands in for those that are not here; and those that nothing does."""
    servers: list[str] = []
    absent: dict[str, ServerReference] = {}
    for server in profile.servers:
        stand_in = profile.stand_ins.get(server)
        missing = None if stand_in is None else reference.missing(server)
        if missing is None or not stand_in:
            servers.append(server)
            absent |= {} if missing is None else {server: missing}
        elif stand_in not in (*profile.servers, *servers):
            servers.append(stand_in)
    return tuple(servers), absent


# --- what wins over the profile -------------------------------------------------------------------


def _shown(given: Mapping[str, str], servers: Sequence[str]) -> dict[str, str]:
    """What was given, with `servers` as they may be shown; that it goes on is no part of a run."""
    return {
        flag: ",".join(servers) if flag == "--servers" else text
        for flag, text in given.items()
        if flag != "--resume"
    }


def _selected(profile: Profile, given: Selection) -> Profile:
    """The profile with what was given in its place."""
    changes: dict[str, Any] = {
        "dataset": _scale(profile.dataset, given),
        "load": _load(profile.load, given),
        "container": _container(profile.container, given),
    }
    if given.servers is not None:
        changes["servers"] = options.items("--servers", given.servers)
    if given.workloads is not None:
        changes["workloads"] = options.items("--workloads", given.workloads)
    if given.threads is not None:
        changes["threads"] = matrix.parse_threads(given.threads)
    if given.policy is not None:
        changes["policy"] = matrix.load_policy(given.policy)
    if given.budget is not None:
        minutes = options.decimal("--budget", given.budget, BUDGET_MAX_MIN)
        if not minutes:
            raise InputError("--budget 0: expected more than no time")
        changes["sampling"] = msgspec.structs.replace(profile.sampling, budget_s=60 * minutes)
    if given.isolation is not None:
        isolation = options.word("--isolation", given.isolation, get_args(Isolation))
        sampling = changes.get("sampling", profile.sampling)
        changes["sampling"] = msgspec.structs.replace(sampling, isolation=isolation)
    if given.option is not None:
        changes["options"] = profile.options | options.numbers("--option", given.option)
    if given.rand_type is not None:
        changes["distribution"] = options.distribution("--rand-type", given.rand_type)
    return msgspec.structs.replace(profile, **changes)


def _scale(scale: Scale, given: Selection) -> Scale:
    changes: dict[str, Any] = {}
    for name, flag, text in (
        ("tables", "--tables", given.tables),
        ("rows", "--table-size", given.table_size),
        ("warehouses", "--warehouses", given.warehouses),
    ):
        if text is not None:
            changes[name] = options.whole(flag, text, _COUNTS)
    if given.engine is not None:
        changes["engine"] = options.name("--engine", given.engine)
    return msgspec.structs.replace(scale, **changes)


def _load(load: Load, given: Selection) -> Load:
    changes: dict[str, Any] = {"reconnect": given.reconnect or load.reconnect}
    if given.protocol is not None:
        changes["protocol"] = options.word("--protocol", given.protocol, ("text", "prepared"))
    if given.rate is not None:
        changes["rate"] = options.decimal("--rate", given.rate, RATE_MAX) or None
    if given.arrivals is not None:
        changes["arrivals"] = options.word("--arrivals", given.arrivals, ("poisson", "uniform"))
    if given.think is not None:
        changes["think"], changes["think_s"] = options.think("--think", given.think, THINK_MAX_S)
    load = msgspec.structs.replace(load, **changes)
    if given.arrivals is not None and load.rate is None:
        raise InputError(f"--arrivals {given.arrivals}: has a meaning with --rate only")
    if load.rate is not None and load.think_s:
        raise InputError(
            f"load.rate and load.think_s exclude each other, found {load.rate:g} and {load.think_s:g}; "
            "--rate 0 or --think 0 ends one of them"
        )
    return load


def _container(container: Container, given: Selection) -> Container:
    changes: dict[str, Any] = {}
    if given.container_network is not None:
        changes["network"] = options.word("--container-network", given.container_network, ("host", "bridge"))
    if given.container_memory is not None:
        changes["memory"] = options.size("--container-memory", given.container_memory)
    return msgspec.structs.replace(container, **changes)


def _check_options(given: Selection, profile: Profile, workloads: Mapping[str, Workload]) -> None:
    """Each option must be one of a workload of the run; but a profile's may be of those left out."""
    known = tuple(dict.fromkeys(option for each in workloads.values() for option in each.options))
    asked = [
        ("--option", name)
        for name in ({} if given.option is None else options.numbers("--option", given.option))
    ]
    if given.workloads is None:
        asked += [(f"profile {given.profile}: options", name) for name in profile.options]
    for where, name in asked:
        if name not in known:
            raise InputError(f"{where}: no workload of the run has {name!r}{toml.hint(name, known)}")
