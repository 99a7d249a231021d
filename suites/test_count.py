"""Instructions by kind of statement, one item per kind and head: `test_count[<workload>-<kind>-<server>]`.

Only if it is named: `pytest suites/test_count.py --profile count --servers A,B`. An item fails if its kind
needs more instructions than on the base, or could not be counted. pytest-benchmark's extra info
has the counts.
"""

import warnings

import pytest
from msgspec import to_builtins
from pytest_benchmark.fixture import BenchmarkFixture

from shootout import app, figures
from shootout.conclusion import Prepared
from shootout.count import judge, measure
from shootout.count.answer import answer
from shootout.count.documents import COUNTS
from shootout.count.units import kinds_of, units
from shootout.count.values import CountChange, CountComparison
from shootout.errors import InputError, MeasureError
from shootout.harness import suites_of
from shootout.model.verdict import Verdict
from shootout.writers import markdown


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per kind and head."""
    plan = _prepared(metafunc.config).plan
    kinds = [kind for name, bound in plan.workloads.items() for kind in kinds_of(units(name, bound))]
    heads = list(plan.servers)[1:]
    items = [(kind.workload, kind.name, head) for kind in kinds for head in heads]
    metafunc.parametrize("item", items, ids=map("-".join, items))


def _prepared(config: pytest.Config) -> Prepared:
    suites = suites_of(config)
    assert suites is not None
    return suites.prepared


@pytest.fixture(scope="session")
def counted(request: pytest.FixtureRequest) -> CountComparison:
    """All counts, made and published once."""
    prepared = _prepared(request.config)
    try:
        path = measure.measure(prepared.plan, prepared.results, lambda progress: None)
    except (InputError, MeasureError) as error:
        pytest.exit(str(error), returncode=error.exit_code)
    comparison = judge.compare(COUNTS.read(path))
    prepared.request.write_markdown(markdown.write(answer(comparison)), warnings.warn)
    app.published(prepared.request.out, prepared.acknowledged, warnings.warn)
    return comparison


@pytest.fixture
def change(item: tuple[str, str, str], counted: CountComparison, benchmark: BenchmarkFixture) -> CountChange:
    """The item's kind on its head, compared with the base."""
    (change,) = (one for one in counted.changes if (one.workload, one.kind, one.server) == item)
    benchmark.extra_info.update(to_builtins(change))
    benchmark.pedantic(int)  # type: ignore[no-untyped-call]  # it keeps nothing without a time
    return change


def test_count(change: CountChange) -> None:
    if change.lacks:
        pytest.skip(change.reason)
    more = change.reason or (figures.change(change.ratio) if change.ratio else "")
    fails = (Verdict.FAILED, Verdict.REGRESSED, Verdict.UNJUDGED)  # unjudged: without counts of the base
    assert change.verdict not in fails, f"instructions: {more}"
