"""Applies the user's options to a profile."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shootout.errors import InputError
from shootout.inputs import matrix, texts
from shootout.inputs.options import Selection
from shootout.inputs.scaled import Capacity, scaled
from shootout.model.plan import ProfileFile


def resolve(selection: Selection, capacity: Capacity) -> ProfileFile:
    """Read the profile that options name, at its scale; the other options win over both.

    Raises InputError for what the profile cannot have, and for options that exclude each other.
    """
    changes = _changes(selection)
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
    lists = {
        "servers": selection.servers,
        "workloads": selection.workloads,
        "threads": selection.threads,
    }
    return replace(profile, **{name: value for name, value in lists.items() if value is not None})


def _changes(selection: Selection) -> dict[str, Any]:
    """List what options change in a profile's tables."""
    if selection.budget == 0:
        raise InputError("--budget 0: expected a number above 0")
    tables: dict[str, Any] = {}
    if selection.budget is not None:
        tables["sampling"] = {"budget_s": 60 * selection.budget}
    if selection.build is not None:
        tables["build"] = {"command": selection.build}
    return texts.merged(tables, selection.set or {})
