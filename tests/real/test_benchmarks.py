"""Targets of `make bench-engine`, builds of `make bench-site`."""

from __future__ import annotations

from pathlib import Path

from benchmarks import site
from shootout.document import journal
from tests.support import builders


def test_a_site_is_built_in_a_process_of_its_own_whatever_it_leaves_out(tmp_path: Path) -> None:
    document = builders.a_run()
    (tmp_path / journal.new_name(document.header.run)).write_bytes(journal.encoded(document))
    (tmp_path / journal.new_name("unreadable")).touch()
    built = site._built(tmp_path, tmp_path / "site")
    assert built.seconds > 0
    assert built.bytes > 10**7
    assert (tmp_path / "site" / "index.html").exists()
