"""Names of functions as versions share them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

PROGRAMS = ("mysqld", "mariadbd", "mysqld-debug")  # a server's functions have no module in their name
UNNAMED = "(unnamed)"  # functions without a symbol, as one for each file
CLASS_MIN = 3  # members of a renamed class

_OF_LIBRARY = re.compile(r"(.*) \[([^\]]*\.so[^\]]*)\]", re.DOTALL)
_VERSION = re.compile(r"(?:-[0-9.]+)?\.so[0-9.]*$")  # libc-2.31.so, libstdc++.so.6.0.28
_SUFFIX = re.compile(
    r"(?: \[clone [^\]]*\]|@@?[A-Za-z_0-9.]+"
    r"|\.(?:part|isra|constprop|cold|lto_priv|localalias|llvm)(?:\.[0-9]+)*)+$"
)
_INNERMOST = re.compile(r"<[^<>()]*>|\([^<>()]*\)")
_UNPAIRED = re.compile(r"[<(].*|[>)]", re.DOTALL)
_HIDDEN = str.maketrans("<>()", "\ue000\ue001\ue002\ue003")  # brackets in names of operators
_SHOWN = {shown: hidden for hidden, shown in _HIDDEN.items()}
_OPERATOR = re.compile(r"\boperator(?:\(\)|<=>|<<=?|>>=?|->\*?|[<>]=?)|->")


def plain(symbol: str) -> str:
    """Strip a demangled name of what differs between versions and compilers: parameters, types, suffixes."""
    symbol = _SUFFIX.sub("", symbol).replace("(anonymous namespace)", "{anonymous}")
    left = symbol
    if "operator" in symbol or "->" in symbol:
        left = _OPERATOR.sub(lambda operator: operator[0].translate(_HIDDEN), symbol)
    while left != (left := _INNERMOST.sub("", left)):
        pass
    name = _UNPAIRED.sub("", left).translate(_SHOWN).removesuffix(" const").strip()
    return (name if "operator" in name else name.rpartition(" ")[2]) or symbol


def library(file: str) -> str:
    """Name a library without its version: `libc-2.31.so` and `/lib/libc.so.6` are `libc`."""
    return _VERSION.sub("", file.rpartition("/")[2])


def counted(title: str) -> str:
    """Name a function as profiles do; `title`: as in a count, `free [libc.so.6]`."""
    match = _OF_LIBRARY.fullmatch(title)
    symbol, file = match.groups() if match else (title, "")
    if symbol == UNNAMED:
        return f"[{library(file) or PROGRAMS[0]}]"
    return f"{plain(symbol)} [{library(file)}]" if file else plain(symbol)


def renamed(base: Collection[str], head: Collection[str]) -> dict[str, str]:
    """Find functions that the base alone has, by name, and their names on the head.

    No two get the same name. A function that moved to another file keeps its own. A renamed class shares at
    least CLASS_MIN members (st_select_lex::prepare, Query_block::prepare). A function that moved to another
    class shares the last part of its name, and no third one that only one server has does.
    """
    of_base, of_head = _by_symbol(base), _by_symbol(head)
    moved = {
        names[0]: of_head[symbol][0]
        for symbol, names in of_base.items()
        if len(names) == len(of_head.get(symbol, ())) == 1
    }
    theirs, own = _by_last({*base} - moved.keys()), _by_last({*head} - {*moved.values()})
    shared = sorted(theirs.keys() & own.keys())
    pairs = Counter((before, after) for last in shared for before in theirs[last] for after in own[last])
    classes: dict[str, str] = {}
    for (before, after), members in sorted(pairs.items(), key=lambda each: (-each[1], each[0])):
        if members >= CLASS_MIN and before not in classes and after not in classes.values():
            classes[before] = after
    renames = moved
    for last in shared:
        alike = {before: classes[before] for before in theirs[last] if before in classes}
        if len(theirs[last]) == len(own[last]) == 1:
            alike = dict(zip(theirs[last], own[last], strict=True))
        renames |= {
            theirs[last][before]: own[last][after] for before, after in alike.items() if after in own[last]
        }
    return renames


def _by_symbol(names: Iterable[str]) -> dict[str, list[str]]:
    """Names without their files; not those of the kernel, which all servers share."""
    by_symbol: dict[str, list[str]] = {}
    for name in names:
        if not name.startswith("[") and not name.endswith("[kernel]"):
            by_symbol.setdefault(name.partition(" [")[0], []).append(name)
    return by_symbol


def _by_last(names: Iterable[str]) -> dict[str, dict[str, str]]:
    by_last: dict[str, dict[str, str]] = {}
    for name in names:
        of_class, _, last = name.rpartition("::")
        by_last.setdefault(last, {})[of_class] = name
    return by_last
