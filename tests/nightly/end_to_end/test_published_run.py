"""A run that repeats a published comparison, with real servers: stand-ins, slots, engines and protocols."""

from __future__ import annotations

from pathlib import Path

from shootout.analysis import claims
from shootout.document import journal
from tests.support.runs import BASE, HEAD, PYTEST, Lab, document_in

pytest_plugins = ["tests.support.runs"]

MYISAM = """
description = "Tables in MyISAM"
[settings]
default_storage_engine = "MyISAM"
buffer_pool_bytes = "64M"
redo_capacity_bytes = "16M"
"""
PROFILE = """
description = "Versions shootout, in seconds"
published = "shootout"
servers = [
    "path:trees/mysql-4.1",
    "path:trees/mysql-5.5",
    "path:trees/mysql-5.6.2",
    "{head}@{folder}/myisam.toml",
]
workloads = ["oltp_read_only.prepared", "oltp_read_write"]
threads = [64]
settings = "{settings}"
[stand_ins]
"path:trees/mysql-4.1" = ""
"path:trees/mysql-5.5" = "{base}"
"path:trees/mysql-5.6.2" = "{head}"
[dataset]
tables = 1
rows = 20_000_000
engine = "default"
[policy]
confirm_starts = 0
[scales.small]
threads = [1]
rows = 500
[scales.small.sampling]
starts_min = 2
starts_max = 2
slice_s = 0.02
ramp_s = 0.005
measure_s = 0.3
warmup_max_s = 0.3
"""


def test_a_published_comparison_is_repeated(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "myisam.toml").write_text(MYISAM)
    profile = tmp_path / "mine.toml"
    settings = lab.folder / "small.toml"
    profile.write_text(PROFILE.format(base=BASE, head=HEAD, folder=tmp_path, settings=settings))
    out = tmp_path / "out"
    done = lab.run(*PYTEST, "suites", "-v", f"--profile={profile}", "--set=scale=small", f"--out={out}")
    assert done.returncode in (0, 1), done.stdout + done.stderr

    run = journal.read(document_in(out))
    assert run.header.given["--set scale"] == "small"
    assert run.header.profile.dataset.rows == 500
    assert run.header.profile.threads == (1,)
    absent, base, head, myisam = run.header.servers
    assert (absent.label, bool(absent.absent)) == ("path:mysql-4.1", True)
    assert (base.reference, head.reference) == (BASE, HEAD)
    assert (base.absent, head.absent) == ("", "")
    assert run.failures == ()

    assert [(each.name, each.protocol) for each in run.header.workloads] == [
        ("oltp_read_only.prepared", "prepared"),
        ("oltp_read_write", "text"),
    ]
    assert {record.block for record in run.starts} == {"oltp_read_only.prepared-t1", "oltp_read_write-t1"}
    rows_read = {
        samples.server: samples.counters["Innodb_rows_read"]
        for record in run.starts
        for samples in record.samples
        if record.block == "oltp_read_only.prepared-t1"
    }
    assert rows_read[myisam.label] < rows_read[head.label] / 100

    items = "suites/test_oltp.py::test_oltp"
    assert f"{items}[oltp_read_only.prepared-{BASE}-t1] PASSED" in done.stdout
    assert f"{items}[oltp_read_write-path:mysql-4.1-t1] PASSED" in done.stdout
    items = "suites/test_published.py::test_published"
    assert f"{items}[plugin-gain] SKIPPED" in done.stdout
    assert f"{items}[slower-5.6.2] " in done.stdout
    assert "path:mysql-4.1 was not measured: not available here" in done.stdout
    page = (out / "site" / "published" / "shootout.html").read_text("utf-8")
    assert "Not here, or without figures: " in page
    judged = claims.evaluate_all(run, run.header.profile.policy)
    slower = next(each for each in judged if each.claim.name == "slower-5.6.2")
    noisy = ("fewer than 2 starts were steady", "not measured, or not steady")  # in 0.3 s
    assert slower.ratio or any(words in slower.reason for words in noisy)
    assert ("5.6.2 over 5.5" in page) == bool(slower.ratio)
    assert lab.left() == ([], [])
