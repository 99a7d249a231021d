"""Sampled call paths of two servers, with functions that one of them renamed under one name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shootout.analysis import function_names
from shootout.explain.values import CallTree, Profile

Values = NDArray[np.floating[Any]]

BASE, HEAD = 0, 1  # index of servers
STARTERS = ("start_thread", "clone", "clone3")  # of threads; many stacks end before them
COMMON_MIN = 0.01  # a function is common if each server has at least this share of the other's time in it

Nodes = dict[tuple[int, int], int]  # of a growing tree, by parent and function
_ROOT = (-1, -1)


@dataclass(frozen=True)
class CallPaths:
    """Samples of both servers in each start that has both."""

    tree: CallTree
    counts: Values  # samples by start, server and node: of the node itself, without its callees
    units: Values  # seconds per transaction that one sample stands for, by start and server

    @property
    def starts(self) -> int:
        return len(self.counts)

    def by_function(self, *, inclusive: bool) -> Values:
        """Samples by start, server and function; `inclusive`: with everything that the function calls."""
        samples = np.zeros((self.starts, 2, len(self.tree.functions)))
        paths: list[frozenset[int]] = [frozenset()]
        for parent, function in zip(self.tree.parents[1:], self.tree.function[1:], strict=True):
            paths.append(paths[parent] | {function})  # a recursive function counts once
        for node in np.flatnonzero(self.counts.sum(axis=(0, 1))).tolist():
            functions = list(paths[node]) if inclusive else [self.tree.function[node]]
            samples[:, :, functions] += self.counts[:, :, node, None]
        return samples

    def by_subtree(self) -> Values:
        """Samples by start, server and node, with everything below the node."""
        samples = self.counts.copy()
        for node in range(len(self.tree.parents) - 1, 0, -1):  # a parent comes before its children
            samples[:, :, self.tree.parents[node]] += samples[:, :, node]
        return samples


def paths_of_servers(tree: CallTree, profiles: Sequence[Profile], base: str, head: str) -> CallPaths:
    """The call paths of two servers."""
    by_start = {(profile.start, profile.server): profile for profile in profiles}
    of_base, of_head = ({start for start, label in by_start if label == each} for each in (base, head))
    pairs = [(by_start[start, base], by_start[start, head]) for start in sorted(of_base & of_head)]
    counts = np.zeros((len(pairs), 2, len(tree.parents)))
    for start, pair in enumerate(pairs):
        for server, profile in enumerate(pair):
            counts[start, server, list(profile.nodes)] = profile.samples
    units = np.array([[_unit(profile) for profile in pair] for pair in pairs]).reshape(len(pairs), 2)
    paths = CallPaths(tree, counts, units)
    return _merged(paths, _renamed(paths))


def _unit(profile: Profile) -> float:
    return profile.cpu_s / sum(profile.samples) / profile.transactions


def _renamed(paths: CallPaths) -> dict[int, int]:
    """Functions of the base alone, by what the head alone calls them."""
    names = paths.tree.functions
    seen = paths.by_function(inclusive=True).sum(axis=0) > 0
    alone = ([names[one] for one in np.flatnonzero(seen[of] & ~seen[1 - of])] for of in (BASE, HEAD))
    index = {name: number for number, name in enumerate(names)}
    return {index[before]: index[after] for before, after in function_names.renamed(*alone).items()}


def aligned(paths: CallPaths) -> CallPaths:
    """The same paths, without what only one server has between functions that both have, or before them.

    Versions call the same functions through others, and some are compiled without a name. Left out, these no
    longer hide what both do.
    """
    costs = (paths.by_function(inclusive=True) * paths.units[:, :, None]).mean(axis=0)
    common = costs.min(axis=0) >= COMMON_MIN * costs.max(axis=0)
    starts = [name.partition(" ")[0] in STARTERS for name in paths.tree.functions]
    known = zip(common.tolist(), paths.tree.functions, starts, strict=True)
    kept = [one and name[0] != "[" and not start for one, name, start in known]
    nodes: Nodes = {_ROOT: 0}
    places, left_out = [0], [tuple[int, ...]()]  # by node: its last kept function, and those below that
    for parent, function in zip(paths.tree.parents[1:], paths.tree.function[1:], strict=True):
        place, functions = places[parent], left_out[parent]
        if not starts[function]:
            functions = (*functions, function)
        if kept[function]:
            place, functions = nodes.setdefault((place, function), len(nodes)), ()
        places.append(place)
        left_out.append(functions)
    for node in np.flatnonzero(paths.counts.sum(axis=(0, 1))).tolist():
        for function in left_out[node]:
            places[node] = nodes.setdefault((places[node], function), len(nodes))
    return _moved(paths, nodes, places)


def _merged(paths: CallPaths, renamed: Mapping[int, int]) -> CallPaths:
    """The same paths, in which functions have their new names."""
    nodes: Nodes = {_ROOT: 0}
    places = [0]
    for parent, function in zip(paths.tree.parents[1:], paths.tree.function[1:], strict=True):
        key = places[parent], renamed.get(function, function)
        places.append(nodes.setdefault(key, len(nodes)))
    return _moved(paths, nodes, places)


def _moved(paths: CallPaths, nodes: Nodes, places: Sequence[int]) -> CallPaths:
    """The paths' samples in a tree of these nodes; `places`: the new node of each node."""
    counts = np.zeros((*paths.counts.shape[:2], len(nodes)))
    for node, place in enumerate(places):
        counts[:, :, place] += paths.counts[:, :, node]
    parents, functions = zip(*nodes, strict=True)
    tree = CallTree(functions=paths.tree.functions, parents=parents, function=functions)
    return CallPaths(tree, counts, paths.units)
