"""Names, and commands, with places for line breaks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from shootout.report.site import breaks


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("oltp_read_only", "oltp_<wbr>read_<wbr>only"),
        ("mysql-8.0.12", '<span class="whole">mysql-8.0.12</span>'),
        (
            "mysql-8.0.12@in-memory is slower",
            '<span class="whole">mysql-8.0.12</span>@<wbr><span class="whole">in-memory</span> is slower',
        ),
        ("mariadb-10.11-with-a-patch-of-mine", "mariadb-10.11-with-a-patch-of-mine"),
        ("--threads -3", "--threads -3"),
        ("a&b-1", 'a&amp;<span class="whole">b-1</span>'),
        ("<b-1>", '&lt;<span class="whole">b-1</span>&gt;'),
    ],
)
def test_a_name_breaks_where_a_person_would_break_it(name: str, expected: str) -> None:
    assert breaks.breakable(name) == expected


@given(st.text(alphabet="ab1.-_/@,<>&'\" ", max_size=60))
def test_only_where_lines_may_break_is_added(name: str) -> None:
    made = str(breaks.breakable(name))
    plain = re.sub(r'<wbr>|<span class="whole">|</span>', "", made)
    assert plain == str(escape(name))
    assert all(len(whole) <= breaks.WHOLE_MAX for whole in re.findall(r'"whole">([^<]*)<', made))


def test_a_line_of_a_plan_wraps_below_its_own_beginning() -> None:
    plan = "-> Filter: (a < 1)\n    -> Table scan on <temporary>"
    assert breaks.hanging(plan) == (
        '<span style="--at: 3">-&gt; Filter: (a &lt; 1)\n</span>'
        '<span style="--at: 7">    -&gt; Table scan on &lt;temporary&gt;\n</span>'
    )


def test_an_endless_name_is_cut() -> None:
    for name in ("a" * 1_000_000 + "-", "a-" * 500_000, "-" * 1_000_000):
        assert len(breaks.breakable(name)) < 200_000


def test_a_command_breaks_between_its_options_and_in_long_values() -> None:
    text = "shootout run --threads 1 --servers before=path:mysql-5.7.22,after=path:mysql-8.0.12"
    made = str(breaks.command(text))
    assert re.sub("<.*?>", "", made) == text
    whole = ["shootout run", "--threads 1", "--servers", "mysql-5.7.22", "mysql-8.0.12"]
    assert re.findall(r'"whole">([^<]*)<', made) == whole
