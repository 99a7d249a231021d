"""A Docker engine for the tests: the one that answers, or one of their own; and images made of trees.

PYTEST_DONT_REWRITE: test modules have imported this one by the time pytest sees that it is a plugin.
"""

from __future__ import annotations

import ctypes
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import docker
import pytest

from shootout.servers.processes import containers

OURS = "shootout-test"  # begins the names of images made here
START_S = 60.0
STOP_S = 30.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
# Each would keep a server from running as the suite wants it.
AS_IMAGES_ARE = (
    'ENTRYPOINT ["/no/such/entrypoint"]',
    'CMD ["--no-such-option"]',
    "VOLUME /var/lib/mysql",
    'HEALTHCHECK --interval=1s CMD ["/no/such/check"]',
    "USER 4711:4711",
)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """Find the engine that answers, or start one. Without either: tests fail in CI, or skip."""
    if _listens(os.environ.get("DOCKER_HOST", containers.DEFAULT_HOST)):
        with closing(docker.from_env()) as client:
            yield client
            for image in client.images.list(filters={"reference": f"{OURS}/*"}):
                client.images.remove(str(image.id), force=True)
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        missing = "no Docker engine answers, and none can be started: it takes root and Debian's docker.io"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with _dockerd() as host, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        with closing(docker.from_env()) as client:
            yield client


@contextmanager
def _dockerd() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="docker-"))
    host = f"unix://{folder}/docker.sock"
    bridged = Path("/sys/class/net/docker0").exists()
    command = ["dockerd", "--host", host, "--pidfile", str(folder / "pid")]
    command += ["--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")]
    command += ["--iptables=false"]  # what it wrote there would stay; ports are published without
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 (a system call, no more)
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_S
        while not _listens(host):
            late = process.poll() is not None or time.monotonic() > deadline
            assert not late, f"dockerd: {log.read_text()[-2000:]}"
            time.sleep(0.2)
        yield host
    finally:
        process.terminate()
        process.wait(STOP_S)
        if not bridged:
            with suppress(FileNotFoundError):
                subprocess.run(["ip", "link", "delete", "docker0"], stderr=subprocess.DEVNULL, check=False)
        for mount in _mounts(folder):
            subprocess.run(["umount", mount], check=True)
        shutil.rmtree(folder)


def _die_with_parent() -> None:
    """Killed tests must not leave an engine behind; SIGTERM makes it stop its containers first."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _mounts(folder: Path) -> list[str]:
    """List what is mounted below, the innermost first."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [point for line in reversed(lines) if (point := line.split()[1]).startswith(f"{folder}/")]


def _listens(host: str) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(host.removeprefix("unix://"))
        except OSError:
            return False
    return True


def an_image(
    engine: docker.DockerClient,
    name: str,
    files: dict[str, Path],
    binary: Path | None = None,
    changes: Sequence[str] = AS_IMAGES_ARE,
) -> str:
    """Make an image of files and directories, by their paths in it, and of what the binary needs."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        libraries = {str(each): each.resolve() for each in _libraries(binary)} if binary else {}
        for path, file in (files | libraries).items():
            tar.add(file, path.lstrip("/"))
        passwd = b"root:x:0:0:root:/:/bin/false\n"
        about = tarfile.TarInfo("etc/passwd")
        about.size = len(passwd)
        tar.addfile(about, io.BytesIO(passwd))
    repository, _, tag = name.partition(":")
    engine.api.import_image_from_data(
        archive.getvalue(), repository=repository, tag=tag, changes=list(changes)
    )
    return name


def _libraries(binary: Path) -> list[Path]:
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listed, re.MULTILINE)]
