"""Record documents of runs, explanations and upgrades for the repository, without the machine's folders.

Usage: `python -m lab.showcase.record DOC…`; they go to reports/showcase
"""

from __future__ import annotations

import argparse
import functools
import gzip
import shutil
from pathlib import Path, PurePath

import msgspec
from msgspec.structs import replace

from shootout.count.documents import COUNTS
from shootout.document import journal, packed
from shootout.explain.documents import EXPLANATIONS
from shootout.model.run import RunDocument
from shootout.paths import REPORTS
from shootout.upgrade.documents import UPGRADES

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
        print(recorded(path))


def recorded(path: Path) -> Path:
    """Write a document of any kind into the showcase, with those that it names; returns its path."""
    if UPGRADES.owns(path):
        return upgrade(path)
    return explanation(path) if EXPLANATIONS.owns(path) else record(path)


def record(path: Path, folder: str = "") -> Path:
    """Write a run document, packed, into a folder of the showcase; returns its path."""
    stored = SHOWCASE / folder / (journal.new_name(journal.stem(path)) + journal.PACKED)
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_bytes(packed.encoded(packed.rounded(placeless(journal.read(path)))))
    return stored


def compress(content: bytes, name: str) -> Path:
    """Write another kind of document; returns its path."""
    stored = SHOWCASE / f"{name}.gz"
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_bytes(gzip.compress(content, 9, mtime=0))
    return stored


def explanation(path: Path) -> Path:
    """Write an explanation and its profiled starts."""
    found = EXPLANATIONS.read(path)
    variables = {
        server: {name: text for name, text in own.items() if not text.startswith("/")}
        for server, own in found.variables.items()
    }
    folder = path.resolve().parent.relative_to(path.resolve().parents[2])
    record(path.with_name(found.document), str(folder))
    return compress(msgspec.json.encode(replace(found, variables=variables)), str(folder / path.name))


def upgrade(path: Path) -> Path:
    """Write an upgrade with its runs and counts."""
    document, results = UPGRADES.read(path), path.resolve().parents[1]

    def bare(content: bytes) -> bytes:
        return content.replace(f"{results}/".encode(), b"")

    for name in filter(None, (document.statements, document.restoring)):
        counted = COUNTS.read(results / name)
        datasets = tuple(replace(each, dump=Path(each.dump).name) for each in counted.datasets)
        counted = replace(counted, datasets=datasets, functions=(), profiles=())  # megabytes
        compress(bare(msgspec.json.encode(counted)), name)
    stored = replace(
        document,
        settings=Path(document.settings).name,
        workload=Path(document.workload).name,
        runs=tuple(record(results / name).name for name in document.runs),
        elsewhere=tuple(record(results / name).name for name in document.elsewhere),
    )
    return compress(bare(msgspec.json.encode(stored)), str(UPGRADES.path_of(Path(), document.upgrade)))


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
    """Drop the measuring machine's folders."""
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
