"""Options that every server gets, whatever its settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.model.plan import Container
from shootout.model.value import Family, Version
from shootout.servers.installation import Installation
from shootout.servers.processes import config
from shootout.servers.sources.images import Image
from shootout.servers.sources.layout import Layout
from shootout.servers.sources.libraries import Launch
from shootout.servers.sources.trees import Tree


def an_installation(family: Family = "mysql", version: Version = (8, 0, 33)) -> Tree:
    """Make an installation of some family and version; it is not run."""
    top = Path("/opt/my sql")
    files = Layout(
        top=top, basedir=top, mysqld=top / "bin/mysqld", share=top / "share", scripts=(), plugins=None
    )
    return Tree(files, Launch(), version, family, digest="")


def effective(installation: Installation, directory: Path, settings: dict[str, str]) -> dict[str, str]:
    """The options as a server reads them: by variable, the last one wins."""
    lines = config.write(installation, directory, settings).read_text().splitlines()
    assert lines[0] == "[mysqld]"
    pairs = (line.partition(" = ")[::2] for line in lines[1:])
    return {name.replace("-", "_").removeprefix("loose_"): value for name, value in pairs}


def test_in_a_network_of_its_own_it_can_be_reached(tmp_path: Path) -> None:
    tree, container = an_installation(), Container(network="bridge")
    image = Image("any", "", "", container, "/bin/mysqld", None, version=tree.version, family=tree.family)
    assert effective(image, tmp_path, {"bind_address": "127.0.0.1"})["bind_address"] == "0.0.0.0"


def test_it_keeps_to_its_directory_and_to_this_machine(tmp_path: Path) -> None:
    wanted = {
        "bind_address": "*",
        "mysqlx": "ON",
        "datadir": "/var/lib/mysql",
        "tmpdir": "/tmp",
        "secure-file-priv": "",
        "skip-log-bin": "",
        "max_connections": "7",
        "net_retry_count": "10",
    }
    found = effective(an_installation(), tmp_path, wanted)
    assert found["bind_address"] == "127.0.0.1"
    assert found["mysqlx"] == "OFF"
    assert found["datadir"] == f'"{tmp_path}/data"'
    assert found["tmpdir"] == f'"{tmp_path}/tmp"'
    assert found["secure_file_priv"] == found["tmpdir"]
    assert (tmp_path / "tmp").stat().st_mode & 0o777 == 0o700
    assert (found["skip_log_bin"], found["max_connections"]) == ("", "7")
    assert int(found["net_retry_count"]) > 1e9
    assert found["basedir"] == '"/opt/my sql"'


@pytest.mark.parametrize(
    ("family", "version", "own"),
    [
        ("mysql", (5, 1, 73), set()),
        ("mysql", (6, 0, 11), set()),
        ("mysql", (8, 0, 3), set()),
        ("mysql", (8, 0, 11), {"mysqlx"}),
        ("mariadb", (11, 8, 6), {"skip_ssl"}),
    ],
)
def test_only_what_a_version_knows_is_said(
    family: Family, version: Version, own: set[str], tmp_path: Path
) -> None:
    found = effective(an_installation(family, version), tmp_path, {})
    assert found.keys() & {"mysqlx", "skip_ssl"} == own


def test_where_the_system_does_not_let_us_write_is_said(tmp_path: Path) -> None:
    said = rf"^instance directory {tmp_path}: {tmp_path}/none/my\.cnf: No such file or directory$"
    with pytest.raises(MeasureError, match=said), config.writing(tmp_path):
        (tmp_path / "none" / "my.cnf").write_text("")
    said = rf"^instance directory {tmp_path}: No space left on device$"
    with pytest.raises(MeasureError, match=said), config.writing(tmp_path):
        Path("/dev/full").write_text("words")
