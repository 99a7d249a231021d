"""Steps of the main job that capabilities take, too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from shootout.analysis import acknowledgements, baseline
from shootout.document import baselines
from shootout.errors import Skip
from shootout.inputs.options import Selection
from shootout.inputs.resolve import Capacity, resolve
from shootout.inputs.texts import load_acknowledged
from shootout.measure.plan import Plan, bind
from shootout.model.verdict import Comparison
from shootout.report import judged_runs
from shootout.servers.sources.fetch.packages import no_progress


def plan(selection: Selection, report: Callable[[str], None] = no_progress) -> Plan:
    """Resolve the profile on this machine, and check everything that it names. Raises InputError."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    capacity = Capacity(cpus=len(os.sched_getaffinity(0)), memory_bytes=memory_bytes)
    profile = resolve(selection, capacity)
    return bind(profile.measured, selection, os.environ, report, profile.port)


def judge(
    path: Path, acknowledged: Path, skip: Skip, base: str | None = None, stored: Path | None = None
) -> Comparison:
    """Judge a run document by its base, or by baselines in the file or folder `stored`."""
    known = load_acknowledged(acknowledged)
    comparison = judged_runs.against(path, base, skip)
    if stored is not None:
        comparison = baseline.compare(comparison, baselines.find(stored, comparison.header))
    return acknowledgements.applied(comparison, known)
