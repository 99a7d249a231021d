"""Speed and memory of reading slow query logs, beside a loop over their lines: `make bench-learn-logs`.

The logs are generated: sysbench's read write over ten tables, in the format of MySQL 5.7 and later.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SIZES_MB = (10, 500)
SPEED_MIN, BYTES_MAX = 20e6, 200e6  # bytes/s of one CPU, of memory
CONNECTIONS, TABLES, ROWS = 8, 10, 100_000
READ = """
import sys
from pathlib import Path
from shootout.learn import logs
print(logs.read([Path(sys.argv[1])], families=sys.argv[2:]).statements)
"""
LINES = """
import sys
print(sum(1 for line in open(sys.argv[1], "rb")))
"""


def main() -> int:
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for size_mb in SIZES_MB:
            path = Path(name) / f"{size_mb}.log"
            generate(path, size_mb * 1_000_000)
            nothing_s, _ = measured("", path)
            lines_s, _ = measured(LINES, path)
            for families in ((), ("sbtest",)):
                took_s, peak_bytes = measured(READ, path, *families)
                speed = path.stat().st_size / (took_s - nothing_s)
                ratio = (took_s - nothing_s) / (lines_s - nothing_s)
                print(
                    f"{size_mb:4} MB, families {', '.join(families) or 'none':6}: {took_s:.2f} s of CPU, "
                    f"{speed / 1e6:.0f} MB/s, {ratio:.1f} times a loop over lines, "
                    f"{peak_bytes / 1e6:.0f} MB of memory"
                )
                failed |= speed < SPEED_MIN or peak_bytes > BYTES_MAX
    return int(failed)


def measured(program: str, path: Path, *arguments: str) -> tuple[float, int]:
    """CPU seconds and peak memory, in bytes, of a Python program."""
    wrapped = f"{program}\nimport resource\nused = resource.getrusage(resource.RUSAGE_SELF)\n"
    wrapped += "print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)"
    done = subprocess.run(
        [sys.executable, "-c", wrapped, str(path), *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, peak_bytes = done.stdout.splitlines()[-1].split()
    return float(seconds), int(peak_bytes)


def generate(path: Path, size: int) -> None:
    """Write a log of that size, in bytes, with the same statements every time."""
    chance = random.Random(1)
    open_transactions = [transaction(chance) for _ in range(CONNECTIONS)]
    now_us = written = 0
    with path.open("w") as file:
        while written < size:
            connection = chance.randrange(CONNECTIONS)
            statement = next(open_transactions[connection], None)
            if statement is None:
                open_transactions[connection] = transaction(chance)
                continue
            now_us += chance.randint(50, 150)
            second, us = divmod(now_us, 1_000_000)
            time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{us:06}"
            written += file.write(
                f"# Time: 2026-11-25T{time}Z\n# User@Host: app[app] @ localhost []  Id: {connection:5}\n"
                f"# Query_time: 0.000{chance.randint(30, 60):03}  Lock_time: 0.000000 "
                "Rows_sent: 1  Rows_examined: 1\n"
                f"SET timestamp={1795574090 + second};\n{statement};\n"
            )


def transaction(chance: random.Random) -> Iterator[str]:
    def row() -> int:
        return chance.randint(1, ROWS)

    def table() -> str:
        return f"sbtest{chance.randint(1, TABLES)}"

    yield "BEGIN"
    for _ in range(10):
        yield f"SELECT c FROM {table()} WHERE id={row()}"
    for what, order in (("c", ""), ("SUM(k)", ""), ("c", " ORDER BY c"), ("DISTINCT c", " ORDER BY c")):
        first = row()
        yield f"SELECT {what} FROM {table()} WHERE id BETWEEN {first} AND {first + 99}{order}"
    text = "-".join(f"{chance.randrange(10**11):011}" for _ in range(10))
    yield f"UPDATE {table()} SET k=k+1 WHERE id={row()}"
    yield f"UPDATE {table()} SET c='{text}' WHERE id={row()}"
    name, deleted = table(), row()
    yield f"DELETE FROM {name} WHERE id={deleted}"
    yield f"INSERT INTO {name} (id, k, c, pad) VALUES ({deleted}, {row()}, '{text}', '{text[:59]}')"
    yield "COMMIT"


if __name__ == "__main__":
    sys.exit(main())
