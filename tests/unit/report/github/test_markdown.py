"""A run on GitHub: comments, annotations, and nothing in them that acts."""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import structs

from shootout import characters, cli
from shootout.analysis import compare
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.report import run_answer
from shootout.report.github import markdown, request
from shootout.writers import markdown as written
from tests.support import builders
from tests.support.analysis import builders as analysis
from tests.unit.test_cli import a_document, saved

pytest_plugins = ["tests.support.report.github.github_server"]

made = functools.cache(builders.a_comparison)


def a_comparison(**changes: str) -> Comparison:
    """The same with another reason or workload in every cell."""

    def changed(each: CellComparison) -> CellComparison:
        workload = changes.get("workload", each.cell.workload)
        return structs.replace(
            each,
            reason=changes.get("reason", each.reason),
            cell=structs.replace(each.cell, workload=workload),
            base=structs.replace(each.base, workload=workload),
        )

    return structs.replace(made(), cells=tuple(map(changed, made().cells)))


# Texts that GitHub makes a mention, a reference, an emoji or a link, after it has decoded entities.
LINKED = re.compile(r"@\w|#\d|\bGH-\d|www\.|:\w+:|\w://", re.IGNORECASE)
# Holds no markup.
CODE = re.compile(r"(?s:(`{3,})\n.*?\n\1)|(?<!`)(`+) .*? \2(?!`)")


def plain(text: str) -> str:
    """Without entities and escapes, which cannot be markup."""
    return re.sub(r"&#?\w+;|\\[^\w\s]", "", text)


def said(comparison: Comparison) -> str:
    return written.write(run_answer.answer(comparison))


# --- the comment's text ---------------------------------------------------------------------------


def test_a_comment_has_every_run_and_the_link() -> None:
    text = markdown.comment(2 * [said(a_comparison())], "main", "https://example.org/run")
    assert text.startswith(f"{request.MARKER}\n**mysql-8.0.12 is slower than mysql-5.7.22 in ")
    assert text.count("| workload | threads | base, tps |") == 2
    assert text.endswith("[The full report](https://example.org/run)\n")


def test_a_comment_is_never_longer_than_github_takes() -> None:
    text = markdown.comment(8 * [said(a_comparison(reason="x" * 9_000))], "main", "https://example.org/run")
    assert 50_000 < len(text) < 65_536
    assert "truncated to the length that GitHub allows" in text
    assert text.endswith("(https://example.org/run)\n")


@settings(deadline=None)
@given(st.text(max_size=80))
@example("@org/team a@host.tld o/r#1 gh-1 GH-1 www.host.tld https://host.tld ftp://host.tld :+1: :tada:")
def test_nothing_in_a_comment_is_markup_or_a_mention(text: str) -> None:
    summary = said(a_comparison(reason=text, workload=text))
    comment = CODE.sub("", markdown.comment([summary], "main"))
    assert not LINKED.search(html.unescape(comment))
    shown = plain(comment)
    summary = said(a_comparison(reason="x", workload="x"))
    template = plain(CODE.sub("", markdown.comment([summary], "main")))
    for active in ("<", "`", "[", "](", "~", "\r", "\x1b"):
        assert shown.count(active) == template.count(active)
    assert len(shown.splitlines()) == len(template.splitlines())


def test_no_label_of_a_server_is_a_marker_of_ours() -> None:
    """Code shows HTML comments as they are."""
    marker = "<!-- shootout: waiting for run 1 -->"
    document = analysis.a_document(analysis.starts_of(-9))
    encoded = msgspec.json.encode(document).replace(b'"b"', msgspec.json.encode(f"b{marker}"))
    hostile = msgspec.json.decode(encoded, type=type(document))
    text = markdown.comment([said(compare.compare(hostile))], "main")
    assert marker not in text
    assert marker in text.replace("\N{ZERO WIDTH SPACE}", "")


