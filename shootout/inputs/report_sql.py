"""A bug report's SQL as a workload: set-up above the line `-- measure`, measured statements below it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from shootout import files
from shootout.errors import InputError
from shootout.inputs.dump import statements
from shootout.inputs.placeholders import FILES
from shootout.model.workload import Step, Transaction, Workload, WorkloadStatement

_MEASURE = re.compile(r"^[ \t]*--[ \t]+measure[ \t]*$", re.MULTILINE | re.IGNORECASE)
_GO = re.compile(r"\\[gG][ \t]*$", re.MULTILINE)  # ends a statement in the mysql client, too
_TITLE = re.compile(r"^(?:--|#)[ \t]+(\S.*)$", re.MULTILINE)
_WORD = re.compile(r"(?:[\s(]|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)
# Each connection of the load, too, sends the statements that set variables of a session. Others are left out:
# a workload has its own schema.
_OF_SESSION = re.compile(r"SET\s+(?!GLOBAL\b|PERSIST|@@GLOBAL\b|@@PERSIST|PASSWORD\b)", re.IGNORECASE)
_OF_SCHEMA = re.compile(r"(?:(?:CREATE|DROP)\s+(?:DATABASE|SCHEMA)|USE)\b", re.IGNORECASE)


def load(path: Path) -> Workload:
    """Read the file: the measured statements are one transaction, each a kind. Raises InputError."""
    with files.reading(path):
        text = path.read_text("utf-8")
    mark = _MEASURE.search(text)
    measured = [] if mark is None else [*_statements(text[mark.end() :])]
    if mark is None or not measured:
        wrong = "no line `-- measure`" if mark is None else "no statement below the line `-- measure`"
        raise InputError(f"{path}: {wrong}\nWrite set-up above that line, and what is measured below it.")
    title = _TITLE.search(text, 0, mark.start())
    setup = tuple(_statements(text[: mark.start()]))
    steps = tuple(Step(statements=(statement,)) for statement in _named(measured))
    return Workload(
        title=title[1].strip() if title else path.stem,
        description=f"The statements of {path.name}",
        dataset="own",
        setup=setup,
        session=tuple(filter(_OF_SESSION.match, setup)),
        transactions=(Transaction(steps=steps, skip_trx=1),),
    )


def _statements(text: str) -> Iterator[str]:
    """Split a text into statements, whose braces are no placeholders, but for the folder of files."""
    for _, sql in statements(BytesIO(_GO.sub(";", text).encode())):
        if sql and not _OF_SCHEMA.match(sql.decode()):
            braced = sql.decode().replace("{", "{{").replace("}", "}}")
            yield braced.replace(f"{{{{{FILES}}}}}", f"{{{FILES}}}")


def _named(measured: Sequence[str]) -> Iterator[WorkloadStatement]:
    words = [found[1].lower() if (found := _WORD.match(sql)) else "statement" for sql in measured]
    seen: Counter[str] = Counter()
    for word, sql in zip(words, measured, strict=True):
        seen[word] += 1
        yield WorkloadStatement(name=f"{word}_{seen[word]}" if words.count(word) > 1 else word, sql=sql)
