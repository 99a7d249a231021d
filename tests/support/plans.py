"""Plans, as the options of a run make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shootout import steps
from shootout.inputs.options import Selection
from shootout.measure.plan import Plan
from tests.support.builders import BASE, HEAD

SLOTS = """
description = 'd'
workloads = ['oltp_read_only']
threads = [1, 64]
servers = ['path:{folder}/mysql-5.0', 'path:{folder}/mysql-5.7@defaults', '{head}', 'path:{folder}/mysql-8.0']
[stand_ins]
'path:{folder}/mysql-5.0' = ''
'path:{folder}/mysql-5.7@defaults' = '{base}@defaults'
'path:{folder}/mysql-8.0' = '{head}'
[scales.small]
threads = [1]
rows = 10
"""


def planned(**given: Any) -> Plan:
    return steps.plan(Selection.read(**given))


def slots(folder: Path, text: str = SLOTS) -> str:
    profile = folder / "mine.toml"
    profile.write_text(text.format(folder=folder, base=BASE, head=HEAD))
    return str(profile)
