"""Repositories whose commits build a server that works a little longer for each command it receives.

The build compiles a library, which is preloaded into a server of the catalogue.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from shootout.servers import installations, reference
from shootout.servers.native import Tree

BUILD, TREE = "make", "out"
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include "pairs.h"

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    static ssize_t (*real)(int, void *, size_t, int);
    if (!real)
        real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    ssize_t got = real(socket, buffer, length, flags);
    long left = PAIRS;
    if (got > 0 && left > 0)
        __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(left) : : "cc"); /* two instructions each time */
    return got;
}
"""
_MAKEFILE = """all:
\tmkdir -p out/bin out/lib
\t$(CC) -O2 -shared -fPIC -o out/lib/extra.so extra.c -ldl
\tcp mysqld out/bin/
\tln -sfn {share} out/share
"""
_SERVER = """#!/bin/sh
{variables}
export LD_PRELOAD="$(dirname "$0")/../lib/extra.so"
exec {program} "$@"
"""


def repository(
    folder: Path, pairs: Sequence[int | None], server: str = "mysql-5.7.22", *, differing: bool = False
) -> list[str]:
    """A repository with a commit for each number of pairs of instructions; None: it does not compile.

    `differing`: the files of all builds differ, though they do the same. Returns the commits, the oldest
    first.
    """
    program = installations.find(reference.parse(server))
    assert isinstance(program, Tree)
    folder.mkdir(parents=True)
    variables = "\n".join(f"export {name}='{text}'" for name, text in program.launch.variables.items())
    before = " ".join((*program.launch.before, program.name))
    (folder / "mysqld").write_text(_SERVER.format(variables=variables, program=before), "utf-8")
    (folder / "mysqld").chmod(0o755)
    (folder / "extra.c").write_text(_SOURCE, "utf-8")
    (folder / "Makefile").write_text(_MAKEFILE.format(share=program.files.share), "utf-8")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    commits = []
    for number, each in enumerate(pairs):
        line = "#error not finished" if each is None else f"#define PAIRS {each}"
        text = f'const char change[] = "{number if differing else ""}";\n{line}\n'
        (folder / "pairs.h").write_text(text, "utf-8")
        (folder / "notes").write_text(f"change {number}\n", "utf-8")
        _git(folder, "add", ".")
        _git(folder, "commit", "--quiet", "--message", f"change {number}")
        commits.append(_git(folder, "rev-parse", "HEAD").strip())
    return commits


def _git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in _WHO.items()}
    return subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=os.environ | who, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


_WHO = {"NAME": "Some Engineer", "EMAIL": "engineer@example.org"}
