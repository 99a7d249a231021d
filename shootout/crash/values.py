"""Crashes: servers killed under durable load, and what they still knew after their recovery."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from shootout.model.plan import Dataset
from shootout.model.run import Runner, ServerRecord, WorkloadRecord
from shootout.model.value import Count, Quantity, Threads, Value


class Crash(Value):
    """One server, killed once."""

    server: str
    number: Count  # of this server's crashes, from 1
    load_s: Quantity  # before the crash
    acknowledged: Count  # commits that the server confirmed to the clients
    lost: Count  # of them, those that were gone afterwards
    in_flight: Count  # unconfirmed commits that were there; at most one of each connection
    unexpected: Count  # other rows that were there: never sent, or changed
    recovery_s: Quantity  # from the start of the process to its first answer
    transactions: Count  # of the workload beside
    syncs: dict[str, Quantity] = field(default_factory=dict)  # per confirmed commit, by what is synced


class CrashFailure(Value):
    """Why a server has fewer crashes than asked for."""

    server: str
    reason: str


class CrashDocument(Value):
    """Everything that one `shootout crash` found."""

    format: Literal[1]
    crash: str  # unique, sorts by time
    started: str  # ISO, UTC
    shootout: str  # version
    seed: int
    given: dict[str, str]  # options that override the profile, as written
    settings: str  # profile of settings
    workload: WorkloadRecord
    dataset: Dataset
    threads: Threads  # connections of the workload, and as many that insert
    runner: Runner
    servers: tuple[ServerRecord, ...]
    crashes: tuple[Crash, ...] = ()
    failures: tuple[CrashFailure, ...] = ()
