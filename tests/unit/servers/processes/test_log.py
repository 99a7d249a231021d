"""Error logs of all ages, reduced to what matters."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from shootout.servers.processes import log

WORDS = [  # as servers wrote them
    ("InnoDB: Error number 28 means 'No space left on device'.", "no space is left on the disk that holds"),
    ("[ERROR] mysqld: Error writing file './mysql/user.MYD' (Errcode: 28)", "no space is left on the disk"),
    ('[ERROR] mysqld: Can\'t create file (errno: 28 "No space left on device")', "no space is left on the"),
    ("[ERROR] mysqld: File '/x' not found (Errcode: 13)", "it has no permission for one of its files"),
    ("[ERROR] [MY-010338] Can't find error-message file (OS errno 13 - Permission denied)", "no permission"),
    ("InnoDB: mmap(137363456 bytes) failed; errno 12", "there is less memory than its settings ask for"),
    ("[ERROR] mysqld: unknown variable 'innodb-foo=1'", "unknown setting innodb-foo=1"),
    ("mysqld: unknown option '--mysqlx'", "unknown setting --mysqlx"),
    (
        "[ERROR] mysqld: unknown variable 'inodb-buffer-pool-size=5'",
        "unknown setting inodb-buffer-pool-size=5; did you mean 'innodb_buffer_pool_size'?",
    ),
]


@pytest.mark.parametrize(("words", "said"), WORDS)
def test_a_cause_is_told_in_a_sentence_before_the_log(words: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "error.log").write_text(f"160101 [Note] starting\n{words}\n[ERROR] Aborting\n")
    told = log.failure("mysqld: initialising failed", tmp_path).splitlines()
    assert told[0].startswith("mysqld: initialising failed: ")
    assert said in told[0]
    assert told[0].endswith("; its error log ends:")
    assert told[-2:] == [words, "[ERROR] Aborting"]


@pytest.mark.parametrize("words", ["[ERROR] InnoDB: error 128", "[ERROR] port 13 is busy", ""])
def test_an_unknown_cause_is_left_to_the_log(words: str, tmp_path: Path) -> None:
    (tmp_path / "error.log").write_text(words)
    assert log.failure("it failed", tmp_path) == f"it failed; its error log ends:\n{words}"


def test_a_log_that_is_not_there_is_no_second_fault(tmp_path: Path) -> None:
    file = tmp_path / "error.log"
    assert log.tail(file) == f"{file}: cannot be read: No such file or directory"


def test_an_ending_is_named() -> None:
    assert (log.ending(-9), log.ending(2)) == ("signal SIGKILL", "exit code 2")
    assert (log.ending(-127), log.ending(0)) == ("exit code 255", "exit code 0")


def test_a_limit_of_memory_is_named_where_a_server_ends() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, hard))
    try:
        assert log.ending(-6) == "signal SIGABRT, with 1048576 MiB of memory: ulimit -v"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_what_an_earlier_start_wrote_is_no_cause(tmp_path: Path) -> None:
    file = tmp_path / "error.log"
    assert log.length(file) == 0
    file.write_text("[ERROR] No space left on device\n")
    begins = log.length(file)
    with file.open("a") as opened:
        opened.write("it is gone\n")
    assert log.failure("it failed", tmp_path, begins) == "it failed; its error log ends:\nit is gone"
