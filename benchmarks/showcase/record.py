"""Record run documents for the repository, without the measuring machine's folders.

Usage: `python -m benchmarks.showcase.record DOC…`; they go to reports/showcase
"""

from __future__ import annotations

import argparse
import functools
import gzip
import shutil
from pathlib import Path, PurePath

from msgspec.structs import replace

from shootout.document import journal, packed
from shootout.model.run import RunDocument
from shootout.paths import REPORTS

SHOWCASE = REPORTS / "showcase"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", metavar="DOC", type=Path, nargs="*")
    parser.add_argument(
        "--unpack", metavar="DIR", type=Path, help="put the showcase's documents into DIR instead"
    )
    given = parser.parse_args()
    if given.unpack:
        unpacked(given.unpack)
    for path in given.documents:
        print(record(path))


def record(path: Path, folder: str = "") -> Path:
    """Write a run document, packed, into a folder of the showcase; returns its path."""
    stored = SHOWCASE / folder / (journal.new_name(journal.stem(path)) + journal.PACKED)
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_bytes(packed.encoded(packed.rounded(placeless(journal.read(path)))))
    return stored


def compress(content: bytes, name: str) -> None:
    """Write another kind of document."""
    stored = SHOWCASE / f"{name}.gz"
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_bytes(gzip.compress(content, 9, mtime=0))


def unpacked(folder: Path) -> tuple[Path, ...]:
    """Put the showcase's documents into a folder; returns those of its runs, the newest last."""
    for stored in (*SHOWCASE.glob("*.xz"), *SHOWCASE.glob("explained/*/*.xz"), *SHOWCASE.rglob("*.gz")):
        path = folder / stored.relative_to(SHOWCASE)
        path.parent.mkdir(parents=True, exist_ok=True)
        if stored.suffix == ".gz":
            path.with_suffix("").write_bytes(gzip.decompress(stored.read_bytes()))
        else:
            shutil.copyfile(stored, path)
    return journal.find(folder)


def placeless(document: RunDocument) -> RunDocument:
    """Without the measuring machine's folders."""
    header = document.header
    given = tuple(text.removeprefix("path:") for text in header.profile.servers)
    folders: set[str] = set()

    def short(reference: str) -> str:
        kind, _, target = reference.partition(":")
        if kind != "path" or not PurePath(target).is_absolute():
            return reference
        own = next((text for text in given if target.endswith(f"/{text}")), PurePath(target).name)
        folders.add(target.removesuffix(own))
        return f"path:{own}"

    servers = tuple(replace(server, reference=short(server.reference)) for server in header.servers)
    profile = replace(header.profile, servers=tuple(map(short, header.profile.servers)))

    def bare(text: str) -> str:
        return functools.reduce(lambda left, folder: left.replace(folder, ""), folders, text)

    return replace(
        document,
        header=replace(
            header,
            profile=profile,
            profile_name=PurePath(header.profile_name).name,
            servers=tuple(
                replace(each, warnings=tuple(replace(w, text=bare(w.text)) for w in each.warnings))
                for each in servers
            ),
            given={flag: text for flag, text in header.given.items() if "/" not in text},
        ),
        failures=tuple(replace(failure, reason=bare(failure.reason)) for failure in document.failures),
    )


if __name__ == "__main__":
    main()
