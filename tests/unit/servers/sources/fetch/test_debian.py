from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.model.catalogue import Debian
from shootout.servers.sources.fetch import companions, debian
from shootout.servers.sources.fetch.debian import Root
from tests.support.servers.sources.fetch.archives import a_failing_client

MAIN = ("http://mirror/", "bookworm", "main", "Debian")
UPDATES = ("http://other/", "bookworm-updates", "main", "Debian")
SECURITY = ("http://security/", "bookworm-security", "main", "Debian")
THIRD = ("http://percona/", "bookworm", "main", "Percona")
FREE = ("http://mirror/", "bookworm", "contrib", "Debian")
UBUNTU = ("http://ubuntu/", "noble", "main", "Ubuntu")
UNKNOWN = ("http://mirror/", "stable", "main", "$(ORIGIN)")


def a_system(folder: Path, monkeypatch: pytest.MonkeyPatch, release: str, apt_get: str) -> None:
    (folder / "apt-get").write_text(f"#!/bin/sh\n{apt_get}\n")
    (folder / "apt-get").chmod(0o755)
    (folder / "os-release").write_text(release)
    monkeypatch.setattr(debian, "SYSTEM", folder / "os-release")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("system", "targets", "uri"),
    [
        ("debian", [THIRD, UPDATES, SECURITY, FREE, MAIN], "http://mirror/"),
        ("ubuntu", [UBUNTU, MAIN], "http://mirror/"),
        ("ubuntu", [UBUNTU], None),
        ("debian", [UNKNOWN], "http://mirror/"),
        ("ubuntu", [UNKNOWN], None),
        ("debian", [UPDATES, SECURITY, THIRD], None),
        ("debian", [], None),
    ],
)
def test_the_mirror_is_the_hosts_own_of_debians_archive(
    system: str,
    targets: Sequence[tuple[str, ...]],
    uri: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "targets").write_text("".join("\t".join(target) + "\n" for target in targets))
    release = f'NAME="Any"\nVERSION_ID="1"\nID={system}\nID_LIKE=debian\n'
    a_system(tmp_path, monkeypatch, release, f"cat {tmp_path}/targets")
    assert debian.mirror() == uri


def test_libraries_are_not_said_to_be_missing_only_because_tmp_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "E: Write error - write (28: No space left on device)"
    a_system(tmp_path, monkeypatch, "ID=debian\nVERSION_CODENAME=bookworm\n", f"echo '{words}'; exit 100")
    monkeypatch.setattr(tempfile, "tempdir", "/full")
    assert companions.message(["libaio.so.1"]).splitlines()[1] == (
        "On Debian: apt-get install libaio1; they cannot be fetched without space in /full for apt-get"
    )


@pytest.mark.parametrize(
    ("member", "where"),
    [
        ("./lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("./lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2"),
        ("./usr/sbin/mariadbd", "usr/sbin/mariadbd"),
        ("./sbin/ldconfig", None),
        ("./etc/mysql/my.cnf", None),
    ],
)
def test_folders_that_are_one_in_newer_releases_are_one(member: str, where: str | None) -> None:
    assert Root(Path(), keep=["usr/lib", "usr/lib64", "usr/sbin/mariadbd"]).place(member) == where


@pytest.mark.parametrize(
    ("where", "target", "said"),
    [
        ("usr/lib64/ld.so.2", "/lib/x86_64-linux-gnu/ld-2.31.so", "../lib/x86_64-linux-gnu/ld-2.31.so"),
        ("usr/lib/a.so", "a.so.1", "a.so.1"),
        ("usr/lib/a.so", "/etc/alternatives/a.so", "../../etc/alternatives/a.so"),
        ("usr/lib/a.so", "/../../etc/passwd", "../../etc/passwd"),
    ],
)
def test_absolute_links_point_into_the_tree(where: str, target: str, said: str) -> None:
    assert Root(Path()).target(where, target) == said


APT_SAYS = """\
Get:1 http://127.0.0.1/any sid InRelease
W: Some index files failed to download.
E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?
E: Something else
"""


def test_the_reason_is_apts_first_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_failing_client("apt-get", APT_SAYS, tmp_path, monkeypatch)
    with pytest.raises(MeasureError) as caught:
        debian.download(Debian(series="sid", packages=("any", "other")), tmp_path / "root")
    assert str(caught.value) == (
        "cannot download any other of Debian sid: "
        "Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?"
    )
