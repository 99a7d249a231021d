"""Servers built from commits of a repository: `git:DIR#REV`, built once and kept in the cache.

Each repository gets one work tree in the cache, which is reused, so that builds are incremental. The finished
tree of a server is copied beside it, under a key of all that it depends on. Builds run one at a time, niced,
with a time limit. A build that fails is a result: `BuildError` has the compiler's last words.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shootout.errors import InputError, MeasureError
from shootout.model.plan import Build
from shootout.servers import locking
from shootout.servers.sources import layout
from shootout.servers.sources.fetch.packages import Progress, no_progress
from shootout.servers.sources.libraries import MissingLibrariesError
from shootout.servers.sources.trees import Tree

FOLDER = "servers"  # in the cache, as servers that are fetched
WORK_TREES = "work-trees"
FORMAT = 2  # of what is kept of a build; a new number builds everything again
LAST_LINES = 6
ENVIRONMENT = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")  # what builds depend on
NICENESS = 10
_GIT_TIMEOUT_S = 600.0  # a check-out of a large repository on a busy disk
_US = {  # who makes a commit, and when: so it is the same each time
    f"GIT_{role}_{what}": text
    for role in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "shootout"), ("EMAIL", ""), ("DATE", "@0 +0000"))
}
_FIELDS = ("%H", "%P", "%an", "%aI", "%s")


class BuildError(MeasureError):
    """A commit does not build; the message has the compiler's last words."""


@dataclass(frozen=True)
class Commit:
    """A commit of a repository."""

    commit: str  # full hash
    parents: int
    author: str
    date: str  # ISO
    subject: str


@dataclass(frozen=True)
class Source:
    """A commit of a repository on this machine, as a server reference names it."""

    repository: Path
    commit: str  # full hash

    @classmethod
    def parse(cls, target: str) -> Source:
        """Read `DIR#HASH`, as `ServerReference.target` has it."""
        directory, _, commit = target.rpartition("#")
        return cls(Path(directory), commit)

    @property
    def name(self) -> str:
        """The repository's folder and the commit's first digits."""
        return f"{self.repository.name}-{self.commit[:10]}"

    @property
    def target(self) -> str:
        """The form that `parse` reads."""
        return f"{self.repository}#{self.commit}"


def find(directory: str, revision: str) -> Source:
    """Find the commit that `revision` names in a repository. Raises InputError, MeasureError if git hangs."""
    repository = Path(os.path.abspath(Path(directory).expanduser()))  # noqa: PTH100 (as for path:)
    if re.fullmatch(r"[0-9a-f]{40}", revision) and repository.is_dir():
        return Source(repository, revision)  # `fetch` reports it if it does not exist
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    commit = _git(repository, *verify, f"{revision}^{{commit}}")
    if commit is None:
        where = "no such commit" if _git(repository, "rev-parse", "--git-dir") else "not a git repository"
        raise InputError(f"git:{directory}#{revision}: {where}")
    return Source(repository, commit.strip())


def history(repository: str, good: str, bad: str) -> tuple[Commit, ...]:
    """List the commits from `good` to `bad` along first parents, the oldest first. Raises InputError."""
    first, last = find(repository, good), find(repository, bad)
    log = ("log", "--first-parent", "--reverse", "-z", f"--format={'%x00'.join(_FIELDS)}")
    text = _git(first.repository, *log, "-1", first.commit) or ""
    text += _git(first.repository, *log, f"{first.commit}..{last.commit}") or ""
    rows = [*zip(*[iter(text.split("\0"))] * len(_FIELDS), strict=False)]
    if len(rows) < 2 or rows[1][1].split()[:1] != [first.commit]:
        raise InputError(_no_line(first, last, good, bad))
    return tuple(
        Commit(hash, len(parents.split()), author, date, subject.strip("\n"))
        for hash, parents, author, date, subject in rows
    )


