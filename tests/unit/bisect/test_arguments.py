from __future__ import annotations

import pytest

from shootout import cli

TWO_VERSIONS = ("--over", "mysql-5.7.22,mysql-8.0.12")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "expected --over A,B,…, or --repo DIR --good REV --bad REV --build CMD"),
        (("--over", ""), "--servers '': expected names separated by commas"),
        (("--over", "a,b", "--repo", ""), "expected --over A,B,…, or --repo DIR --good REV --bad REV"),
        ((*TWO_VERSIONS, "--repo", "x"), "expected --over A,B,…, or --repo DIR"),
        (("--repo", "x", "--good", "a"), "expected --over A,B,…, or --repo DIR"),
        (("--repo", "/", "--good", "a", "--bad", "b", "--build", "make"), "git:/#a: not a git repository"),
        (("--over", "mysql-5.7.22"), "one workload, one number of threads, and at least two servers"),
        ((*TWO_VERSIONS, "--threads", "1,2"), "one workload, one number of threads"),
        ((*TWO_VERSIONS, "--set", "build.tree=x"), "--set: build: Object missing required field `command`"),
        (
            ("--since-history", "--repo", "/"),
            "expected --repo DIR and --build CMD, and no servers or commits",
        ),
        (("--since-history", "--repo", "/", "--build", "a", "--good", "b"), "and no servers or commits"),
        (("--since-history", "--regressions", "0"), "--regressions"),
        ((*TWO_VERSIONS, "--url", "javascript:x"), "--url: expected an address that starts with https://"),
    ],
)
def test_a_wrong_bisection_is_refused(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bisect", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err[:10]) == ("", "shootout: ")
    assert words in err
    assert "Traceback" not in err
