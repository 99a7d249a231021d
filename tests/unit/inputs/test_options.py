from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.inputs.options import KEYS, MEASURING, Selection, as_set, renewed


def test_texts_are_parsed_and_kept_as_they_were_written(tmp_path: Path) -> None:
    found = Selection.read(threads="1, 8", resume=True, data=str(tmp_path), set=["dataset.rows=10"])
    assert (found.threads, found.resume) == ((1, 8), True)
    assert (found.data, found.set) == (tmp_path, {"dataset": {"rows": 10}})
    assert found.written == {
        "--profile": "quick", "--threads": "1, 8", "--set dataset.rows": "10", "--data": str(tmp_path),
        "--resume": "",
    }  # fmt: skip


def test_a_budget_leaves_the_rest_as_it_was() -> None:
    asked = Selection.read(threads="1,8", budget="5", set=["sampling.isolation=share"])
    assert asked.within(2.5).budget == 2.5
    assert asked.within(2.5).within(5) == asked
    assert asked.within(None).budget is None
    assert (asked.within(2.5).written["--budget"], "--budget" in asked.within(None).written) == ("2.5", False)


def test_rows_that_are_loaded_anew_are_among_the_options() -> None:
    anew = Selection.read(set=["dataset.seed=7", "dataset.rows=9"]).loaded_anew(3)
    assert anew.set == {"dataset": {"seed": 3, "rows": 9}}
    assert (anew.written["--set dataset.seed"], anew.written["--set dataset.rows"]) == ("3", "9")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["dataset.rows=1000", "dataset.tables = 2"], {"dataset": {"rows": 1000, "tables": 2}}),
        (["load.protocol=text", "load.reconnect=true"], {"load": {"protocol": "text", "reconnect": True}}),
        (["threads=[1, 8]", "settings=a b"], {"threads": [1, 8], "settings": "a b"}),
        (["build.command=make -j2 'a=b'"], {"build": {"command": "make -j2 'a=b'"}}),
        (["scale=small", "scale=large"], {"scale": "large"}),
        (["distribution.h=0.1", "distribution.type=pareto"], {"distribution": {"h": 0.1, "type": "pareto"}}),
        (['policy.workloads."a.b".throughput=1'], {"policy": {"workloads": {"a.b": {"throughput": 1}}}}),
    ],
)
def test_keys_are_those_of_a_profiles_file(written: list[str], expected: dict[str, object]) -> None:
    assert Selection.read(set=written).set == expected


@pytest.mark.parametrize("written", ["rows", "=1", "a..b=1", "\n=1", ""])
def test_what_is_no_key_and_value_is_refused(written: str) -> None:
    with pytest.raises(InputError, match=r"^--set .*: expected KEY=VALUE, such as dataset\.rows=1000$"):
        Selection.read(set=[written])


@pytest.mark.parametrize(
    ("flag", "text", "expected"),
    [
        ("--table-size", "1000", ["dataset.rows=1000"]),
        ("--option", "a=1, b=2", ["options.a=1", "options.b=2"]),
        ("--rand-type", "uniform", ["distribution.type=uniform"]),
        ("--rand-type", "pareto:h=1", ["distribution.type=pareto", "distribution.h=1"]),
        ("--think", "0.5", ["load.think_s=0.5"]),
        ("--think", "exponential:2", ["load.think=exponential", "load.think_s=2"]),
        ("--reconnect", "", ["load.reconnect=true"]),
        ("--scale", "", ["scale=VALUE"]),
    ],
)  # fmt: skip
def test_an_option_that_became_a_key_has_what_replaces_it(flag: str, text: str, expected: list[str]) -> None:
    assert as_set(flag, text) == expected


def test_what_older_documents_have_is_repeated_with_keys() -> None:
    assert KEYS.keys().isdisjoint(option.flag for option in MEASURING)
    assert renewed({"--threads": "1", "--option": "a=1,b=2", "--reconnect": "", "--profile": "work"}) == {
        "--profile": "count",
        "--threads": "1", "--set options.a": "1", "--set options.b": "2", "--set load.reconnect": "true",
    }  # fmt: skip
