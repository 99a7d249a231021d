"""Applies the user's options to a profile, which may be scaled down: fewer rows, less time, fewer threads."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from shootout.errors import InputError
from shootout.inputs import matrix, texts
from shootout.inputs.options import Selection
from shootout.model.plan import SBTEST_ROW_BYTES, Profile, ProfileFile, Scale

P = TypeVar("P", bound=Profile)


class Capacity(NamedTuple):
    """A machine's resources: the CPUs that this process may use, and the memory."""

    cpus: int
    memory_bytes: int


def resolve(selection: Selection, capacity: Capacity) -> ProfileFile:
    """Read the profile that options name, at its scale; other options win over both. Raises InputError."""
    if selection.budget == 0:
        raise InputError("--budget 0: expected a number above 0")
    tables: dict[str, Any] = {}
    if selection.budget is not None:
        tables["sampling"] = {"budget_s": 60 * selection.budget}
    if selection.build is not None:
        tables["build"] = {"command": selection.build}
    changes = texts.merged(tables, selection.set or {})
    profile = matrix.load_profile(selection.profile, changes)
    if profile.scale is not None:
        profile = scaled(profile, profile.scale, capacity)
    if selection.policy is not None:
        profile = replace(profile, policy=selection.policy)
    profile = matrix.changed(profile, changes)  # again, above both
    load, asked = profile.load, (selection.set or {}).get("load", {})
    if "arrivals" in asked and load.rate is None:
        raise InputError("--set load.arrivals: works only with load.rate")
    if load.rate is not None and load.think_s:
        raise InputError(
            f"load.rate and load.think_s exclude each other, found {load.rate:g} and {load.think_s:g}"
        )
    lists = {name: getattr(selection, name) for name in ("servers", "workloads", "threads")}
    return replace(profile, **{name: value for name, value in lists.items() if value is not None})


def scaled(profile: P, name: str, capacity: Capacity) -> P:
    """Scale the profile by its scale `name` on a machine of this capacity. Raises InputError."""
    scale = profile.scales[name]
    replaced = ("servers", "workloads", "threads", "settings", "sampling")
    profile = replace(profile, **{field: value for field in replaced if (value := getattr(scale, field))})
    most = None if scale.threads_per_cpu is None else scale.threads_per_cpu * capacity.cpus
    threads = tuple(count for count in profile.threads if most is None or count <= most)
    if not threads:
        raise InputError(f"scale {name}: every thread count exceeds {most} (threads_per_cpu)")
    rows = _rows(scale, profile, capacity.memory_bytes)
    return replace(profile, threads=threads, dataset=replace(profile.dataset, rows=rows))


def _rows(scale: Scale, profile: Profile, memory_bytes: int) -> int:
    """Rows per table: at most the scale's, and as many as fit its share of memory, rounded down."""
    rows = profile.dataset.rows if scale.rows is None else min(profile.dataset.rows, scale.rows)
    if scale.memory_share is None:
        return rows
    row_bytes = max(1, len(profile.servers)) * profile.dataset.tables * SBTEST_ROW_BYTES
    fitting = int(scale.memory_share * memory_bytes) // row_bytes
    # Two digits stay, so that slightly more or less memory yields the same tables.
    step = int(10 ** max(0, len(str(fitting)) - 2))
    return rows if rows <= fitting else max(1, fitting // step * step)
