"""`shootout run` on real servers, as users run it: what it says and leaves, and when things go wrong."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

from shootout.document import journal
from tests.real.end_to_end.test_run import POINT, a_run
from tests.support.runs import BASE, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]


def test_an_aa_control_is_measured_where_it_has_done_as_much_as_its_base(lab: Lab, tmp_path: Path) -> None:
    """Its blocks come first of those that read, or write: rows written in others would tell them apart."""
    matrix = ("--workloads", "oltp_point_select,oltp_read_write", "--threads", "1,2,3")
    done = lab.run(*a_run(lab, tmp_path, *matrix, "--seed", "1", "--profile", str(lab.once)))
    assert done.returncode in (0, 1), done.stderr
    starts = journal.read(document_in(tmp_path)).starts
    assert len(starts) == 6
    (aa_control,) = (start for start in starts if start.aa_control is not None)
    alike = [start for start in starts if ("write" in start.block) == ("write" in aa_control.block)]
    assert alike.index(aa_control) == 0


def test_a_run_makes_room_in_the_cache_and_keeps_what_it_uses(lab: Lab, tmp_path: Path) -> None:
    here = Lab(tmp_path / "home", lab.once, lab.once)
    unpacked = lab.tree(BASE)
    shutil.copytree(unpacked, here.cache / "servers" / unpacked.name, symlinks=True)
    stale = here.cache / "templates" / "stale"
    stale.mkdir(parents=True)
    command = a_run(here, tmp_path / "out", "--servers", BASE, *POINT)
    with here.running("env", "SHOOTOUT_CACHE_BYTES=0", *command, folder=tmp_path) as run:
        run.said("start 1: oltp_point_select-t1")
        assert not stale.exists()
        run.process.send_signal(signal.SIGSTOP)  # it must not be over before the other has looked
        cleared = here.run(SHOOTOUT, "cache", "clear", "--json")
        run.process.send_signal(signal.SIGCONT)
        assert run.ended() == 0, run.err.read_text()
    kept = json.loads(cleared.stdout)["kept"]
    assert {(entry["kind"], entry["state"]) for entry in kept} == {
        ("server", "in use"),
        ("template", "in use"),
    }
    listed = json.loads(here.run(SHOOTOUT, "cache", "list", "--json").stdout)
    template = next(entry for entry in listed["entries"] if entry["kind"] == "template")
    assert (template["server"], template["state"]) == ("mysql 5.7.22", "ready")
    assert template["datasets"] == ["sbtest-2x500-innodb"]
    assert listed["total_bytes"] > 10**7

    assert here.run(*command).returncode == 0
    newest = max(journal.find(tmp_path / "out" / "results"))
    assert journal.read(newest).header.servers[0].load_s is None
    assert here.run(SHOOTOUT, "cache", "clear").stdout.startswith("removed 2 entries, ")
