"""Whatever a file or an option contains, its reader returns a value or raises one clear InputError."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from shootout import app, paths
from shootout._engine import Engine
from shootout.errors import InputError
from shootout.inputs import matrix, published, toml, workload
from shootout.inputs.options import Selection
from shootout.model.catalogue import CatalogueEntry
from shootout.model.plan import Dataset
from shootout.model.value import Family, Version
from shootout.model.workload import Distribution, Parameter
from shootout.servers import reference
from shootout.settings import profiles
from tests.mutations import Table, words_in
from tests.mutations import mutations as mutated

pytestmark = pytest.mark.slow

TAGGED = [*get_args(Parameter), *get_args(Distribution)]
SERVERS: tuple[tuple[Family, Version], ...] = (
    ("mysql", (5, 0, 15)),
    ("mysql", (8, 0, 12)),
    ("mariadb", (11, 8, 2)),
)

often = examples(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# --- files that are nearly right ------------------------------------------------------------------


def shipped(folder: str) -> list[Table]:
    return [
        tomllib.loads(path.read_text("utf-8")) for path in sorted((paths.FIXTURES / folder).glob("*.toml"))
    ]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from([
    "1\n2\n3\n4", "\x00", "a\r", "{", "}}", "{id}", "'{id}'", "SELECT {id}", "-1", "512M", "99999E",
    "1e5000", "1e9999999999", "nan", "inf", "a.toml", "a/\x00", "path:~nobody-at-all", "path:" + 300 * "a",
    "mysql-5.7.22@", 300 * "a",
])  # fmt: skip
# Limits in msgspec and the compiler, and the numbers next to them.
NUMBERS = st.integers(-3, 130) | st.builds(
    lambda power, sign, off: sign * 2**power + off,
    st.sampled_from([16, 31, 32, 63, 64, 200]),
    st.sampled_from([-1, 1]),
    st.integers(-1, 1),
)
TIMES = (st.times() | st.datetimes()).map(lambda moment: moment.replace(fold=0))  # TOML knows no fold
SCALARS = st.one_of(NUMBERS, TEXTS, TIMES, st.dates(), st.booleans(), st.floats())


def values(words: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    def table_of(struct: Any) -> st.SearchStrategy[Table]:
        fields = {field.encode_name: leaves for field in msgspec.structs.fields(struct)}
        return st.fixed_dictionaries({"type": st.just(struct.__struct_config__.tag)}, optional=fields)

    leaves = SCALARS | words
    tagged = st.sampled_from(TAGGED).flatmap(table_of)
    return tagged | st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | TEXTS, inner, max_size=3),
        max_leaves=6,
    )


def mutations(files: list[Table]) -> st.SearchStrategy[Table]:
    known = sorted(set().union(*map(words_in, files)))
    words = st.sampled_from(known)
    typed = words.flatmap(
        lambda word: st.integers(0, len(word)).map(lambda cut: word[:cut] + word[cut + 1 :])
    )
    return mutated(files, words | typed | TEXTS, values(words))


def written(table: Table) -> str:
    return "".join(f"{_literal(key)} = {_literal(value)}\n" for key, value in table.items())


def _literal(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_literal(key)} = {_literal(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case str():
            plain = "".join(_escaped(character) for character in value)
            return f'"{plain}"'
        case float() if not math.isfinite(value):
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return json.dumps(value)


def _escaped(character: str) -> str:
    """JSON's escapes are TOML's but for characters beyond 16 bits, and DEL."""
    if character in '"\\' or character < " " or character == "\x7f":
        return f"\\u{ord(character):04x}"
    return character


# --- what their readers must do -------------------------------------------------------------------


FIELD = (
    r"unknown (key|setting) ['\"]|key ['\"].*is missing|not TOML: |not UTF-8|\S.*: \S|"
    r"['\"].*['\"] is not an option name"
)
OPTION = r".*(['\"]|: \S| = |no \[mysqld\])"  # a .cnf file's


def accepts(reader: Callable[[], object], *named: str, field: str = FIELD) -> None:
    """The reader returns, or raises an InputError of one to three lines: a name, then the field."""
    try:
        reader()
    except InputError as fault:
        message = str(fault)
        assert 1 <= len(message.split("\n")) <= 3, message
        if named:
            begins = next((name for name in named if message.startswith(name)), None)
            assert begins is not None, message
            assert re.match(field, message.removeprefix(begins), re.DOTALL), message


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def read_workload(file: Path) -> None:
    program = workload.compile_program("mine", workload.load(str(file)), Dataset())
    Engine(msgspec.json.encode(program), 1)  # the engine accepts whatever compiles


def read_settings(file: Path) -> None:
    profile = profiles.load(str(file))
    for family, version in SERVERS:
        compiled = profiles.compile(profile, family, version, [Dataset(rows=10**6)])
        for line in compiled.options.items():
            assert not re.search(r"[\n\r\0]", "".join(line)), line  # each is one line of a my.cnf


def read_profile(file: Path) -> None:
    matrix.load_profile(str(file))


def read_plan(file: Path) -> None:
    app.plan(Selection.read(profile=str(file)))


@often
@given(file=mutations(shipped("workloads")))
def test_what_is_written_reads_back(file: Table) -> None:
    assert repr(tomllib.loads(written(file))) == repr(file)  # nan is not itself, but reads the same


STEP = {"statements": [{"name": "a", "sql": "SELECT 1"}]}
WORKLOAD = {"title": "t", "description": "d", "transactions": [{"steps": [STEP]}]}


@often
@given(file=mutations(shipped("workloads")))
@example(file=WORKLOAD | {"parameters": {"1\n2\n3\n4": {"type": "row_id"}}})
@example(file=WORKLOAD | {"setup": ["SELECT {1\n2\n3\n4}"]})
def test_a_workload(folder: Path, file: Table) -> None:
    path = folder / "workload.toml"
    path.write_text(written(file), "utf-8")
    accepts(lambda: read_workload(path), f"{path}: ", "workload mine: ")


@often
@given(file=mutations(shipped("profiles")))
def test_a_profile(folder: Path, file: Table) -> None:
    path = folder / "profile.toml"
    path.write_text(written(file), "utf-8")
    accepts(lambda: read_profile(path), f"{path}: ")
    accepts(lambda: read_plan(path))  # which reads on, in the files and references that the profile names


@often
@given(file=mutations(shipped("published")))
def test_a_published_comparison(folder: Path, file: Table) -> None:
    path = folder / "published.toml"
    path.write_text(written(file), "utf-8")
    accepts(lambda: published.load(str(path)), f"{path}: ")


@often
@given(file=mutations(shipped("settings")))
@example(file={"settings": {"buffer_pool_bytes": "1e5000"}})
@example(file={"settings": {"buffer_pool_bytes": 5_000 * "1" + "K"}})
@example(file={"settings": {"buffer_pool_bytes": "1e9999999999"}})
@example(file={"settings": {"character_set": "utf8\n[client]"}})
@example(file={"options": {"a=b": "c"}})
@example(file={"options": {"'": "c"}})
@example(file={"options": {"a": "b\rc"}})
def test_settings(folder: Path, file: Table) -> None:
    path = folder / "settings.toml"
    path.write_text(written(file), "utf-8")
    accepts(lambda: read_settings(path), f"{path}: ", "setting ")


LINES = st.sampled_from([
    "[mysqld]", "[server]", "[", "]", "=", " = 1", "a = ", "a", "!include x", "; c", "# c", "a = b # c",
    "[[a]]", "log-bin = /x", "innodb_undo_directory = ..", "a =\n b", "innodb_buffer_pool_size = 1G",
    "\x00", "\ufeff",
])  # fmt: skip


@often
@example(text="[mysqld]\n=\n=\n=")
@example(text="[mysqld]\na\x00")
@given(text=st.lists(LINES | TEXTS, max_size=12).map("\n".join) | TEXTS.map("[mysqld]\n{}".format))
def test_a_cnf(folder: Path, text: str) -> None:
    path = folder / "my.cnf"
    path.write_text(text, "utf-8")
    accepts(lambda: read_settings(path), f"{path}: ", field=OPTION)


TOKENS = st.sampled_from([
    "[", "]", "[[", "]]", "{", "}", "=", ".", ",", '"', "'", '"""', "'''", "#", "\\", "\n", " ", "\r", "\t",
    "\x00", "1", "-", "+", "_", "e9", "0x", "inf", "nan", "true", "2020-02-30", "25:61:61", "a", "title",
    "transactions", "threads", "settings", "options", "parameters", "type", '"\\u0000"', '"\\ud800"',
    "\ufeff", "= 1\n", "= {}\n",
])  # fmt: skip


