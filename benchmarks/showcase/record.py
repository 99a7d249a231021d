"""Makes a run's document small enough for the repository.

Usage: `python -m benchmarks.showcase.record DOC --statements 1`

What is left in reports/showcase is as it was measured; only latencies of kinds of statement are left out, and
the folders that servers and files were in on the machine that measured. Starts can be, too: but of fewer of
them less can be told, and verdicts are no longer those that the run gave.
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
        "--unpack", metavar="DIR", type=Path, help="put the showcase's documents there instead"
    )
    parser.add_argument("--starts", type=int, help="of each block, those that confirm not counted")
    parser.add_argument(
        "--statements", type=_threads, metavar="N,…", help="only of blocks of so many threads; 0: of none"
    )
    given = parser.parse_args()
    if given.unpack:
        unpacked(given.unpack)
    for path in given.documents:
        print(record(path, given.starts, given.statements))


def record(path: Path, starts: int | None = None, statements: Collection[int] | None = None) -> Path:
    """Write the short form of a document; returns where it is.

    `starts`: how many are kept of each block, and those that confirm. `statements`: the threads of the blocks
    that keep the latencies of kinds of statement. None: all.
    """
    read = journal.read(path)
    kept = [record for record in read.starts if starts is None or record.start <= starts or record.confirming]
    if statements is not None:
        telling = {block.key for block in read.header.blocks if block.threads in statements}
        kept = [record if record.block in telling else _silent(record) for record in kept]
    short = replace(placeless(read), starts=tuple(kept))
    SHOWCASE.mkdir(parents=True, exist_ok=True)
    packed = SHOWCASE / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(journal.encoded(short), 9, mtime=0))
    return packed


def unpacked(folder: Path) -> tuple[Path, ...]:
    """The showcase's documents as files in a folder, the newest last."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for packed in sorted(SHOWCASE.glob("*.jsonl.gz")):
        paths.append(folder / packed.stem)
        paths[-1].write_bytes(gzip.decompress(packed.read_bytes()))
    return tuple(paths)


def _threads(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _silent(record: StartRecord) -> StartRecord:
    def silent(samples: Samples) -> Samples:
        return replace(samples, statements={})

    return replace(
        record,
        samples=tuple(map(silent, record.samples)),
        aa_control=record.aa_control and silent(record.aa_control),
    )


def placeless(read: RunDocument) -> RunDocument:
    """Without the folders of the machine that measured."""
    header = read.header
    asked = tuple(text.removeprefix("path:") for text in header.profile.servers)
    folders: set[str] = set()

    def short(reference: str) -> str:
        kind, _, target = reference.partition(":")
        if kind != "path" or not PurePath(target).is_absolute():
            return reference
        own = next((text for text in asked if target.endswith(f"/{text}")), PurePath(target).name)
        folders.add(target.removesuffix(own))
        return f"path:{own}"

    servers = tuple(replace(server, reference=short(server.reference)) for server in header.servers)
    profile = replace(header.profile, servers=tuple(map(short, header.profile.servers)))

    def bare(text: str) -> str:
        return functools.reduce(lambda left, folder: left.replace(folder, ""), folders, text)

    return replace(
        read,
        header=replace(
            header,
            profile=profile,
            profile_name=PurePath(header.profile_name).name,
            servers=tuple(
                replace(each, warnings=tuple(replace(w, text=bare(w.text)) for w in each.warnings))
                for each in servers
            ),
            given={},
        ),
        failures=tuple(replace(failure, reason=bare(failure.reason)) for failure in read.failures),
    )


if __name__ == "__main__":
    main()
