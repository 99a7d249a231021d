"""Kinds of documents beside the run documents, each written whole, as JSON; `.xz` files are packed."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from shootout import files
from shootout.document.formats import Format
from shootout.errors import InputError, MeasureError
from shootout.paths import file_stem

T = TypeVar("T")


@dataclass(frozen=True)
class Store(Generic[T]):
    """Documents of one kind: `soaks/*.json` below the results."""

    name: str  # "a soak": for messages
    pattern: str  # of its files, below the folder of run documents; the star is the document's id
    type: type[T]
    key: str  # a field that no other kind of document begins with
    format: Format  # its number, which its type has in `format`, and the ways up to it
    fault: Callable[[T], str] = lambda document: ""  # what is damaged in a document; empty: nothing
    earlier: str = ""  # the pattern of its files until the folder was renamed; they are still read

    def path_of(self, results: Path, id: str) -> Path:
        """Return the file of the document with this id."""
        return results / self.pattern.replace("*", file_stem(id))

    def find(self, results: Path) -> tuple[Path, ...]:
        """Find the documents of a folder, the oldest first."""
        patterns = filter(None, (self.pattern, self.earlier))
        found = (path for pattern in patterns for path in results.glob(pattern))
        return tuple(sorted(found, key=lambda path: path.relative_to(results).parts[1:]))

    def read(self, path: Path) -> T:
        """Read and check a document. Raises InputError."""
        with files.reading(path, self.name), files.opened(path) as file:
            document = self.format.document(files.unpacked(file).read(), self.type)
            if fault := self.fault(document):
                raise ValueError(fault)
            return document

    def newest_first(self, results: Path, skip: Callable[[str], None]) -> Iterator[T]:
        """Read the documents of a folder that can be read; `skip` receives why others are left out."""
        for path in reversed(self.find(results)):
            try:
                yield self.read(path)
            except InputError as error:
                skip(str(error))

    def write(self, results: Path, id: str, document: T) -> Path:
        """Write a document, in place of an earlier one. Raises MeasureError if it cannot be written."""
        return self.write_to(self.path_of(results, id), document)

    def write_to(self, path: Path, document: T) -> Path:
        """Write a document to that file. Raises MeasureError if it cannot be written."""
        try:
            content = msgspec.json.encode(document) + b"\n"
            files.replace(path, lzma.compress(content) if path.suffix == ".xz" else content)
        except OSError as error:
            raise MeasureError(f"{path}: cannot be written: {error.strerror}") from None
        return path

    def owns(self, path: Path) -> bool:
        """Whether a file's first line is an object of this kind; False where it cannot be read."""
        try:
            with files.opened(path) as file:
                first = files.unpacked(file).readline()
            return self.key in msgspec.json.decode(first, type=dict[str, msgspec.Raw])
        except (OSError, lzma.LZMAError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
