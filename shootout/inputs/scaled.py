"""Scales a profile down: fewer rows, less time, fewer threads."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from shootout.errors import InputError
from shootout.model.plan import SBTEST_ROW_BYTES, Profile, Scale

P = TypeVar("P", bound=Profile)


class Capacity(NamedTuple):
    """A machine's resources: the CPUs that this process may use, and the memory."""

    cpus: int
    memory_bytes: int


def scaled(profile: P, name: str, capacity: Capacity) -> P:
    """Scale the profile by its scale `name` on a machine of this capacity.

    Its scales stay. Raises InputError for a scale that leaves no thread count.
    """
    scale = profile.scales[name]
    changes: dict[str, Any] = {
        field: value
        for field in ("servers", "workloads", "settings", "sampling")
        if (value := getattr(scale, field))
    }
    servers = scale.servers or profile.servers
    changes["threads"] = _threads(scale, scale.threads or profile.threads, name, capacity.cpus)
    changes["dataset"] = structs.replace(
        profile.dataset, rows=_rows(scale, profile, max(1, len(servers)), capacity.memory_bytes)
    )
    return structs.replace(profile, **changes)


def _threads(scale: Scale, threads: tuple[int, ...], name: str, cpus: int) -> tuple[int, ...]:
    maximum = None if scale.threads_per_cpu is None else scale.threads_per_cpu * cpus
    fitting = tuple(count for count in threads if maximum is None or count <= maximum)
    if not fitting:
        raise InputError(f"scale {name}: every thread count exceeds {maximum} (threads_per_cpu)")
    return fitting


def _rows(scale: Scale, profile: Profile, servers: int, memory_bytes: int) -> int:
    """Rows per table: at most the scale's, and as many as fit its share of memory, rounded down."""
    rows = profile.dataset.rows if scale.rows is None else min(profile.dataset.rows, scale.rows)
    if scale.memory_share is None:
        return rows
    row_bytes = servers * profile.dataset.tables * SBTEST_ROW_BYTES
    fitting = int(scale.memory_share * memory_bytes) // row_bytes
    return rows if rows <= fitting else max(1, _round_down(fitting))


def _round_down(number: int) -> int:
    """Keep two digits, so that slightly more or less memory yields the same tables."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return number // step * step
