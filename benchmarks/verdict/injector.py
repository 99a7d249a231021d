"""Slow servers down by known shares: stop each for its share of every 100 ms.

    python -m benchmarks.verdict.injector CACHE LOG PLACE=SHARE…

PLACE: the server's place in its run, from 0, or `control`. Runs until killed, finds the servers by their pid
files, and logs for each life of a server the share for which it was stopped. Needs the right to real-time
scheduling (SCHED_FIFO); without it a stop lasts as long as the scheduler likes.

The base is stopped as often as the heads, for a shorter time: against a base that was never stopped, heads
that wrote were 1 to 5 % faster than their stops explain, short or long. The period is a slice's, so that each
contains one stop of each server. With periods of 20 ms, a stop of a tenth of a millisecond was lost among
requests in flight, longer stops cost more than they lasted, and all the threads waking up after each were in
each other's way.
"""

from __future__ import annotations

import heapq
import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PERIOD_S = 0.1
SCAN_S = 0.25  # between scans for new servers


@dataclass
class Life:
    """One process of a server."""

    place: str
    share: float
    pid: int
    began_s: float
    stopped_s: float = 0.0

    def pause(self) -> bool:
        """Stop it for the time still owed; False if it is gone."""
        owed_s = self.share * (time.monotonic() + PERIOD_S - self.began_s) - self.stopped_s
        if owed_s <= 0:
            return True
        try:
            os.kill(self.pid, signal.SIGSTOP)
            before_s = time.monotonic()
            time.sleep(owed_s)
            os.kill(self.pid, signal.SIGCONT)
        except ProcessLookupError:
            return False
        self.stopped_s += time.monotonic() - before_s
        return True


def main() -> None:
    cache, log, *targets = sys.argv[1:]
    shares = {place: float(share) for place, _, share in (text.partition("=") for text in targets)}
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    lives: dict[str, Life] = {}  # by place
    with Path(log).open("a", buffering=1) as written:
        due = [(time.monotonic() + i * PERIOD_S / len(shares), place) for i, place in enumerate(shares)]
        heapq.heapify(due)  # spread over the period, so that stops do not overlap
        scan_s = 0.0
        while True:
            now = time.monotonic()
            if now >= scan_s:
                _scan(Path(cache), shares, lives)
                scan_s = now + SCAN_S
            at, place = heapq.heappop(due)
            heapq.heappush(due, (at + PERIOD_S, place))
            time.sleep(max(at - time.monotonic(), 0.0))
            if place in lives and not lives[place].pause():
                life = lives.pop(place)
                lasted_s = time.monotonic() - life.began_s
                line = {"place": place, "asked": life.share, "stopped": life.stopped_s / lasted_s}
                print(json.dumps(line | {"seconds": lasted_s}), file=written)


def _scan(cache: Path, shares: dict[str, float], lives: dict[str, Life]) -> None:
    for place, share in shares.items():
        if place not in lives:
            for file in cache.glob(f"instances/*/{place}/mysqld.pid"):
                with suppress(OSError, ValueError):  # not written yet, or already gone
                    lives[place] = Life(place, share, int(file.read_text()), time.monotonic())


if __name__ == "__main__":
    main()
