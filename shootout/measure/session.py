"""A session with one server: freshly initialised, removed without a trace afterwards."""

from __future__ import annotations

import os
import secrets
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager

from shootout.errors import MeasureError
from shootout.measure.workplace import workplace
from shootout.model.plan import ServerReference
from shootout.model.value import Value
from shootout.runner import machine
from shootout.servers.processes import accounts, instances
from shootout.servers.processes.config import quoted
from shootout.servers.processes.instances import Instance
from shootout.servers.sources import installations
from shootout.servers.sources.trees import Tree
from shootout.settings import layers, profiles

POLL_S = 0.2  # between checks that the server is alive

_CLIENT = "client.cnf"


class Endpoint(Value):
    """How to reach a running server."""

    version: str
    pid: int | None
    command: str  # opens a client
    socket: str
    host: str
    port: int
    user: str
    password: str
    error_log: str


@contextmanager
def running(reference: ServerReference, settings_name: str, port: int | None) -> Iterator[Instance]:
    """Run an empty server; SIGTERM and SIGHUP end it as Ctrl-C does. Raises InputError, MeasureError."""
    if port is not None:
        instances.require_port(port)
    with workplace(f"session-{os.getpid()}-{secrets.token_hex(2)}", loads=False) as (directory, held):
        profile = layers.combine(settings_name, reference.settings)
        machine.require_memory(reference.settings or settings_name, profile)
        program = installations.find(reference, held)
        plugins = program.plugins if isinstance(program, Tree) else frozenset()
        options = profiles.compile(profile, program.family, program.version, plugins=plugins).options
        home = directory / "0"
        instances.initialise(program, home, options)
        with instances.start(program, home, options, port=port) as instance:
            yield instance


def endpoint(instance: Instance) -> Endpoint:
    """Return how to reach the server as root; writes a client option file with the password."""
    file = instance.directory / _CLIENT
    account = {"socket": quoted(instance.socket), "user": "root", "password": f'"{instance.password}"'}
    accounts.write(file, ["[client]", *(f"{name} = {value}" for name, value in account.items())])
    return Endpoint(
        version=instance.version,
        pid=instance.pid,
        command=f"mysql --defaults-file={shlex.quote(str(file))}",
        socket=str(instance.socket),
        host="127.0.0.1",
        port=instance.port,
        user="root",
        password=instance.password,
        error_log=str(instance.directory / "error.log"),
    )


def until_interrupted(instance: Instance) -> None:
    """Block until Ctrl-C. Raises MeasureError if the server exits first."""
    try:
        while instance.alive():
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        return
    raise MeasureError(f"the server exited unexpectedly{instance.post_mortem()}")
