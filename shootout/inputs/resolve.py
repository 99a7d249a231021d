"""Applies the user's options to a profile. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UnsetType
from msgspec.structs import replace

from shootout.errors import InputError
from shootout.inputs.options import BuildOptions, DatasetOptions, LoadOptions, SamplingOptions, Selection
from shootout.inputs.scaled import Capacity, scaled
from shootout.model.plan import Build, DatasetSize, Load, Profile, Sampling
from shootout.model.value import Value

V = TypeVar("V", bound=Value)


def resolve(profile: Profile, selection: Selection, capacity: Capacity) -> Profile:
    """Apply the scale, then the options, to the profile; the result has no scales left.

    Raises InputError for a scale that the profile lacks, and for options that exclude each other.
    """
    if selection.scale is not None:
        profile = scaled(profile, selection.scale, capacity)
    return _changed(
        profile,
        servers=selection.servers,
        workloads=selection.workloads,
        threads=selection.threads,
        policy=selection.sampling.policy,
        dataset=_dataset(profile.dataset, selection.dataset),
        load=_load(profile.load, selection.load),
        sampling=_sampling(profile.sampling, selection.sampling),
        container=_changed(
            profile.container,
            network=selection.place.container_network,
            memory=selection.place.container_memory,
        ),
        build=_build(profile.build, selection.building),
        options=None if selection.load.option is None else profile.options | selection.load.option,
        distribution=selection.load.rand_type,
        scales={},
    )


def _changed(value: V, **changes: Any) -> V:
    """The value with every change that is not None."""
    return replace(value, **{name: change for name, change in changes.items() if change is not None})


def _dataset(size: DatasetSize, options: DatasetOptions) -> DatasetSize:
    return _changed(
        size,
        tables=options.tables,
        rows=options.table_size,
        warehouses=options.warehouses,
        seed=options.rows_seed,
        engine=options.engine,
    )


def _sampling(sampling: Sampling, options: SamplingOptions) -> Sampling:
    if options.budget == 0:
        raise InputError("--budget 0: expected a number above 0")
    budget_s = None if options.budget is None else 60 * options.budget
    return _changed(sampling, budget_s=budget_s, isolation=options.isolation)


def _build(build: Build | UnsetType, options: BuildOptions) -> Build | UnsetType | None:
    """None: as in the profile."""
    if isinstance(build, Build):
        return _changed(build, command=options.build, tree=options.tree)
    if options.build is None:
        if options.tree is not None:
            raise InputError(f"--tree {options.tree}: works only with --build")
        return None
    return _changed(Build(command=options.build), tree=options.tree)


def _load(load: Load, options: LoadOptions) -> Load:
    think, think_s = options.think or (None, None)
    load = _changed(
        load,
        protocol=options.protocol,
        arrivals=options.arrivals,
        think=think,
        think_s=think_s,
        reconnect=options.reconnect or None,
    )
    if options.rate is not None:
        load = replace(load, rate=options.rate or None)
    if options.arrivals is not None and load.rate is None:
        raise InputError(f"--arrivals {options.arrivals}: works only with --rate")
    if load.rate is not None and load.think_s:
        raise InputError(
            f"load.rate and load.think_s exclude each other, found {load.rate:g} and {load.think_s:g}; "
            "--rate 0 or --think 0 turns one of them off"
        )
    return load
