"""Containers of this machine's Docker engine, through testcontainers: started, watched, and cleared away."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from docker.errors import APIError, DockerException
from docker.types import LogConfig
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient, get_docker_host

from shootout.errors import InputError
from shootout.paths import cache_folder
from shootout.servers.locking import locked
from shootout.servers.processes import watchdog

DEFAULT_HOST = "unix:///var/run/docker.sock"
EXEC_S = 1.0  # until a started container's process has become the server

ENGINE_ERRORS = (DockerException, OSError)  # OSError: it does not answer

# testcontainers cleans up with an image of its own, which is not available everywhere.
testcontainers_config.ryuk_disabled = True


class ContainerProcess:
    """A container's process, with the interface of subprocess.Popen; the container goes when it ends."""

    def __init__(
        self,
        image: str,
        command: Sequence[str],
        options: dict[str, Any],
        log: Path | None = None,
        stdin: Path | None = None,
    ) -> None:
        self._command = command
        self._log = log
        self._code: int | None = None
        self.printed = b""  # set once it has ended
        with ExitStack() as held:
            container = DockerContainer("")
            held.callback(container.get_docker_client().client.close)
            name = held.enter_context(watched_name(container.get_docker_client()))
            container.image = image  # not an argument: that would put the image name prefix before the id
            container.with_name(name).with_command(list(command[1:]))
            container.ports = options.pop("ports", {})
            container.with_kwargs(
                entrypoint=[command[0]],
                user=f"{os.geteuid()}:{os.getegid()}",
                stdin_open=stdin is not None,
                healthcheck={"test": ["NONE"]},
                log_config=LogConfig(type=LogConfig.types.JSON, config={"max-size": "10m"}),
                security_opt=["label=disable"],  # like a server outside a container
                **options,
            )
            container.start()
            self._container = container.get_wrapped_container()
            if stdin is not None:
                _write_stdin(self._container, stdin)
            self.pid = self._visible_pid()
            self._held = held.pop_all()

    def poll(self) -> int | None:
        if self._code is None:
            try:
                self._container.reload()
                state = self._container.attrs["State"]
                if not state["Running"]:
                    self.printed = self._container.logs()
                    self._end(state["ExitCode"], "killed at its memory limit" if state["OOMKilled"] else "")
            except ENGINE_ERRORS as error:
                self._end(128 + signal.SIGKILL, f"lost by the Docker engine: {message(error)}")
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        while self._code is None:
            # The engine may be slow, or gone: poll finds out.
            with suppress(*ENGINE_ERRORS):
                self._container.wait(timeout=timeout)
            if self.poll() is None and timeout is not None:
                raise subprocess.TimeoutExpired(self._command, timeout)
        return self._code

    def send_signal(self, sig: int) -> None:
        if self._code is None:
            with suppress(*ENGINE_ERRORS):
                self._container.kill(signal=int(sig))

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _end(self, code: int, why: str) -> None:
        self._code = 128 - code if code > 128 else code
        if self._log is not None and (self.printed or why):
            with self._log.open("ab") as log:
                log.write(self.printed + (f"[ERROR] The container was {why}\n" if why else "").encode())
        self._held.close()

    def _visible_pid(self) -> int | None:
        """Its pid, if the engine shares this process's pid namespace."""
        self._container.reload()
        pid = int(self._container.attrs["State"]["Pid"])
        wanted = [os.fsencode(argument) for argument in self._command]
        deadline = time.monotonic() + EXEC_S
        while time.monotonic() < deadline:
            try:
                arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
            except OSError:
                return None
            if arguments == wanted:
                return pid
            time.sleep(0.002)
        return None


def clear_leftovers() -> None:
    """Remove the containers of killed runs of this cache whose watchdogs were killed, too."""
    for lock in (cache_folder() / "containers").glob("shootout-*"):
        with suppress(BlockingIOError, InputError), locked(lock, wait=False):
            with connected(lock.name) as client:
                watchdog.remove(client.client.api, lock.name)
            lock.unlink(missing_ok=True)  # its watchdog may still be there


@contextmanager
def connected(name: str) -> Iterator[DockerClient]:
    """Connect to the engine; errors become InputErrors about the image `name`."""
    _require_engine(name)
    try:
        with closing((client := DockerClient()).client):
            yield client
    except ENGINE_ERRORS as error:
        raise InputError(f"{name}: the Docker engine cannot use it: {message(error)}") from None


def _require_engine(name: str) -> None:
    """Raise InputError unless an engine of this machine accepts connections."""
    host = get_docker_host() or DEFAULT_HOST
    scheme, _, path = host.partition("://")
    if scheme != "unix":
        raise InputError(
            f"{name}: found the Docker engine {host} in DOCKER_HOST; expected one of this machine, unix://PATH"
        )
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(path)
        except PermissionError:
            raise InputError(
                f"{name}: the Docker engine at {host} does not let this user in; "
                "add it to the group docker, or name another engine in DOCKER_HOST"
            ) from None
        except OSError as error:
            raise InputError(
                f"{name}: no Docker engine answers at {host} ({error.strerror}); "
                "install it (on Debian: apt-get install docker.io), start it, or name another in DOCKER_HOST"
            ) from None


def message(error: Exception) -> str:
    """Write the engine's message on one line."""
    explanation = error.explanation if isinstance(error, APIError) else None
    return " ".join(str(explanation or error).split())


@contextmanager
def watched_name(client: DockerClient) -> Iterator[str]:
    """Name a container that is removed afterwards, even if this process is killed.

    A lock in the cache shows that we live. If we die, the watchdog removes the container; if the watchdog is
    killed as well, the next run does.
    """
    lock = cache_folder() / "containers" / f"shootout-{uuid4().hex[:16]}"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with locked(lock):
        dog = subprocess.Popen(
            [sys.executable, "-P", watchdog.__file__, str(lock)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # readers of our output must not wait for it
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        assert dog.stdin is not None
        certain = True
        try:
            yield lock.name
        except KeyboardInterrupt:
            certain = False  # the engine may still be creating it
            raise
        finally:
            with suppress(*ENGINE_ERRORS):  # OSError also if the watchdog is gone
                watchdog.remove(client.client.api, lock.name)
                if certain:
                    lock.unlink()
                    dog.stdin.write(b".")
            dog.stdin.close()
            dog.wait()


def output_of(image: str, command: Sequence[str]) -> tuple[str, int]:
    """Run a command; return its output and exit code."""
    process = ContainerProcess(image, command, {"network": "none"})
    try:
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    return process.printed.decode(errors="replace"), code


def _write_stdin(container: Any, stdin: Path) -> None:
    link = container.attach_socket(params={"stdin": 1, "stream": 1})
    # Closing either leaves the other open. If the process ends early, its exit code says why.
    with closing(link._sock), closing(link), suppress(OSError):
        link._sock.sendall(stdin.read_bytes())
        link._sock.shutdown(socket.SHUT_WR)
