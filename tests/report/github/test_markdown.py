"""What GitHub shows of a run: comments, annotations, and that nothing in them acts."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shootout import cli, numbers
from shootout.errors import InputError
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.report import wording
from shootout.report.github import markdown
from shootout.report.github.repository import Repository
from tests import builders
from tests.report.github.github_server import ME, GitHub
from tests.test_cli import a_document, saved

pytest_plugins = ["tests.report.github.github_server"]

SHA, BRANCH = "ab" * 20, "someone:faster"


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


def plain(text: str) -> str:
    """Without the entities that stand for what could act."""
    return re.sub(r"&#\d+;", "", text)


# --- the comment's text ---------------------------------------------------------------------------


def test_a_comment_has_every_run_and_the_link() -> None:
    text = markdown.comment([a_comparison(), a_comparison()], "https://example.org/run")
    assert text.startswith(f"{markdown.MARKER}\n**mysql-8.0.12 is slower than mysql-5.7.22 in ")
    assert text.count("| workload | threads | server |") == 2
    assert text.endswith("[The whole run](https://example.org/run)\n")


def test_a_comment_is_never_longer_than_github_takes() -> None:
    text = markdown.comment([a_comparison(reason="x" * 9_000)], "https://example.org/run")
    assert 50_000 < len(text) < 65_536
    assert "and more, which a comment has no room for" in text
    assert text.endswith("(https://example.org/run)\n")


def test_a_row_has_the_change_that_decided_its_verdict() -> None:
    cells = tuple(builders.decided_by(each, "latency_p99", 1.3) for each in made().cells)
    text = markdown.summary(structs.replace(made(), cells=cells)).replace(numbers.SPACE, " ")
    assert "| 99 % latency +30 % | +28 to +32 % | " in text


@settings(deadline=None)
@given(st.text(max_size=80))
def test_nothing_in_a_comment_is_markup_or_a_mention(text: str) -> None:
    shown = plain(markdown.comment([a_comparison(reason=text, workload=text)]))
    template = plain(markdown.comment([a_comparison(reason="x", workload="x")]))
    for active in ("<", "`", "@", "[", "](", "!", "#", "~", "\r", "\x1b"):
        assert shown.count(active) == template.count(active)
    assert len(shown.splitlines()) == len(template.splitlines())


# --- annotations ----------------------------------------------------------------------------------


def test_annotations_are_the_worst_first_and_not_more_than_are_shown() -> None:
    lines = list(markdown.marks(made()))
    assert all(line.startswith("::error title=") for line in lines)
    assert lines[0].startswith(
        "::error title=▼ regressed%3A oltp_point_select%2C 1 thread::mysql-8.0.12: -24"
    )
    assert any(line.startswith("::error title=✕ failed%3A oltp_read_write%2C 32 threads::") for line in lines)
    many = a_comparison()
    worse = tuple(structs.replace(each, verdict=Verdict.REGRESSED) for each in many.cells)
    assert len(list(markdown.marks(structs.replace(many, cells=worse)))) == markdown.ANNOTATIONS_MAX


@settings(deadline=None)
@given(st.text(max_size=80))
def test_an_annotation_is_one_command(text: str) -> None:
    for line in markdown.marks(a_comparison(reason=text, workload=text)):
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
    opened, *inside, closed = "\n".join(markdown.code(text)).split("\n")
    assert opened == closed
    assert set(opened) == {"`"}
    assert all(not line.lstrip().startswith(opened) for line in inside)
    assert "\n".join(inside) == wording.visible(text)


# --- the comment on GitHub ------------------------------------------------------------------------


def a_pull(hub: GitHub, number: int = 7, sha: str = SHA) -> None:
    hub.pulls.append(
        {"number": number, "state": "open", "branch": BRANCH, "labels": [], "head": {"sha": sha}}
    )


@pytest.fixture
def at(hub: GitHub, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    for name, value in hub.environment.items():
        monkeypatch.setenv(name, value)
    return hub


def comment(path: Path, *more: str) -> int:
    return cli.main(["github", "comment", f"--branch={BRANCH}", f"--sha={SHA}", *more, "--", str(path)])


def test_a_comment_is_written_once_and_then_in_its_place(
    at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_pull(at)
    for number in range(120):  # more than a page
        at.say(7, f"Nice work! {number}")
    for run in ("20261120T024100Z-7f3a", "20261121T024100Z-7f3b"):
        path = saved(a_document(run=run), tmp_path)
        assert comment(path, f"--link=https://example.org/{run}") == 0
    ours = [each for each in at.comments if each["body"].startswith(markdown.MARKER)]
    assert len(ours) == 1
    assert "https://example.org/20261121T024100Z-7f3b" in ours[0]["body"]
    assert capsys.readouterr().out == f"{ours[0]['html_url']}\n" * 2


def test_a_persons_comment_is_never_taken_for_ours(at: GitHub, tmp_path: Path) -> None:
    a_pull(at)
    at.say(7, f"{markdown.MARKER} I was here first", {"login": "someone", "type": "User"})
    assert comment(saved(a_document(), tmp_path)) == 0
    assert [each["user"]["type"] for each in at.comments] == ["User", ME["type"]]
    assert "I was here first" in at.comments[0]["body"]


def test_what_a_newer_push_has_superseded_is_not_written(
    at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_pull(at, sha="cd" * 20)
    assert comment(saved(a_document(), tmp_path)) == 0
    assert at.comments == []
    assert "nothing written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fingerprint", "said"),
    [("../../etc/passwd", "runner.fingerprint: expected letters and digits"), ("", "runner.fingerprint")],
)
def test_a_document_names_no_file_to_read(
    fingerprint: str, said: str, at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_pull(at)
    made = a_document()
    runner = structs.replace(made.header.runner, fingerprint=fingerprint)
    made = structs.replace(made, header=structs.replace(made.header, runner=runner))
    assert comment(saved(made, tmp_path)) == 2
    assert said in capsys.readouterr().err
    assert at.comments == []


def test_a_refusal_is_told_without_the_token(
    at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at.status = 403
    assert comment(saved(a_document(), tmp_path)) == 3
    assert capsys.readouterr().err == "shootout: GitHub: GET pulls: HTTP 403 Forbidden\n"


def test_a_redirect_is_not_followed(at: GitHub, tmp_path: Path) -> None:
    at.status = 302
    assert comment(saved(a_document(), tmp_path)) == 3
    assert len(at.asked) == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GITHUB_TOKEN", "", "GITHUB_TOKEN: not set; expected it from the workflow's environment"),
        ("GITHUB_REPOSITORY", "a/b/../c", "GITHUB_REPOSITORY 'a/b/../c': expected OWNER/NAME"),
        (
            "GITHUB_API_URL",
            "http://example.org",
            "GITHUB_API_URL: expected an address that begins with https",
        ),
    ],
)
def test_an_environment_that_is_no_workflows_is_named(name: str, value: str, said: str, hub: GitHub) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Repository.of(hub.environment | {name: value})


def test_annotations_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["github", "annotate", str(saved(a_document(), tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("::error title=▼ regressed") for line in lines)


# --- chat rooms -----------------------------------------------------------------------------------


def test_a_chat_room_is_told_the_headlines(
    hub: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(a_document(servers=("mysql-5.7.22", "<!channel> & *co*")), tmp_path)
    assert cli.main(["notify", str(path), f"--webhook={hub.url}/hook", "--link=https://example.org/"]) == 0
    (said,) = hub.said
    assert said.keys() == {"text"}
    assert said["text"].startswith(
        "&lt;!channel&gt; &amp; *co* is slower than mysql-5.7.22 in 2 of 2 cells: "
    )
    assert said["text"].endswith("\n<https://example.org/|The report>")
    assert capsys.readouterr().out == "sent\n"


def test_the_rooms_address_stays_a_secret(
    hub: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(a_document(), tmp_path)
    hub.status = 404
    assert cli.main(["notify", str(path), f"--webhook={hub.url}/hook"]) == 3
    assert cli.main(["notify", str(path), "--webhook=http://example.org/secret"]) == 2
    assert cli.main(["notify", str(path), "--webhook=http://127.0.0.1:1/secret"]) == 3
    said = capsys.readouterr().err
    assert "webhook: HTTP 404 Not Found" in said
    assert "--webhook: expected an address that begins with https://" in said
    assert "Connection refused" in said
    assert "secret" not in said
    assert "/hook" not in said
