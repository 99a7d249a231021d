"""Losses that stay, and the issues about them."""

from __future__ import annotations

import html
import re

from msgspec import structs

from shootout.model.history import Regression
from shootout.report.github import issues
from shootout.report.github.repository import Repository
from tests.support.report.github.github_server import GitHub
from tests.unit.analysis.test_acknowledgements import known
from tests.unit.report.github.test_markdown import CODE, LINKED, plain
from tests.unit.report.github.test_regressions import PERCENT, lost

pytest_plugins = ["tests.support.report.github.github_server"]


def a_loss(**changes: object) -> Regression:
    return structs.replace(lost(), **changes)


def synced(hub: GitHub, *losses: Regression) -> list[str]:
    repository = Repository.from_environment(hub.environment)
    return [line.split()[0] for line in issues.sync(repository, losses)]


def test_one_issue_speaks_of_all_thread_counts() -> None:
    few = a_loss(threads=1)
    many = a_loss(threads=64, before=1.0, after=0.8, changed=("kernel 6.1 → 6.12",))
    (issue,) = issues.group_regressions([many, few], "https://example.org/site")
    assert issue.title == f"{few.server}: {few.workload} −20.0{PERCENT} at 64 threads"
    rows = [line for line in issue.body.splitlines() if re.match(r"\| \d", line)]
    assert [row.split(" | ")[0] for row in rows] == ["| 1", "| 64"]
    assert all("r008 | r009" in row for row in rows)
    assert "- kernel 6.1 → 6.12 (threads: 64)" in issue.body
    assert f"```\n{many.repeat}\n```" in issue.body
    assert "[The report](https://example.org/site)" in issue.body


def test_an_issue_is_opened_updated_and_closed(hub: GitHub) -> None:
    hub.open("A person's", f"{issues.MARKER}theirs -->", [issues.LABEL], user={"type": "User"})
    assert synced(hub, a_loss()) == ["opened"]
    assert synced(hub, a_loss()) == []  # nothing new
    assert synced(hub, a_loss(after=0.7)) == ["updated"]
    assert synced(hub) == ["closed"]
    theirs, ours = hub.issues
    assert theirs["state"] == "open"
    assert (ours["state"], ours["state_reason"]) == ("closed", "completed")
    assert [each["body"] for each in hub.comments] == [
        "Recovered: the newest runs are back within the margin."
    ]
    assert synced(hub, a_loss()) == ["opened"]  # it came back


def test_no_issue_is_closed_while_a_run_is_missing(hub: GitHub) -> None:
    repository = Repository.from_environment(hub.environment)
    assert [line.split()[0] for line in issues.sync(repository, [a_loss()])] == ["opened"]
    (line,) = issues.sync(repository, [], complete=False)
    assert line.startswith("left open, as a run document is missing: http")
    assert hub.issues[0]["state"] == "open"


def test_what_is_acknowledged_has_no_issue(hub: GitHub) -> None:
    assert synced(hub, a_loss(acknowledged=known())) == []
    assert synced(hub, a_loss()) == ["opened"]
    assert synced(hub, a_loss(acknowledged=known())) == ["closed"]
    assert hub.issues[0]["state_reason"] == "not_planned"


def test_other_runners_servers_and_workloads_have_issues_of_their_own(hub: GitHub) -> None:
    losses = [a_loss(), a_loss(runner="g"), a_loss(server="s"), a_loss(workload="w")]
    assert synced(hub, *losses) == ["opened"] * 4
    assert synced(hub, *losses) == []
    assert synced(hub, *losses[1:]) == ["closed"]


def test_not_more_issues_are_opened_at_once_than_anybody_reads(hub: GitHub) -> None:
    losses = [a_loss(server=f"s{number}", after=0.99 - number / 1000) for number in range(30)]
    assert synced(hub, *losses) == [*["opened"] * issues.OPENED_MAX, "not"]
    assert hub.issues[0]["title"].startswith("s29: ")  # the worst
    assert synced(hub, *losses) == ["opened"] * 10


def test_nothing_in_an_issue_is_markup_or_a_mention() -> None:
    hostile = (
        "@team <img src=x> `` ```` ~~~ [a](b) | #1 GH-1 www.host.tld https://host.tld\n\x1b[31m --> \u202e"
    )
    loss = a_loss(server=hostile, workload=hostile, changed=(hostile,), repeat=f"shootout {hostile}")
    (issue,) = issues.group_regressions([loss])
    assert issue.body.startswith(f"{issues.MARKER}{issue.key} -->\n")
    prose = CODE.sub("", issue.body.partition("\n")[2])
    prose = prose.replace("`fixtures/acknowledged.toml`", "")
    assert not LINKED.search(html.unescape(prose))
    prose = plain(prose)
    assert not re.search(r"[<`~\[]|\x1b|\u202e", prose), prose
    assert "\n" not in issue.title
    assert "\x1b" not in issue.body + issue.title


def test_the_issue_of_one_regression_alone_is_updated(hub: GitHub) -> None:
    one, other = a_loss(server="one"), a_loss(server="other")
    assert synced(hub, one, other) == ["opened", "opened"]
    repository = Repository.from_environment(hub.environment)
    done = [*issues.sync(repository, [structs.replace(one, after=0.5)], "https://x.org/1", only=one.issue)]
    assert [line.split()[0] for line in done] == ["updated"]
    assert ["https://x.org/1" in issue["body"] for issue in hub.issues] == [True, False]


def test_an_issue_says_where_a_regression_comes_from_and_is_held_until_that_is_confirmed(hub: GitHub) -> None:
    few, many = a_loss(threads=1), a_loss(threads=64)
    found = {1: issues.Origin(confirmed=False, lines=("nothing yet",))}
    repository = Repository.from_environment(hub.environment)

    def synced(*, hold: bool) -> list[str]:
        done = issues.sync(repository, [few, many], origin=lambda loss: found.get(loss.threads), hold=hold)
        return [line.split()[0] for line in done]

    assert (synced(hold=True), hub.issues) == (["held"], [])
    found[1] = found[64] = issues.Origin(confirmed=True, lines=("a commit", "its author"))
    assert synced(hold=True) == ["opened"]
    assert hub.issues[0]["body"].count("a commit\nits author\n\n") == 1  # of both numbers of threads
    found.clear()
    assert synced(hold=True) == ["updated"]  # what is open stays open
