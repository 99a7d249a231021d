from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.servers import libraries
from shootout.servers.fetch import companions, debian
from shootout.servers.fetch.clients import Lack

AIO, NUMA = "libaio.so.1", "libnuma.so.1"


@pytest.mark.parametrize(
    ("system", "release", "series"),
    [
        ("debian", "bullseye", "bullseye"),
        ("debian", "bookworm", "bookworm"),
        ("debian", "trixie", "bookworm"),  # its own packages have other sonames
        ("ubuntu", "jammy", "jammy"),
        ("ubuntu", "noble", "jammy"),
        ("ubuntu", "", "jammy"),
        ("fedora", "", None),
    ],
)
def test_libraries_come_from_a_release_that_the_system_can_run(
    system: str, release: str, series: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os-release").write_text(f'NAME="Any"\nID={system}\nVERSION_CODENAME="{release}"\n')
    monkeypatch.setattr(debian, "SYSTEM", tmp_path / "os-release")
    monkeypatch.setattr(debian, "missing", lambda distribution: None)
    found = companions._source([NUMA, AIO])
    assert (found.series if found else None) == series
    if found is not None:
        assert (found.distribution, found.alone) == (system, ("libaio1", "libnuma1"))
    assert companions._source(["libssl.so.1.0.0"]) is None


def test_what_cannot_be_had_is_said_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "missing", lambda distribution: Lack(what="apt-get"))
    expected = r"^mysql-5.7.22: missing shared libraries: libaio.so.1\nOn Debian: apt-get install libaio1$"
    with pytest.raises(InputError, match=expected):
        companions.require([AIO], "mysql-5.7.22")


@pytest.mark.real
def test_a_library_that_the_system_lacks_is_brought(tmp_path: Path) -> None:
    name = "libtinfo.so.5"
    assert companions.lacking(["libc.so.6", name]) == [name]
    top = tmp_path / "tree"
    top.mkdir()
    (tmp_path / "stub.c").write_text("char *termname(void) { return 0; }")
    (tmp_path / "main.c").write_text("char *termname(void); int main(void) { termname(); return 0; }")
    stub = tmp_path / name
    subprocess.run(["cc", "-shared", f"-Wl,-soname,{name}", "-o", stub, tmp_path / "stub.c"], check=True)
    subprocess.run(["cc", "-o", top / "mysqld", tmp_path / "main.c", stub], check=True)
    with pytest.raises(libraries.MissingLibrariesError) as caught:
        libraries.find(top / "mysqld", top)
    assert caught.value.names == (name,)
    brought = companions.fetch(caught.value.names, tmp_path / "cache")
    launch = libraries.find(top / "mysqld", top, brought)
    assert launch.variables == {"LD_LIBRARY_PATH": str(brought)}
    assert libraries.run(top / "mysqld", launch).returncode == 0
