"""The README's first commands on a bare Debian, as an ordinary user; as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from shootout.paths import ROOT
from shootout.servers.sources.fetch import clients, companions, debian

RELEASES = ("bookworm", "trixie")
WHEEL = ("python3", "python3-venv")  # what the README names for the wheel, and for the checkout
CHECKOUT = (*WHEEL, "build-essential", "cargo", "git", "maven")
TOOLCHAIN = Path("/opt/rust")  # stands for rustup's, where the release's own Rust is too old
# How the clients of this machine reach their registries.
FORWARDED = ("PIP_CERT", "SSL_CERT_FILE", "CARGO_HTTP_CAINFO", "http_proxy", "https_proxy", "no_proxy")
AUTHORITIES = Path("/usr/local/share/ca-certificates")
# A cell that the budget does not reach is an error: one is always measured.
QUICK = "--workloads oltp_point_select --threads 1 --budget 0.5 --set dataset.rows=1000"


class Bare:
    """A root file system with an ordinary user."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def home(self) -> Path:
        return self.root / "home" / "user"

    def run(self, script: str, user: str = "user") -> subprocess.CompletedProcess[str]:
        """Run a script with the user's login shell, in a mount namespace of its own."""
        root = str(self.root)
        mounts = [f"-t proc proc {root}/proc", f"--rbind /dev {root}/dev", f"--rbind /sys {root}/sys"]
        if (self.root / TOOLCHAIN.relative_to("/")).is_dir():
            mounts.append(f"--bind {_sysroot()} {root}{TOOLCHAIN}")
        mounting = "".join(f"mount {each}; " for each in mounts)
        unshared = ["unshare", "--mount", "--propagation", "private"]
        outside = [*unshared, "bash", "-ec", f'{mounting}exec "$@"', "-"]
        inside = ["chroot", f"--userspec={user}", root, "env", "-i", *self._environment(user)]
        return subprocess.run(
            [*outside, *inside, "bash", "-ec", f"cd; {script}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def _environment(self, user: str) -> Iterator[str]:
        home = "/root" if user == "root" else f"/home/{user}"
        yield from (f"HOME={home}", f"PATH={TOOLCHAIN}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        yield from (f"{name}={os.environ[name]}" for name in FORWARDED if name in os.environ)


def _sysroot() -> str:
    return subprocess.check_output(["rustc", "--print", "sysroot"], text=True).strip()


def bootstrapped(root: Path, release: str, packages: Sequence[str]) -> Bare:
    """A minimal Debian with these packages, from this machine's mirror."""
    mirror = debian.mirror()
    assert mirror is not None
    _, dump = clients.run(["apt-config", "dump"])
    options = [line for line in dump.splitlines() if line.startswith("Acquire::")]
    command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(('ca-certificates', *packages))}"]
    command += [f"--aptopt={line}" for line in options]
    subprocess.run([*command, release, root, f"deb {mirror} {release} main"], check=True)
    if AUTHORITIES.is_dir():
        shutil.copytree(AUTHORITIES, root / AUTHORITIES.relative_to("/"), dirs_exist_ok=True)
    if release == "bookworm" and "cargo" in packages:
        (root / TOOLCHAIN.relative_to("/")).mkdir()
    bare = Bare(root)
    done = bare.run("update-ca-certificates && useradd --create-home user", "root")
    assert done.returncode == 0, done.stdout
    return bare


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path)  # a gigabyte


def assert_verdict(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode in (0, 1), done.stdout
    assert "oltp_point_select        1  m" in done.stdout


def assert_brought(bare: Bare, library: str) -> None:
    """The system lacks the library; the run has fetched it for its servers."""
    assert library not in bare.run("ldconfig -p", "root").stdout
    cached = bare.run(f"ls .cache/shootout/servers/libraries-*/{companions.FOLDER}/{library}*")
    assert cached.returncode == 0, cached.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_the_wheel_needs_nothing_but_python_and_its_lock(release: str, folder: Path) -> None:
    """Both are in a release, and `make wheel` made both."""
    bare = bootstrapped(folder / "root", release, WHEEL)
    shutil.copytree(ROOT / "dist", bare.home / "dist")
    locked = "--require-hashes --requirement requirements.txt"
    assert_verdict(
        bare.run(
            f"python3 -m venv .venv && (cd dist && ../.venv/bin/pip install --quiet {locked}) && "
            f".venv/bin/shootout run --servers mariadb-10.11,mariadb-11.8 {QUICK}"
        )
    )
    pair = "--base mariadb-10.11 --head mariadb-11.8"
    done = bare.run(f".venv/bin/shootout gate {pair} {QUICK} --explain 0.5")
    assert_verdict(done)
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_make_bench_runs_from_a_clone(release: str, folder: Path) -> None:
    bare = bootstrapped(folder / "root", release, CHECKOUT)
    subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, bare.home / "shootout"], check=True)
    done = bare.run("chown -R user /home/user/shootout", "root")
    assert done.returncode == 0, done.stdout
    assert_verdict(bare.run(f"cd shootout && make bench ARGS='{QUICK}'"))
    assert_brought(bare, "libaio.so.1")


