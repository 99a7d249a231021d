"""A client process of the engine: reads a Job from standard input, prints its peak memory."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import msgspec

import shootout.measure.campaign  # noqa: F401  # for the memory of a run's process
from shootout._engine import Engine
from shootout.model.value import Value
from shootout.servers.processes import children

TIMEOUT_S = 60.0


class Job(Value):
    """A server, and a program to run there for a second."""

    program: bytes
    address: str
    user: str
    password: str
    schema: str
    connections: int


def most_memory(pid: int) -> int:
    """A process's peak memory in bytes."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)
    assert found is not None  # every process has memory
    return int(found[1]) * 1024


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    children.allow_files()
    engine = Engine(job.program, 1)
    server = engine.connect(job.address, job.user, job.password, job.schema, job.connections, TIMEOUT_S)
    engine.slice(server, 0.1, 1.0, TIMEOUT_S)
    print(most_memory(os.getpid()))


if __name__ == "__main__":
    main()
