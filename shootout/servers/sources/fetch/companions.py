"""Shared libraries that servers need and small systems lack, from packages of the system's distribution.

Only Debian and Ubuntu have them in a form that apt can verify and that needs no root to unpack.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from shootout.errors import InputError
from shootout.model.catalogue import Debian
from shootout.servers.sources.fetch import debian, packages
from shootout.servers.sources.fetch.packages import Progress, no_progress

PACKAGES = {
    "libaio.so.1": "libaio1",
    "libcrypt.so.1": "libcrypt1",
    "libjemalloc.so.2": "libjemalloc2",
    "libncurses.so.5": "libncurses5",
    "libnuma.so.1": "libnuma1",
    "libtinfo.so.5": "libtinfo5",
    "liburing.so.2": "liburing2",
}
# The newest release with all of them comes last; a system of another one is newer, and runs its libraries.
SERIES = {"debian": ("bullseye", "bookworm"), "ubuntu": ("jammy",)}
NAME = "libraries"  # begins the name of their folder in the cache
FOLDER = Path("usr/lib/x86_64-linux-gnu")


def lacking(names: Iterable[str]) -> list[str]:
    """List the libraries that this system's loader does not find."""
    missing = []
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            missing.append(name)
    return missing


def require(names: Sequence[str], who: str) -> None:
    """Raises InputError, with a way to install them, if `fetch` cannot bring these libraries."""
    if _source(names) is None:
        raise InputError(f"{who}: {message(names)}")


def fetch(
    names: Sequence[str], cache: Path, held: ExitStack | None = None, report: Progress = no_progress
) -> Path | None:
    """Fetch the folder with these libraries; None if there are none. Raises MeasureError."""
    source = _source(names)
    if source is None:
        return None
    return packages.fetch_source(NAME, source, cache, held, report) / FOLDER


def message(names: Sequence[str]) -> str:
    """Say what is missing, and what brings it."""
    packages = [PACKAGES[name] for name in names if name in PACKAGES]
    hint = f"\nOn Debian: apt-get install {' '.join(packages)}" if packages else ""
    name, _ = debian.system()
    if packages and name in SERIES and (lack := debian.missing(name)):
        hint += f"; they cannot be fetched without {lack.what}"
    return f"missing shared libraries: {', '.join(names)}{hint}"


def _source(names: Sequence[str]) -> Debian | None:
    name, series = debian.system()
    if not names or name not in SERIES or not PACKAGES.keys() >= {*names} or debian.missing(name):
        return None
    releases = SERIES[name]
    return Debian(
        distribution=name,
        series=series if series in releases else releases[-1],
        alone=tuple(sorted(PACKAGES[name] for name in names)),
        keep=(f"{FOLDER}/*.so*",),
    )
