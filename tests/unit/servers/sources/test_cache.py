"""The cache: what it keeps, and what goes."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from shootout import cli, paths
from shootout.errors import InputError
from shootout.servers import locking
from shootout.servers.sources import cache
from shootout.servers.sources.cache import Manifest
from shootout.servers.sources.fetch import companions

MIB = 1024 * 1024
DAY_S = 86_400
EVERYTHING = 10**12


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(cache.LIMIT_VARIABLE, raising=False)
    return paths.cache_folder()


def filled(directory: Path, mib: int) -> None:
    (directory / "data").mkdir()
    (directory / "data" / "ibdata1").write_bytes(b"x" * mib * MIB)
    manifest = Manifest(
        server="mysql 8.0.12",
        datasets=("sbtest-1x10-innodb", "tpcc-1w-innodb"),
        checksum="c",
        load_s=1.0,
        files=cache.sizes(directory / "data"),
    )
    (directory / "template.json").write_bytes(msgspec.json.encode(manifest))


def a_template(cache_dir: Path, name: str, *, mib: int = 1, days_ago: int = 0) -> Path:
    target = cache_dir / "templates" / name
    locking.build_once(target, lambda directory: filled(directory, mib), Path.is_dir)
    used_s = locking.lock_of(target).stat().st_mtime - days_ago * DAY_S
    os.utime(locking.lock_of(target), (used_s, used_s))
    return target


def a_server(cache_dir: Path, name: str, *, mib: int = 1) -> Path:
    def unpacked(directory: Path) -> None:
        (directory / "bin").mkdir()
        (directory / "bin" / "mysqld").write_bytes(b"x" * mib * MIB)
        (directory / "bin" / "mysqld").chmod(0o755)

    target = cache_dir / "servers" / name
    locking.build_once(target, unpacked, Path.is_dir)
    return target


@contextmanager
def in_use(*targets: Path) -> Iterator[None]:
    """Somebody holds their locks; tests/unit/servers/test_locking.py has processes of their own do so."""
    with ExitStack() as held:
        for target in targets:
            assert not locking.build_once(target, Path.mkdir, Path.is_dir, held)
        yield


def names(cache_dir: Path) -> list[str]:
    return [entry.name for entry in cache.contents(cache_dir, EVERYTHING).entries]


def test_libraries_are_an_entry_of_their_own(cache_dir: Path) -> None:
    def fill(directory: Path) -> None:
        (directory / companions.FOLDER).mkdir(parents=True)
        (directory / companions.FOLDER / "libaio.so.1").touch()

    for number, build in enumerate((fill, lambda directory: None)):
        locking.build_once(cache_dir / "servers" / f"{companions.NAME}-{number}", build, Path.is_dir)
    found = {each.name: (each.kind, each.state) for each in cache.contents(cache_dir, EVERYTHING).entries}
    assert found == {"libraries-0": ("libraries", "ready"), "libraries-1": ("libraries", "broken")}
    assert len(cache.clear(cache_dir).removed) == 2
    assert names(cache_dir) == []


# --- the limit ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [("", 20 * 10**9), ("0", 0), ("5000000", 5_000_000), ("1e9", 10**9), ("3G", 3 * 2**30)],
)
def test_the_limit_is_a_size(written: str, expected: int) -> None:
    assert cache.limit_bytes({cache.LIMIT_VARIABLE: written}) == expected
    assert cache.limit_bytes({}) == cache.LIMIT_BYTES


@pytest.mark.parametrize("written", ["much", "-1", "1.5", "20 GB", "nan"])
def test_a_limit_that_is_none_is_named(written: str) -> None:
    with pytest.raises(InputError, match=r"^SHOOTOUT_CACHE_BYTES: expected a size .*, found '"):
        cache.limit_bytes({cache.LIMIT_VARIABLE: written})


def test_the_least_recently_used_templates_go(cache_dir: Path) -> None:
    a_server(cache_dir, "old-server", mib=3)
    for days_ago, name in ((1, "b"), (3, "d"), (0, "a"), (2, "c")):
        a_template(cache_dir, name, mib=2, days_ago=days_ago)
    assert names(cache_dir)[2:] == ["b", "c", "d"]
    cache.evict(cache_dir, EVERYTHING)
    assert set(names(cache_dir)) == {"a", "b", "c", "d", "old-server"}
    cache.evict(cache_dir, 8 * MIB)  # 11 MiB and the manifests
    assert set(names(cache_dir)) == {"a", "b", "old-server"}
    a_template(cache_dir, "b", days_ago=0)
    # It is asked for again: now it is newer.
    locking.build_once(cache_dir / "templates" / "a", Path.mkdir, Path.is_dir)
    cache.evict(cache_dir, 6 * MIB)
    assert set(names(cache_dir)) == {"a", "old-server"}
    cache.evict(cache_dir, 0)
    assert names(cache_dir) == ["old-server"]


def test_what_is_in_use_stays_whatever_the_limit(cache_dir: Path) -> None:
    old = a_template(cache_dir, "old", days_ago=9)
    a_template(cache_dir, "newer")
    with in_use(old):
        os.utime(locking.lock_of(old), (0, 0))
        cache.evict(cache_dir, 0)
        assert names(cache_dir) == ["old"]
    cache.evict(cache_dir, 0)
    assert names(cache_dir) == []


# --- list and clear -------------------------------------------------------------------------------


def test_the_list_says_what_there_is(cache_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_template(cache_dir, "0123456789abcdef", mib=2, days_ago=400)
    name = "mysql-8.0.12-0e9263926cc7"
    a_server(cache_dir, name, mib=1)
    assert cli.main(["cache", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    server, template = found["entries"]
    assert (server["kind"], server["name"], server["state"]) == ("server", name, "ready")
    assert (template["kind"], template["server"], template["state"]) == ("template", "mysql 8.0.12", "ready")
    assert template["datasets"] == ["sbtest-1x10-innodb", "tpcc-1w-innodb"]
    assert template["used"] < server["used"]
    assert 2 * MIB <= template["size_bytes"] < 2.1 * MIB
    assert MIB <= server["size_bytes"] < 1.1 * MIB
    assert found["total_bytes"] == template["size_bytes"] + server["size_bytes"]
    assert found["limit_bytes"] == 20 * 10**9

    assert cli.main(["cache", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert name in lines[1]
    assert "mysql 8.0.12: sbtest-1x10-innodb, tpcc-1w-innodb  2.10" in lines[2]
    assert lines[-1].endswith(" of 20.0\N{NARROW NO-BREAK SPACE}GB")


def test_an_empty_cache_is_listed_and_cleared(cache_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache", "list"]) == 0
    assert cli.main(["cache", "clear"]) == 0
    narrow = "\N{NARROW NO-BREAK SPACE}"
    assert capsys.readouterr().out.splitlines() == [
        f"0{narrow}B of 20.0{narrow}GB",
        f"removed 0 entries, 0{narrow}B freed",
    ]
    assert not cache_dir.exists()


@pytest.mark.parametrize(
    "harm", ["truncated", "more files", "no manifest", "no JSON", "half built", "no program"]
)
def test_a_broken_entry_is_listed_and_cleared(harm: str, cache_dir: Path) -> None:
    target = (a_server if harm == "no program" else a_template)(cache_dir, "broken")
    if harm == "truncated":
        os.truncate(target / "data" / "ibdata1", 17)
    elif harm == "more files":
        (target / "data" / "more").touch()
    elif harm == "no manifest":
        (target / "template.json").unlink()
    elif harm == "no JSON":
        (target / "template.json").write_text("{")
    elif harm == "no program":
        (target / "bin" / "mysqld").unlink()
    else:
        target.rename(locking.partial_of(target))
    (entry,) = cache.contents(cache_dir, EVERYTHING).entries
    assert (entry.name, entry.state, entry.datasets) == ("broken", "broken", ())
    assert cache.clear(cache_dir).removed == (entry,)
    assert [path for path in target.parent.iterdir() if path.is_dir()] == []


def test_clearing_keeps_what_is_in_use_and_says_so(
    cache_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = a_template(cache_dir, "used", mib=1)
    a_template(cache_dir, "idle", mib=2)
    server = a_server(cache_dir, "mysql-x", mib=1)
    with in_use(used, server):
        states = {entry.name: entry.state for entry in cache.contents(cache_dir, EVERYTHING).entries}
        assert states == {"used": "in use", "mysql-x": "in use", "idle": "ready"}
        assert cli.main(["cache", "clear"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert set(said[:-1]) == {
        "in use, not removed: template mysql 8.0.12: sbtest-1x10-innodb, tpcc-1w-innodb",
        "in use, not removed: server mysql-x",
    }
    assert said[-1] == "removed 1 entry, 2.10\N{NARROW NO-BREAK SPACE}MB freed"
    assert set(names(cache_dir)) == {"used", "mysql-x"}

    assert cli.main(["cache", "clear", "--json"]) == 0
    cleared = json.loads(capsys.readouterr().out)
    assert {entry["name"] for entry in cleared["removed"]} == {"used", "mysql-x"}
    assert cleared["kept"] == []
    assert cleared["freed_bytes"] == sum(entry["size_bytes"] for entry in cleared["removed"])
    assert names(cache_dir) == []


def test_what_is_not_ours_to_open_is_listed_and_kept(cache_dir: Path) -> None:
    lock = locking.lock_of(a_template(cache_dir, "theirs"))
    lock.symlink_to(lock.rename(cache_dir / "elsewhere"))  # root may open all but a link
    (entry,) = cache.contents(cache_dir, EVERYTHING).entries
    assert entry.state == "in use"
    cache.evict(cache_dir, 0)
    assert cache.clear(cache_dir).kept == (entry,)
