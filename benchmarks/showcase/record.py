"""Shorten a run's document for the repository.

Usage: `python -m benchmarks.showcase.record DOC --statements 1`

The result, in reports/showcase, leaves out latencies of statement kinds and the
measuring machine's folders.
`--starts` leaves out starts, too, which changes the verdicts.
"""

from __future__ import annotations

import argparse
import functools
import gzip
from collections.abc import Collection
from pathlib import Path, PurePath

from msgspec.structs import replace

from shootout.document import journal
from shootout.model.run import RunDocument, Samples, StartRecord
from shootout.paths import REPORTS

SHOWCASE = REPORTS / "showcase"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", metavar="DOC", type=Path, nargs="*")
    parser.add_argument(
        "--unpack", metavar="DIR", type=Path, help="unpack the showcase's documents into DIR instead"
    )
    parser.add_argument("--starts", type=int, help="starts per block, not counting confirming ones")
    parser.add_argument(
        "--statements",
        type=_threads,
        metavar="N,…",
        help="thread counts of the blocks that retain statement latencies; 0: none",
    )
    given = parser.parse_args()
    if given.unpack:
        unpacked(given.unpack)
    for path in given.documents:
        print(record(path, given.starts, given.statements))


def record(path: Path, starts: int | None = None, statements: Collection[int] | None = None) -> Path:
    """Write a document's short form; return its path.

    `starts`: how many of each block to retain, besides confirming ones. `statements`: the thread counts of
    blocks that retain statement latencies. None: all.
    """
    document = journal.read(path)
    selected = [s for s in document.starts if starts is None or s.start <= starts or s.confirming]
    if statements is not None:
        detailed = {block.key for block in document.header.blocks if block.threads in statements}
        selected = [s if s.block in detailed else _without_statements(s) for s in selected]
    short = replace(placeless(document), starts=tuple(selected))
    return pack(journal.encoded(short), path.name)


def pack(content: bytes, name: str) -> Path:
    packed = SHOWCASE / f"{name}.gz"
    packed.parent.mkdir(parents=True, exist_ok=True)
    packed.write_bytes(gzip.compress(content, 9, mtime=0))
    return packed


def unpacked(folder: Path) -> tuple[Path, ...]:
    """Unpack the showcase's documents into a folder; return those of its runs, the newest last."""
    paths = []
    for packed in sorted(SHOWCASE.rglob("*.gz")):
        path = folder / packed.relative_to(SHOWCASE).with_suffix("")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        if path.parent == folder:
            paths.append(path)
    return tuple(paths)


def _threads(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _without_statements(record: StartRecord) -> StartRecord:
    def without(samples: Samples) -> Samples:
        return replace(samples, statements={})

    return replace(
        record,
        samples=tuple(map(without, record.samples)),
        aa_control=record.aa_control and without(record.aa_control),
    )


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
