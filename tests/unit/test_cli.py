from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import NoReturn

import pytest

from shootout import __version__, capability, cli, harness, paths
from shootout.command import left_out
from shootout.commands import judging
from shootout.document import ledgers
from shootout.document.journal import Writer, new_name
from shootout.errors import MeasureError
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict
from shootout.parser import EXAMPLES
from tests import manual
from tests.support import builders

EVERY = [*capability.NAMES, *chain(*cli.OURS.values())]


def saved(document: RunDocument, folder: Path) -> Path:
    """The document as its run writes it."""
    (folder / new_name(document.header.run)).unlink(missing_ok=True)
    writer = Writer(folder, document.header.run)
    for record in (document.header, *document.starts, *document.failures, document.end):
        if record is not None:
            writer.append(record)
    return writer.path


def a_document(*, run: str = "20261120T024100Z-7f3a", servers: Sequence[str] = ()) -> RunDocument:
    labels = servers or (builders.BASE, builders.HEAD)
    header = builders.a_header(labels, workloads=("oltp_point_select",), threads=(1, 8), run=run)
    return builders.a_run(header, failing=False)


# --- what is wrong is said ------------------------------------------------------------------------

BAD_OPTIONS = [
    (("--servers", "mysql-8.0.21"), "unknown server 'mysql-8.0.21'; did you mean 'mysql-8.0.32'?"),
    (("--servers", "path:/no/such/tree"), "path:/no/such/tree: no such directory"),
    (("--servers", ""), "--servers '': expected names separated by commas"),
    (("--servers", "mysql-8.0.12,"), "--servers 'mysql-8.0.12,': expected names separated by commas"),
    (("--servers", "mysql-8.0.12@in-memry"), "'in-memry'; did you mean 'in-memory'?"),
    (("--servers", "mysql-8.0.12@none.toml"), "none.toml: cannot be read: No such file or directory"),
    (("--workloads", "oltp_readonly"), "'oltp_readonly'; did you mean 'oltp_read_only'?"),
    (("--workloads", "none.toml"), "none.toml: cannot be read: No such file or directory"),
    (("--workloads", " , "), "--workloads ' , ': expected names separated by commas"),
    (("--workloads", "oltp_read_only,oltp_read_only"), "workloads: oltp_read_only appears twice"),
    (("--threads", "0"), "--threads 0: expected numbers from 1 to 65535, separated by commas; found '0'"),
    (
        ("--threads=-1,8",),
        "--threads -1,8: expected numbers from 1 to 65535, separated by commas; found '-1'",
    ),
    (("--threads", "8,8"), "--threads 8,8: 8 appears twice"),
    (("--threads",), "--threads: expected one argument"),
    (("--profile", "quik"), "unknown profile 'quik'; did you mean 'quick'?"),
    (("--profile", "none.toml"), "none.toml: cannot be read: No such file or directory"),
    (("--profile", "/"), "/: cannot be read: Is a directory"),
    (("--seed", "many"), "--seed 'many': expected a number from 0 to 4294967295"),
    (("--set", "port=80"), "--set: port: Expected `int` >= 1024"),
    (("--set", "port=65535"), "port 65535: expected at most 65534, so that every server gets a port"),
    (("--shard", "0/3"), "--shard '0/3': expected I/N, shard I of N, such as 1/3"),
    (("--shard", "1/99"), "--shard '1/99': expected at most 9 shards, as many as there are blocks"),
    (("--set", "dataset.rows=1e6"), "--set: dataset.rows: Expected `int`, got `float`"),
    (("--set", "dataset.row=1"), "--set: dataset: Object contains unknown field `row`; did you mean 'rows'?"),
    (("--set", "dataset.engine=Inno DB"), "--set: dataset.engine: Expected `str` matching regex"),
    (("--set", "load.protocol=prepare"), "--set: load.protocol: Invalid enum value 'prepare'; did you mean"),
    (("--set", "load.rate=fast"), "--set: load.rate: Expected `float | null`, got `str`"),
    (("--set", "load.arrivals=poisson"), "--set load.arrivals: works only with load.rate"),
    (
        ("--set", "load.think_s=1", "--set", "load.rate=9"),
        "load.rate and load.think_s exclude each other, found 9 and 1",
    ),
    (("--set", "range_size"), "--set 'range_size': expected KEY=VALUE, such as dataset.rows=1000"),
    (
        ("--set", "options.range_sise=1"),
        "--set options: no workload of the run has 'range_sise'; did you mean 'range_size'?",
    ),
    (
        ("--workloads", "oltp_delete", "--set", "options.range_size=1"),
        "--set options: no workload of the run has 'range_size'; there are none",
    ),
    (("--set", "options.range_size=0"), "workload oltp_read_only: options.range_size: expected 1 to"),
    (("--set", "scale=tiny"), "--set: scale: unknown 'tiny'; there are none"),
    (("--set", "sampling.starts_min=99"), "--set: sampling.starts_max: expected 99 (starts_min) or more"),
    (("--set", "build.tree=x"), "--set: build: Object missing required field `command`"),
    (("--set", "container.network=none"), "--set: container.network: Invalid enum value 'none'"),
    (("--set", "container.memory=8 GB"), "--set: container.memory: Expected `str` matching regex"),
    (("--data", "/dev/null"), "--data '/dev/null': no such directory"),
    (("--data", "a\0b"), "--data 'a\\x00b': no such directory"),
    (("--data", "~no-such-user/x"), "--data '~no-such-user/x': "),
    (("--table-size", "1000"), "--table-size 1000: use --set dataset.rows=1000"),
    (("--protocol=prepared",), "--protocol prepared: use --set load.protocol=prepared"),
    (("--reconnect", "--threads", "1"), "--reconnect: use --set load.reconnect=true"),
    (("--rate", "5"), "--rate 5: use --set load.rate=5"),
    (("--settings", "a.cnf"), "--settings a.cnf: settings belong to a server: name it as SERVER@a.cnf"),
    (("--acknowledged", "none.toml"), "none.toml: cannot be read: No such file or directory"),
    (("--thread", "1"), "unrecognized arguments: --thread 1; did you mean '--threads'?"),
    (("--result=x",), "unrecognized arguments: --result=x"),
    (("mysql-8.0.12",), "unrecognized arguments: mysql-8.0.12\n"),
    (("--servers", "a", "b", "c"), "arguments: b c; separate them by a comma: --servers a,b,c"),
    (("--seed", "1", "2"), "unrecognized arguments: 2\n"),
    (("--budget", "10m"), "--budget '10m': expected minutes, a number from 0 to 10080"),
]
BAD_COMMANDS = [
    (("rum",), "argument COMMAND: invalid choice: 'rum'; did you mean 'run'?"),
    (("xyz",), "argument COMMAND: invalid choice: 'xyz'; known: run, gate, "),
    (("servers", "lst"), "argument ACTION: invalid choice: 'lst'; did you mean 'list'?"),
    (("--nonsense",), "required: COMMAND"),
    (("work", "--base", "a"), "`work` is now `count`"),
    (("reach",), "`reach` is now `coverage`"),
    (("bisect", "--work"), "`--work` is now `--count`"),
    (("gate", "--reach", ".:a..b"), "`--reach` is now `--coverage`"),
    (("upgrade", "a", "b", "--workload", "w.toml"), "`--workload` is now `--add-workloads`"),
    (("run", "--profile", "work"), "`work` is now `count`"),
    (("compare",), "required: RUN"),
    (("compare", "none.jsonl"), "run 'none.jsonl': neither a run document nor the id of one in "),
    (("merge", "--acknowledged", "none.toml", "a"), "none.toml: cannot be read: No such file or directory"),
    (("servers", "start"), "required: SERVER"),
    (("servers", "start", "mysql-8.0.1"), "did you mean 'mysql-8.0.12'?"),
    (("servers", "start", "mysql-5.7.22", "--port=0"), "port 0: expected 1 to 65535"),
    (("servers", "start", "mysql-5.7.22", "--settings=none"), "unknown settings 'none'"),
    (("servers", "start", "mysql-5.7.22@none"), "unknown settings 'none'"),
    (("soak", "--minutes", "0"), "--minutes '0': expected minutes, a number from 0.05 to 10080"),
    (("site", "--results", "none"), "none: no run document found; `shootout run` makes one"),
    (("site", "--reslts", "none"), "unrecognized arguments: --reslts none; did you mean '--results'?"),
]
PROFILE = {
    "description": "'x'",
    "servers": "['mysql-8.0.12']",
    "workloads": "['oltp_read_only']",
    "threads": "[1]",
}
BAD_FIELDS = [
    ("threads", "[1", "not TOML: "),
    ("workloads", None, "the file: Object missing required field `workloads`"),
    (
        "sampling",
        "{start_min = 3}",
        "sampling: Object contains unknown field `start_min`; did you mean 'starts_min'?",
    ),
    ("setings", "'in-memory'", "the file: Object contains unknown field `setings`; did you mean 'settings'?"),
    ("servers", "[]", "names no servers; expected --servers A,B,…"),
    ("threads", "[0]", "threads[0]: Expected `int` >= 1"),
    ("threads", "[]", "threads: expected at least one, found none"),
    ("dataset", "{rows = '1e6'}", "dataset.rows: Expected `int`, got `str`"),
    ("load", "{protocol = 'binary'}", "load.protocol: Invalid enum value 'binary'"),
    ("load", "{rate = 0}", "load.rate: Expected `float` > 0.0"),
    ("load", "{think_s = -1}", "load.think_s: Expected `float` >= 0.0"),
    ("load", "{tink_s = 1}", "load: Object contains unknown field `tink_s`; did you mean 'think_s'?"),
    ("distribution", "{type = 'zipf'}", "distribution.type: Invalid value 'zipf'; did you mean 'zipfian'?"),
]


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one message of a command that ends with exit code 2."""
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("shootout: ")
    assert err.count("shootout: ") == 1
    assert err.endswith("\n")
    assert 1 <= len(err.splitlines()) <= 3
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS, ids=[" ".join(given) for given, _ in BAD_OPTIONS])
def test_a_wrong_option_is_named(
    options: Sequence[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(["run", f"--out={tmp_path / 'out'}", *options], capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("arguments", "words"), BAD_COMMANDS, ids=[" ".join(a) for a, _ in BAD_COMMANDS])
def test_a_wrong_command_is_named(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(arguments, capsys)


def test_a_run_is_judged_again_by_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judging, "REPORTS", tmp_path)
    path = saved(a_document(), tmp_path / "results")
    outputs = []
    for named in (path.stem, str(path)):
        assert cli.main(["compare", named]) == 1
        outputs.append(capsys.readouterr().out)
        said = refused(["baseline", "accept", named, "--to", str(tmp_path / "baselines")], capsys)
        assert f"run {path.stem}: no cell can be a baseline" in said
        assert cli.main(["merge", named, "--out", str(tmp_path / named[-4:])]) == 1
        capsys.readouterr()
    assert outputs[0] == outputs[1] != ""


def a_profile(folder: Path, **fields: str | None) -> Path:
    path = folder / "mine.toml"
    given = (PROFILE | fields).items()
    path.write_text("".join(f"{key} = {value}\n" for key, value in given if value is not None))
    return path


@pytest.mark.parametrize(("field", "value", "words"), BAD_FIELDS)
def test_a_wrong_profile_is_named_with_its_field(
    field: str, value: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_profile(tmp_path, **{field: value})
    said = refused(["run", "--profile", str(path)], capsys)
    assert words in said
    assert str(path) in said


def test_a_run_is_measured_though_its_results_cannot_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> NoReturn:
        raise MeasureError("disk full")

    monkeypatch.setattr("shootout.measure.results.compared", fail)
    monkeypatch.setattr(harness, "run", lambda prepared: harness.SuiteResult(1, None))
    assert cli.main(["run", "--check-results", f"--out={tmp_path}"]) == 3
    assert capsys.readouterr().err.endswith("shootout: results are not compared: disk full\n")


# --- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["compare", "-h"], ["site", "-h"], ["--version"]]
)
def test_help_is_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"shootout {__version__}\n" if arguments == ["--version"] else "usage: shootout ")


def imported(arguments: Sequence[str], code: str) -> set[str]:
    """The modules that a process has imported after this code, which runs commands that exit."""
    code = f"import sys; from shootout import cli\n{code}\nprint('', *sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, cwd=paths.ROOT
    )
    return {*done.stdout.splitlines()}


INTERRUPTED_EARLY = """
import signal, sys
from shootout import cli
def hook(event, arguments):
    if event == "import" and arguments[0] == "shootout.command":
        signal.raise_signal(signal.SIGTERM)
