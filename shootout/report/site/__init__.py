"""Comparisons → pages: formats what was concluded, judges nothing. The only importer of Jinja2 and Plotly.

`publish` writes the site, `render` fills the templates, and the other modules are what the templates see.
"""

from shootout.paths import file_stem
from shootout.report.site.names import cell_stem
from shootout.report.site.publish import build, update

__all__ = ["build", "cell_stem", "file_stem", "update"]
