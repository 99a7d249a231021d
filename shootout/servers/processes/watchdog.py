"""Removes a container when the process that made it is gone, however it ended.

It runs as a separate process, given the path of the container's lock (`containers`), and waits for
the end of its input: a byte before that means that nothing is left to do.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import APIClient

PATIENCE_S = 3.0  # for a container that the engine is still creating
PAUSE_S = 0.2


def remove(api: APIClient, name: str) -> bool:
    """Kill and remove a container with its volumes; False if there is none."""
    from docker.errors import NotFound  # noqa: PLC0415 (see main)

    try:
        api.remove_container(name, force=True, v=True)
    except NotFound:
        return False
    return True


def main(lock: Path) -> None:
    """Wait, then remove the container with the lock's name."""
    if sys.stdin.buffer.read():
        return
    # Imported late: one watchdog waits beside each server, so it must stay small.
    import docker  # noqa: PLC0415

    with closing(docker.from_env()) as client:
        ends = time.monotonic() + PATIENCE_S
        while not remove(client.api, lock.name) and time.monotonic() < ends:
            time.sleep(PAUSE_S)
    lock.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
