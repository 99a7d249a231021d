"""Functions and macros of a source file in C or C++, and the lines that they are on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from shootout.analysis import function_names
from shootout.errors import InputError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, QueryCursor

ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".c++", ".ic", ".inl", ".yy", ".y")
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++", ".ic", ".inl")  # whose functions several files compile

_FOUND = "(function_definition) @function [(preproc_def) (preproc_function_def)] @macro"
_SCOPES = ("namespace_definition", "class_specifier", "struct_specifier", "union_specifier")
_OPERATOR = re.compile(r"(.*)\boperator\b ?(.*)")
_SYMBOL = re.compile(r"\( ?\)|\[ ?\]|[^\s\w(]+")
_NAMED = (
    "identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name",
    "operator_name", "operator_cast", "template_function",
)  # fmt: skip


@dataclass(frozen=True)
class Extent:
    """A function or a macro, on these lines: from 1, the last one included."""

    name: str  # with its namespaces and classes, as profiles have it
    first: int
    last: int
    signature: tuple[str, ...]  # the tokens before a function's body, without comments
    body: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """What a file defines."""

    functions: tuple[Extent, ...] = ()
    macros: tuple[Extent, ...] = ()


def is_source(path: str) -> bool:
    """Whether a file's name is one of C or C++."""
    return path.lower().endswith((*ENDINGS, *HEADERS))


def is_header(path: str) -> bool:
    """Whether other files include it."""
    return path.lower().endswith(HEADERS)


def read(text: bytes) -> Source:
    """What a file defines, also if some of it cannot be parsed. Raises InputError without tree-sitter."""
    parser, query = _tools()
    found = query.captures(parser.parse(text).root_node)
    functions = (_function(node) for node in found.get("function", ()))
    macros = (_macro(node) for node in found.get("macro", ()))
    return Source(
        tuple(sorted(filter(None, functions), key=_place)), tuple(sorted(filter(None, macros), key=_place))
    )


@cache
def _tools() -> tuple[Parser, QueryCursor]:
    if find_spec("tree_sitter_cpp") is None:
        raise InputError(
            "reading C and C++ needs tree-sitter: `pip install 'shootout[reach]'` installs it; a diff alone "
            "(--diff) needs none"
        )
    import tree_sitter_cpp  # noqa: PLC0415 (of an extra)
    from tree_sitter import Language, Parser, Query, QueryCursor  # noqa: PLC0415

    language = Language(tree_sitter_cpp.language())
    return Parser(language), QueryCursor(Query(language, _FOUND))


def _place(extent: Extent) -> tuple[int, int]:
    return extent.first, -extent.last


def _function(node: Node) -> Extent | None:
    """None for what is not named, or belongs to the function around it."""
    own = _declared(node.child_by_field_name("declarator"))
    body = node.child_by_field_name("body") or next(
        (child for child in node.children if child.type == "try_statement"), None
    )
    if own is None or body is None:  # = default, = delete: no code of its own
        return None
    begins = node
    while begins.parent is not None and begins.parent.type == "template_declaration":
        begins = begins.parent
    before = (child for child in node.children if child.start_byte < body.start_byte)
    return Extent(
        "::".join((*_scopes(node), own)),
        begins.start_point.row + 1,
        node.end_point.row + 1,
        tuple(token for child in before for token in _tokens(child)),
        tuple(_tokens(body)),
    )


def _macro(node: Node) -> Extent | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    end = node.end_point
    last = end.row + (1 if end.column else 0)  # the node may include its end of line
    return Extent(_text(name), node.start_point.row + 1, last, (), tuple(_tokens(node)))


def _declared(node: Node | None) -> str | None:
    """The name that a declarator declares as a function's."""
    while node is not None and node.type not in _NAMED:
        inner = node.child_by_field_name("declarator")
        # References and parentheses have no such field.
        node = inner or next(
            (child for child in node.named_children if child.type in _NAMED or "declarator" in child.type),
            None,
        )
    return None if node is None else normal(_text(node))


def normal(name: str) -> str:
    """A name as written in a source, as profiles have it: no template arguments, no needless spaces."""
    name = re.sub(r"\s*(::|~)\s*", r"\1", re.sub(r"\s+", " ", name)).strip()
    match = _OPERATOR.fullmatch(name)
    if match is None:
        return function_names.plain(name.partition("(")[0])
    owner, sign = function_names.plain(match[1] + "x")[:-1], match[2]
    if re.match(r"\w", sign):  # a conversion, new, delete
        return f"{owner}operator {sign.partition('(')[0].strip()}"
    symbol = _SYMBOL.match(sign)
    return f"{owner}operator{symbol[0].replace(' ', '') if symbol else ''}"


def _scopes(node: Node) -> list[str]:
    """The namespaces, classes and functions around a node, the outermost first."""
    names: list[str] = []
    outer, in_class = node.parent, False
    while outer is not None:
        if outer.type in _SCOPES:
            name = outer.child_by_field_name("name")
            names.append("{anonymous}" if name is None else normal(_text(name)))
            in_class = outer.type != _SCOPES[0]
        elif outer.type == "function_definition" and in_class:  # a class inside of a function
            names.append(_declared(outer.child_by_field_name("declarator")) or "{anonymous}")
        outer = outer.parent
    return names[::-1]


def _tokens(node: Node) -> Iterator[str]:
    left = [node]  # no recursion: expressions of generated code are deep
    while left:
        node = left.pop()
        if node.type.endswith("_literal") or not node.children:
            yield from () if node.type == "comment" else (_text(node),)
        else:
            left += reversed(node.children)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", errors="replace")
