"""Characters that act on a display."""

from __future__ import annotations

from shootout import characters


def test_what_acts_on_a_display_becomes_visible() -> None:
    assert characters.visible("\x1b[31mred\x1b[0m\u202egnp\x00") == "␛[31mred␛[0m[U+202E]gnp␀"
    assert characters.visible("line\n\tnext") == "line\n\tnext"
