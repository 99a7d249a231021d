"""Characters that act on a display, made visible."""

from __future__ import annotations

import codecs
import io
import re
import sys
import unicodedata

from shootout.numbers import number

# Replacements for an output without these characters; a sign may turn a sentence around.
_PLAIN = {
    "−": "-", "…": "...", "→": "->", "←": "<-", "×": "x", "µ": "u", "±": "+-", "≤": "<=", "≥": ">=", "▼": "v",
    "▲": "^", "✕": "x", "✗": "x", "✓": "+", "○": "o", "◆": "*", "·": "*", "━": "=", "─": "-", "“": '"',
    "”": '"', "’": "'", "–": "-", "—": "-",
}  # fmt: skip

TEXT_MAX = 20_000  # characters; quoted ends of server logs are shorter

# Control characters, including bidirectional ones, alter the display of the text around them.
_VISIBLE = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: 0x2421}
    | dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}")
    | {
        code: f"[U+{code:04X}]"
        for code in (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
    }
    | dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")  # not characters, and not allowed in XML
)
_CONTROL = re.compile(f"[{''.join(re.escape(chr(code)) for code in _VISIBLE)}]")


def write_plainly() -> None:
    """Let the standard streams write plain characters for those that their encoding lacks."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    plain = "".join(_PLAIN.get(each) or unicodedata.normalize("NFKD", each) for each in lacking)
    return plain.encode("ascii", "replace").decode(), error.end


def visible(text: str) -> str:
    """`text` truncated to TEXT_MAX, with a visible replacement for each control character."""
    if len(text) > TEXT_MAX:
        text = f"{text[:TEXT_MAX]}… and {number(len(text) - TEXT_MAX, 0)} more characters"
    if text.isprintable():  # fast path: most texts are
        return text
    return text.translate(_VISIBLE) if _CONTROL.search(text) else text
