"""A my.cnf on a newer server."""

from __future__ import annotations

from collections.abc import Mapping

from shootout.upgrade import configuration
from shootout.upgrade.configuration import Probe

OPTIONS = {
    "query_cache_size": "16M", "innodb-log-file-size": "64M", "max_connections": "200",
    "tx_isolation": "READ-COMMITTED", "sql_mode": "NO_AUTO_CREATE_USER", "back_log": "90", "made_up": "1",
}  # fmt: skip
OLD = Probe(
    "5.7",
    {
        "query_cache_size": "16777216", "innodb_log_file_size": "67108864", "max_connections": "200",
        "tx_isolation": "READ-COMMITTED", "sql_mode": "NO_AUTO_CREATE_USER", "back_log": "90",
    },
    OPTIONS,
)  # fmt: skip
NEW = Probe(
    "8.0",
    {
        "innodb_log_file_size": "67108864", "max_connections": "200", "sql_mode": "",
        "transaction_isolation": "READ-COMMITTED", "back_log": "200",
    },
    {**OPTIONS, "sql_mode": '""'},
    {"sql_mode": "mode NO_AUTO_CREATE_USER"},
)  # fmt: skip


def test_options_that_are_removed_renamed_refused_or_read_otherwise_are_named() -> None:
    fates = tuple(configuration.fates((OPTIONS, OPTIONS), OLD, NEW))
    lost = {fate.option: fate for fate in fates if not configuration.is_kept(fate)}
    assert [*lost] == ["query_cache_size", "tx_isolation", "sql_mode", "back_log"]
    assert lost["query_cache_size"].new is None
    assert lost["tx_isolation"].renamed == "transaction_isolation"
    assert lost["sql_mode"].refused == "mode NO_AUTO_CREATE_USER"
    assert (lost["back_log"].old, lost["back_log"].new) == ("90", "200")
    of_old, of_new = configuration.measured(fates)
    assert (of_old.pop("loose-tx_isolation"), of_new.pop("loose-transaction_isolation")) == (
        ("READ-COMMITTED",) * 2
    )
    assert of_old == of_new
    assert of_old["loose-sql_mode"] == '""'


def test_what_one_server_refuses_is_left_out_on_both() -> None:
    options = {"made_up": "1", "sql_mode": "A,B,C", "back_log": "9"}
    old = Probe(
        "5.7", {"back_log": "9"}, {"sql_mode": "B,C", "back_log": "9"},
        {"made_up": "no", "sql_mode": "mode A"},
    )  # fmt: skip
    new = Probe(
        "8.0", {"back_log": "9"}, {"made_up": "1", "sql_mode": "A,B"},
        {"sql_mode": "mode C", "back_log": "no"},
    )  # fmt: skip
    fates = tuple(configuration.fates((options, options), old, new))
    assert [fate.refused for fate in fates] == [
        "by the old server: no", "mode C; by the old server: mode A", "no",
    ]  # fmt: skip
    assert not any(map(configuration.is_kept, fates))
    assert [*configuration.measured(fates)] == [{"loose-sql_mode": "B"}] * 2


def test_a_log_blames_an_option_by_name_or_by_value() -> None:
    log = (
        "2026-11-26T10:00:00Z 0 [ERROR] [MY-000077] [Server] /usr/sbin/mysqld: Error while setting value "
        "'NO_AUTO_CREATE_USER' to 'sql_mode'.\n"
        "2026-11-26T10:00:00Z 0 [Warning] [MY-000081] [Server] option 'back-log' is adjusted\n"
        "2026-11-26T10:00:00Z 0 [Note] max_connections is nice\n"
        "2026-11-26T10:00:00Z 0 [Warning] Changed limits: max_connections: 90 (requested 200)\n"
    )
    said = dict(configuration._said(log, OPTIONS))
    assert [*said] == ["sql_mode", "back_log"]
    assert said["sql_mode"].startswith("Error while setting value")
    assert "[Warning]" not in " ".join(configuration.warnings(log))
    assert len(configuration.warnings(log)) == 2


def test_a_start_that_died_blames_what_its_last_error_names() -> None:
    log = (
        "2026-11-26T10:00:00Z 0 [Warning] [MY-011068] [Server] The syntax 'back-log' is deprecated.\n"
        "2026-11-26T10:00:00Z 0 [ERROR] [MY-000077] [Server] /usr/sbin/mysqld: max_connections is odd.\n"
        "2026-11-26T10:00:00Z 0 [ERROR] [MY-000077] [Server] /usr/sbin/mysqld: Error while setting value "
        "'NO_AUTO_CREATE_USER' to 'sql_mode'.\n"
        "2026-11-26T10:00:00Z 0 [ERROR] [MY-010119] [Server] Aborting\n"
    )
    assert [*configuration._blamed(log, OPTIONS)] == ["sql_mode"]
    by_value = "0 [ERROR] Unknown storage engine: FEDERATED\n"
    engines = {"default_storage_engine": "InnoDB", "default_tmp_storage_engine": "FEDERATED"}
    assert [*configuration._blamed(by_value, engines)] == ["default_tmp_storage_engine"]
    assert configuration._blamed("0 [ERROR] InnoDB: Cannot allocate memory\n", engines) == {}
    by_option = "0 [ERROR] Can't start server: Invalid value for --default-authentication-plugin\n"
    plugin = {"default_authentication_plugin": "old", "log_error_verbosity": "3"}
    assert [*configuration._blamed(by_option, plugin)] == ["default_authentication_plugin"]
    without_log = "mysqld: Character set 'utf9' is not a compiled character set\n0 [ERROR] Aborting\n"
    sets = {"character_set_server": "utf9", "init_connect": "'SET NAMES utf8'", "sql_mode": "''"}
    assert [*configuration._blamed(without_log, sets)] == ["character_set_server"]
    failure = f"/opt/bin/mysqld: initialising failed; its error log ends:\n{without_log}"
    assert configuration.cause(failure) == "Character set 'utf9' is not a compiled character set"
    switches = "0 [ERROR] Unknown value '1' or 'ON' of something\n"
    assert configuration._blamed(switches, {"a": "1", "b": "ON"}) == {}
    assert configuration.cause(f"it failed; its error log ends:\n{log}") == "max_connections is odd."
    assert configuration.cause("it failed\nindeed") == "it failed"


