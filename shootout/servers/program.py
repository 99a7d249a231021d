"""What it takes to run a server's program files, wherever they lie: a tree on this machine, or an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shootout.model.value import Family, Version


class Process(Protocol):
    """A server's process; as subprocess.Popen has it."""

    @property
    def pid(self) -> int | None:
        """Its number on this machine, whatever it is where it runs; None: it cannot be seen from here."""

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None: it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Send it a signal; nothing where it has ended."""

    def kill(self) -> None:
        """End it at once."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is to listen."""

    socket: Path
    port: int


class Program(Protocol):
    """A server's program files: what they are, and how they are run."""

    @property
    def name(self) -> str:
        """What error messages call it: a file, or an image."""

    @property
    def family(self) -> Family:
        """Who made it."""

    @property
    def version(self) -> Version:
        """As the program tells it."""

    @property
    def digest(self) -> str:
        """Identity of the build: sha256 of the server binary, or of the image."""

    @property
    def options(self) -> Mapping[str, str]:
        """The my.cnf options that say where its files lie."""

    @property
    def over_tcp(self) -> bool:
        """Whether the load has to go over TCP, as it does where a server has a network of its own."""

    def shared(self, name: str) -> str | None:
        """The text of a file in its share directory, or of one of its scripts; None: it has none."""

    def prepared_data(self) -> Path | None:
        """The initialised data directory that it brings along; None: it brings none."""

    def spawn(
        self,
        arguments: Sequence[str],
        directory: Path,
        cpus: Sequence[int],
        given: Path | None = None,
        address: Address | None = None,
    ) -> Process:
        """Run the server with these arguments, on `cpus` (empty: on all), `given` as its standard input.

        It sees `directory`, the instance directory, under the same path, writes what it prints to the
        error.log there, can be reached at `address`, and dies with this process. Call it from the main
        thread.
        """


def is_mysql_since(family: Family, version: Version, since: Version) -> bool:
    """Whether it is MySQL or Percona Server at `since` or later; MySQL 6.0 was given up before 5.5 came."""
    return family != "mariadb" and since <= version and version[0] != 6
