"""Whatever a command writes or says, it holds no value of a dump or of a log that was learned."""

from __future__ import annotations

import lzma
import random
import re
from pathlib import Path

from shootout.document import journal
from tests.nightly.learn.test_measure import planted
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]
WORD, NUMBER, BYTES = "[qxz][0-9a-f]+w", r"\d{12}", "[0-9a-fA-F]{16}"


def values_in(text: str) -> set[str]:
    """Find anything that may be a planted value, bytes in hexadecimal digits."""
    return {*re.findall(f"{WORD}|{NUMBER}", text), *map(str.lower, re.findall(BYTES, text))}


def test_no_command_shows_a_value(lab: Lab, tmp_path: Path) -> None:
    given, literals = planted(random.Random(5), tmp_path)
    private = {*literals, *(each.encode().hex()[:16] for each in literals)}
    assert private & values_in(given.log.read_text())  # or this test would prove nothing
    shop, out = tmp_path / "shop", tmp_path / "out"
    said: list[str] = []

    def run(*command: str) -> None:
        done = lab.run(SHOOTOUT, *command)
        assert done.returncode in (0, 1), done.stderr
        said.extend((done.stdout, done.stderr))

    run("learn", f"--schema={given.dump}", f"--queries={given.log}", f"--out={shop}", f"--server={BASE}")
    load = (f"--profile={lab.once}", f"--workloads={shop / 'workload.toml'}", f"--out={out}")
    run("gate", f"--base={BASE}", f"--head={HEAD}", "--check-results", *load, f"--markdown={out / 'said.md'}")
    (path,) = journal.find(out / "results")
    run("explain", str(path), f"workload-t1-{HEAD}", "--budget=1", f"--out={out}")
    run("site", f"--results={out / 'results'}", f"--single={out / 'report.html'}")
    assert private & values_in("\n".join(said)) == set()
    for file in filter(Path.is_file, (*shop.rglob("*"), *out.rglob("*"))):
        content = file.read_bytes()
        text = lzma.decompress(content) if file.suffix == journal.PACKED else content
        assert private & values_in(text.decode("utf-8", "replace")) == set(), file
