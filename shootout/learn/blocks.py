"""Statements of a transaction that repeat as a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shootout.learn.values import Link

SAME_MIN = 0.995  # share of transactions from which on a value that repeats another is the same parameter
_BLOCK_MAX = 16  # statements in a repetition

Place = tuple[int, int]  # statement and slot


@dataclass(frozen=True)
class Block:
    """Statements of a sequence that are sent repeatedly."""

    first: int
    length: int
    repeat: int
    constant: frozenset[Place] = frozenset()  # that have the same value in all repetitions


def blocks(statements: Sequence[int], links: Mapping[Place, Link]) -> list[Block]:
    """Split the sequence into blocks: a run of equal statements, or of equal groups, is one that repeats.

    Values may be linked within a repetition or to a statement before the run, the same way in each.
    """
    sequence: list[Block] = []
    at = 0
    while at < len(statements):
        lengths = range(1, min(_BLOCK_MAX, (len(statements) - at) // 2) + 1)
        repeated = (_repeated(statements, links, at, length) for length in lengths)
        several = [Block(at, 1, 1), *(block for block in repeated if block.repeat > 1)]
        best = max(several, key=lambda block: block.length * block.repeat)
        sequence.append(best)
        at += best.length * best.repeat
    return sequence


def _repeated(statements: Sequence[int], links: Mapping[Place, Link], first: int, length: int) -> Block:
    """The group of statements at `first`, as often as it is repeated."""
    repeat, constant = 1, frozenset[Place]()
    own, _ = _relations(links, first, first, length)
    while (at := first + repeat * length) + length <= len(statements):
        if list(statements[first : first + length]) != list(statements[at : at + length]):
            break
        relations, repeated = _relations(links, at, first, length)
        if relations != own or (repeat > 1 and repeated != constant):
            break
        constant = repeated
        repeat += 1
    after = first + repeat * length
    # A statement linked to one of several repetitions needs all of them.
    into = {link.source for link in links.values() if link.statement >= after}
    for statement, slot in into:
        if first <= statement < after and (first + (statement - first) % length, slot) not in constant:
            return Block(first, length, 1)
    return Block(first, length, repeat, constant)


def _relations(
    links: Mapping[Place, Link], at: int, first: int, length: int
) -> tuple[set[tuple[int, ...]], frozenset[Place]]:
    """The links of the group at `at`, relative to it, and the places that repeat their value."""
    relations: set[tuple[int, ...]] = set()
    repeated: set[Place] = set()
    for link in links.values():
        if not at <= link.statement < at + length:
            continue
        before = first <= link.of_statement < at
        same = (link.statement - link.of_statement) % length == 0 and link.slot == link.of_slot
        if before and same and not link.difference and link.share >= SAME_MIN:
            repeated.add((first + link.statement - at, link.slot))
            continue
        target = link.of_statement if link.of_statement < first else link.of_statement - at + 1_000_000
        relations.add((link.statement - at, link.slot, target, link.of_slot, link.difference))
    return relations, frozenset(repeated)
