"""Whether a machine has the memory that a user's options ask for."""

from __future__ import annotations

from shootout.errors import InputError
from shootout.runner.host import Host
from shootout.settings.profiles import SettingsProfile
from shootout.settings.setting import normalise, variable

# Buffers that a server allocates when it starts.
_BUFFERS = (
    *("innodb_buffer_pool_size", "key_buffer_size", "aria_pagecache_buffer_size", "query_cache_size"),
    *("rocksdb_block_cache_size", "tokudb_cache_size"),
)
_SHARE = 4  # of the memory in buffers, where they are scaled: two servers run side by side
_MIB = 1 << 20


def require_memory(settings: str, profile: SettingsProfile, memory_bytes: int | None = None) -> None:
    """Raise InputError for buffers larger than the machine's memory: such a server does not start."""
    memory = Host().usable_bytes if memory_bytes is None else memory_bytes
    for options in (profile.options, *profile.versions.values()):
        sizes = {
            name: int(size)
            for option, value in options.items()
            if (name := variable(option)) in _BUFFERS and (size := normalise(value)).isdecimal()
        }
        if (needed := sum(sizes.values())) > memory:
            asked = ", ".join(f"{name} {_figure(size)}" for name, size in sizes.items())
            scaled = (
                f"{name}={max(1, size * memory // needed // _SHARE // _MIB)}M" for name, size in sizes.items()
            )
            raise InputError(
                f"{settings}: {asked}: more than this machine's memory, {_figure(memory)}\n"
                f"To measure with smaller ones: {'+'.join((settings, *scaled))}"
            )


def _figure(size: int) -> str:
    return f"{size / 2**30:.4g} GiB"
