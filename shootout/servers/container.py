"""Servers from images, run in containers of this machine's Docker engine through testcontainers.

Only the image's installation files are used. Its entrypoint (which would initialise again, or restart a dead
server), my.cnf, health check and volumes are ignored: the server runs like a native one, in an instance
directory that it sees under the same path.
"""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from docker.errors import APIError, DockerException, ImageNotFound
from docker.types import LogConfig, Mount, Ulimit
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient, get_docker_host

from shootout.errors import InputError, MeasureError
from shootout.model.plan import Container
from shootout.model.value import Family, Version
from shootout.paths import cache_folder
from shootout.servers import native, watchdog
from shootout.servers.config import quoted
from shootout.servers.fetch.packages import Progress
from shootout.servers.installation import Address
from shootout.servers.locking import locked
from shootout.servers.version import parse

# Searched after the image's own PATH.
FOLDERS = (
    *("/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin"),
    *("/usr/local/mysql/bin", "/usr/local/mariadb/bin", "/opt/mysql/bin", "/opt/mariadb/bin"),
    *("/opt/bitnami/mysql/bin", "/opt/bitnami/mariadb/sbin"),
)
DEFAULT_HOST = "unix:///var/run/docker.sock"
EXEC_S = 1.0  # until a started container's process has become the server

_ENGINE_ERRORS = (DockerException, OSError)  # OSError: it does not answer
_LINKS_MAX = 10
_IS_DIRECTORY, _IS_LINK = 1 << 31, 1 << 27  # bits of Go's os.FileMode

# testcontainers cleans up with an image of its own, which is not available everywhere.
testcontainers_config.ryuk_disabled = True


@dataclass(frozen=True, slots=True)
class Image:
    """The installation inside an image."""

    reference: str  # as written
    digest: str  # the image's id without "sha256:"
    origin: str  # name@sha256:… that pulls the same image; "": built here
    container: Container
    mysqld: str  # path in the image, like share
    share: str | None  # None: left to the server
    version: Version
    family: Family

    @classmethod
    def inspect(cls, reference: str, container: Container, progress: Progress) -> Image:
        """Find the server in an image, pulling the image if it is not here yet.

        Raises InputError if there is no engine, no image, or no server that runs here.
        """
        name = f"image:{reference}"
        with _connected(name) as client:
            image = _image(client, reference, progress)
            path = next((e for e in image.attrs["Config"]["Env"] or () if e.startswith("PATH=")), "PATH=")
            folders = dict.fromkeys([*path.removeprefix("PATH=").split(":"), *FOLDERS])
            with _files(client, image.id) as files:
                programs = (f"{folder}/{name}" for folder in folders for name in ("mysqld", "mariadbd"))
                mysqld = next((path for path in programs if path[0] == "/" and files.is_file(path)), None)
                if mysqld is None:
                    raise InputError(
                        f"{name}: no server found; expected mysqld or mariadbd in its PATH, or in one of "
                        f"{', '.join(FOLDERS)}"
                    )
                base = PurePosixPath(mysqld).parents[1]
                shares = (str(base / folder) for folder in ("share", "share/mysql", "share/mariadb"))
                share = next(
                    (folder for folder in shares if files.is_file(f"{folder}/english/errmsg.sys")), None
                )
            output, code = _output_of(image.id, [mysqld, "--no-defaults", "--version"])
        parsed = parse(output)
        if code != 0 or parsed is None:
            words = (output.strip().splitlines() or [f"exit code {code}"])[-1]
            raise InputError(f"{name}: its {mysqld} does not report a version: {words}")
        return cls(
            reference=reference,
            digest=image.id.removeprefix("sha256:"),
            origin=next(iter(image.attrs["RepoDigests"] or ()), ""),
            container=container,
            mysqld=mysqld,
            share=share,
            version=parsed[0],
            family=parsed[1],
        )

    @property
    def name(self) -> str:
        """The image, as in a server reference."""
        return f"image:{self.reference}"

    @property
    def options(self) -> dict[str, str]:
        """The my.cnf options that locate its files, and avoid name resolution."""
        options = {"basedir": quoted(Path(self.mysqld).parents[1])}
        if self.share is not None:
            options["lc-messages-dir"] = quoted(Path(self.share))
        if self.over_tcp:
            options["skip-name-resolve"] = ""
        return options

    @property
    def over_tcp(self) -> bool:
        """Whether it has its own network, which is then part of what is measured."""
        return self.container.network == "bridge"

    def shared(self, name: str) -> str | None:
        """The text of a file below its share directory; None if there is none."""
        if self.share is None:
            return None
        with _connected(self.name) as client, _files(client, self.digest) as files:
            return files.text(f"{self.share}/{name}")

    def prepared_data(self) -> Path | None:
        """None: an image's data belongs to another server."""
        return None

    def spawn(
        self,
        arguments: Sequence[str],
        directory: Path,
        cpus: Sequence[int],
        stdin: Path | None = None,
        address: Address | None = None,
    ) -> ContainerProcess:
        """Run the server, see Installation. Raises MeasureError if the engine cannot."""
        log = directory / "error.log"
        log.touch()
        seen = {directory, address.socket.parent} if address else {directory}
        files = native.allow_files()
        memory = self.container.memory_bytes
        options: dict[str, Any] = {
            "network": self.container.network,
            "working_dir": str(directory),
            # Not bind strings, which a colon in a path would break.
            "mounts": [Mount(str(folder), str(folder), type="bind") for folder in sorted(seen)],
            "ulimits": [Ulimit(name="nofile", soft=files, hard=files)],
            "mem_limit": memory,
            "memswap_limit": memory,  # equal to mem_limit: no swap
            "cpuset_cpus": ",".join(map(str, cpus)) or None,
            "labels": {"shootout.instance": str(directory)},
        }
        if address and self.over_tcp:
            options["ports"] = {f"{address.port}/tcp": ("127.0.0.1", address.port)}
        try:
            return ContainerProcess(self.digest, [self.mysqld, *arguments], options, log, stdin)
        except _ENGINE_ERRORS as error:
            raise MeasureError(f"{self.name}: the Docker engine cannot run it: {_message(error)}") from None


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
            name = held.enter_context(_watched_name(container.get_docker_client()))
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
            except _ENGINE_ERRORS as error:
                self._end(128 + signal.SIGKILL, f"lost by the Docker engine: {_message(error)}")
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        while self._code is None:
            # The engine may be slow, or gone: poll finds out.
            with suppress(*_ENGINE_ERRORS):
                self._container.wait(timeout=timeout)
            if self.poll() is None and timeout is not None:
                raise subprocess.TimeoutExpired(self._command, timeout)
        return self._code

    def send_signal(self, sig: int) -> None:
        if self._code is None:
            with suppress(*_ENGINE_ERRORS):
                self._container.kill(signal=int(sig))

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _end(self, code: int, why: str) -> None:
        """Record the exit code, append the output to the log and remove the container."""
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
    """Remove the containers of killed runs whose watchdogs were killed too, if made from this cache.

    Containers of living processes stay, and all of them if no engine answers.
    """
    for lock in (cache_folder() / "containers").glob("shootout-*"):
        with suppress(BlockingIOError, InputError), locked(lock, wait=False):
            with _connected(lock.name) as client:
                watchdog.remove(client.client.api, lock.name)
            lock.unlink(missing_ok=True)  # its watchdog may still be there


