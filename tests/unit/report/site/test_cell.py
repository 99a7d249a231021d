"""The page of a cell."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from shootout import figures
from shootout.analysis import compare
from shootout.model.plan import Load
from shootout.model.run import Samples
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.analysis.builders import with_samples
from tests.support.report.site.pages import (
    Document,
    a_page,
    compared,
    rendered,
)

METRICS = "Latencies, and cost per transaction; p is corrected for the number of metrics"


def test_a_failed_cell_shows_the_servers_own_words(built: Path) -> None:
    text = Document(a_page(built, "oltp_read_write-t32-mysql-8").read_text("utf-8")).text
    assert "failed" in text
    assert "No space left on device" in text
    assert "mysql-8.0.12 (pid 4711) died during round 3" in Document(built.read_text("utf-8")).text


def changed(change: Callable[[Samples], dict[str, object]]) -> Run:
    """A run with fields of each server's samples changed."""
    document, _ = compared()
    document = replace(document, starts=tuple(with_samples(document.starts, change)))
    return Run(document, compare.compare(document))


def test_what_cannot_be_seen_is_said_and_not_zero() -> None:
    def unseen(samples: Samples) -> dict[str, object]:
        counters = {name: value for name, value in samples.counters.items() if name != "context_switches"}
        return {"server_cpu_s": None, "counters": counters} if samples.server == builders.BASE else {}

    made = rendered(changed(unseen))
    (head,) = (text for name, text in made.items() if name.startswith("oltp_point_select-t1"))
    assert '<dd class="than">base not visible</dd>' in head
    (row,) = re.findall(r"<tr><th scope=\"row\">context_<wbr>switches</th>(.*?)</tr>", head, re.DOTALL)
    base, here, change = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert (base, change) == ("not visible", figures.NONE)  # it is not new there
    assert here != base


def test_counters_of_any_size_are_shown() -> None:
    """Counters of old documents may have gone back."""
    values = {builders.BASE: -0.5, builders.HEAD: 0.0}
    pages = rendered(changed(lambda samples: {"counters": {"pending": values[samples.server]}}))
    assert sum("pending" in text for name, text in pages.items() if name.endswith(".html")) == 1


def test_the_load_is_said_and_measured_again() -> None:
    header = builders.a_header(workloads=("oltp_read_only",), threads=(1,))
    load = Load(protocol="prepared", reconnect=True)
    record = builders.a_record("oltp_read_only", protocol="prepared", options={"range_size": 10})
    profile = replace(header.profile, load=load, options={"range_size": 10})
    header = replace(header, profile=profile, workloads=(record,))
    made = rendered(Run(*builders.a_result(builders.a_run(header, failing=False))))
    said = "prepared statements, lost connections reopened, range_size = 10"
    assert said in made["index.html"]
    (cell,) = (text for name, text in made.items() if name.startswith("oltp_read_only-t1"))
    assert f'<p class="eyebrow">{said}</p>' in cell


def test_warnings_of_the_machine_stand_on_the_overview_only(built: Path) -> None:
    words = "of CPU time was stolen"
    cell = a_page(built, "oltp_read_write-t1-mysql-8").read_text("utf-8")
    assert words not in cell
    assert 'index.html#warnings">1 more about the machine' in cell
    assert words in built.read_text("utf-8")
