"""Combines a profile and a selection to the profile that a run measures. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.inputs.scaled import Capacity, scaled
from shootout.model.plan import DatasetSize, Load, Profile, Sampling
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
        policy=selection.policy,
        dataset=_dataset(profile.dataset, selection),
        load=_load(profile.load, selection),
        sampling=_sampling(profile.sampling, selection),
        container=_changed(
            profile.container, network=selection.container_network, memory=selection.container_memory
        ),
        options=None if selection.option is None else profile.options | selection.option,
        distribution=selection.rand_type,
        scales={},
    )


def _changed(value: V, **changes: Any) -> V:
    """The value with every change that is not None."""
    return replace(value, **{name: each for name, each in changes.items() if each is not None})


def _dataset(scale: DatasetSize, selection: Selection) -> DatasetSize:
    return _changed(
        scale,
        tables=selection.tables,
        rows=selection.table_size,
        warehouses=selection.warehouses,
        engine=selection.engine,
    )


def _sampling(sampling: Sampling, selection: Selection) -> Sampling:
    if selection.budget == 0:
        raise InputError("--budget 0: expected a number above 0")
    budget_s = None if selection.budget is None else 60 * selection.budget
    return _changed(sampling, budget_s=budget_s, isolation=selection.isolation)


def _load(load: Load, selection: Selection) -> Load:
    think, think_s = selection.think or (None, None)
    load = _changed(
        load,
        protocol=selection.protocol,
        arrivals=selection.arrivals,
        think=think,
        think_s=think_s,
        reconnect=selection.reconnect or None,
    )
    if selection.rate is not None:
        load = replace(load, rate=selection.rate or None)
    if selection.arrivals is not None and load.rate is None:
        raise InputError(f"--arrivals {selection.arrivals}: works only with --rate")
    if load.rate is not None and load.think_s:
        raise InputError(
            f"load.rate and load.think_s exclude each other, found {load.rate:g} and {load.think_s:g}; "
            "--rate 0 or --think 0 turns one of them off"
        )
    return load
