"""The words for what the new server refuses, or understands in another way, and for settings that differ."""

from __future__ import annotations

from collections.abc import Iterator

from shootout.report import differing
from shootout.report.figures import counted
from shootout.settings.differences import VariableDifference
from shootout.upgrade.configuration import is_compared, is_kept
from shootout.upgrade.judge import Answer
from shootout.upgrade.topic import Topic
from shootout.upgrade.values import OptionFate
from shootout.work.report import modes_dropped

VALUE_MAX = 60  # characters of a variable's value


def refused(answer: Answer) -> Topic | None:
    document = answer.document
    failures = answer.counted.document.failures if answer.counted else ()
    lacking = [failure for failure in failures if failure.lacks]
    lines = [
        f"{answer.new} does not know {failure.kind}: {failure.reason}"
        for failure in lacking
        if failure.server == answer.new
    ]
    if old := [failure.kind for failure in lacking if failure.server == answer.old]:
        lines.append(f"{answer.old} does not know {', '.join(old)}: there is nothing to compare.")
    if document.results is not None:
        lines += document.results or ["Every statement that was compared returns the same rows."]
    if answer.counted:
        lines += modes_dropped(answer.counted.document)
    rows = (*map(_fate, answer.fates), *_meanings(answer))
    lines += _file(answer)
    if not (lines or rows):
        return None
    return Topic(
        "Refused, or understood differently", tuple(lines),
        ("option", "value", answer.old, answer.new, "what happens"), rows,
        caption="What your my.cnf and the defaults mean",
    )  # fmt: skip


def _file(answer: Answer) -> Iterator[str]:
    """The rest of the user's my.cnf: options that are kept, cannot be compared, or were left out."""
    document = answer.document
    unknown = [fate.option for fate in document.options if not is_compared(fate)]
    kept = len(document.options) - len(unknown)
    if kept and not any(fate.option not in unknown for fate in answer.fates):
        which = f"the other {counted(kept, 'option')}" if unknown else "every option"
        yield f"{document.settings}: the new server takes {which} as the old one does."
    if unknown:
        what = f"{answer.old} has no variable of that name, so they are not compared"
        yield f"{document.settings}: {', '.join(unknown)}: {what}."
    if document.settings_left_out:
        yield f"{document.settings}: left out: {'; '.join(document.settings_left_out)}."


# Variables that change what statements and accounts mean, rather than how long they take.
MEANINGS = (
    "sql_mode", "default_authentication_plugin", "authentication_policy", "character_set_server",
    "collation_server", "default_collation_for_utf8mb4", "explicit_defaults_for_timestamp",
    "transaction_isolation", "innodb_strict_mode", "lower_case_table_names",
)  # fmt: skip


def _meanings(answer: Answer) -> Iterator[tuple[str, ...]]:
    for variable in answer.variables:
        if variable.name in MEANINGS and variable.origin != "requested":
            yield (variable.name, "", *_values(variable), "another default")


def _values(variable: VariableDifference) -> Iterator[str]:
    return (_short(differing.variable_value(variable, text)) for text in (variable.base, variable.head))


def _short(text: str) -> str:
    """A value that a table has room for; JSON has it whole."""
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}…"


def _fate(fate: OptionFate) -> tuple[str, ...]:
    if fate.refused:
        what = f"refused: {fate.refused}; left out on both servers"
    elif fate.read_by != "both":
        what = f"only the {fate.read_by} server reads it: its group is of one version"
    elif fate.renamed:
        what = f"renamed to {fate.renamed}"
    elif fate.new is None:
        what = "removed"
    elif is_kept(fate):
        what = "as before"
    else:
        what = "another value"
    difference = VariableDifference(fate.variable, fate.old, fate.new, "requested", notable=False)
    return (
        fate.option,
        _short(fate.value),
        *_values(difference),
        "; ".join(filter(None, (what, fate.told))),
    )


ORIGINS = {"requested": "your my.cnf", "default": "another default", "only one has it": "only one has it"}


def settings(answer: Answer) -> Topic | None:
    notable = [variable for variable in answer.variables if variable.notable]
    if not answer.variables:
        return None
    rows = tuple(
        (
            each.name,
            *_values(each),
            ORIGINS[each.origin],
        )
        for each in notable
    )
    every = counted(len(answer.variables), "variable")
    return Topic(
        "Settings that differ", (f"{every} differ; {len(notable)} are known to change performance.",),
        ("variable", answer.old, answer.new, "why"), rows, caption="Those known to change performance",
    )  # fmt: skip
