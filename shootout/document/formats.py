"""The numbers of stored documents' formats, and the ways up from older ones, which stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from shootout.model.value import decoded, fault_of

T = TypeVar("T")
Record = dict[str, Any]
WayUp = Callable[[Record], Record]  # may raise what a damaged record causes

_DAMAGE = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # of ways up in a damaged record


class _Numbered(msgspec.Struct):
    """The part of a document that any format has."""

    format: int = 1  # a document without number is of the first


@dataclass(frozen=True)
class Format:
    """The number of a kind of document, and how older documents are brought up to it."""

    number: int  # of what is written
    ways_up: Sequence[WayUp] = ()  # from the oldest number that is read to the one before `number`

    def record(self, data: bytes, type: type[T], number: int) -> T:
        """Decode a record of a document with that number, which is read. Raises ValueError."""
        if number == self.number:
            return decoded(data, type)
        record = decoded(data, Record)
        try:
            for way_up in self.ways_up[number - self.number :]:
                record = way_up(record)
            return msgspec.convert(record, type)
        except msgspec.ValidationError as error:
            raise ValueError(fault_of(error)) from None
        except _DAMAGE:
            raise ValueError(f"no record of format {number}") from None

    def number_of(self, data: bytes) -> int:
        """Read the number in a JSON object's `format`. Raises ValueError if such documents are not read."""
        number = decoded(data, _Numbered).format
        if number > self.number:
            raise ValueError(f"written by a newer shootout (format {number}): update shootout to read it")
        if number < self.number - len(self.ways_up):
            raise ValueError(f"written in format {number}, which only an older shootout reads")
        return number

    def document(self, data: bytes, type: type[T]) -> T:
        """Decode a JSON object that has its number in `format`. Raises ValueError."""
        try:
            return decoded(data, type)
        except ValueError:
            number = self.number_of(data)
            if number == self.number:
                raise
            return self.record(data, type, number)


def _run_4(record: Record) -> Record:
    """Format 4 had three schemas under one number: until 24 and 25 November 2026, and until format 5."""
    match record["record"]:
        case "run":
            sampling = record["profile"]["sampling"]
            sampling.pop("calibrated", None)
            sampling["placement"] = _PLACEMENTS.get(sampling.get("placement"), "auto")
            if calibration := record["runner"].get("calibration"):
                sampling["slice_s"] = calibration["best"]["slice_s"]
            parts = record.get("parts", [])
            for part in (record, *parts):
                part["runner"].pop("calibration", None)
                part["servers"] = [_with_known_build(server) for server in part["servers"]]
            for block in record["blocks"]:
                block["dataset"] = without_seed(block["dataset"])
            if planned := record.get("planned"):
                keys = planned["workloads"].items()
                planned["workloads"] = {name: without_seed(key) for name, key in keys}
            record["format"] = 5
        case "failure":
            record["cell"]["dataset"] = without_seed(record["cell"]["dataset"])
    return record


# Without a name, each CPU belonged to the client or to the servers. Two names are gone: those of all CPUs in
# halves, and of all for both.
_PLACEMENTS = {None: "apart", "apart": "apart", "halves": "apart", "shared": "shared", "free": "shared"}


def _with_known_build(server: Record) -> Record:
    """A build was the digest of one binary, until records of servers had a commit, too."""
    if "commit" not in server and not server.get("image"):
        server["build"] = ""
    return server


def without_seed(key: str) -> str:
    """Write a dataset's key as it is since 25 November 2026: with equal kinds of rows, histories continue."""
    return re.sub(r"\A((?:sbtest|tpcc)-.*)-seed\d+\Z", r"\1", key)


def _run_5(record: Record) -> Record:
    return record | {"format": 6} if record["record"] == "run" else record


RUN = Format(6, (_run_4, _run_5))


def _baseline_1(record: Record) -> Record:
    """A cell had one run, and a server's build was the digest of one binary."""
    cell_fields = ("dataset", "server", "threads")
    cells = [
        {name: cell[name] for name in cell_fields}
        | {"runs": [{name: each for name, each in cell.items() if name not in cell_fields}]}
        for cell in record["cells"]
    ]
    servers = {label: server | {"build": ""} for label, server in record["servers"].items()}
    return {"machine": {}, "digest": ""} | record | {"format": 2, "cells": cells, "servers": servers}


def _baseline_2(record: Record) -> Record:
    cells = [cell | {"dataset": without_seed(cell["dataset"])} for cell in record["cells"]]
    return record | {"format": 3, "cells": cells}


def _entry_1(record: Record) -> Record:
    return record | {"dataset": without_seed(record["dataset"]), "format": 2}


BASELINE = Format(3, (_baseline_1, _baseline_2))
LEDGER = Format(2, (_entry_1,))  # of each line: several versions may write into one file
