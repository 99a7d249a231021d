"""Every option, declared once: its name, its parser, its default and its help.

The command line, pytest's options and docs/cli.md are made from these declarations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, get_args

from shootout.inputs import texts
from shootout.model.plan import Isolation, Policy
from shootout.model.value import RATE_MAX, THINK_MAX_S, Protocol
from shootout.model.workload import Distribution
from shootout.paths import FIXTURES, REPORTS

BUDGET_MAX_MIN = 10_080.0  # a week
PORTS = range(1024, 65_536)

_SEEDS = range(2**32)
_COUNTS = range(1, 2_000_000_001)  # model.plan.Dataset


def _as_written(flag: str, text: str) -> str:
    return text


@dataclass(frozen=True)
class Option:
    """A command-line option. A switch has no `metavar`."""

    help: str
    metavar: str = ""
    parse: Callable[[str, str], Any] = _as_written  # takes flag and text; raises InputError
    name: str = ""
    default: Any = None

    @property
    def flag(self) -> str:
        """The option as users type it."""
        return f"--{self.name.replace('_', '-')}"

    def add_to(self, add: Callable[..., object], **changes: Any) -> None:
        """Declare the option to argparse or pytest; `changes` override keywords for one command."""
        keywords: dict[str, Any] = {"help": self.help}
        if self.metavar:
            keywords |= {
                "metavar": self.metavar,
                "default": self.default,
                "type": partial(self.parse, self.flag),
            }
        else:
            keywords |= {"action": "store_true"}
        add(self.flag, **keywords | changes)


def from_option(
    help: str,
    metavar: str = "",
    parse: Callable[[str, str], Any] = _as_written,
    default: Any = None,
    *,
    repr: bool = True,
) -> Any:
    """The field of a dataclass that an option sets."""
    return field(default=default, repr=repr, metadata={"option": Option(help, metavar, parse)})


Count = partial(texts.integer, allowed=_COUNTS)


@dataclass(frozen=True)
class DatasetOptions:
    """The sizes of the tables."""

    tables: int | None = from_option("number of sbtest tables", "N", Count)
    table_size: int | None = from_option("rows per sbtest table", "N", Count)
    warehouses: int | None = from_option("number of TPC-C warehouses", "N", Count)
    rows_seed: int | None = from_option(
        "other rows of the same kind, loaded anew: from 1 to 2 000 000 000 (default: 1)", "N", Count
    )
    engine: str | None = from_option(
        "storage engine of the tables, or `default`: each server's own (default: InnoDB)", "NAME", texts.name
    )


@dataclass(frozen=True)
class LoadOptions:
    """What transactions consist of, and when they are sent."""

    option: dict[str, int] | None = from_option(
        "workload options, most of them sysbench's: range_size=10, skip_trx=1", "NAME=N,…", texts.numbers
    )
    rand_type: Distribution | None = from_option(
        "distribution of row accesses: uniform, gaussian, special:hot_percent=50, pareto or "
        "zipfian:exponent=1.1",
        "NAME[:PARAM=N,…]",
        texts.distribution,
    )
    protocol: Protocol | None = from_option(
        "text, or prepared statements; NAME.prepared and NAME.text select a workload by protocol",
        "NAME",
        partial(texts.choice, known=get_args(Protocol)),
    )
    rate: float | None = from_option(
        "open loop: start this many transactions per second on each server, and measure latency from the "
        "intended start; 0 (default) is a closed loop",
        "TPS",
        partial(texts.decimal, maximum=RATE_MAX),
    )
    arrivals: str | None = from_option(
        "arrivals under --rate: poisson (default) or uniform",
        "NAME",
        partial(texts.choice, known=("poisson", "uniform")),
    )
    think: tuple[str, float] | None = from_option(
        "closed loop with pauses of S seconds between transactions, or exponential:S for that mean",
        "S",
        partial(texts.think, maximum=THINK_MAX_S),
    )
    reconnect: bool = from_option(
        "reopen lost connections and count them (error 2013); otherwise one fails the cell", default=False
    )


@dataclass(frozen=True)
class SamplingOptions:
    """How much is measured, and what a verdict takes."""

    policy: Policy | None = from_option(
        "the bar for verdicts: a .toml file with margins, confirmation, …", "FILE", texts.policy
    )
    budget: float | None = from_option(
        "minutes for all starts, including those that confirm a change; a cell takes about 40 s in the "
        "profile quick, 60 s in gate",
        "MIN",
        partial(texts.decimal, maximum=BUDGET_MAX_MIN),
    )
    isolation: Isolation | None = from_option(
        "what a server does during another's slice: keep running (share) or stand still (pause); "
        "exclusive gives each server all its slices in one stretch; auto (default) is pause where a "
        "workload writes and every server can be stopped, otherwise share",
        "NAME",
        partial(texts.choice, known=get_args(Isolation)),
    )
    seed: int | None = from_option(
        "seed of everything random (default: a new one, which the report names)",
        "N",
        partial(texts.integer, allowed=_SEEDS),
    )


@dataclass(frozen=True)
class PlaceOptions:
    """Where servers listen and keep their data."""

    port: int | None = from_option(
        "TCP port of the first server on 127.0.0.1; the others take the next ones (default: free ports)",
        "N",
        partial(texts.integer, allowed=PORTS),
    )
    data: Path | None = from_option(
        "where the servers keep their data during the run (default: the cache folder)", "DIR", texts.directory
    )
    remote: bool = from_option(
        "allow dsn: servers beyond this machine; without it, a mistyped address cannot load one in "
        "production",
        default=False,
    )
    container_network: str | None = from_option(
        "network of containers: host (default) or bridge",
        "NAME",
        partial(texts.choice, known=("host", "bridge")),
    )
    container_memory: str | None = from_option("memory limit per container, such as 8G", "SIZE", texts.size)


@dataclass(frozen=True)
class BuildOptions:
    """How servers named by `git:` are built."""

    build: str | None = from_option(
        "shell command that builds a server named by git:DIR#REV, in a work tree", "CMD"
    )
    tree: str | None = from_option("where the server that it builds comes to lie in the work tree", "SUBDIR")


@dataclass(frozen=True)
class Selection:
    """The options that select what a run measures. None leaves the choice to the profile."""

    profile: str = from_option(
        "what to measure and how thoroughly: a name or a .toml file (default: the command's own; "
        "run: quick, doctor: gate)",
        "NAME",
        default="quick",
    )
    scale: str | None = from_option("a smaller scale that the profile defines, such as small", "NAME")
    servers: tuple[str, ...] | None = from_option(
        "server references; the first is the base", "A,B,…", texts.items, repr=False
    )
    workloads: tuple[str, ...] | None = from_option(
        "workloads: names from fixtures/workloads/, or .toml files of your own", "W,…", texts.items
    )
    threads: tuple[int, ...] | None = from_option(
        "thread counts: connections under load", "N,…", texts.threads
    )
    dataset: DatasetOptions = DatasetOptions()
    load: LoadOptions = LoadOptions()
    sampling: SamplingOptions = SamplingOptions()
    place: PlaceOptions = PlaceOptions()
    building: BuildOptions = BuildOptions()
    shard: tuple[int, int] | None = from_option(
        "measure only part I of N of the blocks; merge joins the documents", "I/N", texts.shard
    )
    resume: bool = from_option(
        "continue the newest run in --out if it was cut short or gets more --budget; else judge it again",
        default=False,
    )
    written: Mapping[str, str] = field(default_factory=dict, repr=False)  # option texts by flag

    @classmethod
    def read(cls, **given: str | bool | None) -> Self:
        """Parse option texts. Raises InputError that names the option."""
        values: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
        written = {}
        for part, options in _PARTS.items():
            for option in options:
                text = given.get(option.name, option.default)
                if text is None or text is False:
                    continue
                written[option.flag] = "" if text is True else text
                values[part][option.name] = text is True or option.parse(option.flag, text)
        parts = {name: type(getattr(cls, name))(**values[name]) for name in _PARTS if name}
        return cls(**values[""], **parts, written=written)

    @classmethod
    def of(cls, parsed: argparse.Namespace, **changed: str) -> Self:
        """Parse the texts that argparse or pytest has read, some of them changed. Raises InputError."""
        return cls.read(**{option.name: getattr(parsed, option.name, None) for option in MEASURING} | changed)

    def within(self, budget_min: float | None) -> Self:
        """The same with a budget of so many minutes, or the profile's."""
        written = {flag: text for flag, text in self.written.items() if flag != "--budget"}
        if budget_min is not None:
            written["--budget"] = f"{budget_min:g}"
        return replace(self, sampling=replace(self.sampling, budget=budget_min), written=written)

    def loaded_anew(self, seed: int) -> Self:
        """The same with other rows."""
        written = {**self.written, "--rows-seed": str(seed)}
        return replace(self, dataset=replace(self.dataset, rows_seed=seed), written=written)


