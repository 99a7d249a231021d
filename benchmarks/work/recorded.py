"""What a point select executes more on newer servers, by the recorded count: `make bench-work-recorded`."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

from benchmarks.showcase import record
from shootout.model.value import decoded
from shootout.work import instructions, judge, report
from shootout.work.values import WorkDocument

PAIRS = (("mysql-5.7.22", "mysql-8.0.12"), ("mysql-8.0.33", "mysql-9.7"))


def counted() -> Iterator[str]:
    """Each pair, and the functions that changed."""
    packed = record.SHOWCASE / "work" / "20261124T235227Z-1a9751.json.gz"
    document = decoded(gzip.decompress(packed.read_bytes()), WorkDocument)
    labels = {server.label for server in document.servers}
    for pair in PAIRS:
        if labels.issuperset(pair):
            made = instructions.of(judge.compare(document, pair[0]), "oltp_read_write", pair)
            (point,) = (one for one in made.statements if one.kind.name == "point_select")
            yield f"{' -> '.join(pair)}: {report.statement(point)}"
            yield f"  {point.unnamed}"
            for function in point.changed:
                own, whole = function.own, function.inclusive
                yield f"  {own.base:8.0f} {own.head:8.0f} {whole.base:8.0f} {whole.head:8.0f}  {own.name}"


if __name__ == "__main__":
    print("\n".join(counted()))
