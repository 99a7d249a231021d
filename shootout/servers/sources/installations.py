"""From a server reference to its program files, and to what the server reports."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec

from shootout.errors import InputError, MeasureError
from shootout.model.plan import Build, Container, ServerReference
from shootout.model.value import Family, Version
from shootout.paths import cache_folder
from shootout.servers.external import dsn
from shootout.servers.external.external import External
from shootout.servers.installation import Installation
from shootout.servers.sources import builds, catalogue
from shootout.servers.sources.builds import Source
from shootout.servers.sources.fetch import companions
from shootout.servers.sources.fetch.packages import Progress, no_progress
from shootout.servers.sources.libraries import MissingLibrariesError
from shootout.servers.sources.trees import Tree
from shootout.servers.version import family_of, numbers_of

GET_DOCKER = (
    "the engine (on Debian: apt-get install docker.io; else https://docs.docker.com/engine/install)\n"
    "and the packages docker and testcontainers: pip install 'shootout[container]'"
)


def find(
    reference: ServerReference,
    held: ExitStack | None = None,
    container: Container | None = None,
    report: Progress = no_progress,
    build: Build | None = None,
) -> Installation:
    """Find the server's program files, fetched or built if missing. Raises InputError, BuildError."""
    if reference.source == "dsn":
        raise InputError(f"{reference.text}: already running; there is nothing to fetch or to start")
    if reference.source == "image":
        if not (find_spec("docker") and find_spec("testcontainers")):
            raise InputError(f"{reference.text} needs Docker: {GET_DOCKER}")
        from shootout.servers.sources.images import Image  # noqa: PLC0415 (it imports them)

        return Image.inspect(reference.target, container or Container(), report)
    if reference.source == "git":
        directory = builds.fetch(Source.parse(reference.target), build, cache_folder(), held, report)
    else:
        directory = catalogue.fetch(reference, cache_folder(), held, report)
    names: dict[str, None] = {}
    beside = None
    while True:  # a script's program names one at a time
        try:
            return Tree.inspect(directory, beside)
        except MissingLibrariesError as error:
            known = names.keys() >= {*error.names}
            names |= dict.fromkeys(error.names)
            beside = None if known else companions.fetch([*names], cache_folder(), held, report)
            if beside is None:
                raise


def names(
    references: Mapping[ServerReference, str], container: Container, report: Progress = no_progress
) -> dict[str, str]:
    """Ask trees, images and running servers for their names, such as mysql-8.0.33, by target."""
    called: dict[str, str] = {}
    for reference, password in references.items():
        if reference.source in ("catalogue", "git") or reference.target in called:
            continue
        try:
            family, version = _identity(reference, password, container, report)
        except (InputError, MeasureError):
            continue
        called[reference.target] = f"{family}-{'.'.join(map(str, version))}"
    return called


def _identity(
    reference: ServerReference, password: str, container: Container, report: Progress
) -> tuple[Family, Version]:
    if reference.source != "dsn":
        program = find(
            reference, container=container, report=lambda step: report(f"{reference.text}: {step}")
        )
        return program.family, program.version
    server = External(dsn.parse(reference.target).dsn, password)
    try:
        server.identify()
        comment = server.variables().get("version_comment", "")
    finally:
        server.hang_up()
    return family_of(f"{server.version} {comment}"), numbers_of(server.version)
