"""Figures as people read them."""

from __future__ import annotations

import pytest

from shootout import figures
from shootout.model.plan import DatasetSize
from shootout.model.value import DatasetKind
from shootout.model.verdict import Interval
from tests.support.report.compared import an_interval, plain


@pytest.mark.parametrize(
    ("tps", "expected"),
    [
        (118_912.3, "118 912"),
        (18_912.3, "18 912"),
        (379.21, "379.2"),
        (351.4, "351.4"),
        (9.5, "9.500"),
        (0.0, "0"),
    ],
)
def test_throughput_has_four_digits_however_much_it_drifted(tps: float, expected: str) -> None:
    assert plain(figures.throughput(tps)) == expected


def test_changes_are_signed_and_as_exact_as_their_interval() -> None:
    ratio = Interval(estimate=0.7581, low=0.745, high=0.772)
    assert plain(figures.change(ratio)) == "-24.2 %"
    assert plain(figures.change_range(ratio)) == "-25.5 to -22.8 %"
    assert plain(figures.change(an_interval(1.004, 0.05))) == "0 %"


@pytest.mark.parametrize(
    ("scale", "kind", "expected"),
    [
        (DatasetSize(), "sbtest", "4 tables of 25 000 rows, InnoDB, seed 1"),
        (DatasetSize(tables=1, rows=1, engine="MyISAM"), "sbtest", "1 table of 1 row, MyISAM, seed 1"),
        (DatasetSize(seed=7), "tpcc", "TPC-C with 1 warehouse, InnoDB, seed 7"),
        (DatasetSize(warehouses=1_200), "tpcc", "TPC-C with 1 200 warehouses, InnoDB, seed 1"),
        (DatasetSize(), "own", "the workload's own tables, InnoDB"),
    ],
)
def test_datasets_are_said_in_words(scale: DatasetSize, kind: DatasetKind, expected: str) -> None:
    assert plain(figures.dataset(scale.of_kind(kind))) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "0 B"), (999, "999 B"), (1_500, "1.50 kB"), (262_144_000, "262 MB"), (20 * 10**9, "20.0 GB")],
)
def test_sizes_have_a_unit_that_fits(size: int, expected: str) -> None:
    assert plain(figures.size(size)) == expected


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("buffer_pool_bytes", "536870912", "512M"),
        ("innodb_buffer_pool_chunk_size", "134217728", "128M"),
        ("redo_capacity_bytes", "104857601", "104857601"),
        ("query_cache_bytes", "5120", "5K"),
        ("flush_method", "O_DIRECT", "O_DIRECT"),
    ],
)
def test_a_size_is_shown_in_a_unit_that_does_not_round_it(name: str, value: str, shown: str) -> None:
    assert figures.setting(value, name) == shown


def test_a_file_of_settings_has_its_own_name() -> None:
    shown = figures.settings("in-memory + /home/me/my.cnf + tmpdir=/var/tmp")
    assert shown == "in-memory + my.cnf + tmpdir=/var/tmp"


def test_long_times_are_in_milliseconds() -> None:
    longer = Interval(estimate=0.00177, low=0.0016, high=0.0019)
    assert plain(figures.difference(longer)) == "+1.77 ms (+1.60 to +1.90)"


def test_a_time_that_is_none_stays_as_it_is() -> None:
    assert figures.moment("2026-11-20T02:41:00+00:00") == "20 November 2026, 02:41 UTC"
    assert figures.moment("<b>soon") == "<b>soon"
