"""Faults put in by hand, each of which a tier must notice: `python -m tests.faults [NUMBER…]`.

Each is put into a copy of the checkout, and the tests that should notice it run there: by far the quickest
part of `make test` that must turn red. Exits with 1 if a fault is not noticed, or its place has gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from shootout import _engine
from shootout.paths import ROOT


class Fault(NamedTuple):
    """A text of a file, the fault in its place, and the tests that notice it; `cargo …` for the engine's."""

    what: str
    file: str
    right: str
    wrong: str
    tests: str


FAULTS = (
    Fault(
        "a sign in the rule",
        "shootout/analysis/verdicts.py",
        "Verdict.REGRESSED if effect.estimate < 0",
        "Verdict.REGRESSED if effect.estimate > 0",
        "tests/unit/analysis/test_rule.py",
    ),
    Fault(
        "no correction for many cells",
        "shootout/analysis/stats.py",
        "    return tuple(adjusted.tolist())\n\n\ndef drift",
        "    return tuple(p_values)\n\n\ndef drift",
        "tests/unit/analysis/test_stats.py",
    ),
    Fault(
        "a failed cell passes",
        "shootout/analysis/exit_codes.py",
        "    if failed:\n        return UNMEASURED\n",
        "",
        "tests/unit/analysis/test_exit_codes.py",
    ),
    Fault(
        "a history that mixes settings",
        "shootout/analysis/history.py",
        'settings=" against ".join(of_both)',
        'settings=""',
        "tests/unit/analysis/test_history.py",
    ),
    Fault(
        "counts of cells that were not measured",
        "shootout/report/wording.py",
        "if c.verdict is not Verdict.UNJUDGED or c.figures is not None)",
        ")",
        "tests/unit/report",
    ),
    Fault(
        "a page's number from elsewhere",
        "shootout/report/site/cell_answer.py",
        "for f in (of.c.base_figures, of.c.figures))",
        "for f in (of.c.figures, of.c.figures))",
        "tests/unit/report/site/test_cell_answer.py",
    ),
    Fault(
        "an unescaped name in Markdown",
        "shootout/writers/markdown.py",
        "each if isinstance(each, Markup) else escaped(each) for each in cells",
        "each for each in cells",
        "tests/unit/report/github tests/unit/report",
    ),
    Fault(
        "control characters that reach the terminal",
        "shootout/writers/terminal.py",
        "return Text(visible(text), style)",
        "return Text(text, style)",
        "tests/unit/report/test_terminal.py",
    ),
    Fault(
        "a lock left out",
        "shootout/measure/campaign.py",
        "            held.enter_context(locked(lock, wait=False))\n",
        "",
        "tests/unit/upgrade tests/unit/measure/test_campaign.py",
    ),
    Fault(
        "a damaged document is read",
        "shootout/document/journal.py",
        "            if as_written != line:",
        "            if False:",
        "tests/unit/document/test_journal.py",
    ),
    Fault(
        "a bad line of a ledger hides all",
        "shootout/document/ledgers.py",
        '            bad.append(f"{file}:{number}: not a ledger entry: {error}")',
        '            raise InputError(f"{file}:{number}: not a ledger entry: {error}") from None',
        "tests/unit/test_cli.py",
    ),
    Fault(
        "a judgement of another document",
        "shootout/document/judgements.py",
        "return comparison if sources == _sources(path, comparison.header, ledgers) else None",
        "return comparison",
        "tests/unit/report/test_judged_runs.py tests/unit/document",
    ),
    Fault(
        "a mode that only one server lacks stays on the other",
        "shootout/upgrade/configuration.py",
        "_mode_list(mode for mode in _modes(fate.value) if mode not in gone)",
        "_mode_list(_modes(fate.value))",
        "tests/unit/upgrade/test_configuration.py",
    ),
    Fault(
        "a bot's branch counts as ours",
        "shootout/report/github/workflow.py",
        'return origin != repository or (pull.get("user") or {}).get("type") == "Bot"',
        "return origin != repository",
        "tests/unit/report/github/test_gate.py",
    ),
    Fault(
        "a fork's job on GitHub's machines has its verdict shown",
        "shootout/report/github/handed.py",
        "measured = [each for each in measured if not _is_hosted(each[0])]",
        "pass",
        "tests/unit/report/github/test_handed.py",
    ),
    Fault(
        "a server that a killed run left and nobody stops",
        "shootout/servers/processes/leftovers.py",
        "ended = [pid for pid in pids if _kill(pid, directory)]",
        "ended: list[int] = []",
        "tests/real/servers/processes/test_leftovers.py",
    ),
    Fault(
        "a server that outlives the run",
        "shootout/servers/processes/children.py",
        "        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)\n",
        "",
        "tests/real/end_to_end/test_run.py -k no_server_outlives",
    ),
    Fault(
        "a page wider than a phone",
        "templates/style.css",
        "\n",
        "\nmain { min-width: 70rem; }\n",
        "tests/real/report/site/test_site_js.py -k phone",
    ),
    Fault(
        "a packet's length",
        "engine/src/parameter.rs",
        "prefix[0] = 0xFC;\n            3",
        "prefix[0] = 0xFC;\n            4",
        "cargo test --package shootout-engine --lib parameter",
    ),
    Fault(
        "a reply out of order",
        "engine/src/wire.rs",
        "        if sequence == self.sequence.wrapping_add(1) {",
        "        if sequence != 0 {",
        "cargo test --package shootout-engine --lib wire",
    ),
)


def copied(folder: Path) -> Path:
    """Copy the files that git knows, with the engine as it is built."""
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    built = Path(_engine.__file__)
    shutil.copy2(built, folder / built.relative_to(ROOT))
    return folder


def is_noticed(fault: Fault, root: Path) -> bool:
    """Put a fault into the copy, run its tests, and take it out again."""
    place = root / fault.file
    text = place.read_text("utf-8")
    if fault.right not in text:
        raise SystemExit(f"{fault.what}: {fault.file} no longer has: {fault.right}")
    place.write_text(text.replace(fault.right, fault.wrong, 1), "utf-8")
    if fault.tests.startswith("cargo"):
        command = fault.tests.split()
    else:
        quick = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "--hypothesis-profile", "quick")
        command = [sys.executable, "-m", "pytest", *quick, *fault.tests.split()]
    environment = os.environ | {"PYTHONPATH": str(root), "CARGO_TARGET_DIR": str(ROOT / "engine" / "target")}
    place_of = root / "engine" if command[0] == "cargo" else root
    done = subprocess.run(command, cwd=place_of, env=environment, capture_output=True, text=True, check=False)
    place.write_text(text, "utf-8")
    return done.returncode not in (0, 5)  # 5: no test ran


def main(numbers: list[int]) -> int:
    """Print for each fault whether, and in which tier, it is noticed."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = copied(Path(folder))
        for number in numbers or range(1, len(FAULTS) + 1):
            fault = FAULTS[number - 1]
            noticed = is_noticed(fault, root)
            missed += not noticed
            tier = fault.tests.split("/")[1] if "/" in fault.tests else "the engine's tests"
            print(f"{number:3}  {tier if noticed else 'NOT NOTICED':20} {fault.what}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main([int(number) for number in sys.argv[1:]]))
