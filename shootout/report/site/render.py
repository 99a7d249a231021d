"""Rendering of templates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shootout import characters, figures, numbers
from shootout.analysis import metrics
from shootout.answer import SYMBOLS
from shootout.inputs import published
from shootout.model.verdict import CellComparison
from shootout.paths import TEMPLATES
from shootout.report import circumstances, commands, evidence, next_steps, wording
from shootout.report.site import (
    answers,
    breaks,
    history,
    markup,
    names,
    overview,
    settings,
    svg,
    workload,
)
from shootout.report.site.page import Page, Render

# For a page as one file that needs no other.
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*>')
_SCRIPT = re.compile(r'<script src="[^>]*></script>')
# Links to other files of the site: the feed, the navigation, and the links of pages.
_ELSEWHERE = re.compile(
    r'<link rel="alternate"[^>]*>\s*|<nav aria-label="Site">.*?</nav>'
    r'|(?<=<a)([^>]*?) href="(?!#|https?:)[^"]*"',
    re.DOTALL,
)
STRENGTHS = (0.05, 0.15, 0.3)  # sizes of change at which a tile's colour gets stronger


def tone(c: CellComparison) -> str:
    """The class of style.css that gives a cell's reading its colours."""
    return f"likely-{c.leaning}" if c.leaning else c.verdict


def strength(c: CellComparison) -> int:
    """The strength of the decisive change, from 0 to the number of STRENGTHS."""
    decisive = wording.decisive(c)
    size = abs(math.log(decisive[1].estimate)) if decisive and decisive[1].estimate > 0 else 0.0
    return sum(size >= least for least in STRENGTHS)


# Functions that templates call, by their own names.
FILTERS: tuple[Callable[..., object], ...] = (
    answers.drawn, answers.field, answers.answer_rows, zip,
    commands.judge_with_base, commands.repeat, history.spark, breaks.breakable, breaks.command,
    breaks.hanging, svg.whisker, numbers.number,
    numbers.percents, numbers.share, strength, svg.chart, svg.has_names, tone,
    wording.change_sentence, evidence.evidence, figures.change, figures.change_range,
    wording.comment, circumstances.conditions, figures.dataset, figures.day, wording.decided_change,
    wording.decisive, figures.duration, figures.factor, wording.first_line, wording.margin,
    figures.memory, figures.moment, figures.p_value, figures.percent, wording.reading, wording.more_minutes,
    circumstances.about, circumstances.settings_of, wording.false_alarms,
    figures.setting, figures.settings, circumstances.setting_differences, circumstances.setup,
    wording.explain_gate, wording.symbol, figures.threads, figures.throughput, figures.times,
    figures.times_range, workload.flush_ms,
)  # fmt: skip

FUNCTIONS: tuple[Callable[..., object], ...] = (
    overview.Finding, markup.href,
    markup.neighbours, markup.num, names.cell_stem, names.run_folder, names.runner_page,
)  # fmt: skip


@cache
def compiled() -> None:
    """Compile all templates, which takes 0.3 s: processes that fork from this one then need not."""
    for name in _environment().list_templates(extensions=["j2"]):
        _environment().get_template(name)


def renderer() -> Render:

    def render(template: str, **values: object) -> str:
        return _environment().get_template(f"{template}.j2").render(values)

    return render


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {filter.__name__: filter for filter in FILTERS}
    environment.globals |= {function.__name__: function for function in FUNCTIONS}
    environment.globals |= {
        "MEANINGS": wording.MEANINGS,
        "NONE": figures.NONE,
        "ACKNOWLEDGED": next_steps.FILE,
        "NOT_VISIBLE": figures.NOT_VISIBLE,
        "OUTCOME_SYMBOLS": wording.OUTCOME_SYMBOLS,
        "PUBLISHED": published.known(),
        "LEANINGS": wording.LEANINGS,
        "BRIEFS_MAX": overview.BRIEFS_MAX,
        "LISTED_MAX": overview.LISTED_MAX,
        "OTHERS_MAX": overview.OTHERS_MAX,
        "SAME_SETTINGS": settings.GROUPS[-1],
        "SPACE": numbers.SPACE,
        "SYMBOLS": SYMBOLS,
        "alone": False,  # whether it has no runs
        "menu": (),  # titles and paths of the pages that navigation leads to
        "SERIES_SYMBOLS": svg.symbols(),
        "TITLES": metrics.TITLES,
    }

    return environment


def _visible(value: object) -> object:
    """Escape invisible characters in an inserted value; markup has none left."""
    return characters.visible(value) if type(value) is str else value


def inline(page: Page, render: Render) -> str:
    """The page with style and script inside, and without links to other files."""
    style, script = ((TEMPLATES / name).read_text("utf-8") for name in ("style.css", "site.js"))
    text = _STYLE.sub(lambda _: f"<style>\n{style}</style>", page.html(render))
    text = _ELSEWHERE.sub(lambda link: link[1] or "", text)
    return _SCRIPT.sub(lambda _: f"<script>\n{script}</script>", text)
