from __future__ import annotations

from pathlib import Path

import pytest

from shootout.servers import slow_builds
from shootout.servers.native import Tree
from tests.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.runs"]

RELEASE = """CXX_FLAGS =  -fPIC -Wall -O3 -g -DDBUG_OFF
CMAKE_BUILD_TYPE:STRING=RelWithDebInfo
WITH_ASAN:BOOL=OFF
WITH_DEBUG:BOOL=OFF
"""


@pytest.mark.parametrize(
    ("version", "comment", "variables", "flags", "said"),
    [
        ("8.0.33", "MySQL Community Server - GPL", {"debug_sync": ""}, RELEASE, ""),
        ("10.11.6-MariaDB-0+deb12u1", "Debian 12", {}, "", ""),
        ("8.0.33-debug-asan", "Source distribution", {}, "", "asan, debug"),
        ("5.7.22-valgrind", "", {}, "", "valgrind"),
        ("8.0.33", "MySQL Community Server (Debug)", {}, "", "debug"),
        ("8.0.33", "", {"debug": "d:t"}, "", "debug"),
        ("8.0.33", "", {}, RELEASE.replace("RelWithDebInfo", "Debug"), "debug"),
        ("8.0.33", "", {}, RELEASE.replace("WITH_ASAN:BOOL=OFF", "WITH_ASAN:BOOL=ON"), "asan"),
        ("8.0.33", "", {}, RELEASE.replace("-O3", "-O0"), "not optimised"),
        ("8.0.33", "", {}, RELEASE.replace("-O3 ", ""), "not optimised"),
        ("8.0.33", "", {}, "CMAKE_CXX_FLAGS:STRING=\n", ""),
        (
            "8.0.33",
            "",
            {},
            "CMAKE_CXX_FLAGS:STRING=-O0 -fsanitize=thread\n",
            "-fsanitize=thread, not optimised",
        ),
    ],
)
def test_a_build_that_is_not_for_speed_says_so(
    version: str, comment: str, variables: dict[str, str], flags: str, said: str
) -> None:
    texts = [warning.text for warning in slow_builds.warnings(version, comment, variables, flags)]
    assert texts == (
        [f"It is no build for speed ({said}): its figures say little of a release"] if said else []
    )


@pytest.mark.real
def test_it_is_a_warning_on_all_its_cells(lab: Lab, tmp_path: Path) -> None:
    tree = tmp_path / "unoptimised"
    tree.mkdir()
    for entry in lab.tree(BASE).iterdir():
        if entry.name != "docs":
            (tree / entry.name).symlink_to(entry)
    (tree / "docs").mkdir()
    (tree / "docs" / "INFO_BIN").write_text(RELEASE.replace("-O3", "-O0"))
    assert "-O0" in Tree.inspect(tree).files.flags
    done = lab.run(
        *(SHOOTOUT, "run", "--profile", str(lab.once), "--servers", f"{BASE},new=path:{tree}"),
        *("--workloads", "oltp_point_select", "--threads", "1", "--out", str(tmp_path / "out")),
    )
    assert "new: It is no build for speed (not optimised)" in done.stdout
    assert f"{BASE}: It is no build" not in done.stdout
