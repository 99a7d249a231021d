"""Reads option files as servers do: my.cnf, my.ini, and the files that they include."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from shootout.errors import InputError, quoted
from shootout.inputs.opening import opened
from shootout.settings.placing import REPEATED, bare, is_name, is_outside, joins, places
from shootout.settings.setting import variable

_SIZE_MAX = 1 << 20  # bytes of a file
_FILES_MAX = 100  # that one includes, directly or not
_LINES_SAID_MAX = 5

# The groups that servers of every version read, and those that only one version reads.
_GROUPS = {"mysqld", "server", "mariadb", "mariadbd", "galera", "client-server", "mysql_cluster"}
_OF_VERSION = re.compile(r"(?:mysqld|mariadbd?)-(?P<version>[0-9]+\.[0-9]+)")
_UNCOMMENTED = re.compile(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^#])*""")
_INCLUDE = re.compile(r"!(?P<all>includedir|include)\s+(?P<target>.+)")
_FOREIGN = re.compile(r"\{\{|\$\{|<%|\N{REPLACEMENT CHARACTER}")  # of a template, or in another encoding
_SUFFIXES = (".cnf", ".ini")  # of the files of a folder that servers read
# A server takes all lines with one of these options, and a list on one line.
_JOINED = {"optimizer_switch": ",", "plugin_load_add": ";"}


@dataclass(frozen=True)
class OptionFile:
    """The options of a file for servers, and what is left out."""

    options: dict[str, str]  # for a version without groups of its own
    versions: dict[str, dict[str, str]]  # for those with, such as 8.0
    left_out: tuple[str, ...]


def read(file: Path) -> OptionFile:
    """Read the options of servers from a file, and what it includes. Raises InputError."""
    reading = _Reading()
    lines = [line for line in reading.lines(file) if line[0] in _GROUPS or _OF_VERSION.fullmatch(line[0])]
    if not any(group in _GROUPS or _OF_VERSION.fullmatch(group) for group in reading.groups):
        others = ", ".join(f"[{quoted(group)}]" for group in itertools.islice(reading.groups, 3))
        raise InputError(f"{file}: contains no [mysqld] group{others and f', only {others}'}")
    kept = [
        (group, option, confined)
        for group, option, value in lines
        if (confined := reading.confined(option, value)) is not None
    ]
    versions = {found["version"] for group, *_ in kept if (found := _OF_VERSION.fullmatch(group))}
    return OptionFile(
        reading.gathered((option, value) for group, option, value in kept if group in _GROUPS),
        {
            version: reading.gathered(
                (option, value)
                for group, option, value in kept
                if group in _GROUPS or group.rpartition("-")[2] == version
            )
            for version in sorted(versions)
        },
        tuple(reading.left_out()),
    )


@dataclass
class _Reading:
    """A file and those that it includes, as far as they were read."""

    files: int = 0
    groups: dict[str, None] = field(default_factory=dict)
    placed: dict[str, None] = field(default_factory=dict)  # options that shootout sets
    others: dict[str, None] = field(default_factory=dict)  # what else is left out

    def lines(self, file: Path) -> Iterator[tuple[str, str, str]]:
        """Group, option and value of each line."""
        self.files += 1
        with opened(file) as content:
            text = content.read(_SIZE_MAX + 1)
        if len(text) > _SIZE_MAX:
            raise InputError(f"{file}: expected an option file, found more than {_SIZE_MAX >> 20} MB")
        group, before, unread = "", 0, list[int]()
        for number, line in enumerate(map(str.strip, text.decode(errors="replace").splitlines()), start=1):
            if not line or line.startswith(("#", ";")):
                continue
            if included := _INCLUDE.fullmatch(line):
                yield from self._included(file, line, included["target"], whole=included["all"] != "include")
            elif line.startswith("["):
                group = line[1:].partition("]")[0].strip()
                self.groups[group] = None
            elif not group:
                before += 1
            else:
                option, value = _option(line)
                if is_name(option) and value.isprintable() and not _FOREIGN.search(value):
                    yield group, option, value
                elif group in _GROUPS:
                    unread.append(number)
        if before:
            self.others[f"{before} line{'s' * (before > 1)} of {file.name} before the first group"] = None
        if unread:
            said = ", ".join(map(str, unread[:_LINES_SAID_MAX])) + ", …" * (len(unread) > _LINES_SAID_MAX)
            self.others[f"in {file.name} what is no option, on line {said}"] = None

    def _included(self, file: Path, line: str, target: str, *, whole: bool) -> Iterator[tuple[str, str, str]]:
        beside = _beside(file, target)
        if beside is None or beside.is_dir() != whole:
            self.others[f"{quoted(line)}, which is not beside {file.name}"] = None
            return
        names = sorted(each for each in beside.iterdir() if each.suffix in _SUFFIXES) if whole else [beside]
        for each in names:
            if self.files == _FILES_MAX:
                raise InputError(f"{file}: includes more than {_FILES_MAX} files, or itself")
            yield from self.lines(each)

    def confined(self, option: str, value: str) -> str | None:
        """Confine a value to the instance directory; None: without the option."""
        if places(option) or joins(option, value):
            self.placed[option] = None
            return None
        if not is_outside(value):
            return value
        name = PurePath(value.strip(" '\"").replace("\\", "/")).name
        if bare(option) == "log_bin" and name and not is_outside(name):
            self.others[f"the folder of {option}"] = None
            return name
        self.placed[option] = None
        return None

    def gathered(self, lines: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Gather the options of which a server takes the last line, or all lines together."""
        options: dict[str, str] = {}
        spelled: dict[str, str] = {}  # by variable
        for option, value in lines:
            name = variable(option)
            if name in REPEATED:
                free = (each for each in _spellings(name) if each not in options)
                if (spelling := next(free, None)) is not None:
                    options[spelling] = value
                else:
                    self.others[f"some lines of {name}"] = None
                continue
            earlier = options.pop(spelled.get(name, ""), None)
            if earlier is not None and name in _JOINED:
                both = _JOINED[name].join(each.strip("'\"") for each in (earlier, value))
                options[option] = f'"{both}"'
            else:
                options[option] = value
            spelled[name] = option
        return options

    def left_out(self) -> Iterator[str]:
        """Say which options no server gets, each with its reason."""
        yield from placed(self.placed)
        yield from self.others


def placed(options: Iterable[str]) -> Iterator[str]:
    """Say why options are left out that place a server, in a phrase."""
    if said := ", ".join(options):
        yield f"{said}, because shootout places servers itself"


def _option(line: str) -> tuple[str, str]:
    option, equals, value = map(str.strip, _UNCOMMENTED.findall(line)[0].partition("="))
    if variable(option) == "set_variable":
        option, equals, value = map(str.strip, value.partition("="))
    return option, value or ('""' if equals else "")


def _beside(file: Path, target: str) -> Path | None:
    parts = PurePath(target.strip(" '\"").replace("\\", "/")).parts
    if ".." in parts:
        return None
    names = parts[parts[:1] == ("/",) :]
    below = (file.parent.joinpath(*names[at:]) for at in range(len(names)))
    return next((each for each in below if each.exists()), None)


def _spellings(name: str) -> Iterator[str]:
    for prefix, marks in itertools.product(("", "loose_"), itertools.product("_-", repeat=name.count("_"))):
        yield prefix + "".join(itertools.chain(*itertools.zip_longest(name.split("_"), marks, fillvalue="")))
