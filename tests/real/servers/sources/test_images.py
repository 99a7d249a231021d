"""Servers from images, on a real Docker engine: images made of the catalogue's trees, and official ones."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import pymysql
import pytest

from shootout import paths
from shootout.document import journal
from shootout.errors import InputError, MeasureError
from shootout.measure import dataset
from shootout.model.plan import Container, Dataset
from shootout.servers.processes import containers, instances
from shootout.servers.processes.accounts import LOAD_USER
from shootout.servers.sources.images import Image
from tests.real.servers.processes.test_instances import SMALL
from tests.support.runs import HEAD, SHOOTOUT, Lab, a_tree, document_in, until
from tests.support.servers.processes.docker_engine import OURS, an_image

pytest_plugins = ["tests.support.runs", "tests.support.servers.processes.docker_engine"]

NAME = "mysql-8.0.12"
DATASET = Dataset(tables=1, rows=300)
HOST, BRIDGE = Container(), Container(network="bridge")
GONE_S = 5.0
NOBODY = 65_534


def heard(words: str) -> None:
    pytest.fail(f"nothing takes long here, but: {words}")


def image_of(engine: docker.DockerClient, name: str) -> str:
    """An image of a catalogue's server, under a name of the tests: a whole system where its tree is one."""
    tree = a_tree(name)
    image, top = f"{OURS}/{name.replace('-', ':')}", tree.files.top
    if tree.launch.before:  # it has a loader of its own, and so all the rest
        return an_image(engine, image, {f"/{each.name}": each for each in top.iterdir()})
    files = {f"/opt/mysql/{each.name}": each for each in top.iterdir() if each.is_dir()}
    return an_image(engine, image, files, tree.files.mysqld)


def left(engine: docker.DockerClient) -> list[str]:
    """List what must not be there when no server runs: containers of ours, and what tells of them."""
    containers = [
        each["Names"][0] for each in engine.api.containers(all=True) if "/shootout-" in each["Names"][0]
    ]
    locks = [each.name for each in (paths.cache_folder() / "containers").glob("*")]
    return containers + locks


def about(engine: docker.DockerClient, instance: instances.Instance) -> dict[str, Any]:
    """Ask the engine about the instance's container."""
    (found,) = engine.containers.list(filters={"label": f"shootout.instance={instance.directory}"})
    return dict(found.attrs)


@pytest.fixture(autouse=True)
def own_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Servers come from the cache as it is, all else is written elsewhere, and no container stays."""
    servers = paths.cache_folder() / "servers"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths.cache_folder().mkdir(parents=True)
    (paths.cache_folder() / "servers").symlink_to(servers)
    yield
    if "engine" in request.fixturenames:
        assert left(request.getfixturevalue("engine")) == []


@pytest.fixture(scope="module")
def reference(engine: docker.DockerClient) -> str:
    return image_of(engine, NAME)


@pytest.fixture(scope="module")
def home(reference: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An initialised instance directory of the image's server; what stands in its path must not matter."""
    directory = tmp_path_factory.mktemp("a b,c") / "instance"
    instances.initialise(Image.inspect(reference, HOST, heard), directory, SMALL)
    return directory


@pytest.fixture
def image(reference: str) -> Image:
    return Image.inspect(reference, HOST, heard)


def test_an_image_is_found_out(engine: docker.DockerClient, reference: str, image: Image) -> None:
    tree = a_tree(reference.partition("/")[2].replace(":", "-"))
    assert (image.version, image.family) == (tree.version, tree.family)
    assert f"sha256:{image.digest}" == engine.images.get(reference).id
    assert image.origin == ""
    mariadb = ("/usr/sbin/mariadbd", "/usr/share/mysql")
    mysql = ("/opt/mysql/bin/mysqld", "/opt/mysql/share")
    assert (image.mysqld, image.share) == (mariadb if tree.family == "mariadb" else mysql)
    assert image.name == f"image:{reference}"
    index = "charsets/Index.xml"
    assert image.shared(index) == tree.shared(index) is not None
    assert image.shared("no_such.sql") is None


