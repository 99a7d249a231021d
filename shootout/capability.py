"""The core's view of a capability beside the main job; it imports one only when it is needed.

A capability is a folder of shootout/ with its kind of document and its pages; a module of `commands` has its
command. The folder's `__init__.py` imports nothing: its docstring says what it does, in the list of commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shootout.errors import Skip, leaving_out

if TYPE_CHECKING:
    from shootout.answer import Answer, Topic
    from shootout.document.store import Store
    from shootout.parser import Parser
    from shootout.report.site.answers import AnswerListPage

NAMES: tuple[str, ...] = ("upgrade", "explain", "count", "bisect", "learn", "soak", "coverage")


class Capability:
    """A capability, with what most of them lack."""

    name: str
    store: Store[Any] | None = None  # its kind of document
    folder: str = ""  # of its pages
    title: str = ""  # of their list
    about: str = ""  # what they have, in a sentence
    columns: tuple[str, ...] = ()  # of their list, with the fields of `Answer.listed`

    def command(self, parser: Parser) -> None:
        """Declare the options of its command, which has its name, and what runs it."""

    def judge(self, path: Path, base: str | None = None) -> Answer:
        """Judge a document of its kind; `base`: the label to compare with. Raises InputError."""
        raise NotImplementedError

    def page(self, path: Path) -> str:
        """Return the page of a document of its kind, from the site's root."""
        from shootout.report.site import names  # noqa: PLC0415 (--help needs no pages)

        return names.page_of(self.folder, self.id_of(path))

    def id_of(self, path: Path) -> str:
        """Return the id of the document at a path."""
        return path.name.partition(".")[0]

    def answers(self, results: Path, skip: Skip) -> Iterator[tuple[str, Answer]]:
        """List its documents in a folder that have pages, the newest first, by id."""
        for path in reversed(self.store.find(results)) if self.store is not None and self.folder else ():
            with leaving_out(skip):
                yield self.id_of(path), self.judge(path)

    def listing(self, results: Path, skip: Skip) -> AnswerListPage | None:
        """Make the pages of its documents in a folder, and their list; None without any."""
        return self.listed(self.answers(results, skip))

    def listed(
        self, answers: Iterable[tuple[str, Answer]], topics: tuple[Topic, ...] = ()
    ) -> AnswerListPage | None:
        """Make the pages of these answers, by id, and their list; `topics`: below it. None without any."""
        from shootout.report.site import answers as pages  # noqa: PLC0415 (--help needs no pages)

        every = tuple(pages.AnswerPage(each, self.title, self.folder, name) for name, each in answers)
        if not every:
            return None
        return pages.AnswerListPage(self.title, self.about, self.columns, every, self.folder, topics)


def about(name: str) -> str:
    """Describe it in the list of commands, by its folder's docstring. Imports nothing else of it."""
    text = import_module(f"shootout.{name}").__doc__ or ""
    return text[:1].lower() + text[1:].rstrip(".")


def load(name: str) -> Capability:
    """Import one."""
    found = import_module(f"shootout.commands.{name}").CAPABILITY
    assert isinstance(found, Capability)
    return found


def every() -> Iterator[Capability]:
    """Import all of them, one by one."""
    return map(load, NAMES)


def owner(path: Path) -> Capability | None:
    """Find the capability whose kind of document a file is; None: a run's, or nobody's."""
    return next((each for each in every() if each.store is not None and each.store.owns(path)), None)


def by_owner(documents: Iterable[Path]) -> tuple[list[Path], dict[Capability, list[Path]]]:
    """Split documents into those of runs, and those of capabilities."""
    runs: list[Path] = []
    others: dict[Capability, list[Path]] = {}
    for path in documents:
        found = owner(path)
        (runs if found is None else others.setdefault(found, [])).append(path)
    return runs, others