sys.addaudithook(hook)
sys.exit(cli.main(["profiles", "list"]))
"""


def test_a_signal_while_modules_are_imported_ends_with_a_message() -> None:
    command = [sys.executable, "-c", INTERRUPTED_EARLY]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "shootout: interrupted\n")


@pytest.mark.parametrize("name", EVERY)
def test_a_commands_help_has_examples_that_parse_and_fits_a_screen(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    text = capsys.readouterr().out
    assert text.count("\n") <= 50
    every = EXAMPLES.get(name, ())
    assert all(f"  shootout {name} {each}".rstrip() in text for each in every)
    for each in every:
        assert callable(cli.parser(name).parse_args([name, *shlex.split(each)]).run)


def test_without_a_command_all_are_listed_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    text = capsys.readouterr().out
    assert all(f"\n{heading}:\n" in text for heading in cli.GROUPS)
    assert sorted(chain(*cli.GROUPS.values())) == sorted(EVERY)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_only_what_answers_is_imported(argument: str) -> None:
    modules = imported([argument], "try: cli.main()\nexcept SystemExit: pass")
    assert {name for name in modules if name.startswith("shootout.")} == {
        *(f"shootout.{name}" for name in ("capability", "cli", "errors", "parser", "renamed", "signals")),
        *(f"shootout.{name}" for name in capability.NAMES),
    }
    assert not {"numpy", "msgspec", "jinja2", "pymysql", "pytest", "rich"} & modules


def test_the_help_of_a_command_imports_nothing_that_measures_judges_or_publishes() -> None:
    code = "for name in sys.argv[1:]:\n    try: cli.main([name, '--help'])\n    except SystemExit: pass"
    modules = imported(EVERY, code)
    assert "shootout.inputs.options" in modules
    assert not {"numpy", "scipy", "jinja2", "pymysql", "pytest", "sqlglot"} & modules


def test_the_manual_lists_every_option() -> None:
    assert manual.FILE.read_text("utf-8") == manual.text(), "If it is meant: python -m tests.manual"


def test_a_wheel_stores_no_baselines_beside_its_modules(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judging, "IS_CHECKOUT", False)
    assert "the following arguments are required: --to" in refused(["baseline", "accept", "r.jsonl"], capsys)


# --- compare --------------------------------------------------------------------------------------


def test_compare_takes_another_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(a_document(), tmp_path)
    assert cli.main(["compare", str(path), "--base", builders.HEAD]) == 0
    assert f"{builders.BASE} is faster than {builders.HEAD} in 2 of 2 cells" in capsys.readouterr().out
    said = refused(["compare", str(path), "--base", "mysql-5.7.21"], capsys)
    assert "unknown server 'mysql-5.7.21'" in said
    assert f"did you mean {builders.BASE!r}?" in said


def test_compare_exits_by_the_worst_of_its_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = saved(a_document(run="20261119T000000Z-1", servers=(builders.BASE,)), tmp_path)
    slower = saved(a_document(run="20261119T000000Z-2"), tmp_path)
    header = builders.a_header(workloads=("oltp_point_select",), threads=(1,), run="20261119T000000Z-3")
    failed = saved(builders.a_run(header, failing=True), tmp_path)
    assert cli.main(["compare", str(alone)]) == 0
    assert cli.main(["compare", str(slower), str(alone)]) == 1
    assert cli.main(["compare", str(failed)]) == 3
    assert cli.main(["compare", str(failed), str(slower)]) == 3
    assert "✕ failed" in capsys.readouterr().out


def test_compare_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = a_document()
    path = saved(document, tmp_path)
    assert cli.main(["compare", str(path), "--json"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert said["run"] == document.header.run
    assert said["document"] == str(path)
    assert (said["standing"], said["aa_cells_wanting"], said["false_alarms"]["cells"]) == ("proven", 0, 0)
    assert said["rule"] == 1
    assert [cell["server"] for cell in said["failing"]] != []
    assert [(curve["server"], curve["threads"]) for curve in said["curves"]] == [(builders.HEAD, [1, 8])]
    assert [(cell["cell"]["server"], cell["verdict"]) for cell in said["cells"]] == [
        (builders.BASE, Verdict.UNJUDGED),
        (builders.HEAD, Verdict.REGRESSED),
    ] * 2
    assert all(0 < cell["ratio"]["low"] <= cell["ratio"]["high"] < 1 for cell in said["cells"][1::2])


def test_compare_goes_by_the_acknowledgements_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(a_document(), tmp_path)
    known = tmp_path / "known.toml"
    entry = "at_most = 0.9\nexpires = 2030-01-01\nowner = 'us'\nreason = 'decided'\n"
    known.write_text(f"[[change]]\nworkload = 'oltp_*'\nserver = '{builders.HEAD}'\n{entry}")
    assert cli.main(["compare", str(path), "--acknowledged", str(known)]) == 0
    assert "regressed (acknowledged)" in capsys.readouterr().out
    known.write_text("[[change]]\nworkload = 'oltp_*'\n")
    assert "change[0]: Object missing required field `server`" in refused(
        ["compare", str(path), "--acknowledged", str(known)], capsys
    )


def test_compare_reads_all_before_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = saved(a_document(), tmp_path)
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"name": "something else"}\n')
    said = refused(["compare", str(good), str(foreign)], capsys)
    assert f"{foreign}: not a run document" in said


def _conflict(file: Path) -> None:
    file.write_text("<<<<<<< HEAD\n=======\n>>>>>>> main\n")


@pytest.mark.parametrize("put", [_conflict, os.mkfifo, Path.mkdir])
def test_a_bad_ledger_hides_no_run_and_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], put: Callable[[Path], None]
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    document = a_document()
    path = saved(document, results)
    other = saved(a_document(run="20261121T000000Z-beef"), results)
    assert cli.main(["compare", str(path), str(path)]) == 1  # named twice, told once
    said = capsys.readouterr().out
    ledger = ledgers.path_of(results / ledgers.FOLDER, document.header.runner.fingerprint)
    ledger.parent.mkdir()
    put(ledger)
    where = ("--results", str(results))
    for arguments, code, shown in (
        (("compare", str(path), str(other)), 1, said),
        (("history", *where, "--json"), 0, document.header.run),
        (("site", *where, "--out", str(tmp_path / "site")), 0, "index.html"),
    ):
        left_out.cache_clear()  # as in a process of its own
        assert cli.main(arguments) == code
        out, err = capsys.readouterr()
        assert shown in out
        assert err.startswith(f"shootout: left out: {ledger}:")
        assert len(err.splitlines()) == 1
    assert "20261121T000000Z-beef" in (tmp_path / "site" / "index.html").read_text()


# --- site -----------------------------------------------------------------------------------------


def test_site_shows_what_can_be_read_and_names_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    good, torn = a_document(), a_document(run="20261121T000000Z-beef")
    saved(good, results)
    whole = saved(torn, results).read_bytes()
    (results / "20261121T000000Z-beef.jsonl").write_bytes(whole[:1000])  # not even the header
    (results / "zzz.jsonl").write_text("{}\n")
    assert cli.main(["site", "--results", str(results), "--out", str(tmp_path / "site")]) == 0
    out, err = capsys.readouterr()
    index = tmp_path / "site" / "index.html"
    assert out == f"{index.as_uri()}\n"
    assert [line.partition(".jsonl")[0] for line in err.splitlines()] == [
        f"shootout: left out: {results / '20261121T000000Z-beef'}",
        f"shootout: left out: {results / 'zzz'}",
    ]
    assert good.header.run in index.read_text()
    assert torn.header.run not in index.read_text()


def test_site_shows_a_run_that_was_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(a_document(), tmp_path)
    path.write_bytes(path.read_bytes()[:-10])  # within its last record
    command = ["site", "--results", str(tmp_path), "--out", str(tmp_path / "site"), "--json"]
    assert cli.main(command) == 0
    out, err = capsys.readouterr()
    assert err == ""
    page = Path(json.loads(out)["page"])
    assert page == tmp_path / "site" / "index.html"
    assert "interrupted" in page.read_text()


def test_a_copied_document_is_no_second_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"
    results.mkdir()
    path = saved(a_document(), results)
    (results / "copy.jsonl").write_bytes(path.read_bytes())
    assert cli.main(["site", "--results", str(results), "--out", str(tmp_path / "site")]) == 0
    capsys.readouterr()
    assert cli.main(["history", "--results", str(results), "--json"]) == 0
    printed = capsys.readouterr()
    assert [len(series["points"]) for series in json.loads(printed.out)] == [1, 1]
    assert printed.err == ""


def test_site_needs_a_document_and_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"
    results.mkdir()
    assert f"{results}: no run document found" in refused(["site", "--results", str(results)], capsys)
    saved(a_document(), results)
    blocked = tmp_path / "blocked"
    blocked.touch()
    command = ["site", "--results", str(results), "--out", str(blocked)]
    assert f"{blocked}: cannot write the site: File exists" in refused(command, capsys)


def test_what_comes_with_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for what, some in (("profiles", ("quick", "gate")), ("workloads", ("oltp_point_select", "tpcc"))):
        assert cli.main([what, "list"]) == 0
        listed = capsys.readouterr().out
        assert all(re.search(rf"^{name}  +\S", listed, re.MULTILINE) for name in some)
        assert cli.main([what, "list", "--json"]) == 0
        assert set(some) <= json.loads(capsys.readouterr().out).keys()


def test_a_defect_is_no_regression(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> dict[str, str]:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("shootout.inputs.matrix.shipped", broken)
    assert cli.main(["profiles", "list"]) == 3
    assert capsys.readouterr().err.endswith("ZeroDivisionError: a defect\n")
