"""Rendering of templates."""

from __future__ import annotations

import json
import math
import re
from functools import cache

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shootout import numbers
from shootout.analysis import metrics, warnings
from shootout.inputs import published
from shootout.model.verdict import CellComparison
from shootout.paths import TEMPLATES, file_stem
from shootout.report import commands, explanation, wording, work
from shootout.report.site import findings, flame, history, markup, runner, settings, svg, workload
from shootout.report.site.names import cell_stem, run_folder, server_page
from shootout.report.site.page import Render

_NOT_PLAIN = re.compile("[^ -~]")
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
    environment.policies |= {"json.dumps_function": _json, "json.dumps_kwargs": {}}
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
        "remaining": wording.remaining,
        "change": wording.change,
        "change_range": wording.change_range,
        "comment": wording.comment,
        "conditions": wording.conditions,
        "cpu_us": wording.cpu_us,
        "dataset": wording.dataset,
        "day": wording.day,
        "decided_change": wording.decided_change,
        "decisive": wording.decisive,
        "duration": wording.duration,
        "estimate": wording.estimate,
        "factor": wording.factor,
        "file_stem": file_stem,
        "half_width": wording.half_width,
        "chart": svg.inline,
        "judge_with_base": commands.judge_with_base,
        "memory": wording.memory,
        "moment": wording.moment,
        "number": numbers.number,
        "p_value": wording.p_value,
        "percent": wording.percent,
        "sentence": wording.sentence,
        "rounded": wording.rounded,
        "setting": wording.setting,
        "percents": numbers.percents,
        "repeat": commands.repeat,
        "share": numbers.share,
        "signed": wording.signed,
        "spark": history.spark,
        "work_change": work.percent,
        "work_interval": work.interval,
        "strength": _strength,
        "threads": wording.threads,
        "thumbnail": svg.thumbnail,
        "written_kb_per_s": workload.written_kb_per_s,
    }
    environment.globals |= {
        "MEANINGS": wording.MEANINGS,
        "NONE": wording.NONE,
        "ALONE": wording.ALONE,
        "NOT_VISIBLE": wording.NOT_VISIBLE,
        "OUTCOME_SYMBOLS": wording.OUTCOME_SYMBOLS,
        "PUBLISHED": published.known(),
        "ERRORS": ERRORS,
        "Finding": findings.Finding,
        "FLAME_LEGEND": flame.LEGEND,
        "LEANINGS": wording.LEANINGS,
        "LISTED_MAX": findings.LISTED_MAX,
        "SAME_SETTINGS": settings.GROUPS[-1],
        "SPACE": numbers.SPACE,
        "SYMBOLS": wording.SYMBOLS,
        "compared_rows": markup.compared,
        "bisected": False,  # whether the site has bisections
        "front": None,  # the profile on its first page; None: the newest run's
        "counted": False,  # whether it has pages of counted work
        "soaked": False,  # whether it has soaks
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
        "variable_value": explanation.variable_value,
        "runner_page": runner.page_of,
        "server_page": server_page,
    }

    def render(template: str, **values: object) -> str:
        return environment.get_template(f"{template}.j2").render(values)

    return render


def _visible(value: object) -> object:
    """Escape invisible characters in an inserted value; markup has none left."""
    return wording.visible(value) if type(value) is str else value


def _json(value: object) -> str:
    """JSON in plain ASCII: other characters could affect programs that display the page's source."""
    text = msgspec.json.encode(value).decode()
    return text if text.isascii() and "\x7f" not in text else _NOT_PLAIN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def _tone(c: CellComparison) -> str:
    """The class of style.css that gives a cell's reading its colours."""
    return f"likely-{c.leaning}" if c.leaning else c.verdict


def _strength(c: CellComparison) -> int:
    """The strength of the decisive change, from 0 to the number of STRENGTHS."""
    found = wording.decisive(c)
    size = abs(math.log(found[1].estimate)) if found and found[1].estimate > 0 else 0.0
    return sum(size >= each for each in STRENGTHS)
