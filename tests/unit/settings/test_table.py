"""The table of settings, over every version from 4.1 on, and held against real servers' own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from shootout import paths
from shootout.errors import InputError
from shootout.model.value import Family, Version
from shootout.settings import profiles
from shootout.settings.profiles import DIRECTORY, SettingsProfile
from shootout.settings.setting import Scalar, Setting, variable
from shootout.settings.table import SETTINGS

SERIES: Mapping[Family, Mapping[tuple[int, int], int]] = {  # the newest patch of each, and room for more
    "mysql": {
        (4, 1): 29, (5, 0): 99, (5, 1): 79, (5, 4): 4, (5, 5): 69, (5, 6): 59, (5, 7): 49, (6, 0): 12,
        (8, 0): 49, (8, 1): 9, (8, 2): 9, (8, 3): 9, (8, 4): 19, **{(9, minor): 9 for minor in range(8)},
    },
    "percona": {(5, 1): 79, (5, 5): 69, (5, 6): 59, (5, 7): 49, (8, 0): 49, (8, 4): 19},
    "mariadb": {
        (5, 1): 79, (5, 2): 19, (5, 3): 19, (5, 5): 79, **{(10, minor): 59 for minor in range(12)},
        **{(11, minor): 19 for minor in range(9)}, **{(12, minor): 19 for minor in range(4)},
    },
}  # fmt: skip
SERVERS: list[tuple[Family, Version]] = [
    (family, (*series, patch))
    for family, every in SERIES.items()
    for series, newest in every.items()
    for patch in range(newest + 1)
]
EDGES = [  # a few of each series: what a version does, its neighbours do
    (family, version) for family, version in SERVERS if version[2] % 7 == 0
]


# Values to try settings with that have no choices.
VALUES: Mapping[str, tuple[Scalar, ...]] = {
    "back_log": (100, 900), "buffer_pool_bytes": (8 * 2**20, 512 * 2**20),
    "buffer_pool_instances": (1, 8), "page_bytes": (16_384, 8192),
    "additional_mem_pool_bytes": (2**20, 8 * 2**20), "log_buffer_bytes": (2 * 2**20, 128 * 2**20),
    "key_buffer_bytes": (8 * 2**20, 2**30), "key_cache_segments": (0, 32),
    "query_cache_bytes": (0, 64 * 2**20), "tmp_table_bytes": (2**20, 2**30),
    "join_buffer_bytes": (2**20, 128 * 2**20), "sort_buffer_bytes": (2**20, 2 * 2**20),
    "read_buffer_bytes": (2**16, 2**20), "read_rnd_buffer_bytes": (2**16, 2 * 2**20),
    "redo_capacity_bytes": (8 * 2**20, 256 * 2**20, 2**30), "flush_log_at_trx_commit": (0, 1, 2),
    "sync_binlog": (0, 1), "page_cleaners": (1, 4), "io_capacity": (100, 2000),
    "io_capacity_max": (2000, 4000), "flush_neighbors": (0, 1, 2), "max_dirty_pages_pct": (50, 90),
    "purge_threads": (1, 4), "read_io_threads": (1, 8), "write_io_threads": (1, 8),
    "thread_concurrency": (0, 16), "autoinc_lock_mode": (0, 1, 2), "lock_wait_timeout_s": (50, 300),
    "max_connections": (100, 2000), "open_files_limit": (1024, 8192), "table_open_cache": (400, 2000),
    "thread_cache": (10, 100), "max_prepared_stmt_count": (1000, 100_000), "thread_pool_size": (8, 36),
    "thread_pool_max_threads": (1000, 4000),
    "character_set": (*["utf8mb4"] * 5, "latin1"),  # each with the collation below it
    "collation": (
        "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_0900_ai_ci",
        "utf8mb4_uca1400_ai_ci", "latin1_swedish_ci",
    ),
    "default_storage_engine": ("InnoDB", "MyISAM"),
}  # fmt: skip


def values(name: str, setting: Setting) -> Sequence[Scalar]:
    if setting.kind == "switch":
        return (True, False)
    return setting.choices or VALUES[name]


def written() -> Iterator[tuple[str, Setting]]:
    """Every setting that is written; a share is another one's."""
    return ((name, setting) for name, setting in SETTINGS.items() if setting.kind != "share")


