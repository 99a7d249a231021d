"""Whatever a document holds, commands judge it or refuse it in a few lines, and its texts stay text."""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser

from shootout import capability, characters, steps
from shootout.document import journal
from shootout.errors import InputError
from shootout.inputs import matrix, workload
from shootout.inputs.options import Selection
from shootout.report.site import downloads
from shootout.servers.sources import cache, reference
from shootout.settings import profiles
from tests.mutations import TEXTS, places_in
from tests.support import kinds
from tests.support.browser import opened
from tests.support.kinds import DOCUMENTS, KINDS, Answer, Command, Kind
from tests.support.report.github import github_server
from tests.support.report.site.pages import Document

PATIENCE_S = 120  # for a command that takes two seconds
ACTING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe]")

# --- commands answer ------------------------------------------------------------------------------


class HangError(BaseException):
    """Neither shootout nor hypothesis continues after it."""


@contextmanager
def patience() -> Iterator[None]:
    """Fail where something hangs."""

    def ended(number: int, frame: FrameType | None) -> None:
        raise HangError(f"nothing came in {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def require_said(text: str) -> None:
    """Each message: a few lines that can be printed, and end."""
    assert "Traceback" not in text, text
    assert not ACTING.search(text), repr(text)
    assert len(text) < 30_000, text[:500]


def answered(command: Command, path: Path) -> Answer:
    with patience():
        answer = command(path)
    require_said(answer.error)
    assert answer.code in (0, 1, 2, 3, 4)
    if answer.code == 2:
        assert 1 <= len(answer.error.rstrip("\n").splitlines()) <= 3 + answer.error.count("left out")
    if answer.out.startswith(("{", "[{")):
        json.loads(answer.out, parse_constant=pytest.fail)  # JSON has no infinity
    else:
        assert not ACTING.search(answer.out)
    return answer


def require_answers(kind: Kind, folder: Path, content: bytes) -> None:
    path = kind.write(folder, content)
    answers = [answered(command, path) for command in kind.first]
    if all(each.code != 2 for each in answers):
        for command in kind.then:
            answered(command, path)


LEFT_OUT = ("ledger", "profiled run")  # which cost no verdict
often = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", KINDS)
@often
@given(data=st.data())
def test_any_document_is_judged_or_refused(name: str, data: st.DataObject, folder: Path) -> None:
    require_answers(KINDS[name], folder, data.draw(KINDS[name].contents()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name wants to act, too."""
    return tmp_path_factory.mktemp("any") / "a\x1b[31m"


DEEP = 200_000
FAULTS = (
    b'{"\xff": 1}',
    b"\xff",
    b"",
    b"\x00",
    b'{"\\u001b[31m\\n": 1}',
    b'{"x": ' + DEEP * b"[" + DEEP * b"]" + b"}",
    DEEP * b'{"x":' + b"1" + DEEP * b"}",
    b'{"x": 1e999}',
    b'{"x": ' + 10_000 * b"9" + b"}",
    b"a = " + 5_000 * b"1",  # more digits than Python makes a number of
    b"threads = 0x" + 5_000 * b"f",  # more than it prints
    b"[settings]\nmax_connections = 0x" + 5_000 * b"f",
    b"a = " + 5_000 * b"{a=",
    5_000 * b"a." + b"a = 1",
    b'[settings]\nbuffer_pool_bytes = "1e9999999999"',
    b'[settings]\ncharacter_set = "utf8\\n[client]"',
    b'[options]\na = "b\\rc"',
)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_no_document_is_refused(name: str, folder: Path) -> None:
    kind = KINDS[name]
    for fault in FAULTS:
        for content in (fault, lzma.compress(fault), journal.sealed(fault, b"")[0]):
            path = kind.write(folder, content)
            codes = {answered(command, path).code for command in kind.first}
            assert codes == {2} or name not in DOCUMENTS or name in LEFT_OUT, fault[:50]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_valid_document_gets_every_answer(name: str, folder: Path) -> None:
    """Or the others would prove nothing."""
    kind = KINDS[name]
    for value in kind.valid:
        path = kind.write(folder, kind.encode(value))
        codes = [answered(command, path).code for command in (*kind.first, *kind.then)]
        assert 2 not in codes[: len(kind.first)], codes


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_a_cache_that_holds_it_is_made_anew(fault: bytes, tmp_path: Path) -> None:
    kind = KINDS["run"]
    path = kind.write(tmp_path, kind.encode(kind.valid[0]))

    def everything() -> tuple[Sequence[Answer], dict[Path, bytes]]:
        answers = [answered(command, path) for command in (*kind.first, *kinds.PUBLISH)]
        return answers, {each: each.read_bytes() for each in (tmp_path / "out").rglob("*.html")}

    before = everything()
    caches = [*(tmp_path / "results" / "judged").rglob("*.*"), *(tmp_path / "out").glob(".*")]
    assert len(caches) > 1
    for cached in filter(Path.is_file, caches):
        whole = cached.read_bytes().split(b"\n")
        for line in range(min(len(whole), 3)):
            cached.write_bytes(b"\n".join([*whole[:line], fault.replace(b"\n", b""), *whole[line + 1 :]]))
            answers, pages = everything()
            assert (answers[:2], pages) == (before[0][:2], before[1])
    (tmp_path / "template.json").write_bytes(fault)
    assert cache.manifest(tmp_path) is None


PARTS = st.sampled_from([
    "path:", "image:", "dsn:", ":", "@", "/", "~", "~root", "~nobody-at-all", "..", ".", "#2", ",", " ", "%",
    "\x00", "mysql-8.0.12", "in-memory", "defaults", ".cnf", ".toml", "/proc", "/etc/passwd", 300 * "a",
    5_000 * "a", "git:", "[mysqld]\n", "[", "=", "a =\n b", "!include x", "\ufeff",
])  # fmt: skip


@often
@given(text=st.lists(PARTS | TEXTS, max_size=6).map("".join))
def test_any_option_and_option_file_is_read_or_refused(text: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    cnf = folder / "my.cnf"
    cnf.write_text(text, "utf-8")
    readers: Sequence[tuple[Callable[[Any], object], Any]] = (
        (kinds.read_settings, cnf),
        *((each, text) for each in (reference.parse, workload.load, profiles.load, matrix.load_profile)),
        (lambda each: reference.labels([reference.parse("mysql-8.0.12"), reference.parse(each)], {}), text),
        (lambda each: steps.plan(Selection.read(servers=each)), text),
    )
    for reader, argument in readers:
        said = ""
        with patience():
            try:
                reader(argument)
            except InputError as error:
                said = str(error)
        assert len(said.splitlines()) <= 3 * (1 + len(text.splitlines()))  # it shows a name as given


# --- texts stay text ------------------------------------------------------------------------------

ALERT = "<script>alert(1)</script>"
HOSTILE = (
    f"""</script>{ALERT}<svg onload=alert(2)><img src=x onerror=alert(3)>'"`${{7*7}}{{{{7*7}}}}"""
    """<!--\x1b[31mred\x1b[0m\u202egnp.exe\u2066\x00&amp;%{x}%{fullData.name}|*md*"""
    """]]>\ufffe\u2028\u0085\n| a | b |\n# [x](http://example.org) @somebody"""
)
FORMULA = '=HYPERLINK("http://example.org";"x")'
LONG = 60_000 * "x"


def everywhere(value: Any, chosen: dict[str, str]) -> Any:
    """The value with these texts and keys replaced."""
    match value:
        case dict():
            return {chosen.get(key, key): everywhere(each, chosen) for key, each in value.items()}
        case list():
            return [everywhere(each, chosen) for each in value]
        case str():
            return chosen.get(value, value)
    return value


def with_texts(kind: Kind, folder: Path, change: Callable[[str], str], most: int) -> Path:
    """A document in which each text that may be any text has been changed; `most`: where it occurs often."""
    value = kind.valid[0]
    found = [
        at[key] for at, key in places_in(value) if isinstance(at[key], str) and at[key] not in kind.fixed
    ]
    chosen: dict[str, str] = {}

    def written(more: Sequence[str]) -> Path:
        replaced = chosen | {text: change(text) for text in more}
        return kind.write(folder, kind.encode(everywhere(value, replaced)))

    def choose(texts: Sequence[str]) -> None:
        path = written(texts)
        answers = [answered(command, path) for command in kind.first[:1]]
        if all(each.code != 2 and "left out" not in each.error for each in answers):
            chosen.update({text: change(text) for text in texts})
        elif len(texts) > 1:
            choose(texts[: len(texts) // 2])
            choose(texts[len(texts) // 2 :])

    choose([text for text in sorted(set(found)) if found.count(text) <= most])
    assert chosen
    return written(())


WITHOUT_PAGE = (*LEFT_OUT, "baseline", "map")


class Told(NamedTuple):
    """Everything printed about a document with hostile texts."""

    kind: str
    text: str  # of CHANGES
    answers: Sequence[Answer]
    markdown: str
    site: Path


CHANGES: dict[str, tuple[Callable[[str], str], int]] = {
    "hostile": (lambda text: f"{FORMULA}{text}{HOSTILE}", 10**9),
    "endless": (lambda text: text + LONG, 8),
}


@pytest.fixture(scope="module", params=[f"{kind}, {text}" for kind in DOCUMENTS for text in CHANGES])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    name, _, text = request.param.partition(", ")
    kind, folder = DOCUMENTS[name], tmp_path_factory.mktemp("told") / "a"
    path = with_texts(kind, folder, *CHANGES[text])
    with pytest.MonkeyPatch.context() as patch, github_server.running() as hub:
        patch.setenv("FORCE_COLOR", "1")
        answers = [command(path) for command in (*kind.first, *kind.then)]
        for key, value in hub.environment.items():
            patch.setenv(key, value)
        github_server.a_pull(hub)
        if capability.by_owner([path])[1] or name == "run":
            assert github_server.comment(path) == 0
        return Told(name, text, answers, "".join(each["body"] for each in hub.comments), folder / "out")


def test_the_terminal_obeys_nobody(told: Told) -> None:
    for answer in (each for each in told.answers if not each.out.startswith(("{", "[{"))):
        text = re.sub(r"\x1b\[[0-9;]*m", "", answer.out)  # the console's own colours
        assert not ACTING.search(text)
        assert LONG not in text
        require_said(re.sub(r"\x1b\[[0-9;]*m", "", answer.error))


def test_pages_have_no_element_that_is_not_ours(told: Told) -> None:
    shown = False
    for page in sorted(told.site.rglob("*.html")):
        text = page.read_text("utf-8")
        assert len(text) < 2_000_000, page
        assert LONG not in text, page
        assert not ACTING.search(text), page
        read = Document(text)
        assert read.open == [], page
        assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes), page
        assert {"img", "iframe", "object", "form", "base"}.isdisjoint(tag for tag, _ in read.tags), page
        sources = [attributes for tag, attributes in read.tags if tag == "script"]
        assert all("src" in script or script.get("type") == "application/json" for script in sources)
        links = [value for _, attributes in read.tags if (value := attributes.get("href"))]
        assert not [link for link in links if link.startswith(("http", "javascript", "//"))], page
        shown |= ALERT in read.text  # letter by letter
    assert shown or told.text == "endless" or told.kind in WITHOUT_PAGE


def test_data_can_be_read_and_calculates_nothing(told: Told) -> None:
    for path in told.site.rglob("*.json"):
        json.loads(path.read_bytes(), parse_constant=pytest.fail)
    number = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
    for path in told.site.rglob("*.csv"):
        text = path.read_text("utf-8")
        assert not ACTING.search(text), path
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert {len(row) for row in rows} == {len(rows[0])}, path
        for field in (field for row in rows[1:] for field in row):
            assert not field.startswith(downloads.FORMULA) or number.fullmatch(field), path
    for path in (*told.site.rglob("*.xml"), *told.site.rglob("*.svg")):
        text = path.read_text("utf-8")
        assert not ACTING.search(text), path
        root = ElementTree.fromstring(text)
        assert not [element for element in root.iter() if element.tag.endswith("script")]
        assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]


# Code that its text cannot close, and what folds lines.
OURS = re.compile(
    r"^(`{3,})[a-z]*$.*?^\1$|(?<!`)(`+) [^\n]*? \2(?!`)|^</?details>|<summary>|</summary>$",
    re.MULTILINE | re.DOTALL,
)


def test_markdown_has_no_markup_but_ours(told: Told) -> None:
    assert len(told.markdown) < 1_000_000
    assert LONG not in told.markdown
    assert not ACTING.search(told.markdown)
    for line in OURS.sub("", told.markdown.partition("-->")[2]).splitlines():
        acting = re.sub(r"\\[!-/:-@\[-`{-~]", "", line.removeprefix("- "))  # without what is escaped
        assert not re.search(r"<|\]\((?!https://github)|@[a-z]|`|!\[", acting), line[:300]


def test_an_endless_text_has_an_end() -> None:
    assert characters.visible(1_000_000 * "x").endswith("… and 980\u202f000 more characters")
    assert characters.visible("short") == "short"


def test_nothing_runs_in_a_browser(told: Told, chromium: Browser) -> None:
    """One page of each kind: those of cells, for example, have one template."""
    pages = {(page.parent, page.name.partition("-")[0]): page for page in told.site.rglob("*.html")}
    for page in pages.values() if told.text == "hostile" else ():
        tab, faults = opened(chromium, page, width=390)
        assert faults == []
        assert tab.locator("svg[onload], img, main script:not([type])").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.close()
