"""What `shootout soak` finds on a real server: nothing, and known faults of the head: `make bench-soak`.

The first part simulates. Each other one is a soak of a server against itself, its heads with faults; what is
over is not measured again.
"""

# needs: mvn

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest import mock

import numpy as np
import pymysql

from shootout import app
from shootout.inputs.options import Selection
from shootout.runner import machine
from shootout.servers import instances
from shootout.servers.instances import Instance
from shootout.soak import judge, measure, report
from shootout.soak.documents import SOAKS
from shootout.soak.values import SoakResult
from tests.soak.test_judge import curve, decided, dipping, judged, leaking, sloping, stalled, stepping

Fault = Callable[[Instance, Event, float], None]

SLOWING_S = 0.1  # how often a slowed server stands still
SLOPE = 0.01  # by which it is slower with each minute
LEAK_BYTES = 1_000_000


def none(instance: Instance, ended: Event, every_s: float) -> None:
    """Nothing."""


def stall(instance: Instance, ended: Event, every_s: float) -> None:
    """Stand still for two seconds, time and again."""
    while not ended.wait(every_s - 2):
        _stop(instance, ended, 2)


def slope(instance: Instance, ended: Event, every_s: float) -> None:
    """Stand still for a share of the time that grows by one percent in each minute."""
    began_s = time.monotonic()
    while not ended.is_set():
        share = min(0.9, SLOPE * (time.monotonic() - began_s) / 60)
        _stop(instance, ended, share * SLOWING_S)
        ended.wait((1 - share) * SLOWING_S)


def leak(instance: Instance, ended: Event, every_s: float) -> None:
    """Keep another megabyte in each second, as a session's variables."""
    number = 0
    with closing(instance.connect()) as connection, connection.cursor() as cursor:
        while not ended.wait(1):
            number += 1
            try:
                cursor.execute(f"SET @kept{number} = REPEAT('x', {LEAK_BYTES})")
            except pymysql.Error:
                return


SPOILT = {stalled: "stalls", leaking: "memory", dipping: "dips", stepping: "level", sloping: "slope"}
FAULTS: dict[str, Fault] = {"aa": none, "stall": stall, "leak": leak, "slope": slope}


def main() -> None:
    """Measure, and print a table in Markdown for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    faults = f"heads of one soak each, with commas between them: {', '.join(FAULTS)}"
    parser.add_argument("--parts", nargs="*", default=["simulated", *FAULTS], help=f"simulated; or {faults}")
    parser.add_argument("--server", default="mysql-5.7.22")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds from stall to stall")
    parser.add_argument("--times", type=int, default=1, help="soaks of each part")
    parser.add_argument("--out", type=Path, default=Path("reports/bench-soak"))
    args = parser.parse_args()
    for part in args.parts:
        if part == "simulated":
            simulated()
            continue
        for number in range(1, args.times + 1):
            results = args.out / f"{part}-{number}" / "results"
            result = _known(results) or _measured(args, results, part.split(","))
            print(f"\n{part} {number}: {report.headline(result)} {report.conditions(result.document.header)}")
            for each in result.comparisons:
                print(
                    f"\n| finding | {each.base} | {each.head} | difference | verdict |\n|---|---|---|---|---|"
                )
                for row, _ in report.rows(result, each):
                    print(f"| {' | '.join(row)} |", flush=True)


def simulated() -> None:
    """Print how often simulated soaks without a difference have a finding, and how often others show it."""
    print("\n| seconds | soaks | with a false finding | which |\n|---|---|---|---|", flush=True)
    for seconds, soaks_ in ((180, 1000), (600, 1000), (1200, 500), (3600, 300)):
        generator = np.random.default_rng(seconds)
        each = [decided(judged(curve(generator, seconds), curve(generator, seconds))) for _ in range(soaks_)]
        kinds = Counter(kind for one in each for kind in one)
        named = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        print(f"| {seconds} | {soaks_} | {sum(map(bool, each)) / soaks_:.1%} | {named} |", flush=True)
    print("\n| fault of the head | found in 10 minutes |\n|---|---|", flush=True)
    generator = np.random.default_rng(99)
    for spoilt, kind in SPOILT.items():
        heads = ((curve(generator), spoilt(curve(generator))) for _ in range(300))
        hits = sum(kind in decided(judged(*pair)) for pair in heads)
        print(f"| {spoilt.__doc__} ({kind}) | {hits / 300:.0%} |", flush=True)


def _known(results: Path) -> SoakResult | None:
    """The newest soak that ran through."""
    for path in reversed(SOAKS.find(results)):
        document = SOAKS.read(path)
        if len(document.ends) == len(document.header.servers):
            return judge.judge(document)
    return None


def _measured(args: argparse.Namespace, results: Path, faults: Sequence[str]) -> SoakResult:
    named = ",".join([args.server, *(f"{fault}={args.server}" for fault in faults)])
    plan = app.plan(Selection.read(profile="soak", servers=named))
    with _faulty([none, *(FAULTS[fault] for fault in faults)], args.every):
        path = measure.measure(
            plan, results, 60 * args.minutes, lambda at: print(at.detail, at.round, end="\r", file=sys.stderr)
        )
    return judge.judge(SOAKS.read(path))


@contextmanager
def _faulty(faults: Sequence[Fault], every_s: float) -> Iterator[None]:
    """Give each server of a soak its fault."""
    ended, start = Event(), instances.start
    threads = []

    def starting(*arguments: Any, **options: Any) -> Instance:
        instance = start(*arguments, **options)
        number = instance.directory.name
        if number.isdecimal():  # others are started to load tables
            fault = faults[int(number)]
            threads.append(Thread(target=fault, args=(instance, ended, every_s), daemon=True))
            threads[-1].start()
        return instance

    with mock.patch.object(instances, "start", starting):
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()


def _stop(instance: Instance, ended: Event, seconds: float) -> None:
    machine.stop(instance.pid, True)
    ended.wait(seconds)
    machine.stop(instance.pid, False)


if __name__ == "__main__":
    main()
