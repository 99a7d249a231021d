"""Runs that may continue, and the differences of those that may not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from shootout.document import resume
from shootout.errors import InputError
from shootout.model.run import ServerRecord
from tests.support import builders


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"runner": builders.a_runner(fingerprint="f", facts={"CPUs": "4"})},
            "runner 5e7c0f2a91d4, now f (CPUs 2, now 4)",
        ),
        ({"shootout": "0.2.0"}, 'shootout "0.1.0", now "0.2.0"'),
        ({"given": {"--threads": "1,8"}}, 'given --threads none, now "1,8"'),
        ({"digests": {"mine": "b"}}, 'digests mine "a", now "b"'),
        (
            {"workloads": (builders.a_record("mine", options={"range_size": 9}),)},
            "workloads mine options range_size 100, now 9",
        ),
        ({"profile_name": "gate"}, 'profile_name "quick", now "gate"'),
    ],
)
def test_what_differs_is_named(changes: dict[str, Any], expected: str) -> None:
    mine = builders.a_record("mine", options={"range_size": 100})
    then = structs.replace(
        builders.a_header(digests={"mine": "a"}, runner=builders.a_runner(facts={"CPUs": "2"})),
        workloads=(mine,),
    )
    with pytest.raises(InputError) as caught:
        resume.require_same_run(then, structs.replace(then, **changes))
    assert str(caught.value).startswith(f"run {then.run} cannot be resumed: {expected}")
    resume.require_same_run(then, then)


def test_other_blocks_are_another_run() -> None:
    then, now = builders.a_header(threads=(1,)), builders.a_header(threads=(8,))
    now = structs.replace(now, profile=then.profile)
    with pytest.raises(InputError, match=r"blocks oltp_point_select-t1 .*, now oltp_point_select-t8 "):
        resume.require_same_run(then, now)


def test_a_server_must_be_the_same_build_with_the_same_settings() -> None:
    then = builders.a_server()

    def differs(now: ServerRecord) -> str:
        with pytest.raises(InputError) as caught:
            resume.require_same_server("r", then, now)
        return str(caught.value)

    assert "build" in differs(structs.replace(then, build="1" * 64))
    first, *rest = then.settings
    now = structs.replace(then, settings=(structs.replace(first, effective="1"), *rest))
    assert differs(now).startswith(
        'run r cannot be resumed: server mysql-5.7.22, effective buffer_pool_bytes "536870912", now "1"'
    )
    now = structs.replace(then, settings=(structs.replace(first, requested="1"), *rest))
    assert "mysql-5.7.22, requested buffer_pool_bytes" in differs(now)
    here, there = (
        structs.replace(then, reference=f"path:/{folder}/build@my.cnf", settings_name="my.cnf")
        for folder in ("one", "two")
    )
    then = here
    resume.require_same_server("r", here, there)  # the same files, in another place
    assert "settings_name" in differs(structs.replace(there, settings_name="other.cnf"))
    assert "reference" in differs(structs.replace(there, build=""))  # nothing else to know it by
    unstarted = tuple(structs.replace(each, effective=None) for each in then.settings)
    resume.require_same_server("r", then, structs.replace(then, settings=unstarted, comment="", load_s=None))
