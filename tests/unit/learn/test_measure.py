from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from shootout.errors import InputError
from shootout.learn import measure
from tests.unit.learn.test_answer import OUTCOME

ONCE = ("innodb_flush_log_at_trx_commit=0", "sync_binlog=1")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("Variable_name\tValue\ninnodb_flush_log_at_trx_commit\t0\nsync_binlog\t1\nport\t3306\n", ONCE),
        ("| innodb_flush_log_at_trx_commit | 0 |\n| sync_binlog | 1 |\n", ONCE),
        ("Ours:\n[mysqld]\ninnodb-flush-log-at-trx-commit = 0\nsync_binlog=1\nport=1\n", ONCE),
        ("[mysqld]\nport = 1\n", ("innodb_flush_log_at_trx_commit=1",)),
        ("[mysqld]\r\nlog_bin=D:\\x\r\ninnodb_flush_log_at_trx_commit=0\r\nsync_binlog=1\r\n", ONCE),
        ('"innodb_flush_log_at_trx_commit","0"\n"sync_binlog","1"\n"init_connect",""\n', ONCE),
        ("*** 1. row ***\nVariable_name: innodb_flush_log_at_trx_commit\n        Value: 0\n"
         "*** 2. row ***\nVariable_name: sync_binlog\n        Value: 1\n", ONCE),
    ],
)  # fmt: skip
def test_a_my_cnf_or_variables_say_how_a_server_flushes(
    text: str, settings: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "variables").write_text(text)
    assert measure.settings_of(tmp_path / "variables") == settings


def test_a_file_that_says_nothing_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("port\t3306\n")
    with pytest.raises(InputError, match=r"v\.txt: expected a my\.cnf, or what SHOW VARIABLES returns$"):
        measure.settings_of(tmp_path / "v.txt")


def test_without_them_it_matters_if_commits_take_long() -> None:
    said = [
        [*measure.unknown_flushing(replace(OUTCOME.fidelity, commits=share))] for share in (None, 0.04, 0.3)
    ]
    assert said[:2] == [[], []]
    assert said[2][0].startswith(
        "COMMIT and the like take 30 % of the log's time, and a log does not say how"
    )
