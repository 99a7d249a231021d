"""Every option, declared once: the command line, pytest's options and docs/cli.md are made from it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from shootout import renamed
from shootout.errors import InputError
from shootout.inputs import texts
from shootout.model.plan import Policy
from shootout.paths import FIXTURES, REPORTS

BUDGET_MAX_MIN = 10_080.0  # a week
# The headings of --help.
WHAT, LONG, WHERE, OUTCOME = "what is measured", "how long", "where", "what comes out"

_SEEDS = range(2**32)


@dataclass(frozen=True)
class Option:
    """A command-line option. A switch has no `metavar`."""

    help: str
    metavar: str = ""
    parse: Callable[[str, Any], Any] = lambda flag, text: text  # raises InputError
    name: str = ""
    default: Any = None
    about: str = ""  # a heading of --help
    repeated: bool = False  # its texts are a list

    @property
    def flag(self) -> str:
        """The option as users type it."""
        return f"--{self.name.replace('_', '-')}"

    def add_to(self, add: Callable[..., object], **changes: Any) -> None:
        """Declare the option to argparse or pytest; `changes` override keywords for one command."""
        keywords: dict[str, Any] = {"action": "store_true"}
        if self.metavar:
            parse = partial(self.parse, self.flag)
            keywords = {"metavar": self.metavar, "default": self.default, "type": parse}
        if self.repeated:
            keywords["action"] = "append"
        add(self.flag, help=self.help, **keywords | changes)


class _Gone(argparse.Action):
    """Refuses an option that was renamed or became a key of the profile, with what replaces it."""

    def __init__(self, error: type[Exception], kind: renamed.Kind = "option", **keywords: Any) -> None:
        super().__init__(nargs="?", help=argparse.SUPPRESS, **keywords)
        self.error, self.kind = error, kind

    def __call__(self, parser: object, namespace: object, text: Any, flag: str | None = None) -> None:
        renamed.refuse(self.kind, self.option_strings[0], self.error)
        if self.option_strings == [SETTINGS]:
            file = text or "my.cnf"
            raise self.error(f"{SETTINGS} {file}: settings belong to a server: name it as SERVER@{file}")
        sets = (f"--set {shlex.quote(item)}" for item in as_set(self.option_strings[0], text or ""))
        raise self.error(f"{' '.join(filter(None, (flag, text)))}: use {' '.join(sets)}")


def refuse_gone(add: Callable[..., object], error: type[Exception] = InputError) -> None:
    """Declare to argparse or pytest what is renamed, a key or of `upgrade`, so that this error refuses it."""
    for flag in (*renamed.NAMES["option"], *KEYS, SETTINGS):
        add(flag, action=partial(_Gone, error))


def refuse_renamed(add: Callable[..., object], kind: renamed.Kind) -> None:
    """Declare renamed options of one command to argparse."""
    for flag in renamed.NAMES[kind]:
        add(flag, action=partial(_Gone, InputError, kind), dest=argparse.SUPPRESS)


SETTINGS = "--settings"  # of `upgrade`, which has one file for both servers
# The keys of a profile that had options.
KEYS = {
    "--arrivals": "load.arrivals",
    "--container-memory": "container.memory",
    "--container-network": "container.network",
    "--engine": "dataset.engine",
    "--isolation": "sampling.isolation",
    "--option": "options",
    "--port": "port",
    "--protocol": "load.protocol",
    "--rand-type": "distribution.type",
    "--rate": "load.rate",
    "--reconnect": "load.reconnect",
    "--rows-seed": "dataset.seed",
    "--scale": "scale",
    "--table-size": "dataset.rows",
    "--tables": "dataset.tables",
    "--think": "load.think_s",
    "--tree": "build.tree",
    "--warehouses": "dataset.warehouses",
}


def as_set(flag: str, text: str) -> list[str]:
    """Write an option of KEYS as KEY=VALUE, as run documents and users have it."""
    key, items = KEYS[flag], [item.strip() for item in text.split(",")]
    if flag == "--option":
        return [f"{key}.{item}" for item in items]
    if flag == "--rand-type":
        kind, colon, first = items[0].partition(":")
        parameters = [first, *items[1:]] if colon else []
        return [f"{key}={kind}", *(f"distribution.{item}" for item in parameters)]
    if flag == "--think" and ":" in text:
        kind, _, text = text.partition(":")
        return [f"load.think={kind}", f"{key}={text}"]
    return [f"{key}={'true' if flag == '--reconnect' else text or 'VALUE'}"]


def renewed(given: Mapping[str, str]) -> dict[str, str]:
    """Give a run document's options by flag: those of KEYS as keys of the profile, names as they are now."""
    current: dict[str, str] = {}
    for flag, text in given.items():
        current |= texts.by_key(as_set(flag, text)) if flag in KEYS else {flag: text}
    if "--profile" in current:
        current["--profile"] = renamed.current("profile", current["--profile"])
    return current


def from_option(
    help: str,
    metavar: str = "",
    parse: Callable[[str, Any], Any] = Option.parse,
    about: str = WHAT,
    *,
    default: Any = None,
    repr: bool = True,
    repeated: bool = False,
) -> Any:
    """Declare the field of a dataclass that an option sets; False if a switch is not given."""
    option = Option(help, metavar, parse, about=about, repeated=repeated)
    return field(default=default if metavar else False, repr=repr, metadata={"option": option})


