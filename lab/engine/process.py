"""A client process of the engine, which prints its peak memory.

It reads its program from standard input, and is given address, user, password, schema and connections.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import shootout.measure.campaign  # noqa: F401  # for the memory of a run's process
from shootout._engine import Engine
from shootout.servers.processes import children

TIMEOUT_S = 60.0


def most_memory(pid: int) -> int:
    """A process's peak memory in bytes."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)
    assert found is not None  # every process has memory
    return int(found[1]) * 1024


def main() -> None:
    address, user, password, schema, connections = sys.argv[1:]
    children.allow_files()
    engine = Engine(sys.stdin.buffer.read(), 1)
    server = engine.connect(address, user, password, schema, int(connections), TIMEOUT_S)
    engine.slice(server, 0.1, 1.0, TIMEOUT_S)
    print(most_memory(os.getpid()))


if __name__ == "__main__":
    main()
