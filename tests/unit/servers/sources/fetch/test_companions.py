from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.servers.sources.fetch import companions, debian
from shootout.servers.sources.fetch.clients import Lack

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
    expected = r"^mysql-5.7.22: missing shared libraries: libaio.so.1\nOn Debian: apt-get install libaio1; "
    with pytest.raises(InputError, match=expected):
        companions.require([AIO], "mysql-5.7.22")
