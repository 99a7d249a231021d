"""What a diff touches: functions, macros, and lines of neither.

Of a repository's two revisions, whole files are parsed. A diff alone has its hunks: they name functions as
git does, by the last line that began with a name.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from shootout.errors import InputError
from shootout.reach import sources
from shootout.reach.sources import Source

How = Literal["changed", "other signature", "new", "deleted", "moved"]
Form = tuple[tuple[str, ...], tuple[str, ...]]  # signature and body

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_LINE_MAX = 500  # characters of a line that may name a function
_BLOBS = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_DEFINES = re.compile(r"\s*#\s*define\s+(\w+)")
_BEGINS = re.compile(
    r"[A-Za-z_$~].*\("
)  # what git takes for the first line of a function, and has parameters
_NAME = re.compile(r"((?:[\w~]+(?:<[^()]*>)?\s*::\s*)*(?:operator\s*(?:\(\)|[^\s\w(]+|[\w ]+)|~?\w+))\s*\(")
_NO_NAMES = frozenset(
    ("if", "for", "while", "switch", "return", "sizeof", "defined", "MY_ATTRIBUTE", "__attribute__")
)
_OPTIONS = (
    "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--full-index", "--unified=0",
    "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all",
)  # fmt: skip


@dataclass(frozen=True)
class Hunk:
    """Changed lines of a file, with their numbers before and after."""

    old: int
    new: int
    header: str
    lines: list[str]  # each with its sign: blank, - or +

    def side(self, sign: str) -> Iterator[tuple[int, str, bool]]:
        """The lines of one side: number, text, and whether only this side has it."""
        number = self.old if sign == "-" else self.new
        for line in self.lines:
            if line[:1] in (" ", "", sign):
                yield number, line[1:], line[:1] == sign
                number += 1


@dataclass
class FileDiff:
    """A file before and after; paths and blobs are empty where there is no file."""

    old: str = ""
    new: str = ""
    blobs: tuple[str, str] = ("", "")
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        """What it is called now, or was."""
        return self.new or self.old


@dataclass(frozen=True)
class Touched:
    """A function that a diff touches."""

    name: str
    file: str
    how: How
    scoped: bool  # whether its name has all of its namespaces and classes
    lines: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # that differ, before and after

    @property
    def header(self) -> bool:
        """Whether several files compile it."""
        return sources.is_header(self.file)


@dataclass(frozen=True)
class Touches:
    """All that a diff touches."""

    functions: tuple[Touched, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()  # with their files
    outside: tuple[str, ...] = ()  # files with other changes: declarations, types, variables
    comments: tuple[str, ...] = ()  # functions of which only comments or spaces changed
    others: tuple[str, ...] = ()  # files that are not C or C++


def of_repository(folder: Path, base: str, head: str) -> Touches:
    """What differs between two revisions. Raises InputError."""
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    commits = [_git(folder, *verify, f"{each}^{{commit}}").decode().strip() for each in (base, head)]
    text = _git(folder, "diff", *_OPTIONS, *commits, "--").decode("utf-8", errors="replace")
    return touches(parse(text), lambda blob: _git(folder, "cat-file", "blob", blob))


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(("git", "-C", str(folder), *arguments), capture_output=True, check=False)
    except OSError as error:
        raise InputError(f"git cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise InputError(f"{folder}: {said or f'no commit {arguments[-1]}'.removesuffix('^{commit}')}")
    return done.stdout


def parse(text: str) -> list[FileDiff]:
    """The files of a unified diff. Raises InputError for a text that is none."""
    files: list[FileDiff] = []
    left = [0, 0]  # lines of the hunk before and after that are still to come
    for line in (each.removesuffix("\r") for each in text.split("\n")):  # others are part of a line
        if any(left) and line[:1] in ("", " ", "-", "+"):
            files[-1].hunks[-1].lines.append(line)
            left = [left[0] - (line[:1] != "+"), left[1] - (line[:1] != "-")]
        elif match := _HUNK.match(line):
            if not files:
                raise InputError("not a diff: a hunk before any file")
            old, before, new, after, header = match.groups()
            left = [int(before or 1), int(after or 1)]
            files[-1].hunks.append(Hunk(int(old) + (left[0] == 0), int(new) + (left[1] == 0), header, []))
        elif line.startswith("diff --git "):
            files.append(FileDiff())
            left = [0, 0]  # a hunk may have fewer lines than it says
        elif line.startswith(("--- ", "+++ ", "rename ", "copy ")):
            _name(files, line)
        elif files and (match := _BLOBS.match(line)):
            files[-1].blobs = (match[1], match[2])
    if not files and text.strip():
        raise InputError("not a diff: it names no file")
    return files


def _name(files: list[FileDiff], line: str) -> None:
    """Read the name of a file from a line of a diff's header."""
    key, _, path = line.partition(" ")
    if key == "---" and (not files or files[-1].hunks):  # made by diff, not by git
        files.append(FileDiff())
    if not files:
        return
    if key in ("rename", "copy"):
        side, _, path = path.partition(" ")
        setattr(files[-1], "old" if side == "from" else "new", _unquoted(path))
        return
    path = _unquoted(path.partition("\t")[0])
    setattr(
        files[-1],
        "old" if key == "---" else "new",
        "" if path == "/dev/null" else re.sub(r"^[ab]/", "", path),
    )


