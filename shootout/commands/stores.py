"""`shootout cache`, `servers`, `profiles` and `workloads`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from shootout import app, command
from shootout.answer import Answer
from shootout.command import console, show
from shootout.inputs import matrix, workload
from shootout.inputs.options import MEASURING
from shootout.measure import session
from shootout.model.plan import Build
from shootout.parser import Parser
from shootout.paths import cache_folder
from shootout.report import listings
from shootout.servers.sources import cache, catalogue, pack, reference
from shootout.writers import terminal


def _fetch(args: argparse.Namespace) -> int:
    """Fetch servers, or build those of a repository."""
    build = Build(command=args.build, tree=args.tree) if "build" in args else None
    fetched = []
    for each in [reference.parse(text) for text in args.references]:
        with command.fetching() as report:
            fetched.append(app.fetch(each, report, build))
        if not args.json:
            terminal.say(console(), listings.fetched(fetched[-1]))
    if args.json:
        print(msgspec.json.encode(fetched).decode())
    return 0


def _servers_pack(args: argparse.Namespace) -> int:
    pack.pack(args.directory, args.file, args.commit)
    return command.print_lines(args, "done", [str(args.file)])


def _servers_unpack(args: argparse.Namespace) -> int:
    pack.unpack(args.file, args.directory)
    return command.print_lines(args, "done", [str(args.directory)])


def _servers_start(args: argparse.Namespace) -> int:
    with session.running(reference.parse(args.reference), args.settings, args.port) as instance:
        show(listings.access(args.reference, session.endpoint(instance)), args)
        sys.stdout.flush()
        session.until_interrupted(instance)
    return 0


def _showing(make: Callable[[], Answer]) -> Callable[[argparse.Namespace], int]:
    return lambda args: show(make(), args)


def declare_cache(parser: Parser) -> None:
    actions = command.group(parser)
    listed = _showing(lambda: listings.cache(cache.contents(cache_folder(), cache.limit_bytes(os.environ))))
    command.add(actions, "list", listed, "show the cache's contents and size")
    cleared = _showing(lambda: listings.cleared(cache.clear(cache_folder())))
    command.add(actions, "clear", cleared, "remove everything that is not in use")


def declare_servers(servers: Parser) -> None:
    actions = command.group(servers)
    listed = _showing(lambda: listings.servers(catalogue.offers(cache_folder())))
    command.add(actions, "list", listed, "show the catalogue and the availability of each server")
    fetch = command.add(actions, "fetch", _fetch, "fetch servers and print their locations")
    fetch.add_argument("references", metavar="REF", nargs="+", help="a catalogue id, path:… or image:…")
    build = command.add(actions, "build", _fetch, "build servers of a repository ahead of a run")
    build.add_argument("references", metavar="REF", nargs="+", help="git:DIR#REV")
    built = (each for each in MEASURING if each.name == "build")
    command.add_options(build, built, type=str, required=True)
    tree = "where the server that it builds comes to lie in the work tree (default: its top)"
    build.add_argument("--tree", metavar="SUBDIR", default=".", help=tree)
    packing = command.add(actions, "pack", _servers_pack, "write a built server into one file")
    packing.add_argument("directory", metavar="DIR", type=Path, help="an install tree or a build directory")
    packing.add_argument("file", metavar="FILE", type=Path, help="the tar to write")
    built_from = (
        "the commit that it was built from (default: that of its sources, if they are a git checkout)"
    )
    packing.add_argument("--commit", metavar="SHA", default="", help=built_from)
    unpacking = command.add(actions, "unpack", _servers_unpack, "unpack a server from a tar or a zip")
    unpacking.add_argument("file", metavar="FILE", type=Path, help="a packed server, or an archive of one")
    unpacking.add_argument("directory", metavar="DIR", type=Path, help="the folder to make")
    start = command.add(actions, "start", _servers_start, "keep one server running until Ctrl-C")
    start.add_argument("reference", metavar="SERVER", help="a server reference")
    settings = "settings: a name or a file (default: defaults)"
    start.add_argument("--settings", metavar="NAME", default="defaults", help=settings)
    start.add_argument("--port", metavar="N", type=int, help="TCP port on 127.0.0.1 (default: a free one)")


def declare_profiles(profiles: Parser) -> None:
    listed = _showing(lambda: listings.descriptions(matrix.shipped()))
    command.add(command.group(profiles), "list", listed, "show the profiles that come with shootout")


def declare_workloads(workloads: Parser) -> None:
    listed = _showing(lambda: listings.descriptions(workload.shipped()))
    command.add(command.group(workloads), "list", listed, "show the workloads that come with shootout")
