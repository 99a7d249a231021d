"""Instructions by kind of statement, one item per kind and head: `test_work[<workload>-<kind>-<server>]`.

Only if it is named: `pytest suites/test_work.py --profile work --servers A,B`. An item fails if its kind
needs more instructions than on the base, or could not be counted. pytest-benchmark's extra info
has the counts.
"""

import warnings

import pytest
from msgspec import to_builtins
from pytest_benchmark.fixture import BenchmarkFixture

from shootout import app
from shootout.errors import InputError, MeasureError
from shootout.harness import REQUEST
from shootout.model.verdict import Verdict
from shootout.work import units as work_units
from shootout.work.report import percent
from shootout.work.values import WorkChange, WorkComparison


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per kind and head."""
    plan = metafunc.config.stash[REQUEST].plan
    kinds = [
        kind
        for name, bound in plan.workloads.items()
        for kind in work_units.kinds_of(work_units.units(name, bound))
    ]
    heads = list(plan.servers)[1:]
    items = [(kind.workload, kind.name, head) for kind in kinds for head in heads]
    metafunc.parametrize("item", items, ids=map("-".join, items))


@pytest.fixture(scope="session")
def counted(request: pytest.FixtureRequest) -> WorkComparison:
    """All counts, made once."""
    try:
        return app.work(request.config.stash[REQUEST], lambda progress: None, warnings.warn)[0]
    except (InputError, MeasureError) as error:
        pytest.exit(str(error), returncode=error.exit_code)


@pytest.fixture
def change(item: tuple[str, str, str], counted: WorkComparison, benchmark: BenchmarkFixture) -> WorkChange:
    """The item's kind on its head, compared with the base."""
    (found,) = (each for each in counted.changes if (each.workload, each.kind, each.server) == item)
    benchmark.extra_info.update(to_builtins(found))
    benchmark.pedantic(int)  # type: ignore[no-untyped-call]  # it keeps nothing without a time
    return found


def test_work(change: WorkChange) -> None:
    more = change.reason or (percent(change.ratio) if change.ratio else "")
    fails = (Verdict.FAILED, Verdict.REGRESSED, Verdict.UNJUDGED)  # unjudged: without counts of the base
    assert change.verdict not in fails, f"instructions: {more}"