def _unquoted(path: str) -> str:
    if not path.startswith('"'):
        return path
    escaped = re.sub(r"\\([0-7]{1,3}|.)", _unescaped, path[1:-1].encode("utf-8").decode("latin-1"))
    return escaped.encode("latin-1").decode("utf-8", errors="replace")


def _unescaped(match: re.Match[str]) -> str:
    code: str = match[1]
    return chr(int(code, 8) & 255) if code[0] in "01234567" else _ESCAPES.get(code, code)


def touches(files: Sequence[FileDiff], content: Callable[[str], bytes] | None = None) -> Touches:
    """What these files touch; `content`: gives the whole of a blob. Raises InputError."""
    functions: list[Touched] = []
    macros: list[tuple[str, str]] = []
    outside: list[str] = []
    comments: list[str] = []
    for file in files:
        if not sources.is_source(file.path):
            continue
        sides = _sides(file, content)
        for name in {**sides[0].touched, **sides[1].touched}:
            how = _how(*(side.forms.get(name, []) for side in sides))
            if how is None:
                comments.append(name)
                continue
            lines = tuple(tuple(sorted(side.touched.get(name, ()))) for side in sides)
            functions.append(Touched(name, file.path, how, content is not None, (lines[0], lines[1])))
        macros += ((name, file.path) for name in sorted(sides[0].macros | sides[1].macros))
        outside += [file.path] if sides[0].outside or sides[1].outside else []
    return Touches(
        _moved(functions),
        tuple(macros),
        tuple(outside),
        tuple(comments),
        tuple(file.path for file in files if file.path and not sources.is_source(file.path)),
    )


def _sides(file: FileDiff, content: Callable[[str], bytes] | None) -> tuple[_Side, _Side]:
    """What changed in a file, before and after."""
    if content is not None:
        read = (sources.read(content(blob)) if blob.strip("0") else Source() for blob in file.blobs)
        before, after = (_whole(source, file, sign) for source, sign in zip(read, "-+", strict=True))
        return before, after
    begun = [
        {name for hunk in file.hunks for _, text, _ in hunk.side(sign) if (name := _named(text))}
        for sign in "-+"
    ]
    return _Fragments(()).read(file, "-"), _Fragments(begun[0] - begun[1]).read(file, "+")


