"""Settings that `@` adds to those of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.settings import layers, profiles

VERSION = (8, 0, 12)


def options(run: str, own: str | None) -> dict[str, str]:
    return dict(profiles.compile(layers.combine(run, own), "mysql", VERSION).options)


@pytest.fixture
def cnf(tmp_path: Path) -> str:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\ninnodb_adaptive_hash_index = OFF\nmax_connections = 7\n")
    return str(file)


def test_a_file_adds_to_the_settings_of_the_run_and_wins(cnf: str) -> None:
    plain, layered = options("in-memory", None), options("in-memory", cnf)
    assert layered.pop("innodb_adaptive_hash_index") == "OFF"
    assert layered.pop("max_connections") == "7"
    assert plain.pop("max-connections") == "5000"
    assert layered == plain
    assert layers.name_of("in-memory", cnf) == f"in-memory + {cnf}"


def test_a_variable_can_be_set_without_a_file(cnf: str) -> None:
    own = f"{cnf}+performance_schema=OFF"
    assert options("in-memory", own) == options("in-memory", cnf) | {"performance_schema": "OFF"}
    assert options("in-memory", "innodb_flush_log_at_trx_commit=1").keys() == options(
        "in-memory", None
    ).keys() - {"innodb-flush-log-at-trx-commit"} | {"innodb_flush_log_at_trx_commit"}
    assert layers.name_of("in-memory", own) == f"in-memory + {cnf} + performance_schema=OFF"


def test_flags_of_the_optimizer_add_to_those_below(tmp_path: Path) -> None:
    file = tmp_path / "flags.cnf"
    file.write_text("[mysqld]\noptimizer-switch = 'mrr=off'\n")
    own = f"{file}+optimizer_switch=hash_join=off+optimizer_switch=mrr=on"
    assert options("defaults", own) == {"optimizer_switch": "mrr=off,hash_join=off,mrr=on"}


def test_a_named_profile_and_a_file_alone_replace_those_of_the_run(cnf: str) -> None:
    assert options("in-memory", "defaults") == {}
    assert options("in-memory", "defaults+max_connections=7") == {"max_connections": "7"}
    assert options("in-memory", f"only:{cnf}") == options("defaults", cnf)
    assert layers.name_of("in-memory", "production") == "production"
    assert layers.name_of("in-memory", f"only:{cnf}+a=1") == f"{cnf} + a=1"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("default_time_zone=+02:00", {"default_time_zone": "+02:00"}),
        ("innodb_data_file_path=ibdata1:12M:autoextend", {"innodb_data_file_path": "ibdata1:12M:autoextend"}),
        ("init_connect=SELECT 1+1+a=2", {"init_connect": "SELECT 1+1", "a": "2"}),
        (f"init_connect=SELECT '{'x' * 300}'", {"init_connect": f"SELECT '{'x' * 300}'"}),
        ("a=1+production+defaults+b=+", {"b": "+"}),
        ("a=1+only:CNF+b=1+CNF", {"innodb_adaptive_hash_index": "OFF", "max_connections": "7", "b": "1"}),
    ],
)
def test_a_value_may_hold_what_joins_parts(cnf: str, own: str, expected: dict[str, str]) -> None:
    assert options("defaults", own.replace("CNF", cnf)) == expected


def test_settings_of_the_file_win_over_options_and_pools_below(tmp_path: Path) -> None:
    below, above = tmp_path / "below.toml", tmp_path / "above.toml"
    below.write_text(
        '[settings]\nbuffer_pool_of_data = 0.5\n[options]\nmax_connections = "5"\nback_log = "9"\n'
    )
    above.write_text('[settings]\nbuffer_pool_bytes = "1G"\nmax_connections = 6\n')
    assert options(str(below), str(above)) == {
        "back_log": "9", "innodb-buffer-pool-size": str(2**30), "max-connections": "6",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("datadir=/srv", "@datadir=/srv: datadir is managed by shootout and cannot be set"),
        ("wsrep_on=ON", "@wsrep_on=ON: wsrep_on is managed by shootout and cannot be set"),
        ("-a=1", "@-a=1: '-a' is not an option name"),
        ("log_bin=/srv/binlog", "is outside the instance directory"),
        ("prduction", "did you mean 'production'?"),
        ("production+", "unknown settings ''"),
        ("sort_buffer_size", "\nA variable needs a value: @sort_buffer_size=VALUE"),
    ],
)
def test_what_is_wrong_is_said(own: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        layers.combine("in-memory", own)


@pytest.mark.parametrize("prefix", ["skip-", "disable_", "loose-skip_"])
def test_a_file_wins_over_what_is_switched_off_below(tmp_path: Path, prefix: str) -> None:
    below, setting, option = (tmp_path / name for name in ("below.toml", "setting.toml", "option.cnf"))
    below.write_text(f'[options]\n{prefix}innodb-adaptive-hash-index = ""\nskip-name-resolve = ""\n')
    setting.write_text("[settings]\nadaptive_hash_index = true\n")
    option.write_text("[mysqld]\ninnodb_adaptive_hash_index = ON\n")
    kept = {"skip-name-resolve": ""}
    assert options(str(below), str(setting)) == kept | {"innodb-adaptive-hash-index": "1"}
    assert options(str(below), str(option)) == kept | {"innodb_adaptive_hash_index": "ON"}
