"""The page of a learned workload: what the log has, what is sent, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass

from shootout.learn.measure import LearnedWorkload
from shootout.report.site.page import Page


@dataclass(frozen=True)
class FidelityPage(Page):
    """A learned workload beside its log."""

    outcome: LearnedWorkload
    template = "fidelity"

    @property
    def path(self) -> str:
        """It belongs to no site."""
        return "fidelity.html"