@often
@given(text=st.lists(TOKENS | TEXTS, max_size=40).map("".join).map(str.encode) | st.binary(max_size=60))
@example(text=b"\xff")
@example(text=b"a = " + 5_000 * b"1")  # more digits than Python makes a number of
@example(text=b"threads = 0x" + 5_000 * b"f")  # more than it prints
@example(text=b"[settings]\nmax_connections = 0x" + 5_000 * b"f")
@example(text=b"a = " + 5_000 * b"[")
@example(text=b"a = " + 5_000 * b"{a=")
@example(text=5_000 * b"a." + b"a = 1")
def test_any_text(folder: Path, text: bytes) -> None:
    path = folder / "any.toml"
    path.write_bytes(text)
    for reader in (read_workload, read_profile, read_settings):
        accepts(lambda read=reader: read(path), f"{path}: ")  # type: ignore[misc]
    accepts(lambda: toml.load(path, dict[str, CatalogueEntry]), f"{path}: ")


PARTS = st.sampled_from([
    "path:", "image:", "dsn:", ":", "@", "/", "~", "~root", "~nobody-at-all", "..", ".", "#2", ",", " ",
    "%", "\x00", "mysql-8.0.12", "mysql-5.7.22", "in-memory", "defaults", ".cnf", ".toml", "/proc",
    "/etc/passwd", 300 * "a",
])  # fmt: skip


def one_line(parts: list[str]) -> str:
    """Messages show a path as given, line breaks included; leave them out."""
    return "".join(parts).replace("\n", "")


@often
@given(text=st.lists(PARTS | TEXTS, max_size=6).map(one_line))
@example(text="path:~nobody-at-all")
@example(text="path:~root\x00")
@example(text="path:" + 300 * "a")
def test_a_server_reference(text: str) -> None:
    accepts(lambda: reference.parse(text))
    accepts(lambda: reference.labels([reference.parse("mysql-8.0.12"), reference.parse(text)], {}))


@often
@given(name=st.lists(PARTS | TEXTS, max_size=4).map(one_line))
@example(name="/\x00")
@example(name=5_000 * "a" + ".toml")
@example(name=5_000 * "a")
def test_the_name_of_a_file(name: str) -> None:
    for reader in (workload.load, profiles.load, matrix.load_profile):
        accepts(lambda read=reader: read(name))  # type: ignore[misc]
