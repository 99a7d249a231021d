"""Word of a run to a chat room: the JSON body that Slack's incoming webhooks take, and others with them."""

from __future__ import annotations

import urllib.request
from collections.abc import Sequence

import msgspec

from shootout.analysis import compare
from shootout.model.value import Value
from shootout.model.verdict import Comparison
from shootout.report import wording
from shootout.report.github import http

TEXT_MAX = 3000  # characters


class Message(Value):
    """What is sent."""

    text: str


def message(comparisons: Sequence[Comparison], link: str | None = None) -> Message:
    """The headlines of runs, and where to read on; nothing in it is a mention or a link of its own."""
    lines = []
    for comparison in comparisons:
        lines += [_plain(each.text) for each in wording.headlines(comparison)]
        if compare.advisory(comparison):
            lines.append("This runner gives too many false alarms: the verdicts only advise.")
    text = "\n".join(lines)[:TEXT_MAX]
    return Message(text=text if link is None else f"{text}\n<{link}|The report>")


def post(url: str, body: Message) -> None:
    """Send it. Raises MeasureError, which does not show the address: who knows it can write there."""
    headers = {"Content-Type": "application/json"}
    http.send("webhook", urllib.request.Request(url, msgspec.json.encode(body), headers))


def _plain(text: str) -> str:
    """On one line, with Slack's three special characters as entities."""
    one_line = " ".join(wording.visible(text).split())
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
