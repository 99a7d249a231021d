"""Findings of `shootout soak` on a real server: nothing, and known faults of the head: `make bench-soak`.

The part `simulated` measures nothing. Each other part is a soak of a server against itself, its heads with
faults. Finished parts are not measured again.
"""

# needs: mvn

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from unittest import mock

import numpy as np
import pymysql

from lab.curves import (
    curve,
    decided,
    dipping,
    disturbed,
    falling,
    judged,
    leaking,
    sloping,
    stalled,
    stepping,
)
from shootout import steps
from shootout.inputs.options import Selection
from shootout.servers.processes import children, instances
from shootout.servers.processes.instances import Instance
from shootout.soak import judge, measure
from shootout.soak.answer import answer
from shootout.soak.curves import Curve
from shootout.soak.documents import SOAKS
from shootout.soak.values import SoakResult
from shootout.writers import markdown

SLOWING_S = 0.1  # how often a slowed server is stopped
SLOPE = 0.03  # by which it is slower with each minute
STEP = 0.15  # by which it is slower after a third of its load
LEAK_BYTES = 1_000_000
DRIFT = 0.01  # by which a shared machine's speed walks in a second, in simulations
MACHINES = {"quiet": (0.0, False), "drifts": (DRIFT, False), "drifts and disturbs": (DRIFT, True)}
LOADED = ("one after the other", "in turns")
NOW_AND_THEN = """
import random, time
while True:
    ends_s = time.monotonic() + random.uniform(5, 25)
    while time.monotonic() < ends_s: pass
    time.sleep(random.uniform(5, 25))
"""


@dataclass
class Server:
    """One that is stopped by a fault, and for the turns of others."""

    instance: Instance
    ended: Event
    duration_s: float
    load_s: float = 0.0  # seconds of load before this turn
    turn_s: float | None = None  # when this turn began
    lock: Lock = field(default_factory=Lock)

    @property
    def now_s(self) -> float:
        """Seconds of load so far."""
        began_s = self.turn_s
        return self.load_s + (0.0 if began_s is None else time.monotonic() - began_s)

    def turn(self, stopped: bool) -> None:
        """Begin a turn or end it."""
        with self.lock:
            self.load_s, self.turn_s = self.now_s, None if stopped else time.monotonic()
            pause(self.instance.pid, stopped)

    def still(self, seconds: float) -> bool:
        """Stop it for so long, if it has its turn; returns whether it did."""
        for stopped in (True, False):
            with self.lock:
                if self.turn_s is None:
                    return not stopped
                pause(self.instance.pid, stopped)
            if stopped:
                self.ended.wait(seconds)
        return True

    def slowed(self, share: Callable[[float], float]) -> None:
        """Stop it for a share of the time, by the seconds of load."""
        while not self.ended.is_set():
            least = min(0.9, share(self.now_s))
            if least > 0:
                self.still(least * SLOWING_S)
            self.ended.wait((1 - least) * SLOWING_S)


pause = children.pause  # which turns call; replaced while servers have faults
Fault = Callable[[Server], None]


def none(server: Server) -> None:
    """Nothing."""


def stall(server: Server) -> None:
    """Stop it for three seconds in each 35 of load."""
    at_s = 40.0
    while not server.ended.wait(0.05):
        if server.now_s >= at_s and server.still(3):
            at_s += 35


def slope(server: Server) -> None:
    """Stop it for a share of the time that grows with each minute."""
    server.slowed(lambda at_s: SLOPE * at_s / 60)


def step(server: Server) -> None:
    """Stop it for a share of the time after a third of the load."""
    server.slowed(lambda at_s: STEP if at_s > server.duration_s / 3 else 0.0)


def leak(server: Server) -> None:
    """Keep another megabyte in each second, as a session's variables."""
    number = 0
    with closing(server.instance.connect()) as connection, connection.cursor() as cursor:
        while not server.ended.wait(1):
            if server.now_s < number:
                continue
            number += 1
            try:
                cursor.execute(f"SET @kept{number} = REPEAT('x', {LEAK_BYTES})")
            except pymysql.Error:
                return


SPOILT = {
    stalled: "stalls", leaking: "memory", dipping: "dips",
    stepping: "step", sloping: "slope", falling: "level",
}  # fmt: skip
FAULTS: dict[str, Fault] = {"aa": none, "stall": stall, "leak": leak, "slope": slope, "step": step}


