"""The command that counts what a run's servers did."""

from __future__ import annotations

import msgspec

from shootout.inputs import matrix
from shootout.model.plan import DatasetSize
from shootout.model.run import RunHeader, ServerRecord
from shootout.report.commands import line, named

NOT_COUNTED = ("image:", "dsn:")  # sources of servers that are no programs on this machine


def count_command(header: RunHeader) -> str | None:
    """Write the command that counts a run's first two servers; None if they cannot be counted.

    Under the run's settings and with its statements, on the tables of the profile `count`.
    """
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
    """A server under the settings of a run; its own add to them, or replace them."""
    if server.settings_name == settings:  # it has none of its own, or the same
        return f"{server.reference.removesuffix('@' + settings)}@{settings}"
    if not server.settings_name.startswith(f"{settings} + "):  # its own replace them
        return server.reference
    own = server.settings_name.removeprefix(f"{settings} + ").replace(" + ", "+")
    return f"{server.reference.removesuffix('@' + own)}@{settings}+{own}"
