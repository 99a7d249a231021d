"""The plan of an explanation, and what it goes without."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs

from shootout.errors import InputError
from shootout.explain import measure as explain
from shootout.model.run import RunDocument
from tests.support import builders
from tests.support.plans import planned

WORKLOAD = "oltp_delete"  # has no options


def a_question(reference: str, tmp_path: Path, *trials: str) -> explain.Question:
    """Ask why a server differs from the base, in a run with an option of another workload."""
    made = planned(workloads=f"oltp_read_only,{WORKLOAD}", threads="1", set=["options.range_size=10"])
    servers = (builders.a_server(), builders.a_server(builders.HEAD, reference=reference))
    header = structs.replace(
        builders.a_header(), profile=made.profile, workloads=made.records, digests=made.digests,
        blocks=made.blocks, servers=servers,
    )  # fmt: skip
    document = RunDocument(header=header, starts=(), failures=(), end=None)
    return explain.Question(document, made.blocks[-1].cell(builders.HEAD), tmp_path, trials)


def test_a_run_may_have_options_of_other_workloads(tmp_path: Path) -> None:
    found = explain.plan(a_question(builders.HEAD, tmp_path), 60.0, {}, {})
    assert (list(found.workloads), found.profile.options) == ([WORKLOAD], {})


@pytest.mark.parametrize(
    ("written", "own", "with_trial"),
    [
        ("image:mysql:8.4@sha256:" + "a" * 64, None, "b=2"),
        ("image:mysql:8.4@sha256:" + "a" * 64 + "@a=1", "a=1", "a=1+b=2"),
        (f"{builders.HEAD}@defaults", "defaults", "defaults+b=2"),
    ],
)
def test_a_setting_is_tried_beside_the_servers_own(
    written: str, own: str | None, with_trial: str, tmp_path: Path
) -> None:
    found = explain.plan(a_question(written, tmp_path, "b=2"), 60.0, {}, {})
    assert [each.reference.settings for each in found.servers.values()] == [None, own, with_trial]


def test_a_password_that_the_run_was_given_is_used_again(tmp_path: Path) -> None:
    question = a_question("dsn:mysql://ann@localhost", tmp_path)
    found = explain.plan(question, 60.0, {"MYSQL_PWD": "other"}, {builders.HEAD: "secret"})
    assert [each.password for each in found.servers.values()] == ["", "secret"]


@pytest.mark.parametrize("changed", ["digest", "dump"])
def test_another_workload_or_dump_is_refused(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = builders.a_run()
    cell = next(
        cell for block in document.header.blocks for cell in block.cells if cell.server == builders.HEAD
    )
    header = structs.replace(document.header, workloads=(builders.a_record(cell.workload),))
    digest = "other" if changed == "digest" else document.header.digests.get(cell.workload)
    key = "dump-other" if changed == "dump" else cell.dataset
    bound = SimpleNamespace(dataset=SimpleNamespace(key=key))
    planned = SimpleNamespace(digests={cell.workload: digest}, workloads={cell.workload: bound})
    monkeypatch.setattr(explain, "bind", lambda *_: planned)
    question = explain.Question(structs.replace(document, header=header), cell, Path())
    with pytest.raises(InputError, match=r"has changed since run .*; measure it again"):
        explain.plan(question, 60.0, {}, {})