def test_all_that_is_missing_is_named_at_once(folder: Path) -> None:
    bare = bootstrapped(folder / "root", "trixie", ("make", "python3"))
    shutil.copytree(
        ROOT, bare.home / "shootout", ignore=shutil.ignore_patterns(".git", ".venv", "target", "reports")
    )
    done = bare.run("cd shootout && make bench")
    assert done.returncode == 2
    assert "shootout: missing: Python's venv, cc, mvn, Rust 1.85 or later" in done.stdout
    assert "On Debian: apt-get install python3-venv build-essential maven" in done.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_a_runner_is_set_up_and_undone(release: str, folder: Path) -> None:
    """Up to what needs GitHub and systemd."""
    bare = bootstrapped(folder / "root", release, ("systemd",))
    root = bare.root / "root"
    shutil.copy(ROOT / ".ci" / "runner-setup", root)
    (root / "config.sh").write_text('#!/bin/sh\necho "$(id -un) $ACTIONS_RUNNER_INPUT_TOKEN $@" >.runner\n')
    (root / "config.sh").chmod(0o755)
    (root / "jit").write_text("#!/bin/sh\necho for-one-job\n")
    (root / "jit").chmod(0o700)
    set_up = "tar -czf runner.tar.gz config.sh; bash runner-setup install --archive runner.tar.gz"
    done = bare.run(f"TOKEN=a-token; export TOKEN; {set_up} --url https://github.example/o/r", "root")
    assert done.returncode == 0, done.stdout
    registered = (bare.root / "srv/shootout/shootout/runner/.runner").read_text()
    asked = "--unattended --replace --url https://github.example/o/r --name "
    assert registered.startswith(f"shootout a-token {asked}")  # everybody could read a token among them
    assert registered.endswith("--labels perf-ssd\n")
    lock = "flock --timeout {} /run/lock/shootout.lock echo free || echo held"
    hooks = "$ACTIONS_RUNNER_HOOK_JOB_STARTED && ({}); $ACTIONS_RUNNER_HOOK_JOB_COMPLETED && ({})"
    job = hooks.format(lock.format(0), lock.format(60))
    done = bare.run(f". /etc/shootout-runner/shootout.env; export RUNNER_TEMP=$HOME; {job}", "user")
    assert done.stdout == "held\nfree\n"

    fresh = "/etc/shootout-runner/forks.fresh"
    done = bare.run(f"{set_up} --name forks --jit ~/jit && {fresh} && touch /srv/shootout/forks/left", "root")
    assert done.returncode == 0, done.stdout
    done = bare.run(f"{fresh}; ls /srv/shootout/forks; cat /etc/shootout-runner/forks.jit", "root")
    assert done.stdout == "runner\nACTIONS_RUNNER_INPUT_JITCONFIG=for-one-job\n"
    for user in ("forks", "user"):
        assert bare.run("cat /etc/shootout-runner/forks.jit", user).returncode != 0
    # Until the archive is GitHub's, it lacks run.sh.
    done = bare.run("systemd-analyze verify /etc/systemd/system/shootout-runner-forks.service", "root")
    assert [line for line in done.stdout.splitlines() if "run.sh is not executable" not in line] == []

    done = bare.run("bash runner-setup undo --name forks; bash runner-setup undo", "root")
    assert done.returncode == 0, done.stdout
    left = bare.run(
        "ls -d /etc/systemd/system/shootout* /etc/shootout* /opt/shootout* /srv/shootout/*; id forks", "root"
    )
    assert [
        line
        for line in left.stdout.splitlines()
        if "cannot access" not in line and "no such user" not in line
    ] == ["/srv/shootout/ledger"]
