"""Vendors' archives, over https from a server on this machine."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256, sha512
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec import structs

from shootout import cli, paths
from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Vendor
from shootout.servers.sources import catalogue, layout
from shootout.servers.sources.fetch import archive, packages
from tests.support.servers.sources.fetch.archives import Host, an_archive, directories, serving

ENTRY = """
["mysql-mine"]
family = "mysql"
version = "5.7.22"
released = "2018"
edition = "community"
[["mysql-mine".sources]]
type = "vendor"
url = "{url}"
checksum = "sha512:{checksum}"
bytes = {bytes}
"""
NAME = "mine-1.tar.gz"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.now(UTC), timedelta(days=1)
    made = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now - day, now + day
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    of_key = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(of_key + made.public_bytes(Encoding.PEM))
    return path


@pytest.fixture
def host(tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """It has an archive of a server."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    an_archive(tmp_path / NAME, "mine/bin/mysqld")
    with serving(tmp_path, certificate) as host:
        yield host


def source(host: Host, **fields: object) -> Vendor:
    content = (host.folder / NAME).read_bytes()
    checksum = f"md5:{md5(content).hexdigest()}"
    vendor = Vendor(url=f"{host.url}/{NAME}", checksum=checksum, bytes=len(content))
    return structs.replace(vendor, **fields)


def fetched(source: Vendor, folder: Path) -> Path:
    return packages.fetch_source(archive.name(source.url), source, folder / "cache")


def test_a_cut_transfer_continues_where_it_ended(host: Host, tmp_path: Path) -> None:
    host.cut = 2
    directory = fetched(source(host), tmp_path)
    assert [each.name for each in directory.iterdir()] == ["mine"]
    length = (tmp_path / NAME).stat().st_size
    assert host.asked == ["", f"bytes={length // 2}-", f"bytes={length - (length - length // 2 + 1) // 2}-"]


def test_a_host_that_cannot_continue_begins_again(host: Host, tmp_path: Path) -> None:
    host.cut, host.ranges = 1, False
    assert (fetched(source(host), tmp_path) / "mine" / "bin" / "mysqld").exists()


def test_what_is_always_cut_is_given_up(host: Host, tmp_path: Path) -> None:
    host.cut = 100
    with pytest.raises(MeasureError, match=r"cannot download https://localhost.*: it ended after \d+ of \d+"):
        fetched(source(host), tmp_path)
    assert len(host.asked) == 1 + archive.RESUMED_MAX


def test_a_redirect_is_followed_but_never_away_from_https(host: Host, tmp_path: Path) -> None:
    assert fetched(source(host, url=f"{host.url}/to/{source(host).url}"), tmp_path).is_dir()
    plain = f"http://localhost:1/{NAME}"
    with pytest.raises(MeasureError, match=f"it redirects to {plain}, which is not https"):
        fetched(source(host, url=f"{host.url}/to/{plain}", folder="mine"), tmp_path)


def test_a_host_that_nobody_vouches_for_is_refused(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(MeasureError, match="certificate verify failed"):
        fetched(source(host), tmp_path)


@pytest.mark.parametrize("endless", ["", "x" * 100])
def test_what_is_larger_than_published_ends_early(endless: str, host: Host, tmp_path: Path) -> None:
    host.endless = endless
    with pytest.raises(MeasureError, match="it is larger than 60 bytes"):
        fetched(source(host, bytes=60), tmp_path)


@pytest.mark.parametrize("algorithm", ["md5", "sha256", "sha512"])
def test_another_checksum_unpacks_nothing(algorithm: str, host: Host, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"expected {algorithm} 00, found [0-9a-f]+\nNothing was unpacked"):
        fetched(source(host, checksum=f"{algorithm}:00"), tmp_path)
    assert directories(tmp_path / "cache") == []


# Files that vendors' scripts put into archives that the catalogue keeps parts of.
OF_5_0 = (
    "bin/mysqld bin/mysql_create_system_tables scripts/mysql_install_db share/mysql/english/errmsg.sys docs/x"
)
OF_5_5 = "bin/mysqld lib/plugin/a.so scripts/x share/english/errmsg.sys share/mysql_system_tables.sql"
OF_MARIADB = "bin/mariadbd lib/plugin/a.so scripts/x share/english/errmsg.sys share/mysql_system_tables.sql"


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("mysql-5.0.96", OF_5_0),
        *((name, OF_5_5) for name in ("mysql-5.5.62", "mysql-5.6.44", "mysql-5.7.31")),
        *((f"mariadb-{version}", OF_MARIADB) for version in ("10.6.9", "10.11.9", "11.4.9", "11.8.6")),
    ],
)
def test_what_is_kept_of_an_archive_is_a_server(name: str, files: str, host: Host, tmp_path: Path) -> None:
    an_archive(tmp_path / NAME, *(f"mine-linux/{file}" for file in files.split()))
    (vendor,) = catalogue.load()[name].sources
    assert isinstance(vendor, Vendor)
    directory = fetched(source(host, keep=vendor.keep), tmp_path)
    found = layout.find(directory)
    assert found.mysqld.parent == directory / "mine-linux" / "bin"
    assert any(place.startswith("scripts/") or place.endswith(".sql") for place in found.contents)
    assert not (directory / "mine-linux" / "docs").exists()


@pytest.fixture
def catalogued(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Put the host's archive into a catalogue as mysql-mine."""

    def write() -> None:
        content = (tmp_path / NAME).read_bytes()
        checksum = sha512(content).hexdigest()
        entry = ENTRY.format(url=f"{host.url}/{NAME}", checksum=checksum, bytes=len(content))
        (tmp_path / "servers.toml").write_text(entry)
        monkeypatch.setattr(catalogue, "FILE", tmp_path / "servers.toml")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    return write


def test_a_vendors_server_is_fetched_and_answers(
    host: Host, tmp_path: Path, catalogued: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    tree = packages.fetch("mysql-5.7.22", catalogue.load()["mysql-5.7.22"], paths.cache_folder())
    with tarfile.open(tmp_path / NAME, "w:gz", compresslevel=1) as tar:
        tar.add(tree, "mysql-mine-linux")
    catalogued()
    host.cut = 1
    assert cli.main(["servers", "fetch", "mysql-mine"]) == 0
    assert capsys.readouterr().out.startswith("mysql-mine  mysql 5.7.22  ")
    assert len(host.asked) == 2
    archived = (
        f"path:{(tmp_path / NAME).as_uri()}#sha256={sha256((tmp_path / NAME).read_bytes()).hexdigest()}"
    )
    assert cli.main(["servers", "fetch", archived]) == 0
    reference, version, directory = capsys.readouterr().out.rstrip().split("  ")
    assert (reference, version) == (archived, "mysql 5.7.22")
    assert Path(directory).name == "mysql-mine-linux"
    assert Path(directory).parent.name.startswith("mine-1-")


def test_a_tree_without_a_server_is_said(
    host: Host, tmp_path: Path, catalogued: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    an_archive(tmp_path / NAME, "mine/doc/README")
    catalogued()
    assert cli.main(["servers", "fetch", "mysql-mine"]) == 2
    assert "mysqld" in capsys.readouterr().err
