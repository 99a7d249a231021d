"""The functions and macros in which two revisions of a repository differ, and code outside them."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from shootout.coverage import sources
from shootout.coverage.sources import Form, Source
from shootout.errors import InputError

How = Literal["changed", "other signature", "new", "deleted", "moved"]

_HEADERS = tuple(f"*{ending}" for ending in sources.HEADERS)
_PLAIN = {"LC_ALL": "C"}  # git searches bytes, which is several times as fast
_OPTIONS = ("--raw", "-z", "--no-abbrev", "--no-ext-diff", "--find-renames", "--ignore-submodules=all")


@dataclass(frozen=True)
class Touched:
    """A function that a change touches."""

    name: str  # with its namespaces and classes
    file: str
    how: How
    aliases: tuple[str, ...] = ()  # its names with what its class's typedef stands for
    parsed: bool = True  # False: only its header was found

    @property
    def header(self) -> bool:
        """Whether several files compile it."""
        return self.file.lower().endswith(sources.HEADERS)


@dataclass(frozen=True)
class Touches:
    """All that a change touches."""

    functions: tuple[Touched, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()  # with their files
    outside: tuple[str, ...] = ()  # files with other changes: declarations, types, variables
    comments: tuple[str, ...] = ()  # functions of which only comments or spaces changed
    reordered: tuple[str, ...] = ()  # functions that only moved within their file
    others: tuple[str, ...] = ()  # files that are not C or C++


def of_repository(folder: Path, base: str, head: str) -> Touches:
    """Compare two revisions. Raises InputError."""
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    commits = [_git(folder, *verify, f"{each}^{{commit}}").decode().strip() for each in (base, head)]
    files = [*_files(_git(folder, "diff", *_OPTIONS, *commits, "--"))]
    read = [each for each in files if sources.is_source(each[0])]
    blobs = [blob for _, *both in read for blob in both]
    contents = [_git(folder, "cat-file", "blob", blob) if blob.strip("0") else b"" for blob in blobs]
    found = iter(sources.read(contents))
    others = tuple(path for path, *_ in files if not sources.is_source(path))
    touches = _touches([(path, next(found), next(found)) for path, *_ in read], others)
    return replace(touches, functions=_with_aliases(folder, commits, touches.functions))


def _with_aliases(folder: Path, commits: Sequence[str], functions: Sequence[Touched]) -> tuple[Touched, ...]:
    """Add the names that functions of classes with a typedef have: JOIN_TAB::x is st_join_table::x."""
    owners = {each.name.rpartition("::")[0] for each in functions}
    named = "|".join(sorted(owner for owner in owners if re.fullmatch(r"\w+", owner)))
    if not named:
        return tuple(functions)
    pattern = f"^[ \t]*(typedef .*|using|}}.*)[ \t*,]({named})[ \t]*[,;=]"
    searched = ("grep", "-l", "-z", "-I", "-E", "-e", pattern, *commits, "--", *_HEADERS)
    files = _git(folder, *searched, none=1).decode("utf-8", errors="surrogateescape").split("\0")
    aliases: defaultdict[str, set[str]] = defaultdict(set)
    for name, meant in sources.typedefs([_git(folder, "cat-file", "blob", file) for file in files if file]):
        aliases[name].add(meant)
    return tuple(
        replace(each, aliases=tuple(f"{meant}::{last}" for meant in sorted(aliases[owner])))
        for each in functions
        for owner, _, last in [each.name.rpartition("::")]
    )


def _git(folder: Path, *arguments: str, none: int = 0) -> bytes:
    """Run git, and give what it prints; `none`: its code for nothing. Raises InputError."""
    try:
        called = ("git", "-C", str(folder), *arguments)
        done = subprocess.run(called, capture_output=True, check=False, env=os.environ | _PLAIN)
    except OSError as error:
        raise InputError(f"git cannot be run: {error.strerror}") from None
    if done.returncode not in (0, none):
        said = done.stderr.decode(errors="replace").strip()
        raise InputError(f"{folder}: {said or f'no commit {arguments[-1]}'.removesuffix('^{commit}')}")
    return done.stdout


def _files(raw: bytes) -> Iterator[tuple[str, str, str]]:
    """Read what `git diff --raw -z` prints: a path, the newer one, and the blobs before and after."""
    left = iter(raw.decode("utf-8", errors="replace").split("\0"))
    for entry in left:
        if entry:
            _, _, before, after, status = entry.split(" ")
            path = next(left)
            yield next(left) if status[0] == "R" else path, before, after


def _touches(files: Sequence[tuple[str, Source, Source]], others: tuple[str, ...]) -> Touches:
    functions: list[Touched] = []
    comments, reordered, macros = list[str](), list[str](), list[tuple[str, str]]()
    for path, before, after in files:
        displaced = _displaced([*before.functions], [*after.functions])
        for name in {**before.functions, **after.functions}:
            forms = before.functions[name], after.functions[name]
            if (how := _how(*forms)) is not None:
                parsed = all(form.parsed for every in forms for form in every)
                functions.append(Touched(name, path, how, parsed=parsed))
            elif name in displaced:
                reordered.append(name)
            elif sorted(form.text for form in forms[0]) != sorted(form.text for form in forms[1]):
                comments.append(name)
        every = sorted({**before.macros, **after.macros})
        macros += [
            (name, path) for name in every if _codes(before.macros[name]) != _codes(after.macros[name])
        ]
    outside = tuple(path for path, before, after in files if before.outside != after.outside)
    return Touches(_moved(functions), tuple(macros), outside, tuple(comments), tuple(reordered), others)


def _displaced(before: Sequence[str], after: Sequence[str]) -> set[str]:
    """The names, each once in a sequence, that change their place among those that both have."""
    both = {*before} & {*after}
    old, new = ([name for name in order if name in both] for order in (before, after))
    same = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return both - {name for block in same for name in old[block.a : block.a + block.size]}


def _how(before: Sequence[Form], after: Sequence[Form]) -> How | None:
    """Say what became of a function; None: its code is as it was."""
    if not before or not after:
        return "deleted" if before else "new"
    if _codes(before) == _codes(after):
        return None
    signatures = [sorted(form.signature for form in forms) for forms in (before, after)]
    return "changed" if signatures[0] == signatures[1] else "other signature"


def _codes(forms: Sequence[Form]) -> list[list[str]]:
    return sorted(form.code for form in forms)


def _moved(functions: Sequence[Touched]) -> tuple[Touched, ...]:
    """Make one of a function that one file lost and another got."""
    lost, got = ({each.name for each in functions if each.how == how} for how in ("deleted", "new"))
    return tuple(
        replace(each, how="moved") if each.name in lost & got and each.how == "new" else each
        for each in functions
        if each.how != "deleted" or each.name not in got
    )
