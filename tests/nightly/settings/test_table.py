"""The table of settings, over every version from 4.1 on, and held against real servers' own words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from shootout.model.plan import Dataset
from shootout.servers.processes import instances
from shootout.servers.sources.trees import Tree
from shootout.settings import profiles, readback
from shootout.settings.profiles import SettingsProfile
from shootout.settings.setting import variable
from shootout.settings.table import SETTINGS
from tests.support import catalogued
from tests.support.runs import a_tree
from tests.unit.settings.test_table import SERVERS, SHIPPED, values, written

EVERY_SERVER = catalogued.SERVERS


# Versions that lack these take them for the sake of old files, and ignore them.
IGNORED = {("mariadb", (10, 5)): {"buffer_pool_instances", "thread_concurrency"}}
NO_VALUE = "(No default value)"


def told(server: Tree, options: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Ask a server for the values that it would run with under these options."""
    directory.mkdir()
    config = directory / "my.cnf"
    own = {"datadir": str(directory)} | ({"user": "root"} if os.geteuid() == 0 else {})
    given = {**options, **server.options, **own}.items()
    lines = [f"{option} = {value}" if value else option for option, value in given]
    config.write_text("\n".join(["[mysqld]", *lines, ""]))
    process = server.spawn([f"--defaults-file={config}", "--verbose", "--help"], directory, ())
    code = process.wait(60)
    said = (directory / "error.log").read_text(errors="replace")
    assert code == 0, said[:2000]
    assert not re.search(r"\[\w+\].*(?:unknown (?:variable|option)|ambiguous|adjusted)", said), said[:2000]
    _, found, table = said.rpartition("\n--------")
    assert found, said[-500:]
    lines = [line for line in table.splitlines()[1:] if line.strip()]
    pairs = (line.partition(" ") for line in lines)
    return {variable(name): "" if value.strip() == NO_VALUE else value.strip() for name, _, value in pairs}


@pytest.mark.parametrize("name", EVERY_SERVER)
def test_servers_take_every_setting_as_it_is_written(name: str, tmp_path: Path) -> None:
    server = a_tree(name)
    wanted = {setting: values(setting, SETTINGS[setting]) for setting, _ in written()}
    for turn in range(max(map(len, wanted.values()))):
        asked = {setting: tried[turn % len(tried)] for setting, tried in wanted.items()}
        profile = SettingsProfile(name="all", settings=asked, lacking=dict.fromkeys(asked, ""))
        compiled = profiles.compile(profile, server.family, server.version)  # asked, it loads no plugin
        variables = told(server, compiled.options, tmp_path / str(turn))
        variables["log_bin"] = "OFF" if variables["log_bin"] in ("", "0") else "ON"  # its name
        records, warnings = readback.compare(compiled, variables)
        assert [warning.text for warning in warnings if warning.code == "settings-differ"] == []
        for record in records:
            if record.requested is not None and record.variables and not record.lacking:
                assert record.effective is not None, record.name


@pytest.mark.parametrize("name", EVERY_SERVER)
def test_servers_know_no_option_for_what_they_lack(name: str, tmp_path: Path) -> None:
    server = a_tree(name)
    known = told(server, {}, tmp_path / "asked").keys()
    for setting, each in written():
        rows = [each.row(value, server.family, server.version) for value in values(setting, each)]
        if any(row.lacks for row in rows) and not any(row.options for row in rows):
            ignored = IGNORED.get((server.family, server.version[:2]), set()) | {"thread_handling"}
            assert setting in ignored or each.variables.isdisjoint(known), setting


@pytest.mark.parametrize("name", EVERY_SERVER)
def test_servers_run_with_what_profiles_ask(name: str, tmp_path: Path) -> None:
    server = a_tree(name)
    made_for: dict[str, str] = {}
    for profile in ("in-memory", "production", "io-bound", "relaxed"):
        compiled = profiles.compile(profiles.load(profile), server.family, server.version, [DATA])
        if made_for != profiles.in_files(compiled.options):
            made_for = profiles.in_files(compiled.options)
            home = tmp_path / profile
            instances.initialise(server, home, compiled.options)
        with instances.start(server, home, compiled.options) as instance:
            records, warnings = readback.compare(compiled, instance.variables())
        assert [warning.text for warning in warnings if warning.code == "settings-differ"] == [], profile
        read = {record.name for record in records if record.effective is not None}
        for setting, request in compiled.requests.items():
            assert setting in read or request.lacking or not request.variables, (profile, setting)
        told = readback.log_warnings((home / "error.log").read_text(errors="replace"), compiled)
        assert [warning.text for warning in told] == [], profile


DATA = Dataset(tables=4, rows=1_000_000)


# Profiles that ask too much of servers that they are not for.
MEANT_FOR_SOME = {"thread-pool", "scaling-thread-pool", "scaling-thread-pool-36"}


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in MEANT_FOR_SOME])
def test_a_shipped_profile_can_be_had_on_every_version(name: str) -> None:
    profile = profiles.load(name)
    assert profile.description
    for family, version in SERVERS:
        profiles.compile(profile, family, version, [DATA])
