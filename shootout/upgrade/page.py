"""The pages of upgrades."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shootout.paths import file_stem
from shootout.report.site.page import Listing, ListPage, Page
from shootout.upgrade import report
from shootout.upgrade.judge import Answer
from shootout.upgrade.topic import Topic

FOLDER = "upgrades"
LEADS_MAX = 3  # upgrades that the site's first page begins with


@dataclass(frozen=True)
class UpgradePage(Page):
    """One upgrade."""

    answer: Answer
    template = "upgrade/page"

    @property
    def path(self) -> str:
        return path_of(self.answer.document.upgrade)

    @property
    def headline(self) -> str:
        """The answer to what, in a sentence."""
        return report.headline(self.answer)

    @property
    def sentence(self) -> str:
        """The answer."""
        return report.sentence(self.answer)

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Everything else."""
        return report.topics(self.answer)


@dataclass(frozen=True)
class UpgradeListPage(ListPage):
    """All upgrades, the newest first."""

    every: tuple[UpgradePage, ...]
    template = "upgrade/list"
    folder = FOLDER

    @property
    def newest(self) -> tuple[UpgradePage, ...]:
        """The newest of each pair of servers."""
        by_pair: dict[tuple[str, ...], UpgradePage] = {}
        for page in self.every:
            by_pair.setdefault(page.answer.document.labels, page)
        return tuple(by_pair.values())[:LEADS_MAX]


def path_of(upgrade: str) -> str:
    """The page of an upgrade, from the site's root."""
    return f"{FOLDER}/{file_stem(upgrade)}.html"


def listing(answers: Iterable[Answer]) -> Listing | None:
    """The pages of upgrades, if there are any."""
    every = tuple(map(UpgradePage, answers))
    return Listing("Upgrades", UpgradeListPage(every=every), every, "upgrade/lead") if every else None
