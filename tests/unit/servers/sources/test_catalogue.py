from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shootout import cli
from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.catalogue import CatalogueEntry, Debian, Vendor
from shootout.servers.sources import catalogue
from shootout.servers.sources.fetch import packages

VERSIONS = {
    "mysql": "4.1.22 5.0.96 5.5.34 5.6.24 5.7.22 8.0.12 5.5.62 5.6.44 5.7.31 8.0.32 8.0.33 "
    "9.0.1 9.1.0 9.2.0 9.3.0 9.4.0 9.5.0 8.4.8 9.7",
    "percona": "5.7.44 8.0.40 8.4.4",
    "mariadb": "10.1.23 10.2.11 10.5 10.6.9 10.11 10.11.9 11.4.9 11.4.5 11.8 11.8.6",
}
IDS = tuple(f"{family}-{version}" for family, versions in VERSIONS.items() for version in versions.split())


def test_the_catalogue_is_whole() -> None:
    entries = catalogue.load()
    assert tuple(entries) == IDS
    for name, entry in entries.items():
        assert name == f"{entry.family}-{entry.version}"
        assert re.fullmatch(r"20\d\d(-[01]\d-[0-3]\d)?", entry.released)
        assert len(entry.note) <= 80
        for source in entry.sources:
            assert isinstance(source, Debian) or set(source.checksum.partition(":")[2]) != {"0"}
    released = [([*VERSIONS].index(entry.family), entry.released) for entry in entries.values()]
    assert released == sorted(released)


def test_every_source_makes_a_tree_of_its_own() -> None:
    targets = [
        packages.target(name, source, Path("cache"))
        for name, entry in catalogue.load().items()
        for source in entry.sources
    ]
    assert len(set(targets)) == len(targets)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("mysql-5.0", "mysql-5.0.96"),
        ("mysql-8.4", "mysql-8.4.8"),
        ("mysql-9.7", "mysql-9.7"),
        ("percona-8.4", "percona-8.4.4"),
        ("mariadb-10.1", "mariadb-10.1.23"),
        ("mariadb-10.11", "mariadb-10.11"),
        ("mariadb-11.8", "mariadb-11.8"),
    ],
)
def test_an_id_may_be_cut_short_where_it_stays_unique(written: str, meant: str) -> None:
    assert catalogue.find(written) == meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("mysql-8.0", "server 'mysql-8.0' is ambiguous; expected one of mysql-8.0.12, mysql-8.0.32"),
        ("mysql-5", "server 'mysql-5' is ambiguous; expected one of mysql-5.0.96, mysql-5.5.34"),
        ("mariadb", "server 'mariadb' is ambiguous; expected one of mariadb-10.1.23, mariadb-10.2"),
        ("mysql-8.0.1", "unknown server 'mysql-8.0.1'; did you mean 'mysql-8.0.12'?"),
        ("mysql-5.7.", "unknown server 'mysql-5.7.'; did you mean 'mysql-5.7.22'?"),
        ("mysql-57", "unknown server 'mysql-57'; did you mean 'mysql-5.7.22'?"),
        ("mariadb1011", "unknown server 'mariadb1011'; did you mean 'mariadb-10.11'?"),
        ("", "unknown server ''; known: mysql-4.1.22, "),
        ("my.cnf", "unknown server 'my.cnf'\nSettings follow a server: SERVER@my.cnf"),
    ],
)
def test_what_names_no_server_or_several_is_said(written: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        catalogue.find(written)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("type = 'rpm'", "[...].sources[0].type: Invalid value 'rpm'; did you mean 'npm'?"),
        ("type = 'npm'\nsha256 = 'f'", "[...].sources[0].sha256: Expected `str` matching regex"),
        ("type = 'debian'", "[...].sources[0]: Object missing required field `series`"),
        ("type = 'maven'\nurl = ''", "[...].sources[0]: Object contains unknown field `url`"),
        (
            "type = 'vendor'\nurl = 'http://any/m.tar.gz'",
            "[...].sources[0].url: Expected `str` matching regex",
        ),
        (
            "type = 'vendor'\nurl = 'https://any/m'\nchecksum = 'sha1:00'",
            "[...].sources[0].checksum: Expected",
        ),
    ],
)
def test_a_wrong_source_is_named_with_its_field(source: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "servers.toml"
    entry = "family = 'mysql'\nversion = '1'\nreleased = '2000-01-01'\nedition = 'community'\n"
    file.write_text(f"[mine]\n{entry}[[mine.sources]]\n{source}\n")
    with pytest.raises(InputError) as caught:
        toml.load(file, dict[str, CatalogueEntry])
    assert str(caught.value).startswith(f"{file}: {words}")


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, catalogue.Offer]:
    assert cli.main(["servers", "list", "--json"]) == 0
    offers = msgspec.json.decode(capsys.readouterr().out, type=list[catalogue.Offer])
    return {offer.id: offer for offer in offers}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a cache and without clients; the folder in its PATH."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def a_client(folder: Path, name: str) -> None:
    (folder / name).touch(0o755)


def test_the_list_tells_what_is_here_and_what_it_takes(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = packages.target(IDS[2], catalogue.load()[IDS[2]].sources[0], bare / "shootout")
    here.mkdir(parents=True)
    offers = listed(capsys)
    assert tuple(offers) == IDS
    assert {name for name, offer in offers.items() if offer.state == "ready"} == {IDS[2]}
    assert offers[IDS[2]].directory == str(here)
    for name in IDS[:2] + IDS[3:]:
        from_vendor = any(isinstance(source, Vendor) for source in catalogue.load()[name].sources)
        assert offers[name].state == ("fetchable" if from_vendor else "unavailable")
    way, _ = offers["mysql-8.0.33"].ways
    assert way.missing is not None
    assert (way.client, way.missing.what, way.missing.install) == ("mvn", "mvn", "apt-get install maven")
    a_client(bare, "mvn")
    offers = listed(capsys)
    assert offers["mysql-8.0.12"].state == "fetchable"
    assert offers["mysql-9.7"].state == "unavailable"
    assert [way.missing is None for way in offers["mariadb-10.11"].ways] == [False, True]
    assert offers["mariadb-10.11"].state == "fetchable"


def test_the_list_as_a_table(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_client(bare, "npm")
    assert cli.main(["servers", "list"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert re.split(r"  +", heading.strip()) == ["server", "released", "edition", "state", "note"]
    cells = {row.split()[0]: re.split(r"  +", row.strip()) for row in rows}
    assert tuple(cells) == IDS
    assert cells["mysql-5.6.24"][1:4] == ["2015-04-06", "community", "can be fetched with npm"]
    assert cells["mysql-9.7"][3] == "needs apt-get: apt-get install apt"
    assert cells["mysql-8.0.12"][3] == "needs mvn: apt-get install maven"
    assert cells["mysql-8.0.33"][3] == cells["mysql-8.4.8"][3] == "can be fetched"
    assert cells["mysql-8.4.8"][4].endswith("never tried here")
