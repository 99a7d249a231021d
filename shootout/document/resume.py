"""Finds the run to resume, and checks that nothing it depends on has changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import structs

from shootout.document import compatibility, journal
from shootout.errors import InputError
from shootout.model.run import RunDocument, RunHeader, ServerRecord

DIFFERENCES_MAX = 3  # named in a message


def find(
    results: Path,
    shard: str | None,
    skip: Callable[[str], None],
    fits: Callable[[RunHeader], bool] = lambda header: True,
) -> RunDocument | None:
    """Find the newest document of a shard; if it is complete, an earlier one that was cut short and fits."""
    found = _newest_first(results, shard, skip)
    newest = next(found, None)
    if newest is None or not is_finished(newest):
        return newest
    return next((each for each in found if not is_finished(each) and fits(each.header)), newest)


def _newest_first(results: Path, shard: str | None, skip: Callable[[str], None]) -> Iterator[RunDocument]:
    for path in reversed(journal.find(results)):
        try:
            document = journal.read(path)
        except InputError as error:
            skip(str(error))
            continue
        run = document.header.run
        if not journal.is_original(path, run):
            if not (own := journal.path_of(results, run)).exists():
                skip(f"{path}: a copy; --resume continues a run only in its own document, {own.name}")
            continue
        if not document.header.parts and document.header.given.get("--shard") == shard:
            yield document


def is_finished(document: RunDocument, budget_s: float = 0.0) -> bool:
    """Whether a run is complete, and gets no more starts in this budget: those that confirm are its last."""
    if document.end is None or document.end.interrupted:
        return False
    confirmed = any(start.confirming for start in document.starts)
    return confirmed or budget_s <= given_s(document)


def given_s(document: RunDocument) -> float:
    """Read the budget that a run had: its header keeps the first one, its starts what was spent."""
    return max(document.header.profile.sampling.budget_s, document.spent_s)


def with_budget(header: RunHeader, budget_s: float) -> RunHeader:
    """Give the header another budget, the only part of a plan that may change when a run continues."""
    sampling = structs.replace(header.profile.sampling, budget_s=budget_s)
    return structs.replace(header, profile=structs.replace(header.profile, sampling=sampling))


def is_same(then: RunHeader, now: RunHeader) -> bool:
    """Whether both runs have the same plan but for the budget, even on different machines."""
    return then.blocks == now.blocks and not any(_plans(then, now))


def require_same_run(then: RunHeader, now: RunHeader) -> None:
    """Raise InputError, naming the differences, if machine or plan, but for the budget, are not the same."""
    machines = ((run.runner.fingerprint, run.runner.facts) for run in (then, now))
    keys = (" ".join(block.key for block in run.blocks) for run in (then, now))
    blocks = [] if then.blocks == now.blocks else ["blocks " + ", now ".join(keys)]
    _require(then.run, itertools.chain(compatibility.machines(*machines), _plans(then, now), blocks))


def _plans(then: RunHeader, now: RunHeader) -> Iterator[str]:
    return compatibility.plans(then, with_budget(now, then.profile.sampling.budget_s), ignored=("--budget",))


def require_same_server(run: str, then: ServerRecord, now: ServerRecord) -> None:
    """Raise InputError, naming the differences, if the server is not the same as in that run."""
    _require(run, compatibility.servers(then, now))


def _require(run: str, differences: Iterable[str]) -> None:
    if different := "; ".join(itertools.islice(differences, DIFFERENCES_MAX)):
        raise InputError(f"run {run} cannot be resumed: {different}\nLeave out --resume to start a new run.")
