"""Workload files as people read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from shootout.model.workload import Dump, Group, Learned, Parameter, Repetition, Result, Transaction, Workload

UNUSED = "unused"  # the parameter that takes columns which no statement needs
_RESERVED = ("begin", "commit", "rollback", "table", UNUSED)


def name(*words: str) -> str:
    """Make a name for a statement or parameter that a workload file may have."""
    text = "_".join(re.findall(r"[a-z0-9_]+", "_".join(words).lower())).lstrip("_") or "value"
    return f"{text}_" if text in _RESERVED else text


def text(workload: Workload, head: Sequence[str], notes: Sequence[str]) -> str:
    """Write the file: `head` are comments at its top, `notes` those of the transactions."""
    assert isinstance(workload.dataset, Dump)
    lines = [*(f"# {line}".rstrip() for line in head), ""]
    for key in ("title", "description", "protocol", "settings"):
        if value := getattr(workload, key):
            lines.append(f"{key} = {_value(value)}")
    lines += ["", "[dataset]", f"dump = {_string(workload.dataset.dump)}"]
    if workload.parameters:
        lines += ["", "[parameters]", *(_parameter(*named) for named in workload.parameters.items())]
    for transaction, note in zip(workload.transactions, notes, strict=True):
        lines += ["", f"# {note}", *_transaction(transaction)]
    return "\n".join(lines) + "\n"


def _transaction(transaction: Transaction) -> Iterable[str]:
    yield "[[transactions]]"
    yield f"weight = {transaction.weight}"
    if transaction.skip_trx:
        yield "skip_trx = 1"
    if transaction.end != "commit":
        yield f"end = {_string(transaction.end)}"
    for step in transaction.steps:
        yield ""
        yield "[[transactions.steps]]"
        if step.repeat != 1:
            yield f"repeat = {step.repeat}"
        yield "statements = ["
        for statement in step.statements:
            into = f"into = {_value(statement.into)}, " if statement.into else ""
            yield f"    {{ name = {_string(statement.name)}, {into}sql = {_string(statement.sql)} }},"
        yield "]"


def _parameter(name: str, parameter: Parameter) -> str:
    assert isinstance(parameter, Learned | Group | Repetition | Result)
    plain = {field.name: field.default for field in msgspec.structs.fields(parameter)}
    said = {key: value for key, value in msgspec.structs.asdict(parameter).items() if value != plain[key]}
    said = {"type": parameter.__struct_config__.tag} | said
    if isinstance(parameter, Learned) and parameter.column is None and parameter.min is not None:
        said |= {"min": parameter.min, "max": parameter.max}
    return f"{name} = {{ {', '.join(f'{key} = {_value(value)}' for key, value in said.items())} }}"


def _value(value: object) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _string(text: str) -> str:
    """A basic string of TOML; JSON's escapes are among its own."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def summary(transaction: Transaction) -> str:
    """Sum up what a transaction sends: names, each with how often if more than once."""
    sent = ((each.name, int(step.repeat)) for step in transaction.steps for each in step.statements)
    times = ((name, sum(count for _, count in group)) for name, group in groupby(sent, itemgetter(0)))
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in times)
