"""Comparisons → pages: formats conclusions, judges nothing. The only importer of Jinja2.

`publish` lists the pages, `page` says what a page is, `render` fills templates, `incremental` writes files.
"""

from shootout.paths import file_stem
from shootout.report.site.names import cell_stem
from shootout.report.site.publish import build, update

__all__ = ["build", "cell_stem", "file_stem", "update"]