def _declared(part: type) -> dict[str, tuple[Option, ...]]:
    """The options of a part by the name of their part, "" for its own; in the order of its fields."""
    own = tuple(
        replace(option, name=field.name, default=field.default)
        for field in fields(part)
        if (option := field.metadata.get("option"))
    )
    nested = [field for field in fields(part) if is_dataclass(field.default)]
    parts = {field.name: _declared(type(field.default))[""] for field in nested}
    return {"": own, **parts}


_PARTS = _declared(Selection)
MEASURING = tuple(option for options in _PARTS.values() for option in options)


def _path(flag: str, text: str) -> Path:
    return Path(text)


OUT = Option("folder for results/ and site/ (default: reports)", "DIR", _path, "out", REPORTS)
MARKDOWN = Option("write the verdicts as Markdown, for a step summary", "FILE", _path, "markdown")
JUNIT_XML = Option("write each cell as a JUnit test case with its verdict", "FILE", _path, "junit_xml")
ACKNOWLEDGED = Option(
    "known and accepted regressions (default: fixtures/acknowledged.toml)",
    "FILE",
    _path,
    "acknowledged",
    FIXTURES / "acknowledged.toml",
)
JSON = Option("print JSON", name="json")
RESULTS = Option(
    "folder of run documents (default: reports/results)", "DIR", _path, "results", REPORTS / "results"
)
CHECK_RESULTS = Option(
    "before measuring, name statements that return other values on a head than on the base; exit code 3 then",
    name="check_results",
)
ANCHOR = Option("the server that ratios are relative to (default: the first)", "SERVER", name="anchor")
LINK = Option("address of the report", "URL", name="link")
