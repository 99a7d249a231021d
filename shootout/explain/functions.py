"""CPU time per transaction by function: base against head, over profiled starts.

Samples share out the server CPU time that the kernel counted for the same transactions. Counts of samples
vary as Poisson's do, and restarts move functions besides. A few starts hardly show by how much, but the
profile's hundred other functions do: their variances, in units of what sampling alone would give, are shrunk
to a common value (empirical Bayes: Smyth 2004, "Linear models and empirical Bayes methods for assessing
differential expression in microarray experiments"). Then Student's t, and Hommel's correction over functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma, stdtr, stdtrit

from shootout.analysis import stats, subsystems
from shootout.explain import call_paths
from shootout.explain.call_paths import BASE, HEAD, CallPaths, Values
from shootout.model.verdict import Interval

# Samples of both servers in all starts; rarer functions are left out, so that fewer share the error.
COUNT_MIN = 20
SHARE_MIN = 0.001  # the same, as a share of all samples
FITTED_MIN = 5.0  # mean samples in a start of a function whose variance informs the others'
# Chance that an explanation names a function without a change: readers follow names for hours.
ERROR_MAX = 0.01
PRIOR_DF_MAX = 1e6
PASSED_ON = 0.7  # share of a change in one callee that makes the callee the better name for it
MATTERS = 0.05  # share of the whole change that a function must have to be named for its callees


@dataclass(frozen=True)
class Change:
    """A function's CPU time per transaction, in seconds."""

    name: str
    base: float
    head: float
    difference: Interval  # head - base
    p_value: float  # null hypothesis: no difference; Hommel-adjusted over all functions

    @property
    def certain(self) -> bool:
        """Whether it may be named; functions without a name are many, not one."""
        return self.p_value < ERROR_MAX and not self.name.startswith("[")


@dataclass(frozen=True)
class Contrasts:
    """Differences of many counts at once; arrays by count."""

    base: Values  # seconds per transaction, like the next two
    head: Values
    error: Values  # of head - base
    df: float  # degrees of freedom of all errors

    @property
    def p_values(self) -> Values:
        """Two-sided, not adjusted."""
        p_values: Values = 2 * stdtr(self.df, -np.abs(self.head - self.base) / self.error)
        return p_values

    def interval(self, index: int, confidence: float) -> Interval:
        """The interval of one difference."""
        estimate = float(self.head[index] - self.base[index])
        reach = float(stdtrit(self.df, (1 + confidence) / 2) * self.error[index])
        return Interval(estimate=estimate, low=estimate - reach, high=estimate + reach)


def changes(paths: CallPaths, confidence: float, *, inclusive: bool = False) -> list[Change]:
    """Every function's change, largest first; needs STARTS_MIN starts.

    `inclusive`: with everything that the function calls; else only while it was on the CPU itself.
    """
    counts = paths.by_function(inclusive=inclusive)
    counts_min = max(COUNT_MIN, SHARE_MIN * paths.counts.sum())
    listed = np.flatnonzero(counts.sum(axis=(0, 1)) >= counts_min)
    return _changes(
        [paths.tree.functions[function] for function in listed], counts[:, :, listed], paths.units, confidence
    )


def parts(paths: CallPaths, confidence: float) -> list[Change]:
    """The change of each part of the server, of its libraries and of the kernel, where it has samples."""
    counts = paths.by_function(inclusive=False)
    part = np.array([subsystems.subsystem_of(name) for name in paths.tree.functions])
    listed = [name for name in subsystems.ALL if counts[:, :, part == name].any()]
    summed = np.stack([counts[:, :, part == name].sum(axis=2) for name in listed], axis=2)
    return _changes(listed, summed, paths.units, confidence)


def _changes(names: Sequence[str], counts: Values, units: Values, confidence: float) -> list[Change]:
    every = contrasts(counts, units)
    adjusted = stats.hommel(every.p_values.tolist())
    differences = (every.interval(at, confidence) for at in range(len(names)))
    columns = (names, every.base.tolist(), every.head.tolist(), differences, adjusted)
    return sorted(
        starmap(Change, zip(*columns, strict=True)), key=lambda each: -abs(each.difference.estimate)
    )


