"""One server kept running for a look at it: made anew, and gone without a trace afterwards."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from shootout.errors import MeasureError
from shootout.measure import managed
from shootout.measure.signals import interrupting
from shootout.model.plan import ServerReference
from shootout.model.value import Value
from shootout.paths import cache_folder
from shootout.servers import accounts, instances
from shootout.servers.config import quoted
from shootout.servers.instances import Instance
from shootout.servers.leftovers import workplace
from shootout.settings import profiles

LOOK_S = 0.2  # how often it is seen whether the server still runs

_CLIENT = "client.cnf"


class Access(Value):
    """How a running server is reached."""

    version: str
    pid: int | None
    command: str  # that opens a session
    socket: str
    host: str
    port: int
    user: str
    password: str
    error_log: str


@contextmanager
def running(reference: ServerReference, settings_name: str, port: int | None) -> Iterator[Instance]:
    """The server, empty, under these settings, with the tables of nobody. Call it from the main thread.

    While it runs, SIGTERM and the end of the terminal are KeyboardInterrupt, too. Raises InputError and
    MeasureError as finding and starting a server do.
    """
    if port is not None:
        instances.require_port(port)
    with interrupting(signal.SIGTERM, signal.SIGHUP), ExitStack() as held:
        program = managed.program_of(reference, held)
        profile = profiles.load(reference.settings or settings_name)
        options = profiles.compile(profile, program.family, program.version).options
        home = (
            held.enter_context(workplace(cache_folder(), f"look-{os.getpid()}-{secrets.token_hex(2)}")) / "0"
        )
        instances.initialise(program, home, options)
        with instances.start(program, home, options, port=port) as instance:
            yield instance


def access(instance: Instance) -> Access:
    """How it is reached as root; writes a file that spares its reader the password."""
    file = instance.directory / _CLIENT
    account = {"socket": quoted(instance.socket), "user": "root", "password": f'"{instance.password}"'}
    accounts.write(file, ["[client]", *(f"{name} = {value}" for name, value in account.items())])
    return Access(
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
    """Return at Ctrl-C. Raises MeasureError where the server ends before."""
    try:
        while instance.alive():
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        return
    raise MeasureError(f"the server ended by itself{instance.post_mortem()}")