def _no_line(first: Source, last: Source, good: str, bad: str) -> str:
    """Say why no line of first parents leads from one commit to another, and which commits have one."""
    repository = first.repository
    if first == last:
        return f"{good} and {bad} are the same commit; expected two"
    if _git(repository, "merge-base", "--is-ancestor", last.commit, first.commit) is not None:
        return f"{good} is newer than {bad}; expected the older commit as --good"
    line = (_git(repository, "rev-list", "--first-parent", last.commit) or "").split()
    later = {
        *(_git(repository, "rev-list", "--ancestry-path", f"{first.commit}..{last.commit}") or "").split()
    }
    said = f"{good} is not on the line of first parents of {bad}; expected "
    if merges := [commit for commit in line if commit in later]:
        merge = merges[-1]
        branch = (_git(repository, "rev-parse", f"{merge}^2") or "").strip()
        within = f", or --bad {merge[:12]}^2 to bisect that branch" if branch != first.commit else ""
        return f"{said}--good {merge[:12]}, which merged its branch{within}"
    return f"{said}its ancestor, such as $(git merge-base {good} {bad})"


def reverted(newest: Source, commits: Sequence[Commit], cache: Path) -> Source | None:
    """Make the newest commit without these, in the cache's work tree; None if they do not revert."""
    with _checked_out(newest, cache / WORK_TREES) as (work_tree, _):
        for commit in reversed(commits):
            mainline = ("--mainline", "1") if commit.parents > 1 else ()
            if _git(work_tree, "revert", "--no-commit", *mainline, commit.commit) is None:
                break
        else:
            tree = _must(work_tree, "write-tree")
            if tree != _must(work_tree, "rev-parse", "HEAD^{tree}"):  # else undone already
                said = f"Without {', '.join(commit.commit[:12] for commit in commits)}"
                made = _must(work_tree, "commit-tree", tree, "-p", newest.commit, "-m", said, variables=_US)
                return Source(newest.repository, made)
        _must(work_tree, "reset", "--hard", "--quiet")  # and no revert is under way
        return None


def fetch(
    source: Source,
    build: Build | None,
    cache: Path,
    held: ExitStack | None = None,
    progress: Progress = no_progress,
) -> Path:
    """Find the commit's server, built if it is missing. Raises InputError, BuildError and MeasureError."""
    if build is None:
        raise InputError(f"git:{source.target}: expected --build CMD, the command that builds it")
    tree = _git(source.repository, "rev-parse", f"{source.commit}^{{tree}}")
    if tree is None:
        raise InputError(f"git:{source.target}: no such commit")
    target = cache / FOLDER / f"git-{source.commit[:12]}-{_key(tree.strip(), build)}"

    def make(partial: Path) -> None:
        progress(f"building {source.commit[:12]}")
        _build(source, build, cache / WORK_TREES, partial)

    locking.build_once(target, make, Path.is_dir, held)
    return target


def digest(directory: Path) -> str:
    """Hash a tree's files and their names, without its commit: equal ones are the same server."""
    whole = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name != layout.COMMIT:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{path.relative_to(directory)}\0{content}\n".encode())
    return whole.hexdigest()


def _build(source: Source, build: Build, work_trees: Path, target: Path) -> None:
    with _checked_out(source, work_trees) as (work_tree, lock):
        log = work_tree.with_suffix(".log")
        code = _run(build, work_tree, log, lock)
        if code != 0:
            reason = "took longer than its time limit" if code is None else f"exit code {code}"
            raise BuildError(f"build of {source.commit[:12]}: {reason}; its last words:\n{_last_words(log)}")
        made = (work_tree / build.tree).resolve()
        try:
            with suppress(MissingLibrariesError):  # installations.find may fetch them
                Tree.inspect(made)
        except InputError as error:
            raise BuildError(f"build of {source.commit[:12]}: build.tree {build.tree}: {error}") from None
        # CMake's cache leads to the work tree, where the next commit will be.
        leaving_out = shutil.ignore_patterns(".git", "CMakeCache.txt")
        shutil.copytree(made, target, symlinks=True, dirs_exist_ok=True, ignore=leaving_out)
        copied, before = layout.find(target), layout.find(made).contents
        for place in before.keys() - copied.contents.keys():
            if place.startswith("scripts/"):  # they lie in the sources
                (copied.basedir / place).parent.mkdir(exist_ok=True)
                shutil.copy(before[place], copied.basedir / place)
        (copied.top / layout.COMMIT).write_text(source.commit, "ascii")


