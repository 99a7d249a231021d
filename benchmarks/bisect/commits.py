"""Repositories whose commits build a server that works a little longer for each command it receives.

The build compiles a library, which is preloaded into a server of the catalogue.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks import preload

BUILD, TREE = "make", "out"
_MAKEFILE = """all:
\tmkdir -p out/bin out/lib
\t$(CC) -include pairs.h {options} out/lib/{library} extra.c -ldl
\tcp mysqld out/bin/
\tln -sfn {share} out/share
"""


def repository(
    folder: Path, pairs: Sequence[int | None], server: str = "mysql-5.7.22", *, differing: bool = False
) -> list[str]:
    """A repository with a commit for each number of pairs of instructions; None: it does not compile.

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
