"""The words for what the new server refuses, or understands in another way, and for settings that differ."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from shootout.answer import Table, Topic
from shootout.count.answer import modes_dropped
from shootout.figures import counted
from shootout.report import differing
from shootout.settings.differences import VariableDifference
from shootout.upgrade.configuration import does_not_start_with, is_compared, is_kept, is_same, is_unknown
from shootout.upgrade.judge import Findings
from shootout.upgrade.values import OptionFate

VALUE_MAX = 60  # characters of a variable's value


def refused(found: Findings) -> Topic | None:
    document = found.document
    failures = found.counted.document.failures if found.counted else ()
    lacking = [failure for failure in failures if failure.lacks]
    lines = [
        f"{found.new} does not know {failure.kind}: {failure.reason}"
        for failure in lacking
        if failure.server == found.new
    ]
    lines += document.results or []
    if found.counted:
        lines += modes_dropped(found.counted.document)
    if document.results == ():
        lines.append("Every statement that was compared returns the same rows.")
    fates = sorted(found.fates, key=lambda fate: not fate.refused)
    meanings = (each for each in found.variables if each.name in MEANINGS and each.origin != "requested")
    defaults = ((each.name, "", *_values(each), "another default") for each in meanings)
    rows = (*(_fate(fate, found) for fate in fates), *defaults)
    lines += _file(found)
    if old := [failure.kind for failure in lacking if failure.server == found.old]:
        lines.append(f"{found.old} does not know {', '.join(old)}: there is nothing to compare.")
    if not (lines or rows):
        return None
    columns = ("option", "value", found.old, found.new, "what happens")
    table = Table(columns, rows, "What your my.cnf and the defaults mean")
    return Topic("Refused, or understood differently", tuple(lines), (table,) if rows else ())


def _file(found: Findings) -> Iterator[str]:
    """The rest of the user's my.cnf: options that are kept, cannot be compared, or were left out."""
    document = found.document
    unknown = [fate.option for fate in document.options if not is_compared(fate)]
    kept = len(document.options) - len(unknown)
    if kept and not any(fate.option not in unknown for fate in found.fates):
        which = f"the other {counted(kept, 'option')}" if unknown else "every option"
        yield f"{document.settings}: the new server takes {which} as the old one does."
    if unknown:
        they = "it is" if len(unknown) == 1 else "they are"
        what = f"{found.old} has no variable of that name, so {they} not compared"
        yield f"{document.settings}: {', '.join(unknown)}: {what}."
    if document.settings_left_out:
        yield f"{document.settings}: left out: {'; '.join(document.settings_left_out)}."


def differing_settings(found: Findings) -> Iterator[str]:
    """The options of the user's my.cnf with which the two servers are not under the same settings."""
    named = [
        fate.renamed or fate.option
        for fate in found.document.options
        if not fate.refused and (fate.old, fate.new) != (None, None) and not is_same(fate)
    ]
    if named:
        yield f"Under {found.document.settings} the servers still differ in {', '.join(named)}."


# Variables that change what statements and accounts mean, rather than how long they take.
MEANINGS = (
    "sql_mode", "default_authentication_plugin", "authentication_policy", "character_set_server",
    "collation_server", "default_collation_for_utf8mb4", "explicit_defaults_for_timestamp",
    "transaction_isolation", "innodb_strict_mode", "lower_case_table_names",
)  # fmt: skip


def _values(variable: VariableDifference) -> Iterator[str]:
    return (differing.variable_value(variable, text) for text in (variable.base, variable.head))


def _fate(fate: OptionFate, found: Findings) -> tuple[str, ...]:
    if fate.refused:
        what = f"refused: {fate.refused}; left out on both servers"
    elif fate.old is None and fate.new is None and is_unknown(fate.told):
        what = _unknown(fate, found)
    elif fate.read_by != "both":
        what = f"only the {fate.read_by} server reads it: its group is of one version"
    elif fate.renamed:
        what = f"renamed to {fate.renamed}"
    elif fate.new is None:
        what = f"removed{_stops(fate, found)}"
    elif not is_compared(fate):
        what = "not compared"
    elif is_kept(fate):
        what = "as before"
    else:
        what = "another value"
    difference = VariableDifference(fate.variable, fate.old, fate.new, "requested", notable=False)
    told = "" if is_unknown(fate.told) else fate.told
    value = fate.value if len(fate.value) <= VALUE_MAX else differing.listed(fate.value.split(","))
    return (fate.option, value, *_values(difference), "; ".join(filter(None, (what, told))))


def _unknown(fate: OptionFate, found: Findings) -> str:
    known = {name for variables in found.document.variables.values() for name in variables}
    near = "".join(f" (did you mean {name}?)" for name in get_close_matches(fate.variable, known, n=1))
    return f"neither server knows it{near}{_stops(fate, found)}"


def _stops(fate: OptionFate, found: Findings) -> str:
    return f": {found.new} does not start with this line" if does_not_start_with(fate) else ""


ORIGINS = {"requested": "your my.cnf", "default": "another default", "only one has it": "only one has it"}


def settings(found: Findings) -> Topic | None:
    if not found.variables:
        return None
    rows = tuple(
        (each.name, *_values(each), ORIGINS[each.origin]) for each in found.variables if each.notable
    )
    every = counted(len(found.variables), "variable")
    said = f"{every} differ; {len(rows)} are known to change performance."
    table = Table(("variable", found.old, found.new, "why"), rows, "Those known to change performance")
    return Topic("Settings that differ", (said,), (table,) if rows else ())
