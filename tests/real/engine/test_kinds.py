"""The catalogue of statements: complete, each kind of a name of its own, and no two of them similar."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from shootout.inputs import workload
from shootout.measure import managed
from shootout.measure.dataset import schema_of
from shootout.model.value import Protocol
from shootout.paths import FIXTURES, ROOT
from shootout.servers.processes.instances import Instance
from tests.support.engine.statements import WORKLOADS, Seen, compiled_kinds

pytest_plugins = ["tests.support.runs", "tests.support.engine.statements"]

# Features that applications use, and the kinds that stand for them.
USED = {
    "points": "point_primary point_secondary point_covering",
    "ranges and scans": "range_primary range_secondary scan_filtered scan_rows",
    "IN lists": "in_list_short in_list_long",
    "ORDER BY": "order_by_index filesort limit limit_offset",
    "COUNT": "count_all count_filtered",
    "DISTINCT and GROUP BY": "distinct group_by_index group_by_temporary derived_grouped",
    "joins": "join_primary join_secondary join_no_index left_join semi_join anti_join",
    "subqueries": "in_grouped exists derived_merged union union_all",
    "CTE and windows": "cte cte_recursive window_rank",
    "text": "like_prefix like_middle sort_latin1 sort_utf8mb4",
    "JSON and dates": "json_extract json_table date_range date_function",
    "temporary tables": "temporary_memory temporary_disk temporary_create",
    "wide rows": "wide_row blob_read blob_write",
    "inserts": "insert_one insert_many insert_ignore insert_on_duplicate insert_select replace",
    "updates": "update_primary update_range update_list update_subquery",
    "deletes": "delete_primary delete_range delete_list delete_subquery",
    "locks": "for_update lock_in_share_mode savepoint",
    "connecting": "connect_select",
    "DDL": "create_drop alter_default alter_column alter_index alter_copy truncate",
}


def names() -> list[str]:
    return [kind for name in WORKLOADS for kind in compiled_kinds(name)[1]]


def test_each_kind_has_a_name_of_its_own() -> None:
    assert sorted(names()) == sorted(set(names()))
    assert not [name for name in names() if not re.fullmatch(r"[a-z0-9_]+", name)]


@pytest.mark.parametrize(("what", "kinds"), USED.items())
def test_what_applications_use_is_there(what: str, kinds: str) -> None:
    assert set(kinds.split()) <= set(names()), what


def test_the_profile_has_all_workloads_and_the_page_all_kinds() -> None:
    profile = tomllib.loads((FIXTURES / "profiles" / "statements.toml").read_text())
    assert sorted({workload.without_protocol(name) for name in profile["workloads"]}) == WORKLOADS
    page = (ROOT / "docs" / "statements.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (`[^|]+) \|$", page, re.MULTILINE))
    assert {f"statements_{name}": re.findall(r"`(\w+)`", kinds) for name, kinds in rows.items()} == {
        name: list(compiled_kinds(name)[1]) for name in WORKLOADS
    }


# --- on a server ----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", get_args(Protocol))
def test_each_transaction_of_the_connecting_kind_has_a_connection(
    server: Instance, protocol: Protocol
) -> None:
    bound, programs = compiled_kinds(f"statements_connect.{protocol}")
    engine = managed.engine(programs["connect_select"], schema_of(server, bound.dataset), server, 1)
    number = managed.connect(engine, server, schema_of(server, bound.dataset), 2)
    before, quit_before = (int(server.status()[name]) for name in ("Connections", "Aborted_clients"))
    completed, *_ = engine.count(number, 10, 60.0)
    after, quit_after = (int(server.status()[name]) for name in ("Connections", "Aborted_clients"))
    assert completed >= 10
    assert (after - before, quit_after - quit_before) == (completed, 0)


def test_what_is_similar_is_told_from_what_differs() -> None:
    one = Seen("one", "plan", {"Handler_read_key": 10, "Sort_rows": 0})
    for shape, counts, similar in (
        ("plan", {"Handler_read_key": 30, "Sort_rows": 0}, True),
        ("plan", {"Handler_read_key": 31, "Sort_rows": 0}, False),
        ("plan", {"Handler_read_key": 10, "Sort_rows": 1}, False),
        ("other", {"Handler_read_key": 10, "Sort_rows": 0}, False),
    ):
        assert one.resembles(Seen("other", shape, counts)) == similar


def test_a_family_names_a_dump_that_is_there() -> None:
    dumps = {compiled_kinds(name)[0].dataset.dump for name in WORKLOADS}
    assert [Path(dump).name for dump in dumps] == ["statements.sql"]