def test_every_version_has_a_row_for_every_value_of_every_setting_and_no_row_is_there_in_vain() -> None:
    """A row that no server and value reaches says nothing, or the wrong thing."""
    unknown = Setting("text", "").row("x", "mysql", (8, 0, 12)).lacks
    for name, setting in written():
        reached = set()
        for value in values(name, setting):
            for family, version in SERVERS:
                row = setting.row(value, family, version)
                assert row.lacks != unknown, (name, value, family, version)
                assert row.options or row.lacks or row.when is not None, (name, value, family, version)
                reached.add(id(row))
            for family, version in EDGES:
                reached.add(id(setting.row(value, family, version, ("thread_pool.so",))))
        for row in setting.rows:
            assert id(row) in reached, (name, row)


def test_no_two_settings_write_the_same_variable() -> None:
    owners: dict[str, str] = {}
    for name, setting in written():
        for row in setting.rows:
            for option in row.options:
                assert owners.setdefault(variable(option), name) == name


def test_what_is_written_is_what_is_read() -> None:
    """From a server that takes each option as it is written."""
    for name, setting in written():
        for value in values(name, setting):
            for family, version in EDGES:
                row = setting.row(value, family, version)
                if row.options and not row.lacks and name not in ("binary_log", "skip_name_resolve"):
                    variables = {variable(option): text for option, text in row.options_for(value).items()}
                    assert setting.read(variables) == setting.display(value), (name, family, version)


some_settings = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values(name, setting)) for name, setting in written()}
)
own_options = st.dictionaries(
    st.sampled_from(
        sorted({option for s in SETTINGS.values() for row in s.rows for option in row.options})
    ).flatmap(lambda option: st.sampled_from([option, option.replace("-", "_"), f"loose-{option}"])),
    st.just("1"),
    max_size=4,
)


@examples(deadline=None)
@given(asked=some_settings, own=own_options, server=st.sampled_from(EDGES))
def test_no_variable_is_written_twice(
    asked: dict[str, Scalar], own: dict[str, str], server: tuple[Family, Version]
) -> None:
    lacking = dict.fromkeys(asked, "")
    profile = SettingsProfile(name="some", settings=asked, lacking=lacking, options=own)
    options = profiles.compile(profile, *server).options
    names = [variable(option) for option in options if option not in own]
    assert len(names) == len(set(names))
    assert not {re.sub("^skip_", "", name) for name in names} & {variable(option) for option in own}


SHIPPED = sorted(path.stem for path in DIRECTORY.glob("*.toml"))


def test_every_declared_lack_of_a_shipped_profile_occurs() -> None:
    for name in SHIPPED:
        profile = profiles.load(name)
        lacked = {
            setting
            for setting in profile.lacking
            for family, version in SERVERS
            if SETTINGS[setting].row(profile.settings[setting], family, version, ("thread_pool.so",)).lacks
        }
        assert lacked == profile.lacking.keys(), name


VALUE = {"bytes": "bytes", "number": "number", "switch": "`true`, `false`", "text": "text", "share": "share"}


def documented(name: str, setting: Setting) -> str:
    called = dict.fromkeys(
        " and ".join(f"`{variable(option)}`" for option in row.options) for row in setting.rows if row.options
    )
    value = ", ".join(f"`{choice}`" for choice in setting.choices) or VALUE[setting.kind]
    return f"| `{name}` | {value} | {setting.meaning} | {', '.join(called)} |"


def test_the_documentation_has_every_setting_as_it_is(tmp_path: Path) -> None:
    head = "| setting | value | meaning | as versions call it |\n|---|---|---|---|\n"
    table = head + "".join(f"{documented(name, setting)}\n" for name, setting in SETTINGS.items())
    document = paths.ROOT / "docs" / "settings.md"
    text = document.read_text("utf-8")
    actual = tmp_path / "settings.md"
    actual.write_text(re.sub(r"\| setting \| .*?\n(?=\n)", lambda _: table, text, flags=re.DOTALL), "utf-8")
    assert table in text, f"If it is meant: cp {actual} {document}"


def test_the_documented_profile_is_one_and_is_refused_as_documented(tmp_path: Path) -> None:
    text = (paths.ROOT / "docs" / "settings.md").read_text("utf-8")
    found = re.search(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    assert found
    mine = tmp_path / "mine.toml"
    mine.write_text(found[1])
    profile = profiles.load(str(mine))
    for family, version in EDGES:
        assert profiles.compile(profile, family, version).options["innodb-lru-scan-depth"] == "256"
    mine.write_text(re.sub(r"\[lacking\].*?\n\n", "", found[1], flags=re.DOTALL))
    with pytest.raises(InputError) as caught:
        profiles.compile(profiles.load(str(mine)), "mysql", (8, 0, 12))
    assert "".join(f"    {line}\n" for line in f"shootout: {caught.value}".splitlines()) in text
