"""Templates → text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from shootout import numbers
from shootout.analysis import metrics, warnings
from shootout.inputs import published
from shootout.model.verdict import CellComparison
from shootout.paths import TEMPLATES, file_stem
from shootout.report import judgement_cache, wording
from shootout.report.site import findings, history, markup, runner, settings, workload
from shootout.report.site.names import cell_stem, run_folder, server_page
from shootout.report.site.svg import THUMBNAIL, marker, sketch

Renderer = Callable[..., str]

PLOTLY = f"plotly-{version('plotly')}.min.js"
_NOT_PLAIN = re.compile("[^ -~]")
STRENGTHS = (0.05, 0.15, 0.3)  # changes from which a tile is coloured more strongly
ERRORS = warnings.RETRIED | {
    "1040": "too many connections",
    "1053": "server shutting down",
    "1317": "interrupted",
    "2002": "server not reached",
    "2003": "server not reached",
    "2013": "connection lost",
}


def renderer() -> Renderer:
    """Renders a template of that name; a page takes `root`, the way up from it to the site's top.

    A page takes `data`, too, where its JSON and CSV lie beside it: the stem of their names.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=Compiled(str(TEMPLATES / "__pycache__")),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies |= {"json.dumps_function": _json, "json.dumps_kwargs": {}}
    environment.filters |= {
        "advice": wording.advice,
        "breakable": markup.breakable,
        "busy_cpus": workload.busy_cpus,
        "cause": wording.cause,
        "causes_title": wording.causes_title,
        "change": wording.change,
        "change_range": wording.change_range,
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
        "marker": marker,
        "memory": wording.memory,
        "moment": wording.moment,
        "number": numbers.number,
        "p_value": wording.p_value,
        "percent": wording.percent,
        "sentence": wording.sentence,
        "setting": wording.setting,
        "percents": numbers.percents,
        "share": numbers.share,
        "signed": wording.signed,
        "sketch": sketch,
        "spark": history.spark,
        "strength": _strength,
        "threads": wording.threads,
        "written_kb_per_s": workload.written_kb_per_s,
    }
    environment.globals |= {
        "MEANINGS": wording.MEANINGS,
        "NONE": wording.NONE,
        "NOT_VISIBLE": wording.NOT_VISIBLE,
        "OUTCOME_SYMBOLS": wording.OUTCOME_SYMBOLS,
        "PLOTLY": PLOTLY,
        "PUBLISHED": published.known(),
        "ERRORS": ERRORS,
        "SHOWN_MAX": findings.SHOWN_MAX,
        "SAME_SETTINGS": settings.GROUPS[-1],
        "SPACE": numbers.SPACE,
        "SYMBOLS": wording.SYMBOLS,
        "compared_rows": markup.compared,
        "delta": markup.delta,
        "href": markup.href,
        "neighbours": markup.neighbours,
        "num": markup.num,
        "history_rows": markup.history,
        "round_rows": markup.rounds,
        "THUMBNAIL": THUMBNAIL,
        "TITLES": metrics.TITLES,
        "cell_stem": cell_stem,
        "run_folder": run_folder,
        "runner_page": runner.page_of,
        "server_page": server_page,
    }

    def render(name: str, **values: object) -> str:
        return environment.get_template(f"{name}.j2" if "." in name else f"{name}.html.j2").render(values)

    return render


@cache
def made_by() -> bytes:
    """The templates, the published comparisons, this library and those that it renders with, in a word."""
    sources = [*TEMPLATES.iterdir(), *published.FOLDER.glob("*.toml"), *Path(__file__).parent.glob("*.py")]
    texts = [path.read_bytes() for path in sorted(sources) if path.is_file()]
    libraries = (judgement_cache.library(), PLOTLY, version("jinja2"))
    return judgement_cache.digest(*map(str.encode, libraries), *texts).encode()


class Compiled(FileSystemBytecodeCache):
    """Templates as they were compiled before, where Python keeps its modules: to compile them takes 0.3 s."""

    def get_source_checksum(self, source: str) -> str:
        """Of the source, and of all that compiles it: what is constant is worked out then."""
        return judgement_cache.digest(made_by(), source.encode())

    def load_bytecode(self, bucket: Bucket) -> None:
        """What is kept of a template, if it can be read."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, where that can be."""
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def _shown(value: object) -> object:
    """What a template puts into a page; what is markup has been shown before."""
    return wording.visible(value) if type(value) is str else value


def _json(value: object) -> str:
    """In plain characters alone: others could act on what shows the page's source."""
    text = msgspec.json.encode(value).decode()
    return text if text.isascii() and "\x7f" not in text else _NOT_PLAIN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def _strength(c: CellComparison) -> int:
    """How large the change is that decided, from 0 to the number of STRENGTHS."""
    found = wording.decisive(c)
    size = abs(math.log(found[1].estimate)) if found and found[1].estimate > 0 else 0.0
    return sum(size >= each for each in STRENGTHS)
