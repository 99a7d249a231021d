"""Maps are small files, of all functions that were executed."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from shootout.coverage import documents, parts
from shootout.coverage.documents import MAPS, Executed
from shootout.errors import InputError
from tests.support.builders import a_server
from tests.support.coverage.builders import a_map

SOURCE = """
int entry(int v) { return v + 1; }
int unused(int v) { return v - 1; }
int row_one(int v) { return v; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with three functions."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "a.c").write_text(SOURCE)
    compiler = shutil.which("cc")
    assert compiler is not None, "a C compiler is missing"
    subprocess.run((compiler, "-shared", "-fPIC", "-o", "lib.so", "a.c"), cwd=folder, check=True)
    return folder / "lib.so"


def test_a_map_has_every_function_and_what_the_program_has_besides(program: Path, tmp_path: Path) -> None:
    shares = {
        ("w", "point"): {"entry": 0.12345, "other": 0.0001, "row_one": 0.5},
        ("w", "all"): {"entry": 1.0000001},
    }
    executed = [Executed(a_server("a"), program, shares, {"entry", "flush"})]
    document = documents.map_of_servers("20261126T100000Z-000001", "2026-11-26T10:00:00+00:00", executed)
    assert document.functions == ("entry", "flush", "other", "row_one")
    (mapped,) = document.mapped
    assert mapped.shares == ((123, 1000), (-1, -1), (0, -1), (500, -1))
    assert mapped.beside == (1,)
    assert {"unused"} <= {*document.symbols} <= {*parts.defined(program).sizes} - {*document.functions}
    assert mapped.named is not None
    assert 0.5 < mapped.named <= 1
    assert {(part.name, part.functions, part.executed) for part in mapped.parts} >= {("InnoDB", 1, 1)}
    assert "unused" in {spot.name for spot in mapped.blind}
    path = MAPS.write(tmp_path, document.run, document)
    assert path.name.endswith(".json.xz")
    assert MAPS.read(path) == document
    assert MAPS.owns(path)
    before = MAPS.write_to(tmp_path / "reach" / "before.json.xz", document)  # the folder's earlier name
    assert MAPS.find(tmp_path) == (path, before)
    documents.keep(tmp_path / "kept", document.run, document.started, executed, pytest.fail)
    assert [MAPS.read(path) for path in MAPS.find(tmp_path / "kept")] == [document]
    said: list[str] = []
    documents.keep(path, document.run, document.started, (), said.append)
    documents.keep(path, document.run, document.started, executed, said.append)
    assert [reason.partition(": ")[0] for reason in said] == ["coverage"]


def test_most_functions_of_a_stripped_program_have_no_name(program: Path, tmp_path: Path) -> None:
    """As in the servers of distributions."""
    (tmp_path / "a.c").write_text(SOURCE.replace("int ", "static int ").replace("static int v", "int v"))
    hidden = "int (*all[])(int) = {entry, unused, row_one};\nint seen(void) { return all[0](1); }\n"
    (tmp_path / "a.c").write_text((tmp_path / "a.c").read_text() + hidden)
    compiler = shutil.which("cc")
    assert compiler is not None, "a C compiler is missing"
    build = (compiler, "-s", "-shared", "-fPIC", "-fasynchronous-unwind-tables", "-o", "b.so", "a.c")
    subprocess.run(build, cwd=tmp_path, check=True)
    found, whole = parts.defined(tmp_path / "b.so"), parts.defined(program)
    assert {*found.sizes} == {"seen"}
    assert (found.named or 1) < (whole.named or 0)
    assert parts.defined(tmp_path / "a.c") == parts.Symbols({}, None)


def test_a_map_of_format_1_does_not_say_what_the_program_has(tmp_path: Path) -> None:
    document = msgspec.to_builtins(a_map())
    del document["symbols"]
    for server in document["mapped"]:
        del server["named"]
    path = tmp_path / "x.json.xz"
    path.write_bytes(lzma.compress(msgspec.json.encode(document | {"format": 1})))
    servers = tuple(structs.replace(server, named=None) for server in a_map().mapped)
    assert MAPS.read(path) == structs.replace(a_map(), symbols=(), mapped=servers)


@pytest.mark.parametrize(
    "change",
    [
        {"mapped": ()},
        {"functions": ("one",)},
        {"mapped": (structs.replace(a_map().mapped[0], beside=(99,)),)},
    ],
)
def test_a_damaged_map_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    path = MAPS.write(tmp_path, "x", structs.replace(a_map(), **change))
    with pytest.raises(InputError, match="not a coverage map"):
        MAPS.read(path)