@contextmanager
def _checked_out(source: Source, work_trees: Path) -> Iterator[tuple[Path, int]]:
    """Hold the repository's work tree, at the commit; its lock comes with it."""
    work_trees.mkdir(parents=True, exist_ok=True)
    work_tree = work_trees / hashlib.sha256(os.fsencode(source.repository.resolve())).hexdigest()[:16]
    with locking.locked(locking.lock_of(work_tree)) as lock:
        _check_out(source, work_tree)
        yield work_tree, lock


def _check_out(source: Source, work_tree: Path) -> None:
    """Check the commit out, in a new work tree if there is none, or if a killed git has left it locked."""
    usable = (work_tree / ".git").exists()
    if not usable or _git(work_tree, "checkout", "--detach", "--force", source.commit) is None:
        shutil.rmtree(work_tree, ignore_errors=True)
        _must(source.repository, "worktree", "prune")
        _must(source.repository, "worktree", "add", "--detach", "--force", str(work_tree), source.commit)
    if (work_tree / ".gitmodules").is_file():
        try:
            _must(work_tree, "submodule", "update", "--init", "--recursive", "--force")
        except MeasureError as error:
            raise BuildError(f"build of {source.commit[:12]}: {error}") from None


def _run(build: Build, work_tree: Path, log: Path, lock: int) -> int | None:
    """Run the build command; return its exit code, None if it took too long. No process of it survives."""
    jobs = str(build.jobs or len(os.sched_getaffinity(0)))
    variables = {"MAKEFLAGS": f"-j{jobs}", "CMAKE_BUILD_PARALLEL_LEVEL": jobs, "JOBS": jobs}
    if shutil.which("ccache"):
        variables |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["nice", "-n", str(NICENESS), "bash", "-euo", "pipefail", "-c", build.command],
            cwd=work_tree,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),  # if we are killed, the next build waits for this one's end
        )
        try:
            return process.wait(60 * build.timeout_min)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _key(tree: str, build: Build) -> str:
    """The hash of all that a build depends on: sources, command, compiler and environment."""
    compilers = [_version_of(os.environ.get(variable, default)) for variable, default in _COMPILERS]
    parts = [str(FORMAT), tree, build.command, build.tree, *compilers]
    parts += [os.environ.get(name, "") for name in ENVIRONMENT]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]


_COMPILERS = (("CC", "cc"), ("CXX", "c++"))


def _version_of(compiler: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        arguments = [*compiler.split(), "--version"]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=10, check=False).stdout
    return ""


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()]
    return "\n".join((errors or lines)[-LAST_LINES:]) or "nothing"


def _git(directory: Path, *arguments: str) -> str | None:
    """Ask git; None if it fails. Raises InputError without git, MeasureError if it takes too long."""
    done = _run_git(directory, *arguments, timeout_s=_GIT_TIMEOUT_S)
    return done.stdout if done.returncode == 0 else None


def _must(directory: Path, *arguments: str, variables: Mapping[str, str] = os.environ) -> str:
    """Ask git. Raises MeasureError with its last words if it fails, and InputError without git."""
    done = _run_git(directory, *arguments, variables=variables)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise MeasureError(f"git {arguments[0]}: {said}")
    return done.stdout.strip()


def _run_git(
    directory: Path,
    *arguments: str,
    timeout_s: float | None = None,
    variables: Mapping[str, str] = os.environ,
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(directory), *arguments],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise InputError(f"git cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise MeasureError(f"git {arguments[0]}: took longer than {timeout_s:.0f} s") from None
