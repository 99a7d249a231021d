"""Functions and macros of C and C++ sources, as Universal Ctags finds them, and their code."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shootout.analysis import function_names
from shootout.errors import InputError

ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".c++", ".ic", ".inl", ".inc", ".yy", ".y")
# Files whose functions several others compile.
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++", ".ic", ".inl", ".inc")

_TESTS = "mysql-test/"  # where .inc files are scripts
_CTAGS = (
    "ctags", "--quiet", "--options=NONE", "--language-force=C++", "--fields=+neS",
    "--output-format=json", "--sort=no", "-f", "-", "-L", "-",
)  # fmt: skip
# ctags reads the first branch of a condition within a function: not that of Windows.
_WINDOWS = re.compile(rb"(?m)^[ \t]*#[ \t]*ifdef[ \t]+_WIN32\b")
# A definition as a diff's hunk headers have it, at the beginning of its line: `name(`, and a `{` follows.
_NO_FUNCTION = (
    "class|struct|union|enum|namespace|typedef|using|extern|if|else|for|while|switch|do|return|case"
)
_HEADER = re.compile(rf'(?!(?:{_NO_FUNCTION})\b)(?=[A-Za-z_])[^"=]*?((?:\w+ : : )*(?:~ )?\w+) \(')
_UNNAMED = re.compile(r"__anon\w+")
_OPERATOR = re.compile(r"(.*)\boperator\b ?(.*)")
_SYMBOL = re.compile(r"\( ?\)|\[ ?\]|[^\s\w(]+")
_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z) | R"([^()\\\s]*)\(.*?\)\1"
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \w+ | \S""",
    re.DOTALL | re.VERBOSE,
)


@dataclass
class Form:
    """A function or a macro as a source has it."""

    signature: str
    parsed: bool = True  # False: only its header was found
    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)  # its tokens, without comments


@dataclass
class Source:
    """The contents of a file: all functions and macros of a name, and the code outside them."""

    functions: defaultdict[str, list[Form]] = field(default_factory=lambda: defaultdict(list))
    macros: defaultdict[str, list[Form]] = field(default_factory=lambda: defaultdict(list))
    outside: list[str] = field(default_factory=list)


def is_source(path: str) -> bool:
    """Say whether a file's name is one of C or C++."""
    is_script = path.endswith(".inc") and _TESTS in path
    return path.lower().endswith((*ENDINGS, *HEADERS)) and not is_script


def read(contents: Sequence[bytes]) -> list[Source]:
    """Read files. Raises InputError without Universal Ctags."""
    tags: defaultdict[str, list[Any]] = defaultdict(list)
    for tag in _tags([_WINDOWS.sub(b"#if 0", content) for content in contents], "df"):
        tags[tag["path"]].append(tag)
    texts = (content.decode("utf-8", errors="replace") for content in contents)
    return [_source(text, tags[str(number)]) for number, text in enumerate(texts)]


