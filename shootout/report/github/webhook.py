"""Chat messages in the JSON of Slack's incoming webhooks, which other services also accept."""

from __future__ import annotations

import urllib.request
from collections.abc import Sequence

import msgspec

from shootout.model.value import Value
from shootout.model.verdict import Comparison
from shootout.report import wording
from shootout.report.github import http

TEXT_MAX = 3000  # characters


class Message(Value):
    text: str


def message(comparisons: Sequence[Comparison], link: str | None = None) -> Message:
    """The headlines of runs and a link to the report; their text cannot form mentions or links."""
    lines = []
    for comparison in comparisons:
        lines += [_plain(each.text) for each in wording.headlines(comparison)]
        if standing := wording.standing(comparison):
            lines.append(_plain(standing))
    text = "\n".join(lines)[:TEXT_MAX]
    return Message(text=text if link is None else f"{text}\n<{link}|The report>")


def post(url: str, body: Message) -> None:
    """Post the message. Raises MeasureError, which never shows the address: it is the credential."""
    headers = {"Content-Type": "application/json"}
    http.send("webhook", urllib.request.Request(url, msgspec.json.encode(body), headers))


def _plain(text: str) -> str:
    """The text on one line, with Slack's three special characters as entities."""
    one_line = " ".join(wording.visible(text).split())
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
