"""Parsers of option texts; tests/unit/test_cli.py has what users see of them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout import paths
from shootout.errors import InputError
from shootout.inputs import texts


@given(st.lists(st.integers(1, 65_535), min_size=1, unique=True))
def test_thread_counts_come_back_as_written(threads: list[int]) -> None:
    assert texts.threads("--threads", ",".join(map(str, threads))) == tuple(threads)


@pytest.mark.parametrize("item", ["0", "-1", "abc", "", "65536", "1.5", "+1", "٣", "²", "9" * 5000])
def test_a_wrong_thread_count_is_named(item: str) -> None:
    with pytest.raises(InputError) as caught:
        texts.threads("--threads", f"8,{item}")
    message = str(caught.value)
    assert message.startswith(f"--threads 8,{item}: expected numbers from 1 to 65535")
    assert message.endswith(f"found {item!r}")


@pytest.mark.parametrize("text", ["", " 1", "1.0", "0x10", "1e3", "-1", "٣", "²", "100", "9" * 5000])
def test_what_is_no_number_of_a_range_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--seed '.*': expected a number from 0 to 99$"):
        texts.integer("--seed", text, range(100))
    assert texts.integer("--seed", "99", range(100)) == 99


def test_the_shipped_file_acknowledges_nothing() -> None:
    assert texts.load_acknowledged(paths.FIXTURES / "acknowledged.toml") == ()
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        texts.load_acknowledged(paths.FIXTURES / "none.toml")


def test_its_example_can_be_used(tmp_path: Path) -> None:
    text = (paths.FIXTURES / "acknowledged.toml").read_text()
    file = tmp_path / "acknowledged.toml"
    file.write_text(
        "\n".join(line.removeprefix("# ") for line in text.split("example:\n#\n")[1].splitlines())
    )
    (entry,) = texts.load_acknowledged(file)
    assert (entry.threads, entry.at_most, entry.expires) == (1, 0.1, date(2027, 3, 31))