def typedefs(contents: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Other names of classes, outside of others, with those of their symbols. Raises InputError."""
    for tag in _tags(contents, "t"):
        named = tag.get("typeref", "").partition(":")[2]
        if re.fullmatch(r"[\w:]+", named) and not _UNNAMED.fullmatch(named) and "scope" not in tag:
            yield tag["name"], named


def _tags(contents: Sequence[bytes], kinds: str) -> list[Any]:
    said = "Universal Ctags is missing: `apt-get install universal-ctags` installs it"
    asked = "".join(f"{number}\n" for number in range(len(contents))).encode()
    with TemporaryDirectory(prefix="shootout-") as folder:
        for number, content in enumerate(contents):
            Path(folder, str(number)).write_bytes(content)
        try:
            done = subprocess.run(
                (*_CTAGS, f"--kinds-C++={kinds}"), cwd=folder, input=asked, capture_output=True, check=False
            )
        except OSError as error:
            raise InputError(f"{said} ({error.strerror})") from None
    if done.returncode != 0:  # another program of this name
        raise InputError(f"{said} ({done.stderr.decode(errors='replace').strip().partition(chr(10))[0]})")
    return [json.loads(line) for line in done.stdout.decode(errors="replace").splitlines()]


def _source(text: str, tags: Iterable[Any]) -> Source:
    lines, code = text.split("\n"), _tokens(text)
    source, owners = Source(), dict[int, Form]()
    named = [tag for tag in tags if not _UNNAMED.fullmatch(tag["name"])]  # a lambda is its function's
    for tag in sorted(named, key=lambda tag: (tag["line"], -tag.get("end", 0))):  # the innermost last
        first, last = tag["line"], min(tag.get("end", tag["line"]), len(lines))
        form = Form(tag.get("typeref", "") + tag.get("signature", ""))
        of_kind = source.macros if tag["kind"] == "macro" else source.functions
        of_kind[_name(tag)].append(form)
        while tag["kind"] != "macro" and first - 1 not in owners and _continues(code[first - 1]):
            first -= 1
        owners |= dict.fromkeys(range(first, last + 1), form)
    for name, lost in _lost(lines, code, owners):
        form = Form(name, parsed=False)
        source.functions[name].append(form)
        owners |= dict.fromkeys(lost, form)
    for number, line in enumerate(lines, 1):
        if number in owners:
            owners[number].text.append(line)
        (owners[number].code if number in owners else source.outside).extend(code[number])
    return source


def _lost(
    lines: Sequence[str], code: Mapping[int, Sequence[str]], owners: Collection[int]
) -> Iterator[tuple[str, range]]:
    """Find functions that ctags does not read, by their headers, each with its lines."""
    headers = {
        number: match[1]
        for number, tokens in code.items()
        if number not in owners and tokens and lines[number - 1].startswith(tokens[0])
        if (match := _HEADER.match(" ".join(tokens)))
    }
    done = 0
    for number, name in sorted(headers.items()):
        free = [*takewhile(lambda each: each not in owners, range(number, len(lines) + 1))]
        marks = ((token, each) for each in free for token in code.get(each, ()) if token in ("{", ";", "}"))
        mark, opens = next(marks, ("", number))
        if number > done and mark == "{" and headers.keys().isdisjoint(range(number + 1, opens + 1)):
            closed = (each for each in free if lines[each - 1].startswith("}"))
            done = number if code[number][-1] == "}" else next(closed, free[-1])
            yield normal(name.replace(": :", "::")), range(number, done + 1)


def _continues(code: Sequence[str]) -> bool:
    """Say whether a declaration continues after a line: after a return type, or what it is a template of."""
    return bool(code) and code[0] != "#" and code[-1] not in ("{", "}", ";", ":", "\\")


def _tokens(text: str) -> defaultdict[int, list[str]]:
    """List the tokens of each line, from 1, without comments; a token is on the line that it begins on."""
    code: defaultdict[int, list[str]] = defaultdict(list)
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if not match[0].startswith(("//", "/*")):
            code[line].append(match[0])
    return code


def _name(tag: Any) -> str:
    """Name a function with its namespaces and classes, as profiles do."""
    scope = _UNNAMED.sub("{anonymous}", tag.get("scope", ""))
    return normal(f"{scope}::{tag['name']}" if scope else tag["name"])


def normal(name: str) -> str:
    """Write a source's name as profiles do: without template arguments and needless spaces."""
    name = re.sub(r"\s*(::|~)\s*", r"\1", re.sub(r"\s+", " ", name)).strip()
    match = _OPERATOR.fullmatch(name)
    if match is None:
        return function_names.plain(name)
    owner, sign = function_names.plain(match[1] + "x")[:-1], match[2]
    if re.match(r"\w", sign):  # a conversion, new, delete
        return f"{owner}operator {sign.partition('(')[0].strip()}"
    symbol = _SYMBOL.match(sign)
    return f"{owner}operator{symbol[0].replace(' ', '') if symbol else ''}"