@settings(deadline=None)
@given(st.text(max_size=80))
@example("_a_ __b__ c_d_e *f* **g** `h` ~~i~~ [j](k) ![l](m) <b>n</b> &lt; &#60; \\* |o| <http://p.q> # r")
@example("- - - a")
@example("1. a")
@example("> a")
def test_a_text_is_read_as_it_is(text: str) -> None:
    """As CommonMark says, in a list and in a table."""
    expected = " ".join(characters.visible(text).split())
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for form in ("- {}", "| {} |\n|---|"):
        tokens = reader.parse(form.format(written.escaped(text)))
        children = [child for token in tokens for child in token.children or ()]
        assert {child.type for child in children} <= {"text", "text_special"}
        shown = "".join(child.content for child in children).replace("\N{ZERO WIDTH SPACE}", "")
        assert shown == expected.replace("\N{ZERO WIDTH SPACE}", "")


def test_nothing_in_a_table_is_markup_unless_it_is_meant() -> None:
    hostile = "\x1b[2J<b>@me|x"
    escaped = written.escaped(hostile)
    assert escaped == "␛\\[2J\\<b>@\N{ZERO WIDTH SPACE}me\\|x"
    linked = written.Markup("[a](https://example.org)")
    assert [*written.table((hostile, f"#{hostile}"), [(hostile, linked)])] == [
        f"| {escaped} | {escaped} |",
        "|---|--:|",
        f"| {escaped} | {linked} |",
    ]


def test_a_summary_of_details_is_html() -> None:
    (summary, *_) = written.folded("<b>\\<i> & @me", [])
    assert summary == ("<details><summary>&lt;b&gt;\\&lt;i&gt; &amp; @\N{ZERO WIDTH SPACE}me</summary>")


# --- annotations ----------------------------------------------------------------------------------


def test_annotations_are_the_worst_first_and_not_more_than_are_shown() -> None:
    lines = list(markdown.annotate(made()))
    assert all(line.startswith("::error title=") for line in lines)
    first, said_ = lines[0].split("::mysql-8.0.12: ")
    assert first == "::error title=▼ regressed%3A oltp_point_select%2C 1 thread"
    assert said_.startswith("24.1 %25 slower, ")
    assert any(line.startswith("::error title=✕ failed%3A oltp_read_write%2C 32 threads::") for line in lines)
    many = a_comparison()
    worse = tuple(structs.replace(each, verdict=Verdict.REGRESSED) for each in many.cells)
    several = structs.replace(many, cells=worse[: markdown.ANNOTATIONS_MAX])
    assert len(list(markdown.annotate(several))) == markdown.ANNOTATIONS_MAX
    *shown, last = markdown.annotate(structs.replace(many, cells=worse))
    assert len(shown) == markdown.ANNOTATIONS_MAX - 1
    assert last.startswith(f"::warning title={len(worse) - len(shown)} more cells::")


@settings(deadline=None)
@given(st.text(max_size=80))
@example("\u2028\u2029")
def test_an_annotation_is_one_command(text: str) -> None:
    for line in markdown.annotate(a_comparison(reason=text, workload=text)):
        assert line.splitlines() == [line]
        level, title, said = line.removeprefix("::").partition(" title=")[0], *_parts(line)
        assert level == "error"
        assert not set(title) & {":", ","}
        assert "%" not in re.sub(r"%(25|3A|2C|0A|0D)", "", title + said)


def _parts(line: str) -> tuple[str, str]:
    title, _, said = line.partition(" title=")[2].partition("::")
    return title, said


# --- code -----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(alphabet="`~a \n\x1b", max_size=30))
def test_no_text_ends_its_block_of_code(text: str) -> None:
    opened, *inside, closed = "\n".join(written.code(text)).split("\n")
    assert opened == closed
    assert set(opened) == {"`"}
    assert all(not line.lstrip().startswith(opened) for line in inside)
    assert "\n".join(inside) == characters.visible(text)


def test_annotations_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["github", "annotate", str(saved(a_document(), tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("::error title=▼ regressed") for line in lines)
