"""Behaviours of newer versions on a statement or its plan, and the values that turn them off.

Source: the manuals' pages of these variables. A pattern says how a plan shows that the server did it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from shootout.model.execution_plan import ExecutionPlan, PlanChange
from shootout.settings.setting import normalise

SWITCH = "optimizer_switch"


class Behaviour(NamedTuple):
    """The value of a variable without the behaviour."""

    off: str
    shown: str = ""  # pattern of a plan; empty: no plan shows it


# Behaviours of a newer planner.
PLANNED: Mapping[str, Behaviour] = {
    "range_optimizer_max_mem_size": Behaviour("0"),  # MySQL 5.7.9; 0: no limit
    "in_predicate_conversion_threshold": Behaviour("0", r"<subquery"),  # MariaDB 10.3.18; 0: never
    "eq_range_index_dive_limit": Behaviour("0"),  # MySQL 5.6.5, MariaDB 10.2.18; 0: always dives
    "optimizer_max_sel_arg_weight": Behaviour("0"),  # MariaDB 10.5.9; 0: no limit
    "optimizer_use_condition_selectivity": Behaviour("1"),  # MariaDB 10.0.2; 1: as before
    "use_stat_tables": Behaviour("NEVER"),  # MariaDB 10.0.1
}

# Flags of optimizer_switch.
FLAGS: Mapping[str, str] = {
    "block_nested_loop": r"[Hh]ash join",  # MySQL 8.0.20
    "duplicateweedout": r"Start temporary",  # MySQL 5.7.8
    "firstmatch": r"FirstMatch",
    "hash_join": r"[Hh]ash join",  # MySQL 8.0.18
    "index_condition_pushdown": r"Using index condition",
    "loosescan": r"LooseScan",
    "materialization": r"MATERIALIZED|<subquery",
    "mrr": r"Using MRR",
    "rowid_filter": r"rowid filter",  # MariaDB 10.4
    "skip_scan": r"skip scan",  # MySQL 8.0.13
    "split_materialized": r"LATERAL DERIVED",  # MariaDB 10.3
}
MERGED = "derived_merge"  # MySQL 5.7.6, MariaDB 5.3: the old plan shows a table that the new one lacks
_DERIVED = "<derived"


@dataclass(frozen=True)
class Evidence:
    """The servers' own words on a change."""

    warnings: tuple[str, ...] = ()  # those of the head alone, of a plan or of a start
    plans: tuple[tuple[str, str], ...] = ()  # changed ones, in words: the base's and the head's

    @classmethod
    def of(cls, changes: Iterable[PlanChange], told: Iterable[str] = ()) -> Self:
        """Gather the evidence of changed plans, and of the head's own words."""
        every = [*changes]
        warnings = (text for each in every for text in each.head.warnings if text not in each.base.warnings)
        return cls(
            tuple(dict.fromkeys((*warnings, *told))),
            tuple((_in_words(each.base), _in_words(each.head)) for each in every if each.changed),
        )


NO_EVIDENCE = Evidence()


def _in_words(plan: ExecutionPlan) -> str:
    steps = (" ".join((step.select, step.table, *step.extra)) for step in plan.steps)
    return "\n".join((*steps, plan.text))


def named(head: Mapping[str, str], warnings: Iterable[str]) -> Iterator[str]:
    """The variables of a server that warnings name."""
    words = {word.replace("-", "_") for text in warnings for word in re.findall(r"\w+(?:[_-]\w+)+", text)}
    yield from sorted(words & head.keys())


def off(name: str, head: Mapping[str, str]) -> str:
    """NAME=VALUE that turns what a variable does off; empty: it is off, or nothing does."""
    behaviour = PLANNED.get(name)
    if behaviour is None or name not in head or normalise(head[name]) == normalise(behaviour.off):
        return ""
    return f"{name}={behaviour.off}"


def shown(base: Mapping[str, str], head: Mapping[str, str], evidence: Evidence) -> Iterator[str]:
    """NAME=VALUE for each behaviour that only a changed plan of the head shows, new ones first."""
    patterns = {name: each.shown for name, each in PLANNED.items() if each.shown}
    for name in sorted(patterns, key=lambda name: name in base):
        if setting := off(name, head):
            yield from (setting,) * _shows(patterns[name], evidence)
    on, before = ({*_on(variables)} for variables in (head, base))
    for flag in sorted(on, key=lambda flag: (flag in before, flag)):
        merged = flag == MERGED and any(
            _DERIVED in old and _DERIVED not in new for old, new in evidence.plans
        )
        if merged or (flag in FLAGS and _shows(FLAGS[flag], evidence)):
            yield f"{SWITCH}={flag}=off"


def _shows(pattern: str, evidence: Evidence) -> bool:
    return any(re.search(pattern, new) and not re.search(pattern, old) for old, new in evidence.plans)


def _on(variables: Mapping[str, str]) -> Iterator[str]:
    flags = (flag.partition("=") for flag in variables.get(SWITCH, "").split(","))
    return (name for name, _, value in flags if value == "on")
