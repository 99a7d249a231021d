"""Images: the servers in them, run in containers of this machine's Docker engine.

Only the image's installation files are used. Its entrypoint (which would initialise again, or restart a dead
server), my.cnf, health check and volumes are ignored: the server runs like a native one, in an instance
directory that it sees under the same path.
"""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from docker.errors import ImageNotFound
from docker.types import Mount, Ulimit
from testcontainers.core.docker_client import DockerClient

from shootout.errors import InputError, MeasureError
from shootout.model.plan import Container
from shootout.model.value import Family, Version
from shootout.servers.installation import Address
from shootout.servers.processes import children, containers
from shootout.servers.processes.config import quoted
from shootout.servers.sources.fetch.packages import Progress
from shootout.servers.version import parse

# Searched after the image's own PATH.
FOLDERS = (
    *("/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin"),
    *("/usr/local/mysql/bin", "/usr/local/mariadb/bin", "/opt/mysql/bin", "/opt/mariadb/bin"),
    *("/opt/bitnami/mysql/bin", "/opt/bitnami/mariadb/sbin"),
)
_LINKS_MAX = 10
_IS_DIRECTORY, _IS_LINK = 1 << 31, 1 << 27  # bits of Go's os.FileMode


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
        """Find the server in an image, pulled if it is not here yet. Raises InputError."""
        name = f"image:{reference}"
        with containers.connected(name) as client:
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
            output, code = containers.output_of(image.id, [mysqld, "--no-defaults", "--version"])
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
        """Read the text of a file below its share directory; None if there is none."""
        if self.share is None:
            return None
        with containers.connected(self.name) as client, _files(client, self.digest) as files:
            return files.text(f"{self.share}/{name}")

    def prepared_data(self) -> Path | None:
        """Return None: an image's data belongs to another server."""
        return None

    def spawn(
        self,
        arguments: Sequence[str],
        directory: Path,
        cpus: Sequence[int],
        stdin: Path | None = None,
        address: Address | None = None,
    ) -> containers.ContainerProcess:
        """Run the server, see Installation. Raises MeasureError if the engine cannot."""
        log = directory / "error.log"
        log.touch()
        seen = {directory, address.socket.parent} if address else {directory}
        files = children.allow_files()
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
            return containers.ContainerProcess(self.digest, [self.mysqld, *arguments], options, log, stdin)
        except containers.ENGINE_ERRORS as error:
            raise MeasureError(
                f"{self.name}: the Docker engine cannot run it: {containers.message(error)}"
            ) from None


def _image(client: DockerClient, reference: str, progress: Progress) -> Any:
    images = client.client.images
    try:
        return images.get(reference)
    except ImageNotFound:
        progress("pulling its image")
    try:
        return images.pull(reference)
    except containers.ENGINE_ERRORS as error:
        raise InputError(
            f"image:{reference}: not on this machine, and cannot be pulled: {containers.message(error)}"
        ) from None


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
    with containers.watched_name(client) as name:
        yield _Files(client.client.containers.create(image, entrypoint=["-"], name=name, network="none"))
