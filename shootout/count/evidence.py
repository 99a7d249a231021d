"""The words for what was counted of two servers: of a cell that is explained, or of a bisection's step."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shootout import figures
from shootout.answer import Field, Figure, Link, Mark, Point, Range, Table, Topic, factor
from shootout.count.instructions import Instructions, PartCount, Statement
from shootout.count.values import CountFigure
from shootout.inputs import matrix
from shootout.model.plan import DatasetSize
from shootout.model.run import RunHeader, ServerRecord
from shootout.model.verdict import Interval
from shootout.numbers import share
from shootout.report.commands import line, named
from shootout.report.site.names import page_of

PLACES = 2  # of a change in percent: counting is as exact
NAMED_MAX = 5  # functions in a list; the page lists all
STATEMENTS_MAX = 3  # in a list of what differs
NOT_COUNTED = ("image:", "dsn:")  # sources of servers that are no programs on this machine
UNNAMED_MIN = 0.05  # share of the instructions that is worth a sentence


def points(instructions: Instructions | None, header: RunHeader) -> Iterator[Point]:
    """Say what statements execute more or less, and which functions do; or give the command to count it."""
    if instructions is None:
        command = count_command(header)
        if command is not None:
            said = "Instructions of each statement are not counted yet; this counts them:"
            yield Point(said, commands=(command,))
        return
    whole = instructions.whole
    yield Point(
        f"Instructions, counted in {instructions.run}:", tuple(map(_statement, instructions.statements))
    )
    if whole.explaining:
        yield Point(
            "Functions that explain most of it, without what they call:",
            tuple(_of_whole(count, whole) for count in whole.explaining[:NAMED_MAX]),
        )
        yield Point(
            "By part of the server:", tuple(_of_whole(count, whole) for count in whole.parts[:NAMED_MAX])
        )
    unnamed, sizes = whole.unnamed, (whole.change.base, whole.change.head)
    if any(
        size and part >= UNNAMED_MIN * size.mean
        for size, part in zip(sizes, (unnamed.base, unnamed.head), strict=True)
    ):
        yield Point(f"Of them, {_of_whole(unnamed, whole)}.")


def topics(instructions: Instructions) -> Iterator[Topic]:
    """Show every statement, and the functions that changed, on a cell's page."""
    statements = tuple(
        (
            change.kind, Figure(each.kind.per_transaction), counted(change.base), counted(change.head),
            *by(change.ratio), Mark(change.verdict, note=change.reason),
        )
        for each in instructions.statements
        for change in [each.change]
    )  # fmt: skip
    functions = tuple(
        (each.kind.name, function.own.name, *_sides(function.own), *_sides(function.inclusive))
        for each in reversed(instructions.statements)
        for function in each.changed
    )
    least = share(instructions.whole.bar)
    yield Topic(
        "Instructions",
        (
            "Counted under Callgrind, one connection, with the same statements on both servers. They are "
            "work, not time.",
        ),
        tables=(
            Table(
                ("statement", "per transaction", "base", "head", "change", "interval", "verdict"),
                statements, "Instructions of each statement", sortable=True,
            ),
            Table(
                (
                    "statement", "function", "its own, base", "head", "difference", "with callees, base",
                    "head", "difference",
                ),
                functions, f"Functions whose instructions changed by {least} of the statement's or more",
                sortable=True,
            ),
        ),
        links=(Link("All of this count", page_of("count", instructions.run)),),
        page_only=True,
    )  # fmt: skip


def _sides(part: PartCount) -> tuple[Figure, Figure, Figure]:
    return (
        Figure(part.base, places=0), Figure(part.head, places=0),
        Figure(part.difference, places=0, form="signed"),
    )  # fmt: skip


def differences(instructions: Instructions) -> Iterator[str]:
    """Name the statements that certainly changed, the largest change first, with their functions."""
    alone = [each for each in instructions.statements if each.functions and each.explaining]
    for each in sorted(alone, key=lambda each: -abs(each.difference or 0.0))[:STATEMENTS_MAX]:
        functions = ", ".join(
            f"{figures.rounded(count.difference)} in {count.name}" for count in each.explaining[:NAMED_MAX]
        )
        yield f"{_statement(each)}: {functions}"


def counted(figure: CountFigure | None) -> Figure | None:
    """Show instructions for each unit, as they were counted."""
    return None if figure is None else Figure(figure.mean, places=0)


def by(ratio: Interval | None) -> tuple[Field, Field]:
    """Show a change of instructions, and its interval."""
    return (None, None) if ratio is None else (factor(ratio, PLACES), Range(factor(ratio, PLACES)))


def _statement(of: Statement) -> str:
    if of.change.ratio is None:
        return f"{of.change.kind}: {of.change.reason}"
    head, base = counted(of.change.head), counted(of.change.base)
    return f"{of.change.kind}: {head} instead of {base}, {factor(of.change.ratio, PLACES).whole}"


def _of_whole(count: PartCount, whole: Statement) -> str:
    part, total = (figures.rounded(value) for value in (count.difference, whole.difference or 0.0))
    return f"{part} of {total} instructions: {count.name}"


def count_command(header: RunHeader) -> str | None:
    """Write the command that counts a run's first two servers; None if they cannot be counted."""
    profile, records = header.profile, header.workloads
    servers = [record.reference for record in header.servers[:2]]
    if not records or any(text.startswith(NOT_COUNTED) for text in servers):
        return None
    if profile.settings != matrix.load_profile("count").settings:
        servers = [_with_settings(server, profile.settings) for server in header.servers[:2]]
    sent = records[0]
    labels = [record.label for record in header.servers[:2]]
    base, head = (named(header, label, text) for label, text in zip(labels, servers, strict=True))
    chosen = {"--base": base, "--head": head, "--workloads": sent.written}
    options = {f"options.{name}": value for name, value in profile.options.items() if name in sent.options}
    drawn = {} if profile.distribution is None else msgspec.to_builtins(profile.distribution)
    sets = options | {f"distribution.{name}": value for name, value in drawn.items()}
    if sent.protocol != "text":
        sets["load.protocol"] = sent.protocol
    if profile.dataset.engine != DatasetSize().engine:
        sets["dataset.engine"] = profile.dataset.engine
    if profile.build and any(text.startswith("git:") for text in servers):
        chosen["--build"] = profile.build.command
        sets["build.tree"] = profile.build.tree
    return line("count", chosen | {f"--set {key}": f"{value}" for key, value in sets.items()})


def _with_settings(server: ServerRecord, settings: str) -> str:
    if server.settings_name == settings:  # it has none of its own, or the same
        return f"{server.reference.removesuffix('@' + settings)}@{settings}"
    if not server.settings_name.startswith(f"{settings} + "):  # its own replace them
        return server.reference
    own = server.settings_name.removeprefix(f"{settings} + ").replace(" + ", "+")
    return f"{server.reference.removesuffix('@' + own)}@{settings}+{own}"
