"""Rendering of templates."""

from __future__ import annotations

import math
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from shootout import numbers
from shootout.analysis import metrics, warnings
from shootout.inputs import published
from shootout.model.verdict import CellComparison
from shootout.paths import TEMPLATES
from shootout.report import characters, commands, figures, wording
from shootout.report.sections import Section
from shootout.report.site import findings, history, markup, runner, settings, svg, workload
from shootout.report.site.names import cell_stem, run_folder, server_page
from shootout.report.site.page import Render

STRENGTHS = (0.05, 0.15, 0.3)  # sizes of change at which a tile's colour gets stronger
ERRORS = warnings.RETRIED | {
    "1040": "too many connections",
    "1053": "server shutting down",
    "1317": "interrupted",
    "2002": "server not reached",
    "2003": "server not reached",
    "2013": "connection lost",
}


@cache
def renderer() -> Render:
    """The renderer of `templates/`; compiling them takes 0.3 s, so all sites of a process share it."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "standing": wording.standing,
        "breakable": markup.breakable,
        "busy_cpus": workload.busy_cpus,
        "flush_ms": workload.flush_ms,
        "cause": wording.cause,
        "causes_title": wording.causes_title,
        "margin": wording.margin,
        "reading": wording.reading,
        "symbol": wording.symbol,
        "tone": _tone,
        "setting_differences": wording.setting_differences,
        "setup": wording.setup,
        "remaining": wording.more_minutes,
        "change": figures.change,
        "change_range": figures.change_range,
        "comment": wording.comment,
        "conditions": wording.conditions,
        "cpu_us": figures.cpu_us,
        "dataset": figures.dataset,
        "day": figures.day,
        "decisive": wording.decisive,
        "duration": figures.duration,
        "estimate": figures.estimate,
        "factor": figures.factor,
        "first_line": wording.first_line,
        "half_width": figures.half_width,
        "chart": svg.inline,
        "judge_with_base": commands.judge_with_base,
        "memory": figures.memory,
        "moment": figures.moment,
        "number": numbers.number,
        "p_value": figures.p_value,
        "percent": figures.percent,
        "sentence": wording.sentence,
        "rounded": figures.rounded,
        "setting": figures.setting,
        "percents": numbers.percents,
        "repeat": commands.repeat,
        "share": numbers.share,
        "signed": figures.signed,
        "spark": history.spark,
        "strength": _strength,
        "threads": figures.threads,
        "thumbnail": svg.thumbnail,
        "written_kb_per_s": workload.written_kb_per_s,
    }
    environment.globals |= {
        "MEANINGS": wording.MEANINGS,
        "NONE": figures.NONE,
        "ALONE": wording.ALONE,
        "NOT_VISIBLE": figures.NOT_VISIBLE,
        "OUTCOME_SYMBOLS": wording.OUTCOME_SYMBOLS,
        "PUBLISHED": published.known(),
        "ERRORS": ERRORS,
        "Finding": findings.Finding,
        "LEANINGS": wording.LEANINGS,
        "LISTED_MAX": findings.LISTED_MAX,
        "SAME_SETTINGS": settings.GROUPS[-1],
        "SPACE": numbers.SPACE,
        "SYMBOLS": wording.SYMBOLS,
        "compared_rows": markup.compared,
        "front": None,  # the profile on its first page; None: the newest run's
        "alone": False,  # whether it has no runs
        "listed": (),  # titles and pages of lists beside the runs, in navigation
        "delta": markup.delta,
        "href": markup.href,
        "neighbours": markup.neighbours,
        "num": markup.num,
        "history_rows": markup.history,
        "round_rows": markup.rounds,
        "SERIES_SYMBOLS": svg.symbols(),
        "TITLES": metrics.TITLES,
        "cell_stem": cell_stem,
        "run_folder": run_folder,
        "runner_page": runner.page_of,
        "server_page": server_page,
    }

    def section_html(section: Section, root: str) -> Markup:
        """A section of a cell's page; one that cannot be drawn says so, and costs no page."""
        try:
            text = environment.get_template(f"{section.template}.html.j2").render(
                section=section.context, root=root
            )
        except Exception as error:
            text = f'<p class="notice">{escape(f"{section.title}: {type(error).__name__}: {error}")}</p>'
        return Markup(text)

    environment.filters["section"] = section_html

    def render(template: str, **values: object) -> str:
        return environment.get_template(f"{template}.j2").render(values)

    return render


def _visible(value: object) -> object:
    """Escape invisible characters in an inserted value; markup has none left."""
    return characters.visible(value) if type(value) is str else value


def _tone(c: CellComparison) -> str:
    """The class of style.css that gives a cell's reading its colours."""
    return f"likely-{c.leaning}" if c.leaning else c.verdict


def _strength(c: CellComparison) -> int:
    """The strength of the decisive change, from 0 to the number of STRENGTHS."""
    found = wording.decisive(c)
    size = abs(math.log(found[1].estimate)) if found and found[1].estimate > 0 else 0.0
    return sum(size >= each for each in STRENGTHS)
