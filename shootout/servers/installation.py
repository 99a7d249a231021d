"""A server's installation and how it is run, whether a tree on this machine or an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shootout.model.value import Family, Version


class Process(Protocol):
    """A server's process, with the interface of subprocess.Popen; a pid that is not visible here is None."""

    @property
    def pid(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    socket: Path
    port: int


class Installation(Protocol):
    """A server's installation files."""

    @property
    def name(self) -> str: ...  # in error messages: the server binary or the image
    @property
    def family(self) -> Family: ...
    @property
    def version(self) -> Version: ...  # as the binary reports it
    @property
    def digest(self) -> str: ...  # the build's identity: sha256 of the server's files or of the image
    @property
    def origin(self) -> str: ...  # name and digest that pull its image; "" if it comes from no registry
    @property
    def options(self) -> Mapping[str, str]: ...  # of my.cnf, that locate its files
    @property
    def over_tcp(self) -> bool: ...  # load must go over TCP, because the server has its own network

    def shared(self, name: str) -> str | None:
        """Read the text of a file in its share directory or among its scripts; None if there is none."""

    def prepared_data(self) -> Path | None:
        """Find the initialised data directory shipped with it; None if there is none."""

    def spawn(
        self,
        arguments: Sequence[str],
        directory: Path,
        cpus: Sequence[int],
        stdin: Path | None = None,
        address: Address | None = None,
    ) -> Process:
        """Run the server in the instance directory `directory`, on `cpus` (all if empty).

        It sees the directory under the same path, writes its output to error.log there, listens at `address`
        and dies with this process. Call it from the main thread.
        """
