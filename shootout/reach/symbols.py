"""Where lines of a source lie in a program with debug information: in their functions, or inlined."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from shootout.analysis import function_names
from shootout.errors import InputError
from shootout.reach.diffs import Touched

_FILE = re.compile(r"(?:CU: )?(\S.*):(?:\[\+\+\])?$")
_ROW = re.compile(r"\S.*?\s(\d+)\s+0x([0-9a-f]+)")
_BATCH = 500  # addresses that one process looks up

Place = tuple[str, int]  # path and line


def hosts(program: Path, touched: Sequence[Touched], side: int) -> dict[str, set[str]]:
    """The functions with a symbol in which lines of others lie, by the other's name.

    `side`: 0 for a program built before the change, 1 after. Raises InputError.
    """
    wanted = {(each.file, line): each.name for each in touched for line in each.lines[side]}
    found: defaultdict[str, set[str]] = defaultdict(set)
    names = _addresses(program, wanted)
    for address, function in _symbols(program, sorted(names)):
        for name in names[address]:
            if name != function:
                found[name].add(function)
    return dict(found)


def _addresses(program: Path, wanted: Mapping[Place, str]) -> dict[int, set[str]]:
    """Where the program has these lines, with the functions that they are of."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    known, path = False, ""
    for line in run("objdump", "--dwarf=decodedline", "--wide", str(program)):
        if match := _ROW.match(line):
            known = True
            number = int(match[1])
            names = (name for key, name in wanted.items() if key[1] == number and _same(path, key[0]))
            for name in names:
                found[int(match[2], 16)].add(name)
        elif match := _FILE.match(line):
            path = match[1]
    if not known:
        raise InputError(f"{program}: no debug information: built without -g, or stripped")
    return found


def _symbols(program: Path, addresses: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The function with a symbol that each address lies in, by plain name."""
    for first in range(0, len(addresses), _BATCH):
        asked = map(hex, addresses[first : first + _BATCH])
        address, outermost = -1, ""
        for line in run("addr2line", "--addresses", "-f", "-i", "-C", "-e", str(program), *asked):
            if line.startswith("0x"):
                if outermost:
                    yield address, function_names.plain(outermost)
                address, outermost, named = int(line, 16), "", True
                continue
            if named:  # a function, then its file and line: the innermost first
                outermost = line
            named = not named
        if outermost:
            yield address, function_names.plain(outermost)


def _same(found: str, wanted: str) -> bool:
    """Whether a path of a program is one of a repository, wherever that was built."""
    parts = PurePosixPath(wanted).parts
    return PurePosixPath(found).parts[-len(parts) :] == parts


def run(*command: str) -> Iterator[str]:
    """The lines that a program of binutils prints. Raises InputError if it is missing."""
    try:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield line.rstrip("\n")
    except OSError as error:
        raise InputError(f"{command[0]} cannot be run: {error.strerror}; apt-get install binutils") from None
