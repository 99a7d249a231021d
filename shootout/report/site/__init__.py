"""Comparisons → pages. Formats verdicts, never decides them. Only this package imports Jinja2.

`publish` lists the pages, `page` defines a page, `render` fills templates, `output` writes files.
"""

from shootout.report.site.names import cell_stem
from shootout.report.site.publish import build, report

__all__ = ["build", "cell_stem", "report"]