def narrowed(paths: CallPaths, inclusive: Sequence[Change], total: Change) -> list[Change]:
    """The functions that, with what they call, best locate the whole change; largest first.

    A function is left out if one of its callees has most of its change. So is one that a server lacks: what
    it does may have moved, and its callers tell by how much. So are those that start threads.
    """
    whole = total.difference.estimate
    paths = call_paths.aligned(paths)
    mean = (paths.by_subtree() * paths.units[:, :, None]).mean(axis=0)
    passed = _passed_on(paths, mean[HEAD] - mean[BASE])
    aligned = {paths.tree.functions[function] for function in paths.tree.function[1:]}

    def is_best(change: Change) -> bool:
        by = change.difference.estimate
        callees = passed.get(change.name, {}).values()
        return by / whole >= MATTERS and all(callee / by < PASSED_ON for callee in callees)

    certain = (each for each in inclusive if each.certain and each.base and each.head)
    return [change for change in certain if change.name in aligned and is_best(change)]


def _passed_on(paths: CallPaths, difference: Values) -> dict[str, dict[str, float]]:
    """By function: the changes of its direct callees. A recursive call counts for none."""
    passed: dict[str, dict[str, float]] = {}
    tree = paths.tree
    for node, (parent, function) in enumerate(zip(tree.parents, tree.function, strict=True)):
        if node and parent and tree.function[parent] != function:
            of_caller = passed.setdefault(tree.functions[tree.function[parent]], {})
            name = tree.functions[function]
            of_caller[name] = of_caller.get(name, 0.0) + float(difference[node])
    return passed


def contrasts(counts: Values, units: Values) -> Contrasts:
    """Differences with shrunken errors.

    `counts`: samples by start, server (base, head) and function; `units`: seconds per transaction that one
    sample stands for, by start and server.
    """
    starts = len(counts)
    costs = counts * units[:, :, None]
    difference = costs[:, 1] - costs[:, 0]
    # Half a sample more: a function that was never seen has a variance, too.
    sampling = (((counts + 0.5) * units[:, :, None] ** 2).sum(axis=1)).mean(axis=0)
    ratio = difference.var(axis=0, ddof=1) / sampling
    known = counts.sum(axis=1).mean(axis=0) >= FITTED_MIN
    prior, prior_df = _prior(ratio[known], starts - 1)
    shrunken = np.maximum((prior_df * prior + (starts - 1) * ratio) / (prior_df + starts - 1), 1.0)
    mean = costs.mean(axis=0)
    return Contrasts(mean[0], mean[1], np.sqrt(shrunken * sampling / starts), prior_df + starts - 1)


def _prior(ratios: Values, df: int) -> tuple[float, float]:
    """Location and degrees of freedom of the scaled F that variances follow: Smyth 2004, section 6.2."""
    positive = ratios[ratios > 0]
    if len(positive) < 3:
        return 1.0, 0.0
    logs = np.log(positive) - digamma(df / 2) + math.log(df / 2)
    mean, excess = float(logs.mean()), float(logs.var(ddof=1) - polygamma(1, df / 2))
    if excess <= 2 / PRIOR_DF_MAX:
        return math.exp(mean), PRIOR_DF_MAX
    prior_df = 2 * brentq(lambda half: float(polygamma(1, half)) - excess, 1e-9, PRIOR_DF_MAX)
    return math.exp(mean + digamma(prior_df / 2) - math.log(prior_df / 2)), prior_df


def total(paths: CallPaths, confidence: float) -> Change:
    """The whole server CPU time per transaction; exact in each start, so restarts alone make the interval."""
    costs = paths.counts.sum(axis=2) * paths.units
    difference = stats.mean_interval((costs[:, HEAD] - costs[:, BASE]).tolist(), confidence)
    base, head = costs.mean(axis=0).tolist()
    return Change(name="", base=base, head=head, difference=difference, p_value=math.nan)
