"""Whether a learned workload does what the log says: it is sent, logged and learned again."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from shootout._engine import LoadError, Slice
from shootout.errors import MeasureError, without_values
from shootout.learn import logs
from shootout.learn.learning import LearningReport, mean_statements
from shootout.learn.values import Log, Template
from shootout.measure import managed
from shootout.measure.dataset import schema_of
from shootout.measure.refusals import Refused
from shootout.measure.rounds import reason
from shootout.model.plan import Dataset
from shootout.model.program import Program
from shootout.model.value import Count, Quantity, Value
from shootout.servers.processes.instances import Instance

PROBED_S = 1.0  # of load that shows what the server refuses
SENT_S = 8.0  # of load that is compared with the log
CONNECTIONS_MAX = 16
TIMEOUT_S = 60.0
NEAR = 0.05  # of a statement's rows: as in the log
CHANCE = 3.0  # standard errors of two means, by which they may differ
RARE = 3.0  # executions; so many that are expected may all be missing by chance
SCORE_MIN = 0.8  # less is a reason to warn, and so is more than …
REFUSED_MAX = 0.01  # … of attempts refused, or …
LEFT_OUT_MAX = 0.05  # … of statements left out
SAID_MAX = 3  # reasons of a warning
_SEED = 1
_SUMMED = ("count", "rows_examined", "rows_sent")
_STATEMENT = re.compile(r"statement `(?P<name>[^`]+)`: (?P<said>.*)", re.DOTALL)


class RefusedError(MeasureError):
    """The server refuses statements of the workload: all of them, or most."""

    def __init__(self, refused: Mapping[str, str]) -> None:
        said = ", ".join(f"statement `{name}`: {why}" for name, why in refused.items())
        super().__init__(f"the learned workload failed: {said}")
        self.refused = refused


def refusal(code: int, message: str) -> RefusedError | None:
    """Make the error for a statement that the server refused to prepare, with its words."""
    if not code or not (statement := _STATEMENT.fullmatch(message)):
        return None
    return RefusedError({statement["name"]: f"{without_values(statement['said'])} ({code})"})


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
    seconds: Quantity | None = None  # share of the log's time
    refused: Count = 0  # attempts that the server refused; they count as not sent
    message: str = ""  # one of its messages, without values


class Fidelity(Value):
    """A learned workload beside its log."""

    score: Quantity  # share of the log's statements that are sent as often
    statements: tuple[StatementPair, ...]  # frequent ones first
    per_transaction: Quantity  # statements, in the log
    sent_per_transaction: Quantity
    tps: Quantity | None  # in the log, at its own pace; None: not known
    sent_tps: Quantity  # as fast as the connections go
    connections: Count
    errors: dict[str, Count]  # refused attempts, by the server's code
    rows_score: Quantity = 0.0  # share of the log's statements that are sent as often, and with as many rows
    time_score: Quantity | None = None  # share of the log's time that such statements take; None: not known
    refused: Quantity = 0.0  # share of attempts at a transaction
    commits: Quantity | None = None  # share of the log's time that BEGIN, COMMIT and the like take


def measured(
    log: Log,
    names: Mapping[str, str],
    program: Program,
    instance: Instance,
    dataset: Dataset,
    *,
    families: Sequence[str],
    attempt: int = 0,
) -> Fidelity:
    """Send the workload to the server that has the dump loaded, and compare. Raises MeasureError."""
    schema = schema_of(instance, dataset)
    connections = max(1, min(log.connections, CONNECTIONS_MAX))
    kinds = [kind.name for kind in program.kinds]
    refused = Refused(kinds)
    slices: list[Slice] = []
    file = instance.directory / "learned.log"
    engine = managed.engine(program, schema, instance, _SEED + attempt)
    file.unlink(missing_ok=True)  # of an attempt that was refused
    for setting in ("slow_query_log = 0", f"slow_query_log_file = '{file}'", "long_query_time = 0"):
        instance.query(f"SET GLOBAL {setting}")
    instance.query("SET GLOBAL slow_query_log = 1")
    try:
        managed.connect(engine, instance, schema, connections)
        for window_s in (PROBED_S, SENT_S):
            slices.append(taken := engine.slice(0, 0.0, window_s, TIMEOUT_S))
            refused.add([each.count for each in taken.statements], taken.refusals)
            if failing := refused.failing():
                raise RefusedError(dict(failing))
    except LoadError as error:
        _, code, message = error.args
        if refusing := refusal(code, message):
            raise refusing from None
        raise MeasureError(f"the learned workload failed: {reason(error)}{instance.post_mortem()}") from None
    finally:
        if instance.alive():
            instance.query("SET GLOBAL slow_query_log = 0")
    return compared(
        log,
        logs.read([file], families=families),
        names,
        tps=slices[-1].completed / slices[-1].window_s,
        connections=connections,
        completed=sum(taken.completed for taken in slices),
        kinds=kinds,
        refusals=[
            (kinds[kind], code, count, message)
            for taken in slices
            for kind, code, count, message in taken.refusals
        ],
    )


def compared(
    log: Log,
    sent: Log,
    names: Mapping[str, str],
    *,
    tps: float,
    connections: int,
    completed: int = 0,
    kinds: Collection[str] = (),
    refusals: Sequence[tuple[str, int, int, str]] = (),
) -> Fidelity:
    """Compare two logs by the texts of their templates.

    `kinds`: statements of the workload; `completed`: transactions; `refusals`: name, code, number, message.
    """
    before, after = _by_text(log), _by_text(sent)
    errors: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for name, code, count, _ in refusals:
        errors[str(code)] += count
        refused[name] += count
    said = {name: f"{without_values(message)} ({code})" for name, code, _, message in refusals}
    accepted = {text: max(0, each.count - refused[names.get(text, text)]) for text, each in after.items()}
    whole = max(1, sum(template.count for template in before.values()))
    whole_sent = max(1, sum(accepted.values()))
    seconds = sum(template.seconds or 0.0 for template in before.values())

    def pair(text: str) -> StatementPair:
        template, other = before[text], after.get(text)
        name, share = names.get(text, text), template.count / whole
        rare = name in kinds and share * whole_sent < RARE
        return StatementPair(
            name=name,
            share=share,
            sent_share=accepted.get(text, 0) / whole_sent,
            examined=template.mean(template.rows_examined),
            sent_examined=other.mean(other.rows_examined) if other else None,
            returned=template.mean(template.rows_sent),
            sent_returned=other.mean(other.rows_sent) if other else None,
            faithful=_as_many(template, other) if other else rare,
            seconds=(template.seconds or 0.0) / seconds if seconds else None,
            refused=refused[name],
            message=said.get(name, ""),
        )

    pairs = [pair(text) for text in sorted(before, key=lambda text: -before[text].count)]
    return Fidelity(
        score=sum(min(pair.share, pair.sent_share) for pair in pairs),
        statements=tuple(pairs),
        per_transaction=mean_statements(log.sequences),
        sent_per_transaction=mean_statements(sent.sequences),
        tps=log.transactions / log.span_s if log.span_s else None,
        sent_tps=tps,
        connections=connections,
        errors=dict(errors),
        rows_score=sum(min(pair.share, pair.sent_share) for pair in pairs if pair.faithful),
        time_score=sum(_time_kept(pair, whole_sent) for pair in pairs) if seconds else None,
        refused=errors.total() / max(1, completed + errors.total()),
        commits=max(0.0, 1 - seconds / log.seconds) if seconds and log.seconds else None,
    )


def _time_kept(pair: StatementPair, sent: int) -> float:
    """The share of the log's time that a statement takes, as far as it is one of these as in the log."""
    expected, times = pair.share * sent, pair.sent_share * sent
    by_chance = expected - times <= CHANCE * math.sqrt(expected)
    return (pair.seconds or 0.0) * (1.0 if by_chance else times / expected) if pair.faithful else 0.0