# --- the engine -----------------------------------------------------------------------------------


@contextmanager
def _connected(name: str) -> Iterator[DockerClient]:
    """Connect to the engine; errors become InputErrors about the image `name`."""
    _require_engine(name)
    try:
        with closing((client := DockerClient()).client):
            yield client
    except _ENGINE_ERRORS as error:
        raise InputError(f"{name}: the Docker engine cannot use it: {_message(error)}") from None


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
                "start it, or name another one in DOCKER_HOST"
            ) from None


def _image(client: DockerClient, reference: str, progress: Progress) -> Any:
    images = client.client.images
    try:
        return images.get(reference)
    except ImageNotFound:
        progress("pulling its image")
    try:
        return images.pull(reference)
    except _ENGINE_ERRORS as error:
        raise InputError(
            f"image:{reference}: not on this machine, and cannot be pulled: {_message(error)}"
        ) from None


def _message(error: Exception) -> str:
    """The engine's message on one line."""
    explanation = error.explanation if isinstance(error, APIError) else None
    return " ".join(str(explanation or error).split())


@contextmanager
def _watched_name(client: DockerClient) -> Iterator[str]:
    """A name for a container that is removed afterwards, even if this process is killed.

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
            with suppress(*_ENGINE_ERRORS):  # OSError also if the watchdog is gone
                watchdog.remove(client.client.api, lock.name)
                if certain:
                    lock.unlink()
                    dog.stdin.write(b".")
            dog.stdin.close()
            dog.wait()


def _output_of(image: str, command: Sequence[str]) -> tuple[str, int]:
    """A command's output and exit code."""
    process = ContainerProcess(image, command, {"network": "none"})
    try:
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    return process.printed.decode(errors="replace"), code


def _write_stdin(container: Any, stdin: Path) -> None:
    """Send a file to the process's standard input and close it."""
    link = container.attach_socket(params={"stdin": 1, "stream": 1})
    # Closing either leaves the other open. If the process ends early, its exit code says why.
    with closing(link._sock), closing(link), suppress(OSError):
        link._sock.sendall(stdin.read_bytes())
        link._sock.shutdown(socket.SHUT_WR)


# --- an image's files -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a container that is created but not started."""

    container: Any

    def is_file(self, path: str) -> bool:
        return self._real(path) is not None

    def text(self, path: str) -> str | None:
        real = self._real(path)
        if real is None:
            return None
        stream, _ = self.container.get_archive(real)
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
            (member,) = archive.getmembers()
            file = archive.extractfile(member)
            return file.read().decode(errors="replace") if file else None

    def _real(self, path: str) -> str | None:
        """The path behind all links; None if it is not a file."""
        api = self.container.client.api
        url = f"{api.base_url}/v{api.api_version}/containers/{self.container.id}/archive"
        for _ in range(_LINKS_MAX):
            answer = api.head(url, params={"path": path}, timeout=api.timeout)
            if answer.status_code != 200:
                return None
            about = json.loads(base64.b64decode(answer.headers["X-Docker-Container-Path-Stat"]))
            if about["mode"] & _IS_DIRECTORY:
                return None
            if not about["mode"] & _IS_LINK:
                return path
            path = about["linkTarget"]
        return None


@contextmanager
def _files(client: DockerClient, image: str) -> Iterator[_Files]:
    """An image's files."""
    with _watched_name(client) as name:
        yield _Files(client.client.containers.create(image, entrypoint=["-"], name=name, network="none"))
