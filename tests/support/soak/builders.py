"""Documents of soaks with chosen seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from shootout.model.plan import DatasetSize, Load
from shootout.soak.documents import Writer
from shootout.soak.values import (
    Gauge,
    Measure,
    SoakDocument,
    SoakEnd,
    SoakFailure,
    SoakHeader,
    SoakServer,
    SoakSlice,
)
from tests.support.builders import a_record, a_runner, a_server

SOAK = "20261125T100000Z-000001"


def header(servers: Sequence[str], soak: str = SOAK) -> SoakHeader:
    return SoakHeader(
        format=2, soak=soak, started="2026-11-25T10:00:00+00:00", shootout="0", duration_s=600.0, turn_s=0.0,
        profile_name="soak", given={}, seed=1, settings="production", confidence=0.95,
        workload=a_record("oltp_read_write"), dataset=DatasetSize().of_kind("sbtest"), threads=8, load=Load(),
        runner=a_runner(), servers=tuple(servers),
    )  # fmt: skip


def slices(
    server: str,
    done: Iterable[float],
    lasts: Sequence[float] | None = None,
    gauges: Sequence[dict[Gauge, float]] | None = None,
) -> list[SoakSlice]:
    """One window of a second each; a longer slice drains for the rest of it."""
    found, begins_s = [], 0.0
    for number, transactions in enumerate(done):
        lasts_s = 1.0 if lasts is None else lasts[number]
        found.append(
            SoakSlice(
                server=server, begins_s=begins_s, lasts_s=lasts_s, window_s=1.0,
                transactions=float(transactions), completed=round(transactions), p50_s=0.005, p95_s=0.01,
                p99_s=0.02, gauges=gauges[number] if gauges else {},
            )
        )  # fmt: skip
        begins_s += lasts_s
    return found


def document(
    servers: Sequence[str],
    taken: Iterable[SoakSlice],
    failures: Sequence[SoakFailure] = (),
    ends: Mapping[str, dict[Measure, float]] | None = None,
    soak: str = SOAK,
) -> SoakDocument:
    """Make a document; by default a loaded server that did not fail has an end."""
    taken = tuple(taken)
    if ends is None:
        ends = {label: {} for label in {each.server for each in taken} - {each.server for each in failures}}
    return SoakDocument(
        header=header(servers, soak),
        servers=tuple(SoakServer(server=a_server(label), start_s=1.0) for label in servers),
        slices=taken,
        ends=tuple(SoakEnd(server=label, footprint=each) for label, each in ends.items()),
        failures=tuple(failures),
    )


def written(results: Path, whole: SoakDocument) -> Path:
    """Write a document record by record."""
    writer = Writer(results, whole.header)
    for records in (whole.servers, whole.slices, whole.ends, whole.failures):
        for record in records:
            writer.append(record)
    return writer.path


def faulty(seconds: int = 900) -> SoakDocument:
    """A base as it should be, and a head that stalls, leaks and becomes slower."""
    generator = np.random.default_rng(1)
    noise = [1000 + 30 * generator.standard_normal(seconds) for _ in range(2)]
    second = np.arange(seconds)
    stalled = np.where(second % 60 < 2, 1.0, noise[1]) * (1 - 0.2 * second / seconds)

    def gauges(grown: float) -> list[dict[Gauge, float]]:
        return [
            {"memory": 5e8 + grown * each, "checkpoint_age": 1e8 + 1e5 * (each % 60)}
            for each in range(seconds)
        ]

    return document(
        ["a", "b"],
        [*slices("a", noise[0], gauges=gauges(0)), *slices("b", stalled, gauges=gauges(1e6))],
        ends={
            "a": {"memory": 5e8, "disk": 2e9, "start": 1.0},
            "b": {"memory": 1.4e9, "disk": 2e9, "start": 1.1},
        },
    )
