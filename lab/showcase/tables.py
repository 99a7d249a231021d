"""The charts and the table of docs/versions.md, from the recorded run of the profile `showcase`.

Usage: `make demo-site`, then `python -m lab.showcase.tables`: shoots the charts, prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.showcase import screenshot
from shootout import figures, numbers
from shootout.document import journal
from shootout.model.verdict import CellComparison
from shootout.paths import REPORTS, ROOT
from shootout.report import judged_runs, wording
from shootout.report.judged_runs import Whole
from shootout.report.site.names import run_folder, workload_page

DOCS = ROOT / "docs"
FINDINGS = DOCS / "versions.md"
PICTURES = {"oltp_read_only": "showcase-read-only.png", "oltp_read_write": "showcase-read-write.png"}
AT = 8  # threads
CHART_HEIGHT = 505  # CSS pixels, with its legend
DEMO = REPORTS / "demo"


def main() -> None:
    whole = find(DEMO / "results")
    folder = DEMO / "site" / run_folder(whole.document.header.run)
    for workload, picture in PICTURES.items():
        page = folder / workload_page(workload, "")
        screenshot.shoot(page, DOCS / picture, CHART_HEIGHT, section="throughput")
    for title, lines in tables(whole).items():
        print(f"## {title}\n")
        print("\n".join(lines), end="\n\n")


def tables(whole: Whole) -> dict[str, list[str]]:
    """Servers beside the base."""
    workloads = [*dict.fromkeys(block.workload for block in whole.document.header.blocks)]
    return {"servers": [*table(whole, workloads)]}


def find(results: Path) -> Whole:
    """The showcase's run among the recorded ones."""
    (path,) = (path for path in journal.find(results) if journal.read(path).header.profile_name == "showcase")
    return judged_runs.whole(path)


def table(whole: Whole, workloads: Sequence[str]) -> Iterator[str]:
    """Servers by workload, at AT threads: the base's throughput, and the others' changes."""
    yield f"| server | {' | '.join(workloads)} |"
    yield f"|---|{'--:|' * len(workloads)}"
    cells = [c for c in whole.comparison.cells if c.cell.threads == AT]
    for label in dict.fromkeys(c.cell.server for c in cells):
        found = {c.cell.workload: c for c in cells if c.cell.server == label}
        yield f"| {label} | {' | '.join(_figure(found[each]) for each in workloads)} |"


def _figure(c: CellComparison) -> str:
    if c.cell == c.base and c.figures:
        return f"{_plain(figures.throughput(c.figures.tps.estimate))} tps"
    if c.ratio is None:
        return str(c.verdict)
    change, range_ = _plain(figures.change(c.ratio)), _plain(figures.change_range(c.ratio))
    return f"{wording.symbol(c)} {change} ({range_})"


def _plain(text: str) -> str:
    return text.replace(numbers.SPACE, " ")


if __name__ == "__main__":
    main()