def _how(before: Sequence[Form], after: Sequence[Form]) -> How | None:
    """What became of a function; None: its code is as it was."""
    if not before or not after:
        return "deleted" if before else "new"
    if any(body for _, body in before) and sorted(before) == sorted(after):
        return None
    signatures = [{signature for signature, _ in forms if signature} for forms in (before, after)]
    return "other signature" if all(signatures) and signatures[0] != signatures[1] else "changed"


def _moved(functions: Sequence[Touched]) -> tuple[Touched, ...]:
    """Functions that one file lost and another got are one each."""
    lost, got = ({each.name for each in functions if each.how == how} for how in ("deleted", "new"))
    return tuple(
        replace(each, how="moved") if each.name in lost & got and each.how == "new" else each
        for each in functions
        if each.how != "deleted" or each.name not in got
    )


def _named(line: str) -> str:
    """The function that begins on a line; empty if none does."""
    if not _BEGINS.match(line):
        return ""
    names = (match[1] for match in _NAME.finditer(line[:_LINE_MAX]))
    return next((sources.normal(name + "(") for name in names if name not in _NO_NAMES), "")


def _says_something(line: str) -> bool:
    return not line.strip().startswith(("//", "/*", "*")) and line.strip() not in ("", "{", "}", "};")


@dataclass
class _Side:
    """What changed on one side of a file."""

    # Changed lines by function.
    touched: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    macros: set[str] = field(default_factory=set)
    outside: bool = False
    # Signature and body of each function that is there, of all that share a name.
    forms: defaultdict[str, list[Form]] = field(default_factory=lambda: defaultdict(list))


def _whole(source: Source, file: FileDiff, sign: str) -> _Side:
    """One side of a file that was read whole."""
    side = _Side()
    for extent in source.functions:
        side.forms[extent.name].append((extent.signature, extent.body))
    for hunk in file.hunks:
        for number, text, changed in hunk.side(sign):
            if not changed:
                continue
            around = [each for each in source.functions if each.first <= number <= each.last]
            macros = {each.name for each in source.macros if each.first <= number <= each.last}
            side.macros |= macros
            if around:  # the innermost
                side.touched[around[-1].name].add(number)
            elif not macros and _says_something(text):
                side.outside = True
    return side


@dataclass
class _Fragments:
    """One side of a file of which only hunks are known, read line by line."""

    gone: Container[str]  # functions that this side has no more
    side: _Side = field(default_factory=_Side)
    function: str = ""  # that the line is in
    signature: list[str] | None = None  # of it, while it lasts
    macro: str = ""  # that the line is in

    def read(self, file: FileDiff, sign: str) -> _Side:
        """All hunks of a file."""
        for hunk in file.hunks:
            self.function, self.signature, self.macro = _named(hunk.header), None, ""
            if self.function and self.function not in self.gone:
                self.side.forms[self.function].append(((), ()))
            for number, text, changed in hunk.side(sign):
                if match := _DEFINES.match(text):
                    self.macro = match[1]
                elif begun := _named(text):
                    self.function, self.signature = begun, []
                if changed:
                    self._changed(number, text)
                self._after(text)
            if self.signature is not None:
                self.side.forms[self.function].append((tuple(self.signature), ()))
        return self.side

    def _changed(self, number: int, text: str) -> None:
        if self.macro:
            self.side.macros.add(self.macro)
        elif self.function:
            self.side.touched[self.function].add(number)
        elif _says_something(text):
            self.side.outside = True

    def _after(self, text: str) -> None:
        """See where a line leads."""
        if self.signature is not None:
            self.signature.append(text.partition("{")[0].strip())
            if "{" in text:
                self.side.forms[self.function].append((tuple(self.signature), ()))
                self.signature = None
            elif text.rstrip().endswith(";"):  # a declaration
                self.side.outside |= bool(self.side.touched.pop(self.function, None))
                self.function, self.signature = "", None
        if text.startswith("}") or (self.signature is None and text.rstrip().endswith("}") and _named(text)):
            self.function = ""
        if not text.endswith("\\"):
            self.macro = ""