def test_a_server_runs_as_one_of_this_machine_does(
    engine: docker.DockerClient, reference: str, home: Path
) -> None:
    volumes = len(engine.volumes.list())
    around = Container(memory="1G")
    image = Image.inspect(reference, around, heard)
    cpu = max(os.sched_getaffinity(0))
    with instances.start(image, home, SMALL, cpus=[cpu]) as instance:
        assert instance.version.startswith(".".join(map(str, image.version)))
        assert instance.login.address == str(home / "mysqld.sock")
        variables = instance.variables()
        assert variables["bind_address"] == "127.0.0.1"
        assert variables["datadir"] == f"{home}/data/"
        assert variables["max_connections"] == "80"
        assert instance.pid is not None
        assert os.sched_getaffinity(instance.pid) == {cpu}
        assert f"{os.geteuid()}\t" in Path(f"/proc/{instance.pid}/status").read_text().partition("Uid:\t")[2]
        host = about(engine, instance)["HostConfig"]
        assert host["CpusetCpus"] == str(cpu)
        assert (host["Memory"], host["MemorySwap"]) == (2**30, 2**30)
        assert host["NetworkMode"] == "host"
        assert not host["PortBindings"]
        assert host["RestartPolicy"]["Name"] in ("", "no")
        assert len(engine.volumes.list()) == volumes + 1  # the image asks for it
        dataset.load(instance, DATASET)
        dataset.verify(instance, DATASET)
        instance.query("DROP DATABASE shootout")
    assert not instance.alive()
    assert not instance.socket.exists()
    assert "Shutdown complete" in instance.error_log_tail()
    instance.stop()
    assert left(engine) == []
    assert len(engine.volumes.list()) == volumes


def test_a_server_with_a_network_of_its_own(engine: docker.DockerClient, reference: str, home: Path) -> None:
    image = Image.inspect(reference, BRIDGE, heard)
    with instances.start(image, home, SMALL) as instance:
        assert instance.login.address == f"127.0.0.1:{instance.port}"
        published = about(engine, instance)["NetworkSettings"]["Ports"][f"{instance.port}/tcp"]
        assert published == [{"HostIp": "127.0.0.1", "HostPort": str(instance.port)}]
        for user in ("root", LOAD_USER):
            with pytest.raises(pymysql.err.OperationalError, match=r"denied|not allowed"):
                pymysql.connect(host="127.0.0.1", port=instance.port, user=user, password="")
        dataset.load(instance, DATASET)  # over TCP
        dataset.verify(instance, DATASET)
        sources = instance.query("SELECT DISTINCT host FROM information_schema.processlist")
        assert ("localhost",) in sources
        instance.query("DROP DATABASE shootout")


def test_a_long_path_gets_a_short_socket(image: Image, tmp_path: Path) -> None:
    directory = tmp_path / ("a long name, with spaces in it " * 3) / "instance"
    instances.initialise(image, directory, SMALL)
    with instances.start(image, directory, SMALL) as instance:
        assert instance.socket.parent != directory
        assert instance.query("SELECT 1") == ((1,),)


def test_a_server_that_cannot_start_says_why(image: Image, home: Path) -> None:
    with pytest.raises(MeasureError, match=r"(?s)ended while starting \(exit code \d+\).*no-such-option"):
        instances.start(image, home, SMALL | {"no-such-option": "1"})
    with pytest.raises(MeasureError, match=r"the Docker engine cannot run it: .*(?i:cpu)"):
        instances.start(image, home, SMALL, cpus=[4711])


def test_a_server_that_dies_leaves_its_last_words(
    engine: docker.DockerClient, image: Image, home: Path
) -> None:
    with instances.start(image, home, SMALL) as instance:
        assert instance.pid is not None
        os.kill(instance.pid, signal.SIGKILL)
        with pytest.raises(MeasureError, match=r"(?s)SELECT 1: .*The server has died \(signal SIGKILL\)"):
            instance.query("SELECT 1")
        assert not instance.alive()
        assert left(engine) == []


PARENT = """
import sys, time
from pathlib import Path
from shootout.model.plan import Container
from shootout.servers.processes import instances
from shootout.servers.processes.accounts import LOAD_USER
from shootout.servers.sources.images import Image
image = Image.inspect(sys.argv[1], Container(network=sys.argv[3]), print)
instance = instances.start(image, Path(sys.argv[2]), {settings!r})
print(instance.pid, flush=True)
time.sleep(600)
""".replace("{settings!r}", repr(SMALL))


