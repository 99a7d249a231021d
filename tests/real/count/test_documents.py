"""Counts on disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from shootout.count.documents import COUNTS
from shootout.count.judge import compare
from shootout.paths import ROOT
from tests.support.count.builders import BASE, document

SHOWCASE = ROOT / "reports" / "showcase"


def test_a_document_of_number_1_is_brought_up(tmp_path: Path) -> None:
    today = document({"a": BASE})
    old = SHOWCASE / "work" / "20261124T235227Z-1a9751.json.gz"
    recorded = json.loads(gzip.decompress(old.read_bytes()))
    assert (recorded["format"], {count["start"] for count in recorded["counts"]}) == (1, {1, 2})
    path = COUNTS.path_of(tmp_path, recorded["run"])
    path.parent.mkdir()
    path.write_text(json.dumps(recorded), "utf-8")
    read = COUNTS.read(path)
    assert (read.format, read.starts, read.run) == (today.format, 2, recorded["run"])
    assert not any(change.reason for change in compare(read).changes if change.server != compare(read).base)
