"""The charts and tables of docs/showcase.md, from the recorded run of the profile `showcase`.

Usage: `make demo-site`, then `python -m benchmarks.showcase.tables`: shoots the charts, prints the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.showcase import screenshot
from shootout import numbers
from shootout.analysis import lineage
from shootout.document import journal
from shootout.model.verdict import CellComparison
from shootout.paths import REPORTS, ROOT
from shootout.report import figures, judgement_cache, wording
from shootout.report.judgement_cache import Whole
from shootout.report.site.names import run_folder, workload_page

DOCS = ROOT / "docs"
FINDINGS = DOCS / "showcase.md"
PICTURES = {"oltp_read_only": "showcase-read-only.png", "oltp_read_write": "showcase-read-write.png"}
STEPS_AT = 8  # threads
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
    """Each workload's table, and that of servers beside their predecessors."""
    workloads = dict.fromkeys(block.workload for block in whole.document.header.blocks)
    return {each: [*table(whole, each)] for each in workloads} | {"steps": [*steps(whole, [*workloads])]}


def find(results: Path) -> Whole:
    """The showcase's run among the recorded ones."""
    (path,) = (path for path in journal.find(results) if journal.read(path).header.profile_name == "showcase")
    return judgement_cache.run(path).whole()


def table(whole: Whole, workload: str) -> Iterator[str]:
    """Servers by threads: the base's throughput, and the others' changes."""
    cells = [c for c in whole.comparison.cells if c.cell.workload == workload]
    threads = sorted({c.cell.threads for c in cells})
    yield f"| server | {' | '.join(map(figures.threads, threads))} |"
    yield f"|---|{'--:|' * len(threads)}"
    for label in dict.fromkeys(c.cell.server for c in cells):
        of_server = {c.cell.threads: c for c in cells if c.cell.server == label}
        yield f"| {label} | {' | '.join(_figure(of_server[count]) for count in threads)} |"


def steps(whole: Whole, workloads: Sequence[str]) -> Iterator[str]:
    """Servers beside the ones before them, by workload at STEPS_AT threads."""
    yield f"| server | before it | {' | '.join(workloads)} |"
    yield f"|---|---|{'--:|' * len(workloads)}"
    for step in lineage.steps(whole.document, whole.comparison):
        found = {c.cell.workload: c for c in step.cells if c.cell.threads == STEPS_AT}
        yield f"| {step.server} | {step.before} | {' | '.join(_figure(found[each]) for each in workloads)} |"


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