def main() -> None:
    """Measure, and print a table in Markdown for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = f"simulated, or heads of one soak each, with commas between them: {', '.join(FAULTS)}"
    parser.add_argument("--parts", nargs="*", default=["simulated", *FAULTS], help=parts)
    parser.add_argument("--server", default="mysql-5.7.22")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--turns", type=float, default=1.0, help="seconds; 0: one server after the other")
    parser.add_argument("--beside", type=int, default=0, help="programs that work now and then meanwhile")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-soak"))
    args = parser.parse_args()
    for part in args.parts:
        if part == "simulated":
            simulated()
            continue
        results = args.out / part / "results"
        result = _known(results) or _measured(args, results, part.split(","))
        print(f"\n{part}:", markdown.write(answer(result)), flush=True)


def simulated() -> None:
    """Print how often simulated soaks without a difference have a finding, and how often others show it."""
    loads = [(name, turns) for name in MACHINES for turns in (False, True)]
    print(
        "\n| machine | loaded | seconds | soaks | with a false finding | which |", "|---" * 6 + "|", sep="\n"
    )
    for name, turns in loads:
        for seconds, soaks in ((180, 500), (300, 500), (1200, 200), (3600, 100)):
            found = _decided(lambda head: head, name, turns, seconds, soaks)
            named = ", ".join(f"{kind} {times}" for kind, times in Counter(chain(*found)).items())
            false = f"{sum(map(bool, found)) / soaks:.1%}"
            print(f"| {name} | {LOADED[turns]} | {seconds} | {soaks} | {false} | {named} |", flush=True)
    print("\n| fault of the head | machine | loaded | found in six minutes |", "|---" * 4 + "|", sep="\n")
    for spoilt, kind in SPOILT.items():
        for name, turns in loads:
            hits = sum(kind in each for each in _decided(spoilt, name, turns, 360, 200))
            said = f"{spoilt.__doc__} ({kind})"
            print(f"| {said} | {name} | {LOADED[turns]} | {hits / 200:.0%} |", flush=True)


def _decided(
    spoilt: Callable[[Curve], Curve], name: str, turns: bool, seconds: int, soaks: int
) -> list[list[str]]:
    """The findings of soaks with such a head."""
    generator = np.random.default_rng(seconds)
    pairs = (_pair(generator, seconds, name, turns) for _ in range(soaks))
    return [decided(judged(base, spoilt(head), turns)) for base, head in pairs]


def _pair(generator: np.random.Generator, seconds: int, machine_: str, turns: bool) -> tuple[Curve, Curve]:
    """Two equal servers on a machine whose speed may walk; in turns it is one walk. Disturbances meet one."""
    drift, disturbs = MACHINES[machine_]
    walks = [np.cumsum(drift * generator.standard_normal(seconds)) for _ in range(1 if turns else 2)]
    base, head = (curve(generator, seconds, shifts=0.0 if turns else 0.5) for _ in range(2))
    pair = [
        replace(each, tps=each.tps * np.exp(walk))
        for each, walk in zip((base, head), (walks[0], walks[-1]), strict=True)
    ]
    first, second = (disturbed(generator, each) if disturbs else each for each in pair)
    return first, second


def _known(results: Path) -> SoakResult | None:
    """The newest soak that ran through."""
    for path in reversed(SOAKS.find(results)):
        document = SOAKS.read(path)
        if len(document.ends) == len(document.header.servers):
            return judge.judge(document)
    return None


def _measured(args: argparse.Namespace, results: Path, faults: Sequence[str]) -> SoakResult:
    servers = ",".join([args.server, *(f"{fault}={args.server}" for fault in faults)])
    chosen = [none, *(FAULTS[fault] for fault in faults)]
    with ExitStack() as held, _faulty(chosen, 60 * args.minutes, args.turns > 0):
        for _ in range(args.beside):
            held.callback(subprocess.Popen([sys.executable, "-c", NOW_AND_THEN]).kill)
        path = measure.measure(
            steps.plan(Selection.read(profile="soak", servers=servers)), results, 60 * args.minutes,
            args.turns, lambda at: print(at.detail, at.round or "", file=sys.stderr),
        )  # fmt: skip
    return judge.judge(SOAKS.read(path))


@contextmanager
def _faulty(faults: Sequence[Fault], duration_s: float, turns: bool) -> Iterator[None]:
    """Give each server of a soak its fault."""
    ended, start = Event(), instances.start
    servers: dict[int, Server] = {}
    threads = []

    def starting(*arguments: Any, **options: Any) -> Instance:
        instance = start(*arguments, **options)
        number = instance.directory.name
        if number.isdecimal():  # others are started to load tables
            began_s = None if turns else time.monotonic()
            servers[instance.pid] = server = Server(instance, ended, duration_s, turn_s=began_s)
            threads.append(Thread(target=faults[int(number)], args=(server,), daemon=True))
            threads[-1].start()
        return instance

    def stop(pid: int, stopped: bool) -> None:
        if not ended.is_set():
            servers[pid].turn(stopped)

    with mock.patch.object(instances, "start", starting), mock.patch.object(children, "pause", stop):
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    main()
