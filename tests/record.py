"""A run's document made small enough for the repository: `python tests/record.py DOC --starts 3`.

What is left in reports/showcase is as it was measured; only starts are left out, and the folders that
servers and files were in on the machine that measured.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path, PurePath

import msgspec
from msgspec.structs import replace

from shootout import document
from shootout.model import RunHeader, Samples
from shootout.places import REPORTS

SHOWCASE = REPORTS / "showcase"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", metavar="DOC", type=Path, nargs="*")
    parser.add_argument(
        "--unpack", metavar="DIR", type=Path, help="put the showcase's documents there instead"
    )
    parser.add_argument("--starts", type=int, default=3, help="of each block, those that confirm not counted")
    parser.add_argument(
        "--no-statements", action="store_true", help="leave out latencies of kinds of statement"
    )
    given = parser.parse_args()
    if given.unpack:
        unpacked(given.unpack)
    for path in given.documents:
        print(record(path, given.starts, statements=not given.no_statements))


def record(path: Path, starts: int, *, statements: bool = True) -> Path:
    """Write the short form of a document; returns where it is."""
    read = document.read(path)
    kept = [record for record in read.starts if record.start <= starts or record.confirming]
    if not statements:
        kept = [
            replace(
                record,
                samples=tuple(map(_silent, record.samples)),
                twin=record.twin and _silent(record.twin),
            )
            for record in kept
        ]
    records = (_header(read.header), *kept, *read.failures, *([read.end] if read.end else []))
    text = b"".join(msgspec.json.encode(each) + b"\n" for each in records)
    SHOWCASE.mkdir(parents=True, exist_ok=True)
    packed = SHOWCASE / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(text, 9, mtime=0))
    return packed


def unpacked(folder: Path) -> tuple[Path, ...]:
    """The showcase's documents as files in a folder, the newest last."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for packed in sorted(SHOWCASE.glob("*.jsonl.gz")):
        paths.append(folder / packed.stem)
        paths[-1].write_bytes(gzip.decompress(packed.read_bytes()))
    return tuple(paths)


def _silent(samples: Samples) -> Samples:
    return replace(samples, statements={})


def _header(header: RunHeader) -> RunHeader:
    """Without the folders of the machine that measured."""

    def short(reference: str) -> str:
        kind, _, target = reference.partition(":")
        return f"path:{PurePath(target).name}" if kind == "path" else reference

    profile = replace(header.profile, servers=tuple(map(short, header.profile.servers)))
    return replace(
        header,
        profile=profile,
        profile_name=PurePath(header.profile_name).name,
        servers=tuple(replace(server, reference=short(server.reference)) for server in header.servers),
        given={},
    )


if __name__ == "__main__":
    main()
