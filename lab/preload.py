"""A library that lets a server work longer for each command it receives: a change of known size."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from shootout.servers.sources import installations, reference
from shootout.servers.sources.trees import Tree

LIBRARY = "extra.so"

SIZE = "SHOOTOUT_EXTRA"  # names the file that says how much, unless that is compiled in
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#ifdef PAIRS
static volatile long own = PAIRS, *pairs = &own;
#else
static volatile long *pairs;
#endif
static ssize_t (*real)(int, void *, size_t, int);
static __thread ssize_t rest; /* of the command, whose header and body come apart or at once */

__attribute__((constructor)) static void begin(void) {
    real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
#ifndef PAIRS
    int file = open(getenv("SHOOTOUT_EXTRA"), O_RDONLY);
    pairs = mmap(0, sizeof *pairs, PROT_READ, MAP_SHARED, file, 0);
#endif
}

long ticks(void) { return __builtin_ia32_rdtsc(); }

__attribute__((noinline)) void extra_work(long left) {
    __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(left) : : "cc"); /* two instructions each time */
}

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    ssize_t got = real(socket, buffer, length, flags);
    if (got <= 0)
        return got;
    if (rest <= 0 && got >= 4) {
        unsigned char *header = buffer;
        rest = 4 + header[0] + (header[1] << 8) + (header[2] << 16);
        if (*pairs > 0)
            extra_work(*pairs);
    }
    rest -= got;
    return got;
}
"""
COMPILE = ("-O2", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-o")
_PROGRAM = """#!/bin/sh
{variables}
export LD_PRELOAD="$(dirname "$0")/../lib/{library}"
exec {program} "$@"
"""


def program(server: str, variables: Mapping[str, str] | None = None) -> tuple[str, Path]:
    """A `bin/mysqld` that starts a catalogue's server with `../lib/extra.so`, and the server's `share`."""
    found = installations.find(reference.parse(server))
    assert isinstance(found, Tree)
    exported = (
        f"export {name}='{text}'" for name, text in {**found.launch.variables, **(variables or {})}.items()
    )
    whole = " ".join((*found.launch.before, found.name))
    return _PROGRAM.format(variables="\n".join(exported), program=whole, library=LIBRARY), found.files.share


def tree(folder: Path, server: str) -> Size:
    """Make a server for `path:FOLDER`; returns how much longer it works, which is nothing at first."""
    size = Size(folder.absolute() / "size")
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    source = folder / "lib" / "extra.c"
    source.write_text(SOURCE, "utf-8")
    subprocess.run(["cc", *COMPILE, source.with_name(LIBRARY), source, "-ldl"], check=True)
    size.write(0)
    text, share = program(server, {SIZE: str(size.file)})
    (folder / "bin" / "mysqld").write_text(text, "utf-8")
    (folder / "bin" / "mysqld").chmod(0o755)
    (folder / "share").symlink_to(share)
    return size


class Size(NamedTuple):
    """The file with the pairs of instructions for each command."""

    file: Path

    def write(self, pairs: int) -> None:
        """Set the pairs, in running servers, too."""
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(pairs.to_bytes(8, "little"))


def pairs(seconds: float, server: Path) -> int:
    """The pairs of instructions that take about so long in the server of `tree`.

    Each takes one tick of the clock, or a half more where another program has the rest of the core.
    """
    return round(seconds * _ticks_per_s(server / "lib" / LIBRARY))


def _ticks_per_s(library: Path) -> float:
    clock = ctypes.CDLL(str(library)).ticks
    clock.restype = ctypes.c_long
    began, began_s = clock(), time.monotonic()
    time.sleep(0.2)
    return float((clock() - began) / (time.monotonic() - began_s))
