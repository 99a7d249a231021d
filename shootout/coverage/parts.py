"""Functions of a server's program that its statements execute, by part, and those that none executes."""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shootout.analysis import function_names, subsystems
from shootout.coverage.values import BlindSpot, MapPart
from shootout.errors import InputError

BLIND_MAX = 100  # in a document

# Code of other projects that is linked in: no part of the server.
_OTHERS = r"""std:: __gnu __cxa boost:: rapidjson google:: protobuf icu_ u[a-z]*_\d\d\b ZSTD_ HUF_ FSE_ ZDICT_
    COVER_ LZ4 XXH event_ ev_ evbuffer evhttp evutil bufferevent [Ii]nflate deflate tao:: lz4 abi:: _Z
    opentelemetry jemalloc fmt:: yaSSL:: TaoCrypt::"""
_FOREIGN = re.compile("|".join(_OTHERS.split()))
_LONG = re.compile(r"(?:[\w:&* ]+ )?(?:std|boost|rapidjson|google)::")  # what of it takes long to read
_PARTS = {
    "NDB Cluster": r"ndb Ndb NDB ha_ndb Thd_ndb \w*_ndb_",
    "replication": r"""gcs_ Gcs_ xcom \w*Relay_log \w*relay_log Slave \w*slave Master_info Rpl_ rpl_ Replica
        group_replication \w*channel start_master Group_ Certif xdr_ task_""",
    "the X plugin": r"xpl:: Mysqlx:: ngs:: mysqlx",
    "geometry": r"gis:: Gis_ Geometry Item_func_st_ Item_func_spatial BG_ \w*[Gg]eo",
    "the data dictionary": r"dd::",
    "other engines": r"mi_ _mi_ ha_myisam ha_archive ha_tina ha_heap ha_federated ha_blackhole heap_ hp_ "
    r"maria_ rtree_ _ma_ ha_maria ha_myisammrg myrg_ ft_ ha_perfschema table_\w+::",
    "full text": r"fts_ Fts FTS ft_",
    "InnoDB": r"rtr_ ha_innopart lob:: ddl:: i_s_ innodb_ Parallel_reader Btree Tablespace Fil_ Dblwr dblwr",
    "cloning": r"[Cc]lone_ Ha_clone",
    "partitions": r"\w*[Pp]artition",
}
_PATTERNS = {part: re.compile("|".join(text.split())) for part, text in _PARTS.items()}
_SYMBOL = re.compile(r"([0-9a-f]+) ([0-9a-f]+) [tTwWi] (?:(?:non-)?virtual thunk to )?(.+)")
_FRAMES = 0x6474E550  # PT_GNU_EH_FRAME, the table by which exceptions unwind: stripping leaves it


@dataclass(frozen=True)
class Symbols:
    """The functions that a server's program names."""

    sizes: Mapping[str, int]  # bytes of code of its own functions, by plain name
    named: float | None  # the share of all its functions that have a name; None: how many it has is not known


def covered(
    sizes: Mapping[str, int], executed: Collection[str]
) -> tuple[tuple[MapPart, ...], tuple[BlindSpot, ...]]:
    """Sum up these functions by plain name and part, of a program with functions of these sizes."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    blind: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    seen = {(part_of(name), group(name)) for name in executed}
    for name, size in sizes.items():
        part, ran = part_of(name), name in executed
        counts[part].update(functions=1, executed=int(ran), bytes=size, executed_bytes=ran * size)
        if (part, group(name)) not in seen:
            blind[part, group(name)].append(size)
    parts = [MapPart(name=part, **counted) for part, counted in counts.items()]
    spots = [
        BlindSpot(name=name, part=part, functions=len(each), bytes=sum(each))
        for (part, name), each in blind.items()
    ]
    parts.sort(key=lambda part: -part.bytes)
    spots.sort(key=lambda spot: -spot.bytes)
    return tuple(parts), tuple(spots[:BLIND_MAX])


def defined(program: Path) -> Symbols:
    """Read the functions that a program names; none if its symbols cannot be read."""
    sizes: Counter[str] = Counter()
    addresses: set[str] = set()
    nm = ("nm", "-C", "-S", "--defined-only", str(program))
    try:
        for line in [*_lines(*nm)] or _lines(*nm, "--dynamic"):  # what stripping leaves
            if match := _SYMBOL.match(line):
                addresses.add(match[1])
                own = not _LONG.match(match[3]) and not match[3].startswith("_GLOBAL_")
                name = function_names.plain(match[3]) if own else ""
                if name and not _FOREIGN.match(name):
                    sizes[name] += int(match[2], 16)
        functions = _functions(program)
    except (InputError, OSError):
        return Symbols({}, None)
    return Symbols(sizes, min(len(addresses) / functions, 1.0) if functions else None)


def _functions(program: Path) -> int:
    """Count a program's functions, by its table for unwinding; 0: it has none of the usual form."""
    with program.open("rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\2\1":  # 64 bits, little-endian
            return 0
        (at,), (size, count) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<HH", header, 54)
        for entry in range(count):
            file.seek(at + entry * size)
            kind, _, offset = struct.unpack("<IIQ", file.read(16))
            if kind == _FRAMES:
                file.seek(offset)
                version, pointer, counted, _, _, functions = struct.unpack("<4BiI", file.read(12))
                return functions if (version, pointer, counted) == (1, 0x1B, 0x03) else 0
    return 0


def _lines(*command: str) -> Iterator[str]:
    """Run a program of binutils, and yield the lines that it prints. Raises InputError if it is missing."""
    try:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield line.rstrip("\n")
    except OSError as error:
        raise InputError(f"{command[0]} cannot be run: {error.strerror}; apt-get install binutils") from None


def part_of(function: str) -> str:
    """The part of the server that a function belongs to."""
    own = (part for part, pattern in _PATTERNS.items() if pattern.match(function))
    return next(own, None) or subsystems.subsystem_of(function)


def group(function: str) -> str:
    """Its class or namespace, or the beginning of its name."""
    owner = function.rpartition("::")[0]
    match = re.match(r"_*[^_]*_", function)
    return f"{owner}::" if owner else match[0] if match else function
