"""What the user asked for, checked and complete: all that is decided before anything runs."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from shootout import matrix, settings, workload
from shootout.errors import InputError
from shootout.model import Block, Cell, Dataset, Profile, Program, ServerReference
from shootout.servers import reference

PORTS = range(1024, 65_536)


@dataclass(frozen=True)
class Selection:
    """The options as given; None is the profile's own."""

    profile: str = "quick"
    servers: str | None = None
    workloads: str | None = None
    threads: str | None = None
    seed: str | None = None
    port: str | None = None


@dataclass(frozen=True)
class Plan:
    """A run to be."""

    profile_name: str  # or file, as given
    profile: Profile
    servers: Mapping[str, ServerReference]  # by label, the base first
    cells: tuple[Cell, ...]
    datasets: Mapping[str, Dataset]  # by workload
    programs: Mapping[str, Program]  # by workload
    seed: int
    port: int | None  # of the first server, the next ones follow; None: any free ones

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The cells' blocks."""
        return matrix.blocks(self.cells)

    @property
    def loaded(self) -> tuple[Dataset, ...]:
        """The datasets that each server holds: those of the cells' workloads."""
        return tuple(dict.fromkeys(self.datasets[cell.workload] for cell in self.cells))

    def only(self, cells: Collection[Cell]) -> Plan:
        """The same run of those cells alone, and of the servers they need."""
        needed = {cell.server for cell in cells}
        return replace(
            self,
            cells=tuple(cell for cell in self.cells if cell in cells),
            servers={label: server for label, server in self.servers.items() if label in needed},
        )


def make(selection: Selection) -> Plan:
    """Check the selection against all that it names. Raises InputError; touches no server."""
    profile = matrix.load_profile(selection.profile)
    if selection.servers is not None:
        profile = msgspec.structs.replace(profile, servers=_items("--servers", selection.servers))
    if selection.workloads is not None:
        profile = msgspec.structs.replace(profile, workloads=_items("--workloads", selection.workloads))
    if selection.threads is not None:
        profile = msgspec.structs.replace(profile, threads=matrix.parse_threads(selection.threads))
    if not profile.servers:
        raise InputError(f"profile {selection.profile} names no servers; expected --servers A,B,…")
    references = tuple(reference.parse(text) for text in profile.servers)
    for name in {each.settings or profile.settings for each in references}:
        settings.load(name)
    datasets, programs = {}, {}
    for written in profile.workloads:
        name = Path(written).stem if written.endswith(".toml") else written
        if name in programs:
            raise InputError(f"workloads: {name} is there twice")
        loaded = workload.load(written)
        datasets[name] = profile.dataset.of(loaded.dataset)
        programs[name] = workload.compile(name, loaded, datasets[name])
    profile = msgspec.structs.replace(profile, workloads=tuple(programs))
    labels = reference.labels(references)
    ports = PORTS[: len(PORTS) - len(labels) + 1]  # of the first server: the last one needs one, too
    return Plan(
        profile_name=selection.profile,
        profile=profile,
        servers=dict(zip(labels, references, strict=True)),
        cells=matrix.cells(profile, datasets, labels),
        datasets=datasets,
        programs=programs,
        seed=secrets.randbits(32)
        if selection.seed is None
        else _number("--seed", selection.seed, range(2**32)),
        port=None if selection.port is None else _number("--port", selection.port, ports),
    )


def _items(option: str, text: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(","))
    if not all(items):
        raise InputError(f"{option} {text!r}: expected names separated by commas")
    return items


def _number(option: str, text: str, allowed: range) -> int:
    if not (text.isascii() and text.isdigit() and int(text) in allowed):
        raise InputError(f"{option} {text!r}: expected a number from {allowed[0]} to {allowed[-1]}")
    return int(text)
