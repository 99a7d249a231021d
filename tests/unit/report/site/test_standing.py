"""How many servers stand beside the one that readers know."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from shootout.inputs import matrix
from shootout.report import site
from shootout.report.site import publish
from shootout.report.site.run import Run
from shootout.report.site.standing import Standing
from tests.support import builders
from tests.support.report.site.pages import compared, rendered

SERVERS = (builders.BASE, "mysql-8.0.12", "mariadb-10.11", "mysql-5.6.24")


def standing(reader: str = "") -> Standing:
    """Four servers of two families at 1, 8 and 32 threads."""
    document, comparison = compared([1, 8, 32], SERVERS)
    families = [
        replace(server, family=server.label.partition("-")[0], version=server.label.partition("-")[2])
        for server in document.header.servers
    ]
    header = replace(document.header, servers=tuple(families))
    document, comparison = replace(document, header=header), replace(comparison, header=header)
    if reader:
        profile = "showcase.toml"
        Path(profile).write_text(
            f'description = "x"\nworkloads = ["w"]\nthreads = [1]\nreader_base = "{reader}"\n', "utf-8"
        )
        document = replace(document, header=replace(header, profile_name=profile))
    found = Run(document, comparison, reader=publish._for_readers(document, comparison)).standing
    assert found is not None
    return found


def test_servers_stand_by_family_and_age() -> None:
    found = standing()
    assert [server.label for server in found.servers] == [
        "mysql-5.6.24", builders.BASE, "mysql-8.0.12", "mariadb-10.11",
    ]  # fmt: skip
    (panel,) = found.panels.values()
    assert [label for _, label in panel.x.ticks] == ["5.6.24", "5.7.22", "8.0.12", "10.11"]
    assert [name for _, name in panel.x.groups] == ["MySQL", "MariaDB"]
    assert found.at == 8
    assert [one.label for one in found.others] == ["1 thread", "32 threads"]


def test_the_base_is_the_one_that_the_profile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    by_default, known = standing(), standing("mysql-8.0.12")
    assert (by_default.base, known.base) == (builders.BASE, "mysql-8.0.12")
    (of_base,), (of_known,) = (found.ratios.values() for found in (by_default, known))
    assert of_known[8]["mysql-8.0.12"].estimate == 1
    expected = 1 / of_base[8]["mysql-8.0.12"].estimate
    assert of_known[8][builders.BASE].estimate == pytest.approx(expected, rel=0.01)
    assert "Fastest at 8 threads: mysql-5.7.22 in point select (+15" in known.leaders
    assert standing("mysql-4.1").base == builders.BASE  # the run lacks it


def test_a_profile_that_cannot_be_read_names_no_base(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("= 1", "utf-8")
    for name in ("unknown", str(tmp_path), str(tmp_path / "none.toml"), str(tmp_path / "broken.toml"), "\0/"):
        assert matrix.reader_base(name) is None
    assert matrix.reader_base("showcase") == "mysql-5.7.22"


def test_each_point_says_what_it_is() -> None:
    (panel,) = standing().panels.values()
    texts = {text.partition("\n")[0]: text.split("\n")[1:] for _, text in panel.readouts}
    assert texts[builders.BASE] == ["1 thread: 1.00", "8 threads: 1.00", "32 threads: 1.00"]
    assert all(" to " in line for line in texts["mysql-8.0.12"])
    colours = {line.series.label: line.series.color for line in panel.lines}
    assert colours["1 thread"].startswith("--axis")
    assert colours["mysql-8.0.12"].startswith("--series-")


def test_among_many_servers_only_what_changed_has_a_page() -> None:
    found = rendered(Run(*compared(servers=SERVERS)))
    run = Run(*compared(servers=SERVERS))
    same = [c.cell for c in run.judged if c.verdict.value in ("equivalent", "inconclusive") and not c.leaning]
    for c in run.judged:
        assert (f"{site.cell_stem(c.cell)}.html" in found) is (c.cell not in same)
