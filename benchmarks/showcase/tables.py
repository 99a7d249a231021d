"""The charts and tables of docs/showcase.md, from the recorded run of the profile `showcase`.

Usage: `make demo-site`, then `python -m benchmarks.showcase.tables`: shoots the charts, prints the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.showcase import screenshot
from shootout import numbers
from shootout.document import journal
from shootout.model.verdict import CellComparison
from shootout.paths import REPORTS, ROOT
from shootout.report import judgement_cache, wording
from shootout.report.judgement_cache import Whole
from shootout.report.site.names import run_folder, workload_page

DOCS = ROOT / "docs"
FINDINGS = DOCS / "showcase.md"
PICTURES = {"oltp_read_only": "showcase-read-only.png", "oltp_read_write": "showcase-read-write.png"}
CHART_HEIGHT = 505  # CSS pixels, with its legend
DEMO = REPORTS / "demo"


def main() -> None:
    whole = find(DEMO / "results")
    folder = DEMO / "site" / run_folder(whole.document.header.run)
    for workload, picture in PICTURES.items():
        page = folder / workload_page(workload, "")
        screenshot.shoot(page, DOCS / picture, CHART_HEIGHT, section="throughput")
        print(f"## {workload}\n")
        print("\n".join(table(whole, workload)), end="\n\n")


def find(results: Path) -> Whole:
    """The showcase's run among the recorded ones."""
    (path,) = (path for path in journal.find(results) if journal.read(path).header.profile_name == "showcase")
    return judgement_cache.run(path).whole()


def table(whole: Whole, workload: str) -> Iterator[str]:
    """Servers by threads: the base's throughput, the others' changes, and each server's peak in tps."""
    cells = [c for c in whole.comparison.cells if c.cell.workload == workload]
    threads = sorted({c.cell.threads for c in cells})
    yield f"| server | {' | '.join(map(wording.threads, threads))} | peak, tps |"
    yield f"|---|{'--:|' * (len(threads) + 1)}"
    for label in dict.fromkeys(c.cell.server for c in cells):
        of_server = {c.cell.threads: c for c in cells if c.cell.server == label}
        figures = " | ".join(_figure(of_server[count]) for count in threads)
        tps = {count: c.figures.tps for count, c in of_server.items() if c.figures}
        peak = max(tps, key=lambda count: tps[count].estimate)
        yield f"| {label} | {figures} | {_plain(wording.estimate(tps[peak]))} at {peak} |"


def _figure(c: CellComparison) -> str:
    if c.cell == c.base and c.figures:
        return f"{_plain(wording.estimate(c.figures.tps))} tps"
    if c.ratio is None:
        return str(c.verdict)
    change, range_ = _plain(wording.change(c.ratio)), _plain(wording.change_range(c.ratio))
    return f"{wording.SYMBOLS[c.verdict]} {change} ({range_})"


def _plain(text: str) -> str:
    return text.replace(numbers.SPACE, " ")


if __name__ == "__main__":
    main()
