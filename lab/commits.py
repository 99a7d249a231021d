"""Repositories whose commits build a server that works a little longer for each command it receives.

The build compiles a library, which is preloaded into a server of the catalogue.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab import preload

BUILD, TREE = "make", "out"
BUILDING = ("--build", BUILD, "--set", f"build.tree={TREE}")
_MAKEFILE = """all:
\tmkdir -p out/bin out/lib
\t$(CC) -include pairs.h {options} out/lib/{library} extra.c -ldl
\tcp mysqld out/bin/
\tln -sfn {share} out/share
"""


def repository(
    folder: Path, pairs: Sequence[int | None], server: str = "mysql-5.7.22", *, differing: bool = False
) -> list[str]:
    """Make a repository with a commit for each number of pairs of instructions; None: it does not compile.

    `differing`: the files of all builds differ, though they do the same. Returns the commits, the oldest
    first.
    """
    folder.mkdir(parents=True)
    program, share = preload.program(server)
    (folder / "mysqld").write_text(program, "utf-8")
    (folder / "mysqld").chmod(0o755)
    (folder / "extra.c").write_text(preload.SOURCE, "utf-8")
    makefile = _MAKEFILE.format(share=share, options=" ".join(preload.COMPILE), library=preload.LIBRARY)
    (folder / "Makefile").write_text(makefile, "utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    numbered = ((f"change {number}", number if differing else "") for number in range(len(pairs)))
    return [commit(folder, name, each, text) for (name, text), each in zip(numbered, pairs, strict=True)]


def commit(folder: Path, subject: str, pairs: int | None, differing: object = "") -> str:
    """Commit so many pairs of instructions, and a file of its own: so any commit can be reverted."""
    line = "#error not finished" if pairs is None else f"#define PAIRS {pairs}"
    (folder / "pairs.h").write_text(f'const char change[] = "{differing}";\n{line}\n', "utf-8")
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / subject).write_text(f"{subject}\n", "utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *arguments: str) -> str:
    """Run git as some engineer."""
    who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in _WHO.items()}
    return subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=os.environ | who, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


_WHO = {"NAME": "Some Engineer", "EMAIL": "engineer@example.org"}
