"""A log of statements: templates, their parameters' values, and transactions. It holds literals."""

from __future__ import annotations

from typing import Literal

from shootout.model.value import Count, Quantity, Value

Literals = tuple[tuple[bytes, Count], ...]  # a value as its text, unescaped and without quotes; how often


class Slot(Value):
    """One literal or list of a template, over all executions."""

    kind: Literal["number", "text", "bytes", "null"]  # bytes: hexadecimal, _binary; null: no value
    distinct: Count  # estimated
    top: Literals  # the most frequent values, exact while the slot has few
    sample: tuple[bytes, ...]  # a uniform sample of the executions' values, the frequent ones too
    nulls: Count  # values that are NULL
    sizes: tuple[tuple[Count, Count], ...] = ()  # of a list: length, how often
    hashes: tuple[int, ...] = ()  # of its values: the least ones, in order
    table: bool = False  # the digits that end the name of a table: `FROM sbtest?`


class Template(Value):
    """A kind of statement: its text with each literal replaced by `?`, and each list of literals by `?+`.

    `IN (?+)` is one list, of any length. `VALUES (?+, NOW(), ?+)` has many rows: each slot a list, as long as
    there are rows. One row is `VALUES (?, NOW(), ?)`.
    """

    sql: str  # of one execution, apart from literals, comments and white space
    count: Count
    seconds: Quantity | None  # of all executions; None: the log has no times
    rows_examined: Count | None
    rows_sent: Count | None
    slots: tuple[Slot, ...]  # in the order of the `?` in `sql`

    def mean(self, total: int | None) -> float | None:
        """Compute the mean of an execution; None: not known."""
        return None if total is None else total / max(1, self.count)


class Link(Value):
    """A slot that repeats a value of the same transaction, as often as `share` says."""

    statement: Count  # position in the transaction
    slot: Count
    of_statement: Count  # an earlier position, or the same with an earlier slot
    of_slot: Count
    difference: int  # a number's distance; 0: the same value
    share: Quantity  # of the transactions in which both are there

    @property
    def place(self) -> tuple[int, int]:
        """The statement and slot that repeat."""
        return self.statement, self.slot

    @property
    def source(self) -> tuple[int, int]:
        """The statement and slot that are repeated."""
        return self.of_statement, self.of_slot


class LogSequence(Value):
    """A kind of transaction: the same templates in the same order."""

    statements: tuple[Count, ...]  # indexes into templates
    count: Count  # of the log's transactions, those that the sample stands for included
    explicit: bool  # between BEGIN and `end`; otherwise a statement that commits by itself
    end: Literal["commit", "rollback"] = "commit"
    links: tuple[Link, ...] = ()
    constants: tuple[tuple[Count, Count, int], ...] = ()  # statement, slot, its number in every transaction
    texts: tuple[tuple[Count, Count, int], ...] = ()  # the same of a text: its hash
    rows_sent: tuple[Count, ...] = ()  # of each statement, by all transactions; empty: not known


class LeftOut(Value):
    """Statements that have no template, and why."""

    reason: str
    statements: Count
    example: str  # its template, or its first word: without literals


class Log(Value):
    """A whole log. Memory is bounded: rare templates and sequences beyond the bounds are in `left_out`."""

    kind: Literal["slow", "general", "digests"]
    templates: tuple[Template, ...]
    sequences: tuple[LogSequence, ...]  # those of digests have one statement each
    left_out: tuple[LeftOut, ...]
    statements: Count  # of templates and left_out; BEGIN, COMMIT, SET autocommit, … are not among them
    transactions: Count  # of sequences; each statement that commits by itself is one
    connections: Count  # at once, at most
    span_s: Quantity  # from the first statement to the last; 0: not known
    think_s: Quantity  # mean time between two statements of a transaction, the client's; 0: not known
    seconds: Quantity  # in the server, COMMIT and the like included
    ordered: bool  # connections' statements are in the order in which they ran; else each is its own sequence
    abandoned: Count = 0  # transactions without an end: retried after a deadlock, or cut off
    lost_begins: Count = 0  # BEGINs too fast for a slow log, whose transactions were found nevertheless
    lost_commits: Count = 0  # likewise
    fastest_s: Quantity = 0.0  # of a statement
    sampled: Count = 1  # the server logged one of so many statements
    sampled_sessions: bool = False  # or all statements of one of so many sessions
