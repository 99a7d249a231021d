"""`shootout learn`: its command line. It fills a folder that the user names, and keeps no documents."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from shootout import command
from shootout.capability import Capability
from shootout.errors import InputError
from shootout.parser import Parser
from shootout.servers.sources import reference


class Learn(Capability):
    """Makes a workload of a log and a dump."""

    name = "learn"

    def command(self, parser: Parser) -> None:
        """Declare `learn`."""
        command.declare(parser, self._run)
        schema = "a dump of its database, as mysqldump writes it"
        parser.add_argument("--schema", metavar="DUMP.sql", type=Path, required=True, help=schema)
        queries = (
            "slow query logs (long_query_time = 0) or general query logs, as files, tables or exports of "
            "clouds, or performance_schema's digests"
        )
        parser.add_argument("--queries", metavar="LOG", type=Path, nargs="+", required=True, help=queries)
        out = "the folder for workload.toml, learned.json and fidelity.html"
        parser.add_argument("--out", metavar="DIR", type=Path, required=True, help=out)
        server = "the server that loads the dump and runs what was learned (default: mysql-8.0.33)"
        parser.add_argument("--server", metavar="REF", default="mysql-8.0.33", help=server)
        variables = "the my.cnf of the server that wrote the log, or its SHOW VARIABLES: how it flushes"
        parser.add_argument("--variables", metavar="FILE", type=Path, help=variables)
        keep = "keep the log's values in the file; by default it has none of them"
        parser.add_argument("--keep-values", action="store_true", help=keep)

    def _run(self, args: argparse.Namespace) -> int:
        if find_spec("sqlglot") is None:
            raise InputError("`shootout learn` needs sqlglot: `pip install 'shootout[learn]'` installs it")
        from shootout.inputs import dump  # noqa: PLC0415 (the list of commands needs none of these)
        from shootout.learn import logs  # noqa: PLC0415

        dump.check(args.schema)
        logs.require(args.queries)  # within a second: before slow imports, too
        from shootout.learn import answer, measure  # noqa: PLC0415 (they import it)

        server = reference.parse(args.server)
        with command.fetching() as observe:
            outcome = measure.learn(
                args.schema, args.queries, args.out, server,
                variables=args.variables, keep=args.keep_values, observe=observe,
            )  # fmt: skip
            said = answer.answer(outcome)
            file = answer.write(said, args.out)
        return command.show(said.at(args.out / measure.REPORT, file), args)


CAPABILITY = Learn()
