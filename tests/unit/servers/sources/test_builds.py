"""Builds of commits, without a real server: a build makes a script named mysqld."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shootout.errors import InputError, MeasureError
from shootout.model.plan import Build
from shootout.servers.sources import builds, reference
from shootout.servers.sources.builds import BuildError, Source
from shootout.servers.sources.trees import Tree
from tests.support.runs import gone, until

MAKE = "test -f broken && { echo 'x.cc:1: error: not finished'; exit 3; }; mkdir -p out/bin"
MAKE += " out/share/english; touch out/share/english/errmsg.sys"
MAKE += "; printf '#!/bin/sh\\necho mysqld Ver 8.0.36 #' | cat - code > out/bin/mysqld"
MAKE += "; chmod +x out/bin/mysqld; echo built >> ../count"
BUILD = Build(command=MAKE, tree="out")


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        names = {f"GIT_{who}_NAME": "Some Engineer" for who in ("AUTHOR", "COMMITTER")}
        addresses = {f"GIT_{who}_EMAIL": "engineer@example.org" for who in ("AUTHOR", "COMMITTER")}
        return subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            env=os.environ | names | addresses,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, subject: str, **files: str) -> str:
        for name, text in files.items():
            (self.folder / name).write_text(text, "utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD")

    def source(self, commit: str) -> Source:
        return builds.find(str(self.folder), commit)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def source(repository: Repository) -> Source:
    return repository.source(repository.commit("one", code="1"))


def count(cache: Path) -> int:
    """Count the builds that succeeded."""
    path = cache / builds.WORK_TREES / "count"
    return path.read_text().count("built") if path.exists() else 0


def forked(repository: Repository) -> tuple[str, str]:
    """Two commits on main, and a branch beside the second one."""
    one = repository.commit("one", code="1")
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("aside", other="1")
    repository.git("checkout", "--quiet", "main")
    return one, repository.commit("two", code="2")


def test_history_goes_along_first_parents(repository: Repository) -> None:
    one, two = forked(repository)
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "side")
    found = builds.history(str(repository.folder), one, "main")
    assert [(each.subject, each.parents) for each in found] == [("one", 0), ("two", 1), ("merge", 2)]
    assert [each.commit for each in found][:2] == [one, two]
    assert {each.author for each in found} == {"Some Engineer"}


def test_a_history_needs_an_ancestor_on_its_line(repository: Repository) -> None:
    one, _ = forked(repository)
    for good, bad, said in (
        (
            "side",
            "main",
            r"not on the line of first parents of main; expected .* \$\(git merge-base side main\)",
        ),
        ("main", one, "main is newer than .*; expected the older commit"),
        ("main", "main", "the same commit; expected two"),
        ("0" * 40, "main", "not on the line of first parents"),
    ):
        with pytest.raises(InputError, match=said):
            builds.history(str(repository.folder), good, bad)
    with pytest.raises(InputError, match="no such commit"):
        builds.history(str(repository.folder), "v9", "main")
    with pytest.raises(InputError, match="not a git repository"):
        builds.history(str(repository.folder.parent), one, "main")


def test_a_commit_of_a_merged_branch_gets_advice_that_works(repository: Repository) -> None:
    """The merge base of such a commit is itself."""
    forked(repository)
    repository.git("checkout", "--quiet", "side")
    repository.commit("aside again", other="2")
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "side")
    merge = builds.find(str(repository.folder), "main").commit[:12]
    repository.commit("three", code="3")
    said = f"--good {merge}, which merged its branch"
    for good, advice in (("side", said), ("side~1", f"{said}, or --bad {merge}^2 to bisect that branch")):
        with pytest.raises(InputError) as error:
            builds.history(str(repository.folder), good, "main")
        assert str(error.value).endswith(f"expected {advice}")
    for good, bad in ((merge, "main"), ("side~1", f"{merge}^2")):
        assert len(builds.history(str(repository.folder), good, bad)) == 2


def test_a_reference_names_the_commit_of_the_moment(repository: Repository) -> None:
    commit = repository.commit("one", code="1")
    found = reference.parse(f"git:{repository.folder}#main@performance_schema=ON")
    assert (found.source, found.settings) == ("git", "performance_schema=ON")
    assert found.target == f"{repository.folder}#{commit}"
    assert reference.parse(found.text) == found
    assert reference.labels([found], {}) == (f"repository-{commit[:10]}@performance_schema=ON",)


@pytest.mark.parametrize("written", ["git:", "git:x", "git:#main", "git:x#", "git:x#main@"])
def test_other_forms_are_refused(written: str) -> None:
    with pytest.raises(InputError, match="expected git:DIR#REV"):
        reference.parse(written)


def test_a_commit_is_built_once(source: Source, tmp_path: Path) -> None:
    found = builds.fetch(source, BUILD, tmp_path)
    assert (found / "bin" / "mysqld").read_text().endswith("#1")
    assert builds.fetch(source, BUILD, tmp_path) == found
    assert count(tmp_path) == 1


def test_what_a_build_depends_on_is_built_again(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (repository.source(repository.commit(each, code=each)) for each in ("1", "2"))
    found = {builds.fetch(source, BUILD, tmp_path) for source in (first, second)}
    found.add(builds.fetch(first, Build(command=f"{MAKE}; true", tree="out"), tmp_path))
    monkeypatch.setenv("CFLAGS", "-O3")
    found.add(builds.fetch(first, BUILD, tmp_path))
    assert len(found) == count(tmp_path) == 4


def test_the_same_sources_of_two_commits_are_the_same_files(repository: Repository, tmp_path: Path) -> None:
    one, notes, other = (
        repository.source(commit)
        for commit in (
            repository.commit("one", code="1"),
            repository.commit("notes", notes="new"),
            repository.commit("other", code="2"),
        )
    )
    digests = [builds.digest(builds.fetch(source, BUILD, tmp_path)) for source in (one, notes, other)]
    assert digests[0] == digests[1] != digests[2]


def test_a_built_server_keeps_its_commit_and_scripts(repository: Repository, tmp_path: Path) -> None:
    command = f"{MAKE}; mkdir -p scripts; cp code scripts/mysql_system_tables.sql"
    build = Build(
        command=f"{command}; echo CMAKE_HOME_DIRECTORY:INTERNAL=$PWD > out/CMakeCache.txt", tree="out"
    )
    one, two = (repository.source(repository.commit(each, code=each)) for each in ("1", "2"))
    directory = builds.fetch(one, build, tmp_path)
    before = Tree.inspect(directory)
    builds.fetch(two, build, tmp_path)
    after = Tree.inspect(directory)
    assert (before.files.commit, after.files.commit) == (one.commit, one.commit)
    assert (before.shared("mysql_system_tables.sql"), after.shared("mysql_system_tables.sql")) == ("1", "1")
    assert after.digest == before.digest


def test_a_build_that_fails_says_the_compilers_last_words(repository: Repository, tmp_path: Path) -> None:
    good = repository.source(repository.commit("one", code="1"))
    bad = repository.source(repository.commit("two", broken=""))
    with pytest.raises(BuildError, match=r"exit code 3; its last words:\nx\.cc:1: error: not finished"):
        builds.fetch(bad, BUILD, tmp_path)
    assert (builds.fetch(good, BUILD, tmp_path) / "bin" / "mysqld").is_file()


@pytest.mark.parametrize(
    ("code", "command", "words"),
    [
        ("1", f"{MAKE}; rm out/share/english/errmsg.sys", "build.tree out: .*contains no error messages"),
        ("1", f"{MAKE}; rm -r out", "build.tree out: .*no such directory"),
        ("\nexit 1", MAKE, "build.tree out: .*does not report a version"),
        ("1", f"{MAKE}; echo > out/bin/mysqld", "build.tree out: .*cannot be run"),
        # Else the server of the commit before would be taken for this one's.
        ("1", f"false\n{MAKE}", "exit code 1"),
        ("1", f"false | true; {MAKE}", "exit code 1"),
    ],
)
def test_a_build_without_a_server_that_starts_has_failed(
    code: str, command: str, words: str, repository: Repository, tmp_path: Path
) -> None:
    source = repository.source(repository.commit("one", code=code))
    with pytest.raises(BuildError, match=rf"^build of {source.commit[:12]}: {words}"):
        builds.fetch(source, Build(command=command, tree="out"), tmp_path)


@pytest.mark.parametrize("place", [builds.FOLDER, builds.WORK_TREES])
def test_a_cache_that_cannot_be_written_is_reported(place: str, source: Source, tmp_path: Path) -> None:
    (tmp_path / place).touch()
    with pytest.raises(
        MeasureError, match=rf"git-{source.commit[:12]}-\w+: cannot be made: (File exists|Not a)"
    ):
        builds.fetch(source, BUILD, tmp_path)


def test_a_git_that_takes_too_long_is_reported(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(builds, "_GIT_TIMEOUT_S", 0.1)
    with pytest.raises(MeasureError, match=r"^git rev-parse: took longer than 0 s$"):
        builds.fetch(source, BUILD, tmp_path)


def test_a_build_that_takes_too_long_is_ended_with_all_its_processes(source: Source, tmp_path: Path) -> None:
    slow = Build(command=f"sleep 1000 & echo $! > {tmp_path}/pid; wait", timeout_min=0.02)
    with pytest.raises(BuildError, match="longer than its time limit"):
        builds.fetch(source, slow, tmp_path)
    pid = int((tmp_path / "pid").read_text())
    until(lambda: gone(pid))  # it has its signal, and dies when it gets a CPU


def test_without_a_command_nothing_is_built(source: Source, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected --build CMD"):
        builds.fetch(source, None, tmp_path)


def test_the_users_own_work_tree_stays_as_it_is(
    repository: Repository, source: Source, tmp_path: Path
) -> None:
    repository.commit("two", code="2")
    (repository.folder / "code").write_text("changed")
    builds.fetch(source, BUILD, tmp_path)
    assert (repository.folder / "code").read_text() == "changed"
    assert repository.git("status", "--porcelain") == "M code"
    assert repository.git("rev-parse", "--abbrev-ref", "HEAD") == "main"


def test_a_work_tree_that_a_killed_git_has_left_is_made_anew(repository: Repository, tmp_path: Path) -> None:
    one, two = (repository.source(repository.commit(each, code=each)) for each in ("1", "2"))
    builds.fetch(one, BUILD, tmp_path)
    (lock,) = (repository.folder / ".git" / "worktrees").glob("*")
    (lock / "index.lock").touch()
    assert (builds.fetch(two, BUILD, tmp_path) / "bin" / "mysqld").read_text().endswith("#2")


def test_a_commit_that_is_not_utf_8_can_be_recorded(repository: Repository) -> None:
    repository.git("config", "i18n.commitEncoding", "unknown")
    one, two = repository.commit("caf\udce9", code="1"), repository.commit("two", code="2")
    found, _ = builds.history(str(repository.folder), one, two)
    assert found.subject.encode() == "caf\ufffd".encode()


def test_a_commit_is_undone_on_the_newest_one_and_the_repository_stays_as_it_is(
    repository: Repository, tmp_path: Path
) -> None:
    text = "one\n\n\n\n\ntwo\n"
    first = repository.commit("first", code=text)
    slower = repository.commit("slower", code=text.replace("two", "slow"))
    repository.git("switch", "--quiet", "--create=branch", first)
    repository.commit("on a branch", notes="more")
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--no-edit", "branch")
    repository.commit("newest", code=text.replace("two", "slow").replace("one", "1"))
    known = {each.subject: each for each in builds.history(str(repository.folder), first, "main")}
    newest = repository.source("main")
    before = repository.git("status", "--porcelain=v2", "--branch"), repository.git("for-each-ref")

    without = builds.reverted(newest, [known["slower"]], tmp_path / "cache")
    assert without is not None
    assert without == builds.reverted(newest, [known["slower"]], tmp_path / "cache")
    assert repository.git("show", f"{without.commit}:code") == text.replace("one", "1").strip()
    assert repository.git("rev-parse", f"{without.commit}^") == newest.commit
    merged = builds.reverted(newest, [known["slower"], known["Merge branch 'branch'"]], tmp_path / "cache")
    assert merged is not None
    assert repository.git("ls-tree", "--name-only", merged.commit) == "code"

    at_slower = repository.source(slower)
    assert builds.reverted(at_slower, [known["newest"]], tmp_path / "cache") is None  # a conflict
    assert builds.reverted(without, [known["slower"]], tmp_path / "cache") is None  # done already
    assert builds.reverted(newest, [known["slower"]], tmp_path / "cache") == without
    assert before == (repository.git("status", "--porcelain=v2", "--branch"), repository.git("for-each-ref"))
