"""Measure, count and explain versions that are known to differ, and take pictures for docs/explain.md.

Usage: `python -m benchmarks.explain.showcase [EXAMPLE …]`; what is there is not repeated.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.showcase import screenshot
from shootout import cli
from shootout.document import journal
from shootout.explain.documents import EXPLANATIONS
from shootout.paths import REPORTS, ROOT
from shootout.report.site.names import cell_stem, run_folder

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
    for name in sys.argv[1:] or EXAMPLES:
        example, out = EXAMPLES[name], OUT / name
        results = out / "results"
        servers = (example.base, example.head)
        both = ("--workloads", example.workload, "--out", str(out))
        if not [*results.glob("work/*.json")]:
            _shootout("work", "--base", servers[0], "--head", servers[1], *both)
        if not journal.find(results):
            _shootout("run", "--servers", ",".join(servers), "--threads", "4", *SHORT, *both)
        (document,) = journal.find(results)
        if not EXPLANATIONS.find(results):
            tried = (option for each in example.tried for option in ("--try", each))
            _shootout("explain", document.stem, example.cell, *tried, *BRIEF, "--out", str(out))
        if example.picture:
            header = journal.read(document).header
            cell = next(
                cell for block in header.blocks for cell in block.cells if cell.server == example.head
            )
            page = out / "site" / run_folder(header.run) / f"{cell_stem(cell)}.html"
            print(screenshot.shoot(page, ROOT / "docs" / example.picture, example.height, example.section))


def _shootout(*command: str) -> None:
    print("shootout", *command, flush=True)
    if (code := cli.main([*command])) not in (0, 1):
        sys.exit(code)


if __name__ == "__main__":
    main()
