"""Templates → text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from shootout import doubts, published, wording
from shootout.places import TEMPLATES
from shootout.site import settings
from shootout.site.names import cell_stem
from shootout.site.run import Run

Renderer = Callable[..., str]

PLOTLY = f"plotly-{version('plotly')}.min.js"
ERRORS = doubts.RETRIED | {
    "1040": "too many connections",
    "1053": "server shutting down",
    "1317": "interrupted",
    "2002": "server not reached",
    "2003": "server not reached",
    "2013": "connection lost",
}


def renderer(runs: Sequence[Run]) -> Renderer:
    """Renders a template of that name with `root`, the way up from the page to the site's top."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: wording.visible(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {
        "breakable": _breakable,
        "change": wording.change,
        "change_range": wording.change_range,
        "cpu_us": wording.cpu_us,
        "dataset": wording.dataset,
        "duration": wording.duration,
        "estimate": wording.estimate,
        "factor": wording.factor,
        "half_width": wording.half_width,
        "memory": wording.memory,
        "moment": wording.moment,
        "number": wording.number,
        "p_value": wording.p_value,
        "percent": wording.percent,
        "sentence": wording.sentence,
        "setting": wording.setting,
        "percents": wording.percents,
        "share": wording.share,
        "signed": wording.signed,
        "threads": wording.threads,
    }
    environment.globals |= {
        "MEANINGS": wording.MEANINGS,
        "NONE": wording.NONE,
        "NOT_VISIBLE": wording.NOT_VISIBLE,
        "OUTCOME_SYMBOLS": wording.OUTCOME_SYMBOLS,
        "PLOTLY": PLOTLY,
        "PUBLISHED": published.known(),
        "ERRORS": ERRORS,
        "SAME_SETTINGS": settings.GROUPS[-1],
        "SYMBOLS": wording.SYMBOLS,
        "cell_stem": cell_stem,
        "runs": runs,
    }

    def render(name: str, **values: object) -> str:
        return environment.get_template(f"{name}.html.j2").render(values)

    return render


def _breakable(name: str) -> Markup:
    """A long name that may be broken where a person would break it."""
    return Markup(re.sub(r"(?<=[_/@,])", "<wbr>", str(escape(name))))
