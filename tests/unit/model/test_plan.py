import pytest

from shootout.model.plan import Container, Isolation, Policy, Sampling


def test_margins_are_the_metrics_and_the_workloads() -> None:
    policy = Policy(margin=0.02, margins={"latency_p99": 0.1}, workloads={"reads": {"throughput": 0.05}})
    assert policy.margin_of("throughput", "reads") == 0.05
    assert policy.margin_of("throughput", "writes") == 0.02
    assert policy.margin_of("latency_p99", "reads") == 0.1


@pytest.mark.parametrize(
    ("asked", "writes", "ours", "expected"),
    [
        ("auto", True, True, "pause"),
        ("auto", True, False, "share"),
        ("auto", False, True, "share"),
        ("share", True, True, "share"),
        ("exclusive", False, True, "exclusive"),
    ],
)
def test_auto_stops_servers_that_write_and_are_ours(
    asked: Isolation, writes: bool, ours: bool, expected: Isolation
) -> None:
    found = Sampling(measure_s=1.2, isolation=asked).isolated(writes=writes, ours=ours)
    assert found == Sampling(measure_s=1.2, isolation=expected)


@pytest.mark.parametrize(("memory", "size"), [(None, None), ("1000", 1000), ("512M", 512 * 2**20)])
def test_memory_is_told_in_bytes(memory: str | None, size: int | None) -> None:
    assert Container(memory=memory).memory_bytes == size
