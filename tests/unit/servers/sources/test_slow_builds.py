from __future__ import annotations

import pytest

from shootout.servers.sources import slow_builds

pytest_plugins = ["tests.support.runs"]
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
