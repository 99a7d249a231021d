"""Steps of the main job that capabilities take, too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from shootout.analysis import acknowledgements, baseline
from shootout.document import baselines
from shootout.errors import Skip
from shootout.inputs.acknowledgements import load_acknowledged
from shootout.inputs.options import Selection
from shootout.inputs.resolve import Capacity, resolve
from shootout.measure.plan import Plan, bind
from shootout.model.verdict import Comparison
from shootout.report import judged_runs
from shootout.servers.sources.fetch.packages import no_progress


def plan(selection: Selection, report: Callable[[str], None] = no_progress) -> Plan:
    """Resolve the profile on this machine, and check everything that it names. Raises InputError."""
    profile = resolve(selection, _capacity())
    return bind(profile.measured, selection, os.environ, report, profile.port)


def judge(
    path: Path, acknowledged: Path, skip: Skip, base: str | None = None, stored: Path | None = None
) -> Comparison:
    """Judge a run document, using the runner's earlier A/A cells; `skip` receives why some are left out.

    `stored`, a file or a folder: compare with the baselines there instead; `base` is their anchor.
    """
    known = load_acknowledged(acknowledged)
    comparison = judged_runs.against(path, base, skip)
    if stored is not None:
        comparison = baseline.compare(comparison, baselines.find(stored, comparison.header))
    return acknowledgements.applied(comparison, known)


def _capacity() -> Capacity:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Capacity(cpus=len(os.sched_getaffinity(0)), memory_bytes=memory_bytes)
