"""Profiles, and the cells and blocks that they define."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shootout import renamed
from shootout.errors import InputError
from shootout.inputs import texts, toml
from shootout.model.plan import Block, Cell, Profile, ProfileFile, Scale
from shootout.paths import FIXTURES

FOLDER = FIXTURES / "profiles"


def load_profile(name_or_file: str, changes: Mapping[str, Any] | None = None) -> ProfileFile:
    """Read the profile of that name, or in that file, with some keys changed. Raises InputError."""
    renamed.refuse("profile", name_or_file)
    path = toml.find(name_or_file, FOLDER, "profile")
    profile = toml.load(path, ProfileFile)
    _check(path, profile)
    servers = (*profile.servers, *(server for scale in profile.scales.values() for server in scale.servers))
    if unknown := [slot for slot in profile.stand_ins if slot not in servers]:
        hint = toml.hint(unknown[0], servers)
        raise InputError(f"{path}: stand_ins: {unknown[0]!r} is not one of its servers{hint}")
    return changed(profile, changes) if changes else profile


def changed(profile: ProfileFile, changes: Mapping[str, Any]) -> ProfileFile:
    """Change some keys of the profile, which are checked as those of a file are. Raises InputError."""
    try:
        result: ProfileFile = toml.value(texts.merged(msgspec.to_builtins(profile), changes), ProfileFile)
    except InputError as error:
        raise InputError(f"--set: {error}") from None
    _check("--set", result)
    return result


def _check(where: Path | str, profile: ProfileFile) -> None:
    parts: dict[str, Profile | Scale] = {"": profile}
    parts |= {f"scales.{name}.": scale for name, scale in profile.scales.items()}
    for place, part in parts.items():
        for field in ("workloads", "threads"):
            values = getattr(part, field)
            if not values and part is profile:
                raise InputError(f"{where}: {field}: expected at least one, found none")
            if twice := [value for value in values if values.count(value) > 1]:
                raise InputError(f"{where}: {place}{field}: {twice[0]!r} appears twice")
        sampling = part.sampling
        if sampling is not None and sampling.starts_max < sampling.starts_min:
            expected = f"expected {sampling.starts_min} (starts_min) or more, found {sampling.starts_max}"
            raise InputError(f"{where}: {place}sampling.starts_max: {expected}")
    if profile.scale is not None and profile.scale not in profile.scales:
        unknown = f"{profile.scale!r}{toml.hint(profile.scale, profile.scales)}"
        raise InputError(f"{where}: scale: unknown {unknown}")


def reader_base(name_or_file: str) -> str | None:
    """The server that a profile's readers compare with; None without one, or if it cannot be read."""
    try:
        path = toml.find(name_or_file, FOLDER, "profile")
        return toml.load(path, ProfileFile).reader_base if path.is_file() else None
    except (InputError, OSError, ValueError):
        return None


def shipped() -> dict[str, str]:
    """Read the descriptions of the profiles that come with shootout, by name."""
    return {path.stem: toml.load(path, ProfileFile).description for path in sorted(FOLDER.glob("*.toml"))}


def blocks(cells: Iterable[Cell]) -> tuple[Block, ...]:
    """Group cells into blocks, in the order of their first cells; servers in the order of a block's cells."""
    servers: dict[tuple[str, str, int], list[str]] = {}
    for cell in cells:
        servers.setdefault((cell.workload, cell.dataset, cell.threads), []).append(cell.server)
    return tuple(
        Block(workload=workload, dataset=dataset, threads=threads, servers=tuple(labels))
        for (workload, dataset, threads), labels in servers.items()
    )


def shard(blocks: Sequence[Block], number: int, count: int) -> tuple[Block, ...]:
    """Select shard `number` of `count`, from 1: neighbours, so that a workload stays on few runners."""
    return tuple(blocks[(number - 1) * len(blocks) // count : number * len(blocks) // count])