def concerns(learned: LearningReport, fidelity: Fidelity) -> Iterator[str]:
    """Say why a learned workload is not what the server ran, each with its reasons, the worst first."""
    scores = (
        (fidelity.score, "the log's statements are"),
        (fidelity.time_score, "the log's time goes to what is"),
    )
    for score, what in scores:
        if score is not None and score < SCORE_MIN:
            worst = _worst(fidelity.statements, of_time=score is not fidelity.score)
            yield f"only {100 * score:.1f} % of {what} sent as in the log: {'; '.join(map(_lacking, worst))}"
    if fidelity.refused > REFUSED_MAX:
        worst = sorted(fidelity.statements, key=lambda pair: -pair.refused)[:SAID_MAX]
        whys = "; ".join(f"{pair.name}: {pair.message}" for pair in worst if pair.refused)
        yield f"the server refuses {100 * fidelity.refused:.1f} % of attempts: {whys}"
    whole = sum(statement.count for statement in learned.statements)
    left = sorted(learned.left_out, key=lambda left: -left.statements)
    share = sum(each.statements for each in left) / max(1, whole)
    if share > LEFT_OUT_MAX:
        whys = "; ".join(f"{each.statements} x {each.reason}" for each in left[:SAID_MAX])
        yield f"{100 * share:.1f} % of the log's statements are left out: {whys}"


def _lacking(pair: StatementPair) -> str:
    if pair.sent_share and not pair.faithful:
        return f"{pair.name} examines or returns another number of rows"
    return f"{pair.name} is {100 * pair.share:.1f} % of the log, {100 * pair.sent_share:.1f} % of the load"


def _worst(pairs: Sequence[StatementPair], *, of_time: bool) -> Sequence[StatementPair]:
    def lost(pair: StatementPair) -> float:
        weight = (pair.seconds or 0.0) if of_time else pair.share
        kept = min(1.0, pair.sent_share / pair.share) if pair.share else 1.0
        return weight * (1 - (kept if pair.faithful or not of_time else 0.0))

    return [pair for pair in sorted(pairs, key=lost, reverse=True)[:SAID_MAX] if lost(pair) > 0]


def _by_text(log: Log) -> dict[str, Template]:
    templates: dict[str, Template] = {}
    for template in log.templates:
        known = templates.setdefault(template.sql, template)
        if known is not template:
            pairs = {name: (getattr(known, name), getattr(template, name)) for name in _SUMMED}
            sums = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
            templates[template.sql] = replace(known, **sums)
    return templates


def _as_many(one: Template, other: Template) -> bool:
    pairs = ((one.rows_examined, other.rows_examined), (one.rows_sent, other.rows_sent))
    return all(_near(a, one.count, b, other.count) for a, b in pairs if a is not None and b is not None)


def _near(one: int, times: int, other: int, sent: int) -> bool:
    """Whether two means are equal: within NEAR, or by chance, as of rare events."""
    times, sent = max(1, times), max(1, sent)
    means = one / times, other / sent
    by_chance = CHANCE * math.sqrt(means[0] / times + means[1] / sent)
    return abs(means[0] - means[1]) <= max(NEAR * max(means), by_chance)
