"""Settings that were asked for and change nothing."""

from __future__ import annotations

from msgspec import structs

from shootout.model.run import ServerRecord, SettingRecord
from shootout.model.verdict import Comparison
from shootout.report import headlines, run_answer
from tests.support import builders
from tests.support.report.compared import E, Q, a_comparison_of, an_interval, changed, plain

BASE, FLUSH = builders.BASE, "innodb_flush_log_at_trx_commit"


def a_server(asked: str = "", *, run: str = "in-memory", **effective: str | None) -> ServerRecord:
    """The base's program, with what its reference adds to the run's settings, and with other values."""
    record = builders.a_server(BASE)
    names = dict(part.split("=") for part in asked.split("+") if "=" in part)
    settings = {each.name: each for each in record.settings}
    for name, value in effective.items():
        one = settings.get(name) or SettingRecord(name=name, requested=None, effective=value, differs=False)
        requested = next((names[each] for each in (name, *one.variables) if each in names), one.requested)
        differs = value is not None and requested not in (None, value)
        settings[name] = structs.replace(one, requested=requested, effective=value, differs=differs)
    return structs.replace(
        record,
        label=builders.HEAD if asked else BASE,
        reference=f"{BASE}@{asked}" if asked else BASE,
        settings_name=" + ".join(filter(None, (run, *asked.split("+")))),
        settings=tuple(settings.values()),
    )


def compared(base: ServerRecord, head: ServerRecord) -> Comparison:
    comparison = a_comparison_of((E, 1.0))
    return structs.replace(comparison, header=structs.replace(comparison.header, servers=(base, head)))


def headline(base: ServerRecord, head: ServerRecord) -> str:
    (only,) = headlines.of_heads(compared(base, head))
    return plain(only.text)


def test_a_server_compared_with_itself_is_said_first_with_what_set_the_value_and_what_to_compare() -> None:
    comparison = compared(a_server(), a_server(f"{FLUSH}=2", flush_log_at_trx_commit="2"))
    (only,) = headlines.of_heads(comparison)
    assert only.claim == f"{BASE} was compared with itself"
    assert only.details[:2] == (
        f"{FLUSH} is 2 on both {BASE} and {builders.HEAD}, as in the settings in-memory",
        f"to compare with the server's default: --servers {BASE}@defaults,{BASE}@defaults+{FLUSH}=2",
    )
    assert only.details[2].startswith(f"{builders.HEAD} is as fast as {BASE} in its only cell, within")
    assert headlines.overall(comparison) == only
    assert run_answer.value(comparison)["says"] == [only.text]


def test_one_setting_of_two_that_changes_nothing_is_said_after_the_claim() -> None:
    asked = f"{FLUSH}=2+max_connections=9"
    said = headline(a_server(), a_server(asked, flush_log_at_trx_commit="2", max_connections="9"))
    assert said.startswith("HEAD is as fast as BASE")
    assert f"{FLUSH} is 2 on both BASE and HEAD, as in the settings in-memory" in said
    assert "max_connections" not in said


def test_a_default_needs_no_other_comparison() -> None:
    said = headline(
        a_server(table_open_cache="2000"), a_server("table_open_cache=2000", table_open_cache="2000")
    )
    assert "table_open_cache is 2000 on both BASE and HEAD, by default; " in said
    assert "--servers" not in said


def test_a_value_that_the_server_did_not_take_is_said() -> None:
    said = headline(a_server(), a_server("max_connections=9999", max_connections="214"))
    assert "HEAD has max_connections = 214, not 9999 as requested" in said


def test_a_settings_file_with_the_effect_of_the_runs_settings_compares_a_server_with_itself() -> None:
    said = headline(a_server(), a_server("my.cnf"))
    assert said.startswith(
        "BASE was compared with itself: the settings in-memory + my.cnf have the same effect"
    )


def test_a_claim_after_another_begins_in_lower_case() -> None:
    same = compared(a_server(), a_server("my.cnf"))
    noisy = changed(same, [{"verdict": Q, "ratio": an_interval(0.9, 0.6)}])
    (only,) = headlines.of_heads(noisy)
    assert plain(only.details[-1]).startswith("too few starts for a verdict on HEAD and BASE, ")


def test_what_cannot_be_read_or_differs_or_was_asked_of_both_is_not_said() -> None:
    for base, head in (
        (a_server(), a_server("init_connect=x", init_connect=None)),
        (a_server(), a_server(f"{FLUSH}=1", flush_log_at_trx_commit="1")),
        (a_server(), structs.replace(a_server(f"{FLUSH}=2", flush_log_at_trx_commit="2"), settings=())),
        (a_server(), a_server()),
    ):
        assert headline(base, head) == "HEAD is as fast as BASE in its only cell: within ±2 %"


def test_of_many_heads_each_is_named() -> None:
    header = builders.a_header([BASE, builders.HEAD, "c"], workloads=["oltp_read_only"], threads=[1])
    same = a_server(f"{FLUSH}=2", flush_log_at_trx_commit="2")
    header = structs.replace(header, servers=(a_server(), same, header.servers[2]))
    comparison = builders.a_comparison(builders.a_run(header, failing=False))
    assert (
        f"; {builders.HEAD} is the same server as {BASE}: {FLUSH} is 2 on "
        in headlines.overall(comparison).text
    )