@dataclass(frozen=True)
class Selection:
    """The options that select what a run measures. None leaves the choice to the profile."""

    profile: str = from_option(
        "what to measure and how thoroughly: a name or a .toml file (default: %(default)s)",
        "NAME",
        default="quick",
    )
    servers: tuple[str, ...] | None = from_option(
        "server references; the first is the base", "A,B,…", texts.items, repr=False
    )
    workloads: tuple[str, ...] | None = from_option(
        "workloads: names from fixtures/workloads/, or .toml and .sql files of your own", "W,…", texts.items
    )
    threads: tuple[int, ...] | None = from_option(
        "thread counts: connections under load", "N,…", texts.threads
    )
    set: Mapping[str, Any] | None = from_option(
        "any other key of the profile, such as dataset.rows=1000 or load.protocol=prepared; repeatable",
        "KEY=VALUE",
        texts.keys,
        repeated=True,
    )
    build: str | None = from_option(
        "shell command that builds a server named by git:DIR#REV, in a work tree", "CMD"
    )
    policy: Policy | None = from_option(
        "the bar for verdicts: a .toml file with margins, confirmation, …", "FILE", texts.policy, LONG
    )
    budget: float | None = from_option(
        "minutes for all starts, including those that confirm a change; a cell takes about 40 s in the "
        "profile quick, 60 s in gate",
        "MIN",
        partial(texts.decimal, maximum=BUDGET_MAX_MIN),
        LONG,
    )
    seed: int | None = from_option(
        "seed of everything random (default: a new one, which the report names)",
        "N",
        partial(texts.integer, allowed=_SEEDS),
        LONG,
    )
    shard: tuple[int, int] | None = from_option(
        "measure only part I of N of the blocks; merge joins the documents", "I/N", texts.shard, LONG
    )
    resume: bool = from_option(
        "continue the newest run in --out if it was cut short or gets more --budget; else judge it again",
        about=LONG,
    )
    data: Path | None = from_option(
        "where the servers keep their data during the run (default: the cache folder)",
        "DIR",
        texts.directory,
        WHERE,
    )
    remote: bool = from_option(
        "allow dsn: servers beyond this machine; without it, a mistyped address cannot load one in "
        "production",
        about=WHERE,
    )
    written: Mapping[str, str] = field(default_factory=dict, repr=False)  # option texts by flag

    @classmethod
    def read(cls, **given: str | bool | Sequence[str] | None) -> Self:
        """Parse option texts. Raises InputError that names the option."""
        assert given.keys() <= {option.name for option in MEASURING}
        values: dict[str, Any] = {}
        written: dict[str, str] = {}
        for option in MEASURING:
            text = given.get(option.name, option.default)
            if text is None or text is False:
                continue
            if option.repeated:
                written |= texts.by_key(text)
            else:
                written[option.flag] = "" if text is True else text
            values[option.name] = text is True or option.parse(option.flag, text)
        return cls(**values, written=written)

    @classmethod
    def from_arguments(cls, parsed: argparse.Namespace, **changed: str | Sequence[str]) -> Self:
        """Parse the texts that argparse or pytest has read, some of them changed. Raises InputError."""
        return cls.read(**{option.name: getattr(parsed, option.name, None) for option in MEASURING} | changed)

    def within(self, budget_min: float | None) -> Self:
        """Change the budget to so many minutes, or to the profile's."""
        written = {flag: text for flag, text in self.written.items() if flag != "--budget"}
        if budget_min is not None:
            written["--budget"] = f"{budget_min:g}"
        return replace(self, budget=budget_min, written=written)

    def loaded_anew(self, seed: int) -> Self:
        """Change the rows."""
        item = [f"dataset.seed={seed}"]
        changed = texts.merged(self.set or {}, texts.keys("--set", item))
        return replace(self, set=changed, written={**self.written, **texts.by_key(item)})


MEASURING = tuple(
    replace(option, name=field.name, default=field.default)
    for field in fields(Selection)
    if (option := field.metadata.get("option"))
)


def _file(
    help: str, name: str, default: Path | None = None, metavar: str = "FILE", about: str = OUTCOME
) -> Option:
    return Option(help, metavar, lambda flag, text: Path(text), name, default, about)


OUT = _file("folder for results/ and site/ (default: reports)", "out", REPORTS, "DIR")
MARKDOWN = _file("write the verdicts as Markdown, for a step summary", "markdown")
JUNIT_XML = _file("write each cell as a JUnit test case with its verdict", "junit_xml")
ACKNOWLEDGED = _file(
    "known and accepted regressions (default: fixtures/acknowledged.toml)",
    "acknowledged",
    FIXTURES / "acknowledged.toml",
)
JSON = Option("print JSON", name="json", about=OUTCOME)
RESULTS = _file(
    "folder of run documents (default: reports/results)", "results", REPORTS / "results", "DIR", about=""
)
CHECK_RESULTS = Option(
    "before measuring, name statements that return other values on a head than on the base; exit code 3 then",
    name="check_results",
    about=WHAT,
)
EXPLAIN = Option(
    "find out why cells changed, within so many more minutes (see `shootout explain`)",
    "MIN",
    partial(texts.decimal, maximum=BUDGET_MAX_MIN),
    "explain",
    about=LONG,
)
COVERAGE = Option(
    "name what executes the functions that BASE..HEAD changes in the git repository DIR (see `shootout "
    "coverage`)",
    "DIR:BASE..HEAD",
    name="coverage",
    about=WHAT,
)
ANCHOR = Option("the server that ratios are relative to (default: the first)", "SERVER", name="anchor")
LINK = Option("address of the report", "URL", name="link")
