"""Whether a learned workload does what the log says: it is sent, logged and learned again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from shootout._engine import LoadError
from shootout.errors import MeasureError
from shootout.learn import logs
from shootout.learn.learning import mean_statements
from shootout.learn.values import Log, Template
from shootout.measure import managed
from shootout.measure.dataset import schema_of
from shootout.model.plan import Dataset
from shootout.model.program import Program
from shootout.model.value import Count, Quantity, Value
from shootout.servers.instances import Instance

SENT_S = 8.0  # of load that is compared with the log
CONNECTIONS_MAX = 16
TIMEOUT_S = 60.0
NEAR = 0.05  # of a statement's rows, or one row: as in the log
_SEED = 1
_SUMMED = ("count", "rows_examined", "rows_sent")
_STATEMENT = re.compile(r"statement `(?P<name>[^`]+)`: .*", re.DOTALL)


class RefusedError(MeasureError):
    """The server refused a statement of the workload."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"the learned workload failed: statement `{name}`: {message}")
        self.name, self.message = name, message


class StatementPair(Value):
    """A statement in the log and in what the workload sent; shares are of all statements, rows are means."""

    name: str
    share: Quantity
    sent_share: Quantity
    examined: Quantity | None
    sent_examined: Quantity | None
    returned: Quantity | None
    sent_returned: Quantity | None
    faithful: bool  # its rows are as many


class Fidelity(Value):
    """A learned workload beside its log."""

    score: Quantity  # share of the log's statements that are sent as often, and with as many rows
    statements: tuple[StatementPair, ...]  # frequent ones first
    per_transaction: Quantity  # statements, in the log
    sent_per_transaction: Quantity
    tps: Quantity | None  # in the log, at its own pace; None: not known
    sent_tps: Quantity  # as fast as the connections go
    connections: Count
    errors: dict[str, Count]  # refused transactions, by the server's code


def measured(
    log: Log,
    names: Mapping[str, str],
    program: Program,
    instance: Instance,
    dataset: Dataset,
    *,
    families: Sequence[str],
) -> Fidelity:
    """Send the workload to the server that has the dump loaded, with its slow log on, and compare.

    `names` are those of the log's templates, `families` the stems of numbered tables. The rows change.
    Raises RefusedError and MeasureError.
    """
    schema = schema_of(instance, dataset)
    connections = max(1, min(log.connections, CONNECTIONS_MAX))
    file = instance.directory / "learned.log"
    engine = managed.engine(program, schema, instance, _SEED)
    file.unlink(missing_ok=True)  # of an attempt that was refused
    _logging(instance, file)
    try:
        managed.connect(engine, instance, schema, connections)
        taken = engine.slice(0, 0.0, SENT_S, TIMEOUT_S)
    except LoadError as error:
        _, code, message = error.args
        if code and (statement := _STATEMENT.fullmatch(message)):
            raise RefusedError(statement["name"], f"error {code}") from None
        raise MeasureError(f"the learned workload failed: {message}{instance.post_mortem()}") from None
    finally:
        if instance.alive():
            instance.query("SET GLOBAL slow_query_log = 0")
    sent = logs.read([file], families=families)
    return compared(
        log, sent, names, tps=taken.completed / taken.window_s, connections=connections, errors=taken.errors
    )


def compared(
    log: Log,
    sent: Log,
    names: Mapping[str, str],
    *,
    tps: float,
    connections: int,
    errors: Mapping[int, int],
) -> Fidelity:
    """Compare two logs by the texts of their templates."""
    before, after = _by_text(log), _by_text(sent)
    wholes = [max(1, sum(template.count for template in logged.values())) for logged in (before, after)]
    rows = []
    score = 0.0
    for text, template in sorted(before.items(), key=lambda pair: -pair[1].count):
        other = after.get(text)
        share = template.count / wholes[0]
        sent_share = other.count / wholes[1] if other else 0.0
        examined, returned = _mean(template, template.rows_examined), _mean(template, template.rows_sent)
        sent_examined = _mean(other, other.rows_examined) if other else None
        sent_returned = _mean(other, other.rows_sent) if other else None
        faithful = other is not None and _near(examined, sent_examined) and _near(returned, sent_returned)
        score += min(share, sent_share) if faithful else 0.0
        rows.append(
            StatementPair(
                name=names.get(text, text),
                share=share,
                sent_share=sent_share,
                examined=examined,
                sent_examined=sent_examined,
                returned=returned,
                sent_returned=sent_returned,
                faithful=faithful,
            )
        )
    return Fidelity(
        score=score,
        statements=tuple(rows),
        per_transaction=mean_statements(log.sequences),
        sent_per_transaction=mean_statements(sent.sequences),
        tps=log.transactions / log.span_s if log.span_s else None,
        sent_tps=tps,
        connections=connections,
        errors={str(code): count for code, count in errors.items()},
    )


def _by_text(log: Log) -> dict[str, Template]:
    """The templates by text: those that named the dump's database, or did not, are one."""
    templates: dict[str, Template] = {}
    for template in log.templates:
        known = templates.setdefault(template.sql, template)
        if known is not template:
            pairs = {name: (getattr(known, name), getattr(template, name)) for name in _SUMMED}
            sums = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
            templates[template.sql] = replace(known, **sums)
    return templates


def _mean(template: Template, total: int | None) -> float | None:
    return None if total is None else total / max(1, template.count)


def _near(one: float | None, other: float | None) -> bool:
    """Whether two means are equal as far as they matter; what the log does not tell is."""
    return one is None or other is None or abs(one - other) <= max(NEAR * max(one, other), 1.0)


def _logging(instance: Instance, file: Path) -> None:
    instance.query("SET GLOBAL slow_query_log = 0")
    instance.query(f"SET GLOBAL slow_query_log_file = '{file}'")
    instance.query("SET GLOBAL long_query_time = 0")
    instance.query("SET GLOBAL slow_query_log = 1")
