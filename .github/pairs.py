"""Which servers a pull request to this repository asks to compare, as JSON: `pairs.py BASE HEAD`, checkouts.

A changed catalogue entry is compared with itself as it was, a changed settings profile likewise, on one
server that takes it; a new entry with its neighbour, a new profile with no settings at all. A changed
workload cannot be compared with what it was, as verdicts are about servers: it is measured on one server
twice, which shows that it runs and how noisy it is.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

SERVER = "mysql-8.0.12"  # where the change is not one of servers
POOLED = "mariadb-11.8"  # it takes what profiles say of a pool of threads
CATALOGUE = Path("fixtures/servers.toml")
SETTINGS = Path("fixtures/settings")
WORKLOADS = Path("fixtures/workloads")

# Brings a server of each side's own catalogue.
FETCH = (
    'ln --symbolic "$("$(.github/actions/install/install)" servers fetch {} --json |'
    " jq --raw-output '.[0].directory')\" server"
)

Pair = dict[
    str, str
]  # name, base and head; perhaps workloads, or a command that makes base/server and head/server


def pairs(base: Path, head: Path) -> Iterator[Pair]:
    """The pairs, of two checkouts."""
    yield from _servers(base, head)
    for name in _changed(base, head, SETTINGS):
        yield from _settings(base / SETTINGS / name, head / SETTINGS / name)
    for name in _changed(base, head, WORKLOADS):
        workload = str(head / WORKLOADS / name)
        yield {
            "name": f"workload-{Path(name).stem}",
            "base": SERVER,
            "head": SERVER,
            "workloads": workload,
        }


def _settings(before: Path, after: Path) -> Iterator[Pair]:
    """A profile as it was, or none, and as it is: each alone, without the run's settings."""
    existed = before.exists()
    text = after.read_text("utf-8") + (before.read_text("utf-8") if existed else "")
    if "plugin-load" in text:
        return  # of a plugin that no server of the catalogue has
    server = POOLED if "thread_handling" in text else SERVER
    yield {
        "name": f"settings-{after.stem}",
        "base": f"{server}@only:{before}" if existed else f"{server}@defaults",
        "head": f"{server}@only:{after}",
    }


def _servers(base: Path, head: Path) -> Iterator[Pair]:
    then, now = (tomllib.loads((side / CATALOGUE).read_text("utf-8")) for side in (base, head))
    known = list(now)
    for name, entry in now.items():
        if name not in then:
            neighbours = [each for each in known if each != name and now[each]["family"] == entry["family"]]
            nearest = min(
                neighbours, key=lambda each: abs(known.index(each) - known.index(name)), default=SERVER
            )
            yield {"name": f"server-{name}", "base": nearest, "head": name}
        elif then[name]["sources"] != entry["sources"]:
            yield {
                "name": f"server-{name}",
                "base": "path:base/server",
                "head": "path:head/server",
                "build": FETCH.format(name),
            }


def _changed(base: Path, head: Path, folder: Path) -> list[str]:
    """The TOML files of a folder that are new in `head`, or different."""
    found = []
    for file in sorted((head / folder).glob("*.toml")):
        before = base / folder / file.name
        if not before.exists() or before.read_bytes() != file.read_bytes():
            found.append(file.name)
    return found


if __name__ == "__main__":
    print(json.dumps(list(pairs(Path(sys.argv[1]), Path(sys.argv[2])))))
