"""A page of the site: its path, its template, and the values that this reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from shootout.report.site.run import Run

File = tuple[str, str | bytes]  # path in the site, content
Render = Callable[..., str]  # fills a template, given its name and its values as keywords


class Page(ABC):
    """A page; templates read the properties of its subclass as `page`."""

    template: ClassVar[str]

    @property
    @abstractmethod
    def path(self) -> str:
        """Its path from the site's root."""

    @property
    def data(self) -> str | None:
        """The stem of the JSON and CSV files that it links to, from the site's root, if any."""
        return None

    def html(self, render: Render, data: str | None = None) -> str:
        """The page; `data`: the stem of the files that it links to, from the site's root."""
        root = "../" * self.path.count("/")  # the relative path to the site's root
        return render(
            f"{self.template}.html", page=self, run=getattr(self, "run", None), root=root, data=data
        )

    def files(self, render: Render) -> Iterator[File]:
        yield self.path, self.html(render, self.data)


@dataclass(frozen=True)
class RunPage(Page):
    run: Run

    @property
    @abstractmethod
    def file(self) -> str:
        """Its name in the folder."""

    @property
    def path(self) -> str:
        return f"{self.run.folder}/{self.file}"
