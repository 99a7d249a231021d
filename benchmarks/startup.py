"""CPU time and modules of commands that only answer: `make bench-startup`; half a minute."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

COMMANDS = (("--version",), ("--help",), ("run", "--help"), ("explain", "--help"), ("servers", "list"))
TIMES = 9


def cpu_s(*command: str) -> float:
    """The CPU time of one process."""
    before = os.times()
    subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    print("command                 CPU time, median and most, s")
    for name, command in [
        ("(python)", ("-c", "")),
        *(("", ("-m", "shootout.cli", *each)) for each in COMMANDS),
    ]:
        taken = sorted(cpu_s(*command) for _ in range(TIMES))
        print(f"{name or ' '.join(command[2:]):22}  {statistics.median(taken):.2f}  {taken[-1]:.2f}")


if __name__ == "__main__":
    main()
