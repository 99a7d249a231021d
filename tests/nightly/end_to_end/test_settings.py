"""A run with settings that a server lacks, lowers or complains of."""

from __future__ import annotations

from pathlib import Path

from shootout.analysis import compare
from shootout.document import journal
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]


LOWERED = """
description = "More tables than any process may open files for, and a cache that is gone in 8.0"
[settings]
buffer_pool_bytes = "64M"
redo_capacity_bytes = "16M"
max_connections = 50
table_open_cache = 500_000
query_cache_bytes = "1M"
[lacking]
query_cache_bytes = "one query, never twice"
[options]
loose-no-such-option = "1"
"""


def test_what_a_server_made_of_its_settings_is_a_warning_on_every_cell(lab: Lab, tmp_path: Path) -> None:
    lowered = tmp_path / "lowered.toml"
    lowered.write_text(LOWERED)
    command = [SHOOTOUT, "run", "--profile", str(lab.once), "--out", str(tmp_path / "out"), "--threads", "1"]
    selection = ["--servers", f"{BASE},{HEAD}@{lowered}", "--workloads", "oltp_point_select"]
    done = lab.run(*command, *selection)
    assert done.returncode in (0, 1), done.stderr
    run = journal.read(document_in(tmp_path / "out"))
    base, head = run.header.servers
    assert base.warnings == ()
    told = {warning.text.partition(":")[0]: warning for warning in head.warnings}
    assert told["table_open_cache"].code == "settings-differ"
    assert "requested 500000, the server has " in told["table_open_cache"].text
    assert told["query_cache_bytes"].code == "settings-lacking"
    assert "no query cache since 8.0.3; one query, never twice" in told["query_cache_bytes"].text
    assert told["no_such_option"].code == "settings-differ"
    complaints = [warning.text for warning in head.warnings if warning.code == "settings-told"]
    assert any("loose-no-such-option" in text for text in complaints)
    cells = compare.compare(run).cells
    assert len(cells) == 2
    for cell in cells:
        if cell.cell.server == head.label:
            texts = {warning.text for warning in cell.warnings}
            assert texts >= {f"{head.label}: {warning.text}" for warning in head.warnings}
    (place,) = (tmp_path / "out" / "site" / "runs").glob("*/settings.html")
    page = place.read_text("utf-8")
    assert '<td class="lacking">lacking' in page
    assert "<small>requested 500000</small>" in page