@pytest.fixture
def parent(reference: str, home: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the server, and has said its number."""
    network = getattr(request, "param", "host")
    command = [sys.executable, "-c", PARENT, reference, str(home), network]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert int(process.stdout.readline()) > 0
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("parent", ["host", "bridge"], indirect=True)
def test_no_container_outlives_a_killed_parent(
    engine: docker.DockerClient, parent: subprocess.Popen[str]
) -> None:
    assert len(left(engine)) == 2  # container and lock
    parent.kill()
    until(lambda: left(engine) == [], GONE_S)


def watchdogs() -> list[int]:
    """The processes that look after this cache's containers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            command = (process / "cmdline").read_bytes()
            if b"watchdog" in command and str(paths.cache_folder()).encode() in command:
                found.append(int(process.name))
    return found


def test_what_both_left_that_were_killed_is_cleared_away(
    engine: docker.DockerClient, parent: subprocess.Popen[str], home: Path
) -> None:
    containers.clear_leftovers()
    assert len(left(engine)) == 2  # it lives
    (watchdog,) = watchdogs()
    os.kill(watchdog, signal.SIGKILL)
    parent.kill()
    parent.wait()
    assert len(left(engine)) == 2
    containers.clear_leftovers()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide processes")
def test_a_process_that_cannot_be_seen_has_no_number(reference: str, home: Path) -> None:
    script = PARENT.replace("time.sleep(600)", "instance.stop()")
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script]
    done = subprocess.run([*command, reference, str(home), "host"], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"None\n"


def test_what_is_no_server_is_refused(engine: docker.DockerClient, tmp_path: Path) -> None:
    teapot = tmp_path / "teapot.sh"
    teapot.write_text("#!/bin/sh\necho I am a teapot >&2\nexit 1\n")
    teapot.chmod(0o755)
    shell = Path("/bin/sh").resolve()
    empty = an_image(engine, f"{OURS}/empty:1", {"/bin/sh": shell}, shell)
    with pytest.raises(InputError, match=rf"^image:{OURS}/empty:1: no server found; expected mysqld"):
        Image.inspect(empty, HOST, heard)
    files = {"/bin/sh": shell, "/srv/mysqld": teapot}
    other = an_image(engine, f"{OURS}/teapot:1", files, shell, ["ENV PATH=/srv:/bin"])
    with pytest.raises(InputError, match="its /srv/mysqld does not report a version: I am a teapot"):
        Image.inspect(other, HOST, heard)
    teapot.chmod(0o644)
    closed = an_image(engine, f"{OURS}/closed:1", files, shell, ["ENV PATH=/srv:/bin"])
    with pytest.raises(InputError, match=r"closed:1: the Docker engine cannot use it: .*permission denied"):
        Image.inspect(closed, HOST, heard)


def test_an_image_that_cannot_be_had(engine: docker.DockerClient) -> None:
    said: list[str] = []
    with pytest.raises(InputError, match=r"^image:localhost:9/no/such:1: not on this machine, and cannot be"):
        Image.inspect("localhost:9/no/such:1", HOST, said.append)
    assert said == ["pulling its image"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("unix:///no.sock", r"^image:mysql:8\.4: no Docker engine answers at unix:///no\.sock"),
        ("tcp://127.0.0.1:2375", r"found the Docker engine tcp://127\.0\.0\.1:2375 in DOCKER_HOST"),
    ],
)
def test_without_an_engine_of_this_machine(
    address: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(InputError, match=message):
        Image.inspect("mysql:8.4", HOST, heard)


def test_an_engine_of_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with socket.socket(socket.AF_UNIX) as link:
        link.bind(f"{tmp_path}/docker.sock")
        link.listen()
        (tmp_path / "docker.sock").chmod(0)
        user = os.geteuid()
        if user == 0:  # whom nothing is forbidden
            os.seteuid(NOBODY)
        try:
            with pytest.raises(InputError, match=r"does not let this user in; add it to the group docker"):
                Image.inspect("mysql:8.4", HOST, heard)
        finally:
            os.seteuid(user)


def test_a_run_of_an_image_beside_its_tree(engine: docker.DockerClient, lab: Lab, tmp_path: Path) -> None:
    reference = image_of(engine, HEAD)
    tree = a_tree(HEAD).files.top
    data = tmp_path / "data"
    data.mkdir()
    command = [SHOOTOUT, "run", "--profile", str(lab.once), "--out", str(tmp_path / "out"), "--json"]
    command += ["--workloads", "oltp_read_write", "--threads", "1"]
    command += ["--servers", f"image:{reference},path:{tree}", "--data", str(data)]
    command += ["--set", "container.network=bridge", "--set", "container.memory=1G"]
    done = lab.run(*command)
    assert done.returncode in (0, 1), done.stderr
    found = journal.read(document_in(tmp_path / "out"))
    assert found.failures == ()
    labels = [f"{HEAD} (image)", f"{HEAD} (path)"]
    assert [server.label for server in found.header.servers] == labels
    contained, native = found.header.servers
    assert contained.reference == f"image:{reference}"
    assert f"sha256:{contained.build}" == engine.images.get(reference).id
    assert (contained.version, contained.checksum) == (native.version, native.checksum)
    assert found.header.profile.container == Container(network="bridge", memory="1G")
    assert found.header.given["--data"] == str(data)
    for start in found.starts:
        for samples in start.samples:
            assert sum(samples.transactions) > 0
            assert min(samples.server_cpu_s or ()) > 0
    assert [cell["cell"]["server"] for cell in json.loads(done.stdout)["cells"]] == labels
    assert left(engine) == []
    assert [*data.iterdir()] == []


def test_a_place_that_cannot_hold_data_is_named(lab: Lab, tmp_path: Path) -> None:
    command = [SHOOTOUT, "run", "--profile", str(lab.profile), "--out", str(tmp_path), "--data", "/proc"]
    done = lab.run(*command)
    assert done.returncode == 2
    assert "shootout: /proc: cannot be used for the servers' data: " in done.stderr
    assert "XDG_CACHE_HOME" in done.stderr
    assert not [*tmp_path.glob("results/*")]
