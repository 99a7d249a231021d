"""The page of a learned workload: what the log has, what is sent, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shootout import files
from shootout.learn import report
from shootout.learn.measure import LearnedWorkload
from shootout.report.site import single
from shootout.report.site.page import Page
from shootout.report.site.render import renderer


@dataclass(frozen=True)
class FidelityPage(Page):
    """A learned workload beside its log."""

    outcome: LearnedWorkload
    template = "learn/page"

    @property
    def lost(self) -> str:
        """What the log lacks of transactions that are known nevertheless."""
        return report.lost(self.outcome.learned)

    @property
    def path(self) -> str:
        """It belongs to no site."""
        return "fidelity.html"


def write(outcome: LearnedWorkload, folder: Path) -> Path:
    """Write the page to the folder, as one file; returns its whole path. Raises InputError."""
    page = FidelityPage(outcome)
    file = folder / page.path
    files.write(file, single.inline(page, renderer()))
    return file.resolve()
