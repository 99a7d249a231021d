"""Measure, count and explain versions that are known to differ, and take pictures for docs/why.md.

Usage: `python -m benchmarks.showcase.why [EXAMPLE …]`; what is in reports/bench-showcase-why is not repeated.
`python -m benchmarks.showcase.why counted` prints what the recorded count says of them instead.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.showcase import record, screenshot
from shootout import cli
from shootout.document import journal
from shootout.explain import documents as explanations
from shootout.explain import report as explanation
from shootout.model.value import decoded
from shootout.paths import REPORTS, ROOT
from shootout.report.site.names import cell_stem, run_folder
from shootout.work import documents as work
from shootout.work import instructions
from shootout.work import judge as verdicts
from shootout.work.values import WorkDocument

OUT = REPORTS / "bench-showcase-why"
SHORT, BRIEF = ("--budget", "1.5"), ("--budget", "2")  # minutes: of a run, and of an explanation


@dataclass(frozen=True)
class Example:
    """Two servers, what they are asked, and the part of the cell's page that is worth a picture."""

    base: str
    head: str
    workload: str
    tried: tuple[str, ...] = ()
    picture: str = ""
    section: str = ""
    height: int = 0

    @property
    def cell(self) -> str:
        """As `shootout explain` has it."""
        return f"{Path(self.workload).stem}-t4"


EXAMPLES = {
    "point-select": Example(
        "mysql-5.7.22", "mysql-8.0.12", "oltp_point_select", ("performance_schema=OFF",),
        "why-versions.png", "instructions", 620,
    ),
    "point-select-9": Example("mysql-8.0.33", "mysql-9.7", "oltp_point_select"),
    "join": Example(
        "mysql-5.6.24", "mysql-5.7.22", str(Path(__file__).with_name("bug-100191.toml")),
        ("optimizer_switch=condition_fanout_filter=off",), "why-plan.png", "plans", 560,
    ),
}  # fmt: skip


def main() -> None:
    """Make what is missing of the examples, and their pictures."""
    if sys.argv[1:] == ["counted"]:
        print("\n".join(counted()))
        return
    for name in sys.argv[1:] or EXAMPLES:
        example, out = EXAMPLES[name], OUT / name
        results = out / "results"
        servers = (example.base, example.head)
        both = ("--workloads", example.workload, "--out", str(out))
        if not work.find(results):
            _shootout("work", "--base", servers[0], "--head", servers[1], *both)
        if not journal.find(results):
            _shootout("run", "--servers", ",".join(servers), "--threads", "4", *SHORT, *both)
        (document,) = journal.find(results)
        if not explanations.find(results, document.stem):
            tried = (option for each in example.tried for option in ("--try", each))
            _shootout("explain", document.stem, example.cell, *tried, *BRIEF, "--out", str(out))
        if example.picture:
            header = journal.read(document).header
            cell = next(
                cell for block in header.blocks for cell in block.cells if cell.server == example.head
            )
            page = out / "site" / run_folder(header.run) / f"{cell_stem(cell)}.html"
            print(screenshot.shoot(page, ROOT / "docs" / example.picture, example.height, example.section))


def counted() -> Iterator[str]:
    """What a point select executes more on the examples' heads, by the recorded count."""
    (packed,) = (record.SHOWCASE / work.FOLDER).glob(f"*{work.SUFFIX}.gz")
    document = decoded(gzip.decompress(packed.read_bytes()), WorkDocument)
    labels = {server.label for server in document.servers}
    for example in EXAMPLES.values():
        pair = example.base, example.head
        if example.workload == "oltp_point_select" and labels.issuperset(pair):
            found = instructions.of(verdicts.compare(document, pair[0]), "oltp_read_write", pair)
            (point,) = (each for each in found.statements if each.kind.name == "point_select")
            yield f"{' -> '.join(pair)}: {explanation.statement(point)}"
            yield f"  {point.unnamed}"
            for each in point.changed:
                own, whole = each.own, each.inclusive
                yield f"  {own.base:8.0f} {own.head:8.0f} {whole.base:8.0f} {whole.head:8.0f}  {own.name}"


def _shootout(*command: str) -> None:
    print("shootout", *command, flush=True)
    if (code := cli.main([*command])) not in (0, 1):
        sys.exit(code)


if __name__ == "__main__":
    main()
