"""Packages of any release of Debian or Ubuntu, unpacked into a tree.

The host's apt downloads them from the host's own mirror, with separate lists, status and cache: the host's
packages are neither read nor changed, and root is not needed.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from shootout.errors import MeasureError
from shootout.model.catalogue import Debian
from shootout.servers.sources.fetch import clients
from shootout.servers.sources.fetch.clients import Lack
from shootout.servers.sources.fetch.unpack import ArchiveError, Destination, unpack_stream

CLIENT = "apt-get"
SYSTEM = Path("/etc/os-release")
ARCHITECTURE = "amd64"

Name = Literal["debian", "ubuntu"]


class Distribution(NamedTuple):
    """Where apt finds a distribution's archive."""

    origin: str  # in the archive's own words
    keyring: Path
    components: str


DISTRIBUTIONS: dict[Name, Distribution] = {
    "debian": Distribution("Debian", Path("/usr/share/keyrings/debian-archive-keyring.gpg"), "main"),
    "ubuntu": Distribution("Ubuntu", Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg"), "main universe"),
}

# Merged with the folders of the same name in usr/: older releases keep libc in them.
_MERGED = ("bin", "lib", "lib64", "sbin")
_UNKNOWN = "$(ORIGIN)"
_TARGETS = f"$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t{_UNKNOWN}"
_CONFIGURATION = """\
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
Dir::Log "{root}/log";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
"""


class Root(Destination):
    """The root of another system: absolute links point into it."""

    def renamed(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        return ("usr", *parts) if parts[:1] and parts[0] in _MERGED else parts

    def target(self, where: str, target: str) -> str:
        if not target.startswith("/"):
            return target
        parts = PurePosixPath(os.path.normpath(target)).parts[1:]
        return os.path.relpath("/".join(self.renamed(parts)), PurePosixPath(where).parent)


def system() -> tuple[Name | None, str]:
    """Find this system's distribution and its release's code name; None for another distribution."""
    fields = dict(re.findall(r'^(ID|VERSION_CODENAME)="?([\w.-]+)"?$', SYSTEM.read_text(), re.MULTILINE))
    name = next((name for name in DISTRIBUTIONS if name == fields.get("ID")), None)
    return name, fields.get("VERSION_CODENAME", "")


def missing(distribution: Name = "debian") -> Lack | None:
    """Find what the source needs and this machine lacks."""
    for command, package in ((CLIENT, "apt"), ("dpkg-deb", "dpkg")):
        if absent := clients.missing(command, package):
            return absent
    origin, keyring, _ = DISTRIBUTIONS[distribution]
    if not keyring.is_file():
        return Lack(what=str(keyring), install=f"apt-get install {keyring.stem}")
    try:
        found = mirror(distribution)
    except MeasureError as error:
        return Lack(what=str(error))
    if found is None:
        return Lack(what=f"a mirror of {origin} among this system's apt sources")
    return None


def mirror(distribution: Name = "debian") -> str | None:
    """Find the URI of the host's first apt source that is the distribution's own. Raises MeasureError."""
    name, _ = system()
    expected = DISTRIBUTIONS[distribution].origin
    for line in _targets():
        uri, release, component, origin = line.split("\t")
        is_archive = name == distribution if origin == _UNKNOWN else origin == expected
        # Releases with a hyphen (bookworm-security) are updates, from mirrors of their own.
        if is_archive and component == "main" and "-" not in release:
            return uri
    return None


def _targets() -> list[str]:
    """The host's package lists; before the first `apt-get update` without their origin."""
    command = [CLIENT, "indextargets", "--format", _TARGETS, "Created-By: Packages"]
    for option in ([], ["--no-release-info"]):
        code, output = clients.run([*command, *option])
        if code == 0 and output.strip():
            return output.splitlines()
        if os.strerror(errno.ENOSPC) in output:
            raise MeasureError(f"space in {tempfile.gettempdir()} for {CLIENT}")
    return []


def download(source: Debian, root: Path) -> list[Path]:
    """Download the packages through a private apt in the empty `root`. Raises MeasureError."""
    uri = mirror(source.distribution)
    assert uri is not None  # checked by `missing`
    environment = _configure(source, uri, root)
    _apt(["update"], root, environment, source)
    if source.packages:
        _apt(["install", "--download-only", "--yes", *source.packages], root, environment, source)
    debs = root / "cache" / "archives"
    if source.alone:
        _apt(["download", *source.alone], debs, environment, source)
    return sorted(debs.glob("*.deb"))


def describe(source: Debian) -> str:
    """Name the packages and their release."""
    origin = DISTRIBUTIONS[source.distribution].origin
    return f"{' '.join(source.packages or source.alone)} of {origin} {source.series}"


def unpack(debs: list[Path], source: Debian, directory: Path) -> None:
    """Unpack them into one directory. Raises MeasureError if one is damaged."""
    destination = Root(directory, keep=source.keep)
    for deb in debs:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                unpack_stream(process.stdout, destination)
            except ArchiveError as error:
                raise MeasureError(f"{deb.name}: {error}") from None
        if process.returncode != 0:
            raise MeasureError(f"{deb.name}: dpkg-deb ended with exit code {process.returncode}")
    for name in _MERGED:
        if (directory / "usr" / name).is_dir():
            destination.link(name, f"usr/{name}")
    try:
        destination.finish()
    except ArchiveError as error:
        raise MeasureError(f"{describe(source)}: {error}") from None


def _configure(source: Debian, uri: str, root: Path) -> dict[str, str]:
    for folder in ("state/lists/partial", "cache/archives/partial", "log"):
        (root / folder).mkdir(parents=True)
    (root / "status").touch()
    _, keyring, components = DISTRIBUTIONS[source.distribution]
    line = f"deb [arch={ARCHITECTURE} signed-by={keyring}] {uri} {source.series} {components}\n"
    (root / "sources.list").write_text(line)
    _, output = clients.run(["apt-config", "dump"])
    # How the host reaches its mirror: proxies, timeouts. Not what it fetches besides packages.
    ours = ("Acquire::IndexTargets", "Acquire::Languages")
    lines = _CONFIGURATION.format(root=root, architecture=ARCHITECTURE).splitlines()
    lines += [
        line for line in output.splitlines() if line.startswith("Acquire::") and not line.startswith(ours)
    ]
    (root / "apt.conf").write_text("".join(f"{line}\n" for line in lines))
    return {"APT_CONFIG": str(root / "apt.conf"), "DEBIAN_FRONTEND": "noninteractive"}


def _apt(arguments: list[str], folder: Path, environment: dict[str, str], source: Debian) -> None:
    code, output = clients.run([CLIENT, "--quiet", *arguments], folder, environment)
    if code != 0:
        errors = [line.removeprefix("E:").strip() for line in output.splitlines() if line.startswith("E:")]
        reason = errors[0] if errors else "apt-get printed nothing"
        raise MeasureError(f"cannot download {describe(source)}: {reason}")
