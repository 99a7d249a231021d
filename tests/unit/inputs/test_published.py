"""Published comparisons: what is shipped is consistent, and their servers are matched with a run's."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.inputs import matrix, published
from tests.support.repeated import NAMES, a_repetition


@pytest.mark.parametrize("name", NAMES)
def test_every_published_server_is_in_its_profile(name: str) -> None:
    profile = matrix.load_profile(name)
    assert profile.published == name
    missing = {server.server for server in published.load(name).servers} - {*profile.servers}
    assert missing == ({"path:trees/percona-5.6@flavours-tokudb"} if name == "flavours" else set())


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (published.FOLDER / "shootout.toml").read_text()
    for wrong, message in (
        (text.replace('reference = "5.5"', 'reference = "5.7"'), "reference: unknown server '5.7'"),
        (text.replace("[685.52, ", "["), "servers '4.1': tps: expected 7 values, one for each of"),
        (text.replace('head = { server = "5.0"', 'head = { server = "5.2"'), "'slower-5.0': unknown server"),
        (text.replace('name = "5.0"', 'name = "4.1"'), "servers: '4.1' appears twice"),
        (text.replace("685.52", "-1.0"), "Expected `float` > 0.0"),
    ):
        assert wrong != text
        path.write_text(wrong)
        with pytest.raises(InputError) as caught:
            published.load(str(path))
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{path}: ")


def test_servers_are_found_under_what_stands_in_for_them() -> None:
    header = a_repetition("shootout", starts=0).header
    comparison = published.load("shootout")
    found = {server.name: published.record_of(server, header) for server in comparison.servers}
    labels = {name: record.label if record else None for name, record in found.items()}
    assert labels == {
        "4.1": "path:mysql-4.1",
        "5.0": "path:mysql-5.0",
        "5.1": "path:mysql-5.1",
        "5.1 + InnoDB plugin": "path:mysql-5.1@shootout-innodb-plugin",
        "5.5": "mysql-5.5.34",
        "5.6.2": "mysql-5.6.24",
    }
    assert {name for name, record in found.items() if record and record.absent} == {
        "4.1", "5.0", "5.1", "5.1 + InnoDB plugin",
    }  # fmt: skip
    others = [record.label for record in published.unpublished(comparison, header)]
    assert others == ["mysql-5.7.22", "mysql-9.7", "mariadb-10.1.23", "mariadb-11.8", "path:percona-5.5"]