def test_options_of_one_version_s_group_are_given_to_that_server_alone() -> None:
    old = Probe("5.7", {"max_connections": "57", "query_cache_type": "ON"}, {})
    new = Probe("8.0", {"max_connections": "80"}, {}, {"max_connections": "no"})
    options = {"max_connections": "57", "query_cache_type": "1"}, {"max_connections": "80"}
    fates = tuple(configuration.fates(options, old, new))
    assert [(fate.value, fate.read_by, fate.refused) for fate in fates] == [
        ("57", "old", ""), ("1", "old", ""), ("80", "new", "no"),
    ]  # fmt: skip
    assert not any(map(configuration.is_kept, fates))
    assert [*configuration.measured(fates[:2])] == [
        {"loose-max_connections": "57", "loose-query_cache_type": "1"},
        {},
    ]


def test_an_option_that_no_variable_of_the_old_server_shows_is_not_compared() -> None:
    old, new = Probe("5.7", {}, {}), Probe("8.0", {"made_up": "2"}, {})
    fates = tuple(configuration.fates(({"made_up": "1", "b": "1"},) * 2, old, new))
    assert not any(map(configuration.is_compared, fates))
    log = "0 [Warning] [MY-000067] [Server] unknown variable 'loose-made_up=1'.\n"
    assert [option for option, _ in configuration._said(log, OPTIONS)] == ["made_up"]


def test_a_line_that_stops_the_new_server_is_told_from_one_that_it_ignores() -> None:
    """Behind `loose-` a server only warns of an unknown variable; in a my.cnf, it does not start."""
    options = {"gone": "1", "ignored": "1", "typo": "1", "loose-own": "1"}
    told = {name: f"unknown variable 'loose-{name}=1'" for name in ("gone", "typo", "loose-own")}
    old = Probe("5.7", {"gone": "1", "ignored": "1", "own": "1"}, options, told={"typo": told["typo"]})
    new = Probe("8.0", {}, options, told=told)
    fates = {fate.option: fate for fate in configuration.fates((options, options), old, new)}
    stops = {name: configuration.does_not_start_with(fate) for name, fate in fates.items()}
    assert stops == {"gone": True, "ignored": False, "typo": True, "loose-own": False}


def test_a_variable_that_is_no_option_of_the_old_server_is_set_on_neither() -> None:
    """5.7 ignores tx_isolation behind `loose-`; 8.0 would take it by its new name."""
    options = {"tx_isolation": "READ-COMMITTED"}
    told = {"tx_isolation": "unknown variable 'loose-tx_isolation=READ-COMMITTED'"}
    old = Probe("5.7", {"tx_isolation": "REPEATABLE-READ"}, options, told=told)
    new = Probe("8.0", {"transaction_isolation": "REPEATABLE-READ"}, options, told=told)
    (fate,) = fates = tuple(configuration.fates((options, options), old, new))
    assert fate.refused.startswith("by the old server: unknown variable")
    assert [*configuration.measured(fates)] == [{}, {}]


def test_the_option_that_stops_a_start_is_found_by_halving() -> None:
    options = {str(number): "" for number in range(40)}
    for bad in ("0", "17", "39"):
        tried: list[int] = []

        def starts(given: Mapping[str, str], bad: str = bad, tried: list[int] = tried) -> bool:
            tried.append(len(given))
            return bad not in given

        assert configuration.halved(options, starts) == bad
        assert len(tried) <= 7
    assert configuration.halved(options, lambda given: False) == ""
    assert configuration.halved({}, lambda given: True) == ""


def test_a_refusal_quotes_the_server() -> None:
    """Its word for mysql_upgrade before others, and no tuple of a client."""
    log = (
        "0 [ERROR] Column count of mysql.user is wrong.\n"
        "0 [ERROR] Incorrect definition of table mysql.proc. Please use mysql_upgrade to fix this error.\n"
    )
    assert configuration.cause(f"it stopped\n{log}").endswith("Please use mysql_upgrade to fix this error.")
    assert configuration.cause("ours: (1146, \"Table 'mysql.x' doesn't exist\")") == (
        "Table 'mysql.x' doesn't exist"
    )
