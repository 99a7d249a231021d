"""The settings of all servers side by side."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from shootout.analysis import compare
from shootout.report.site import settings
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import Document, a_page, a_site, rendered, rows_in, tables


def rows_of(page: Path) -> dict[str, list[str]]:
    """The cells of the settings' tables, by the name in the first; each as its visible text."""
    rows = [row for table in tables(page).values() for row in rows_in(table)]
    return {name: cells for name, *cells in rows}


def test_the_settings_of_all_servers_stand_side_by_side(built: Path) -> None:
    page = a_page(built, "settings")
    text = page.read_text("utf-8")
    rows = rows_of(page)
    assert rows["innodb_buffer_pool_size"] == ["512M", "512M", "512M"]
    assert rows["innodb_log_file_size and innodb_log_files_in_group"] == ["256M"] * 3
    assert rows["max_connections"] == ["1024", "1024", "214 requested 1024"]
    assert rows["query_cache_type and query_cache_size"] == [
        "1M", "1M",
        "lacking no query cache since 8.0.3; it is empty in this load",
    ]  # fmt: skip
    assert rows["character_set_server"] == ["–", "latin1", "utf8mb4"]
    assert rows["tx_isolation"] == [
        "–",
        "REPEATABLE-READ tx_isolation",
        "REPEATABLE-READ transaction_isolation",
    ]
    groups = re.findall(r'<tr class="group">.*?</tr>', text, flags=re.DOTALL)
    assert [Document(group).text for group in groups] == list(settings.GROUPS)
    order = list(rows)
    assert order.index("max_connections") < order.index("innodb_buffer_pool_size")
    assert text.count('class="differs">214') == 1
    assert text.count('<td class="lacking">lacking') == 1


def test_a_server_that_is_not_available_has_no_settings_to_differ_in() -> None:
    header = builders.a_header([builders.BASE, "mysql-5.7.44", "mysql-4.1"], ["oltp_read_only"], [1])
    document = builders.without(builders.a_run(header, failing=False), "mysql-4.1")
    run = Run(document, compare.compare(document))
    assert [title for title, _ in run.settings] == [settings.GROUPS[1], settings.GROUPS[3]]
    page = rendered(run)["settings.html"]
    assert "mysql-5.7.44" in page
    assert "mysql-4.1" not in page


def test_settings_of_different_profiles_are_told_apart(tmp_path: Path) -> None:
    header = builders.a_header(workloads=["oltp_read_only"], threads=[1])
    base, head = header.servers
    pool, *others, _ = head.settings
    pool = replace(pool, requested="134217728", effective="134217728")
    head = replace(head, settings_name="small", settings=(pool, *others))
    header = replace(header, servers=(base, head))
    page = a_page(a_site([builders.a_result(builders.a_run(header, failing=False))], tmp_path), "settings")
    rows = rows_of(page)
    assert rows["innodb_buffer_pool_size"] == ["512M, 128M", "512M", "128M"]
    assert rows["default_storage_engine"] == ["–", "InnoDB", "–"]
    assert "mysql-8.0.12 small" in Document(page.read_text("utf-8")).text
