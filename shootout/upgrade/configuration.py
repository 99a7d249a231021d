"""A my.cnf on two servers: each is started with it, and asked."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shootout.errors import MeasureError, without_values
from shootout.servers.installation import Installation
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from shootout.settings import differences
from shootout.settings.setting import meant, normalise, variable
from shootout.upgrade.values import OptionFate, Reader

_LOG_LINES = 400  # of a start
_LEVEL = re.compile(r"\[(?:Warning|ERROR)\]\s*(?:\[[^]]*\]\s*)*", re.IGNORECASE)
# Before a server has its log, its name stands in place of a level.
_ERROR = re.compile(r"\[ERROR\]\s*(?:\[[^]]*\]\s*)*|^(?:\S*/)?(?:mysqld|mariadbd): ", re.IGNORECASE)
# Warnings of servers on every machine, or only in an instance directory of ours.
_ALWAYS = re.compile(
    r"changed limits|uuid|certificate|insecure configuration|empty password|in --skip-name-resolve mode"
    r"|ib_buffer_pool",
    re.IGNORECASE,
)
_BY_OLD = "by the old server: "
_LACKS = re.compile(r"modes? (?P<modes>.+)")
_UNKNOWN = re.compile(r"unknown (?:variable|option)", re.IGNORECASE)
_UPGRADE = re.compile(r"(?:mysql|mariadb)_?-?upgrade", re.IGNORECASE)  # it repairs system tables
_TUPLE = re.compile(r"""\(\d+, (?P<mark>['"])(?P<said>.*)(?P=mark)\)""")  # an error of a client
_PROGRAM = re.compile(r"^\S*/(?:mysqld|mariadbd): ")


@dataclass(frozen=True)
class Probe:
    """A server that was started with a my.cnf, without what it refuses."""

    version: str
    variables: Mapping[str, str]
    given: Mapping[str, str]  # the options that it started with
    refused: Mapping[str, str] = field(default_factory=dict)  # why, by option
    told: Mapping[str, str] = field(default_factory=dict)  # its log's message on an option


def probe(program: Installation, options: Mapping[str, str], directory: Path) -> Probe:
    """Initialise and start an empty server with these options; one that it dies of is left out the next time.

    Of `sql_mode`, only the modes that it lacks. Raises MeasureError where nothing can be blamed.
    """
    given = dict(options)
    refused: dict[str, str] = {}
    while True:
        taken = {loose(name): value for name, value in given.items()}
        try:
            with _fresh(program, directory, taken) as instance:
                told = dict(_said(instance.error_log_tail(_LOG_LINES), given))
                return Probe(instance.version, instance.variables(), given, refused, told)
        except MeasureError as error:
            log = directory / "error.log"
            blamed = _blamed(log.read_text("utf-8", errors="replace"), given) if log.exists() else {}
            if not blamed:
                blamed = _blamed_by_trying(program, directory, given, cause(str(error)))
            if not blamed:
                raise
        refused |= blamed
        for option in blamed:
            value = given.pop(option)
            if variable(option) == "sql_mode" and (lacking := _lacking(program, directory, _modes(value))):
                rest = (mode for mode in _modes(value) if mode not in lacking)
                given[option] = _mode_list(rest)
                refused[option] = f"mode{'s' * (len(lacking) > 1)} {', '.join(lacking)}"  # as _LACKS reads it


def _blamed_by_trying(
    program: Installation, directory: Path, options: Mapping[str, str], why: str
) -> dict[str, str]:
    def starts(given: Mapping[str, str]) -> bool:
        try:
            with _fresh(program, directory, {loose(name): value for name, value in given.items()}):
                return True
        except MeasureError:
            return False

    found = halved(options, starts)
    return {found: f"it does not start with this line: {why}"} if found else {}


def halved(options: Mapping[str, str], starts: Callable[[Mapping[str, str]], bool]) -> str:
    """The option that stops a start, with those before it; empty: without all of them, it does not start."""
    names = [*options]
    if not names or not starts({}):
        return ""
    good, bad = 0, len(names)  # how many of the first ones it starts with, and does not start with
    while bad - good > 1:
        middle = (good + bad) // 2
        if starts({name: options[name] for name in names[:middle]}):
            good = middle
        else:
            bad = middle
    return names[good]


@contextmanager
def _fresh(program: Installation, directory: Path, options: Mapping[str, str]) -> Iterator[Instance]:
    shutil.rmtree(directory, ignore_errors=True)
    instances.initialise(program, directory, options)
    with instances.start(program, directory, options) as instance:
        yield instance


def _lacking(program: Installation, directory: Path, modes: Iterable[str]) -> list[str]:
    def is_refused(mode: str) -> bool:
        try:
            instance.query(f"SET SESSION sql_mode = '{mode}'")
        except MeasureError:
            return True
        return False

    with _fresh(program, directory, {}) as instance:
        return [mode for mode in modes if is_refused(mode)]


def _modes(value: str) -> list[str]:
    return [mode.strip() for mode in value.strip("'\"").split(",") if mode.strip()]


def _mode_list(modes: Iterable[str]) -> str:
    return ",".join(modes) or '""'


def loose(option: str) -> str:
    """The option as a server that lacks it ignores it."""
    return option if option.startswith(("loose-", "loose_")) else f"loose-{option}"


def fates(
    options: tuple[Mapping[str, str], Mapping[str, str]], old: Probe, new: Probe
) -> Iterator[OptionFate]:
    """Find what becomes of each option, of those that each server reads."""
    called = differences.renamed(old.variables, new.variables)
    by_old, by_new = (each.items() for each in options)
    for option, value in dict.fromkeys((*by_old, *by_new)):
        read_by: Reader = "both"
        if (option, value) not in by_new:
            read_by = "old"
        elif (option, value) not in by_old:
            read_by = "new"
        name, _ = meant(option, value)
        renamed = called.get(name, "")
        yield OptionFate(
            option=option, value=value, variable=name, old=old.variables.get(name),
            new=new.variables.get(renamed or name), renamed=renamed,
            refused=_refused(option, read_by, old, new),
            told="" if read_by == "old" or _is_told_before(option, old, new) else new.told.get(option, ""),
            read_by=read_by,
        )  # fmt: skip


def _is_told_before(option: str, old: Probe, new: Probe) -> bool:
    """Whether the old server says the same; a typo, which neither knows, is told all the same."""
    both = is_unknown(old.told.get(option, "")) and is_unknown(new.told.get(option, ""))
    return option in old.told and not both


def _refused(option: str, read_by: Reader, old: Probe, new: Probe) -> str:
    refused = old.refused.get(option, "")
    if is_unknown(old.told.get(option, "")) and variable(option) in old.variables:
        refused = old.told[option]  # a variable, and no option: the old server runs without it
    by_old = f"{_BY_OLD}{refused}" if read_by != "new" and refused else ""
    by_new = new.refused.get(option, "") if read_by != "old" else ""
    return "; ".join(filter(None, (by_new, by_old)))


def does_not_start_with(fate: OptionFate) -> bool:
    """Whether the new server dies of the line: without our `loose-`, an unknown variable stops it."""
    if fate.read_by == "old":
        return False
    by_new = fate.refused.partition(_BY_OLD)[0]
    own = fate.option.casefold().startswith(("loose-", "loose_"))
    return bool(by_new) or (not own and fate.new is None and is_unknown(fate.told))


def spoiled(fate: OptionFate) -> str:
    """The part of a line that a server refuses: the option, or some of its modes."""
    lacking = _LACKS.match(fate.refused)
    return f"{fate.option}'s {lacking['modes'].partition(';')[0]}" if lacking else fate.option


def is_unknown(told: str) -> bool:
    """Whether a server's log says that there is no such option."""
    return _UNKNOWN.search(told) is not None


def is_compared(fate: OptionFate) -> bool:
    """Whether variables of the old server show what an option does."""
    return bool(fate.refused) or fate.old is not None


def is_kept(fate: OptionFate) -> bool:
    """Whether the new server does with an option what the old one did."""
    if fate.refused or fate.renamed or fate.read_by != "both":
        return False
    return fate.old is None or is_same(fate)


def is_same(fate: OptionFate) -> bool:
    """Whether both servers have the same value."""
    if fate.old is None or fate.new is None:
        return False
    if "=" in fate.old and {*fate.old.split(",")} <= {*fate.new.split(",")}:
        return True  # flags, of which a newer server has more
    return normalise(fate.old) == normalise(fate.new)


def measured(fates_of: Iterable[OptionFate]) -> Iterator[dict[str, str]]:
    """The options that both servers take: for the old one, and by the new one's names for them."""
    of_old: dict[str, str] = {}
    of_new: dict[str, str] = {}
    for fate in fates_of:
        refusals = [why.removeprefix(_BY_OLD) for why in filter(None, fate.refused.split("; "))]
        lacking = [found["modes"].split(", ") for why in refusals if (found := _LACKS.fullmatch(why))]
        if len(lacking) == len(refusals):  # else a server refuses the whole option
            gone = {mode for modes in lacking for mode in modes}
            rest = _mode_list(mode for mode in _modes(fate.value) if mode not in gone)
            value = rest if gone else fate.value
            if fate.read_by != "new":
                of_old[loose(fate.option)] = value
            if fate.read_by != "old":
                of_new[loose(fate.renamed or fate.option)] = value
    yield of_old
    yield of_new


def warnings(log: str) -> list[str]:
    """The warnings and errors of a server's log, each once, without values."""
    said = dict.fromkeys(without_values(text).strip() for text in _messages(log, _LEVEL))
    return [text for text in said if not _ALWAYS.search(text)]


def _said(log: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    messages = [text for text in _messages(log, _LEVEL) if not _ALWAYS.search(text)]
    for option in options:
        if text := next((text for text in messages if _names(text, variable(option))), ""):
            yield option, _shown(text)


def _blamed(log: str, options: Mapping[str, str]) -> dict[str, str]:
    """Find the options that the last error names, or else their values, and its words on them."""
    for text in reversed(_messages(log, _ERROR)):
        by_name = [option for option in options if _names(text, variable(option))]
        by_value = [
            option
            for option, value in options.items()
            if any(_names(text, word) for word in _words(value)) or _quotes(text, value)
        ]
        if by_name or by_value:
            return dict.fromkeys(by_name or by_value, _shown(text))
    return {}


def cause(failure: str) -> str:
    """The first error of the log that a failure quotes, or its first line."""
    ours, _, log = failure.partition("\n")
    errors = _messages(log, _ERROR)
    named = next((text for text in errors if _UPGRADE.search(text)), "")
    quoted = _TUPLE.search(ours)
    return _shown(named or errors[0]) if errors else quoted["said"] if quoted else ours


def _messages(log: str, level: re.Pattern[str]) -> list[str]:
    lines = (level.split(line, maxsplit=1) for line in log.splitlines())
    return [parts[1] for parts in lines if len(parts) == 2]


def _shown(text: str) -> str:
    return _PROGRAM.sub("", without_values(text).strip()).replace("'loose-", "'")


def _names(text: str, word: str) -> bool:
    spelled = re.escape(word).replace("_", "[_-]")
    return re.search(rf"(?<![\w-])(?:--)?(?:loose[_-])?{spelled}(?![\w-])", text) is not None


def _quotes(text: str, value: str) -> bool:
    return any(
        f"'{word}'" in text
        for word in _modes(value)
        if word[0].isalpha() and normalise(word) not in ("0", "1")
    )


def _words(value: str) -> Iterator[str]:
    """The words of a value that may stand for its option in a message; InnoDB begins any of its own."""
    for word in _modes(value):
        if re.fullmatch(r"[A-Za-z]\w{5,}", word) and word.casefold() != "innodb":
            yield word
