"""Packed documents: what a finished run leaves in place of its journal, at a fraction of the size.

They have a journal's records, sealed likewise, in a file that `xz` unpacks. Figures that no verdict needs are
rounded or merged:

- Of transactions, each percentile in `PERCENTS` stays exactly, over any starts of a cell; so do the mean, the
  shortest and the longest latency, and how many there are in each bin of a chart. Others keep `BITS` binary
  digits: they change by less than 1/32.
- Of statements, each start has the number and the mean, exactly. Latencies are those of the cell, in its
  first start, rounded likewise.
"""

from __future__ import annotations

import itertools
import lzma
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from shootout import files
from shootout._engine import Histogram
from shootout.document import journal
from shootout.errors import InputError
from shootout.model.run import RunDocument, Samples, StartRecord

PERCENTS = (50.0, 95.0, 99.0, 99.9)  # that verdicts and pages read
BITS = 6
BINS_PER_DECADE = 24  # of the chart: bins 10 % wide, coarser than the histogram's own


def pack(path: Path) -> Path:
    """Put a packed document in a journal's place; returns its path, or the journal's if the disk is full."""
    packed = path.with_name(path.name + journal.PACKED)
    try:
        files.replace(packed, encoded(rounded(journal.read(path))))
        path.unlink()
    except OSError:
        return path
    return packed


def encoded(document: RunDocument) -> bytes:
    """Pack the packed form of a document that is rounded."""
    return lzma.compress(journal.encoded(document))


def rounded(document: RunDocument) -> RunDocument:
    """Round a document's latencies: idempotent. Raises InputError for damaged ones."""
    cells: dict[tuple[str, str, bool], list[Samples]] = {}
    for start in document.starts:
        for key, samples in _cells(start):
            cells.setdefault(key, []).append(samples)
    try:
        by_start = {key: iter([*_of_cell(every)]) for key, every in cells.items()}
    except ValueError as error:
        raise InputError(f"run {document.header.run}: {error}") from None
    starts = []
    for start in document.starts:
        left = [next(by_start[key]) for key, _ in _cells(start)]
        control = left.pop() if start.aa_control else None
        starts.append(structs.replace(start, samples=tuple(left), aa_control=control))
    return structs.replace(document, starts=tuple(starts))


def _cells(start: StartRecord) -> Iterator[tuple[tuple[str, str, bool], Samples]]:
    for samples in start.samples:
        yield (start.block, samples.server, False), samples
    if start.aa_control:
        yield (start.block, start.aa_control.server, True), start.aa_control


def _of_cell(every: Sequence[Samples]) -> Iterator[Samples]:
    latencies = [Histogram.decode(samples.latencies) for samples in every]
    values = [[histogram.percentile(percent) for histogram in latencies] for percent in PERCENTS]
    exact = [(min(of_starts), max(of_starts)) for of_starts in values]
    own = [{kind: Histogram.decode(text) for kind, text in each.statements.items()} for each in every]
    times = [{kind: (one.count, one.mean_s) for kind, one in of_start.items()} for of_start in own]
    statements: dict[str, Histogram] = {}
    for kind, one in itertools.chain.from_iterable(of_start.items() for of_start in own):
        statements.setdefault(kind, Histogram()).add(one)
    of_cell = {}
    for kind, one in statements.items():
        kept = [(value, value) for value in map(one.percentile, PERCENTS)]
        of_cell[kind] = one.rounded(BITS, kept).encode(plain=True)
    for samples, histogram, by_kind in zip(every, latencies, times, strict=True):
        yield structs.replace(
            samples,
            latencies=histogram.rounded(BITS, (*exact, *_edges(histogram))).encode(plain=True),
            statements=of_cell,
            times=samples.times or by_kind,
        )
        of_cell = {}


def _edges(latencies: Histogram) -> Iterator[tuple[float, float]]:
    """The bins' edges between the shortest and the longest latency."""
    if latencies.count:
        ends = (max(end_s, 1e-9) for end_s in (latencies.min_s, latencies.max_s))
        first, last = (math.ceil(math.log10(end_s) * BINS_PER_DECADE) for end_s in ends)
        for number in range(first, last):
            edge_s = (1 - 1e-9) * 10 ** (
                number / BINS_PER_DECADE
            )  # where a bucket lies on it, it begins a bin
            yield edge_s, edge_s
