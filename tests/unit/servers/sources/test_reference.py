from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.model.plan import ServerReference
from shootout.servers.sources import reference


def a_tree(directory: Path) -> Path:
    (directory / "bin").mkdir(parents=True)
    server = directory / "bin" / "mysqld"
    server.write_text("#!/bin/sh\n")
    server.chmod(0o755)
    return directory


def a_reference(target: str, settings: str | None = None) -> ServerReference:
    return ServerReference(
        source="path" if target.startswith("/") else "image" if ":" in target else "catalogue",
        target=target,
        settings=settings,
    )


@pytest.mark.parametrize(
    "text",
    [
        *("mysql-5.7.22", "mysql-8.0.12@in-memory", "mysql-8.0.12@./my.cnf"),
        *("mysql-8.0.12@default_time_zone=+02:00", "mysql-8.0.12@innodb_data_file_path=ibdata1:12M"),
        "mysql-8.0.12@init_connect=SET @a=1",
    ],
)
def test_a_catalogue_reference_reads_back_as_written(text: str) -> None:
    assert reference.parse(text).text == text


def test_a_directory_with_and_without_settings(tmp_path: Path) -> None:
    tree = a_tree(tmp_path / "build")
    assert reference.parse(f"path:{tree}") == a_reference(str(tree))
    assert reference.parse(f"path:{tree}/../build@fast") == a_reference(str(tree), "fast")
    long = f"init_connect=SELECT '{'x' * 300}'"  # no file system takes such a name
    assert reference.parse(f"path:{tree}@{long}") == a_reference(str(tree), long)


def test_a_directory_with_an_at_sign_in_its_name(tmp_path: Path) -> None:
    tree = a_tree(tmp_path / "build@home")
    assert reference.parse(f"path:{tree}") == a_reference(str(tree))
    assert reference.parse(f"path:{tree}@fast") == a_reference(str(tree), "fast")


SHA256 = "0123456789abcdef" * 4
DIGEST = f"sha256:{SHA256}"


@pytest.mark.parametrize("settings", [None, "in-memory", "conf/my@home.cnf"])
@pytest.mark.parametrize(
    "image",
    [
        *("mysql", "mysql:8.4", "percona/percona-server:8.4.3-3.1", "host:5000/x/y-z:tag"),
        *(f"mysql@{DIGEST}", f"localhost:5000/a/b_c:1@{DIGEST}", "127.0.0.1:5000/mysql"),
    ],
)
def test_an_image_with_and_without_settings(image: str, settings: str | None) -> None:
    text = f"image:{image}" if settings is None else f"image:{image}@{settings}"
    assert reference.parse(text) == ServerReference(source="image", target=image, settings=settings)
    assert reference.parse(text).text == text


@pytest.mark.parametrize(
    "url", ["https://host/a/mine-1.tar.gz", "http://host:1/m.zip?a=b@c", "file:///a/@/m.tar"]
)
def test_an_archive_with_and_without_settings(url: str) -> None:
    target = f"{url}#sha256={SHA256}"
    assert reference.parse(f"path:{target}") == ServerReference(source="path", target=target)
    found = reference.parse(f"path:{url}#sha256={SHA256.upper()}@conf/my.cnf")
    assert found == ServerReference(source="path", target=target, settings="conf/my.cnf")
    assert reference.parse(found.text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("path:https://host/mine.tar.gz", "expected path:URL#sha256=HEX"),
        ("path:https://host/mine.tar.gz#sha256=12", "expected path:URL#sha256=HEX"),
        (f"path:https://host/mine.tar.gz#md5={SHA256}", "expected path:URL#sha256=HEX"),
        (f"path:ftp://host/mine.tar.gz#sha256={SHA256}", "with http, https or file"),
        (f"path:https://host/mine.tar.gz#sha256={SHA256}@", "each with @settings or without"),
        (f"path:https://me:secret@host/mine.tar.gz#sha256={SHA256}", "path:https://…@host/mine.tar.gz"),
        ("mysql-8.0", "is ambiguous; expected one of mysql-8.0.12, mysql-8.0.32"),
        ("", "expected a catalogue id"),
        ("@in-memory", "expected a catalogue id"),
        ("mysql-5.7.22@", "expected a catalogue id"),
        ("path:", "expected a catalogue id"),
        ("docker:mysql:8.4", "expected a catalogue id"),
        ("mysql://me:secret@db1@x=1:2", "expected a catalogue id"),
        ("me:secret@db1", "expected a catalogue id"),
        ("schön=mysql-8.0.12", "expected a NAME= of ASCII letters, digits and . _ + -"),
        ("image:", "expected image:NAME[:TAG]"),
        ("image:MySQL:8.4", "NAME in lower case"),
        ("image:mysql:8.4@", "expected image:NAME[:TAG]"),
        ("image:mysql@sha256:12", "expected image:NAME[:TAG]"),
        ("image:mysql:", "expected image:NAME[:TAG]"),
        ("image:/mysql", "expected image:NAME[:TAG]"),
        ("path:/no/such/place", "no such directory"),
        ("path:/proc", "no server found"),
    ],
)
def test_what_cannot_be_a_server_is_said_in_a_few_lines(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        reference.parse(text)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3


def test_labels_are_short_and_tell_servers_apart() -> None:
    urls = ["https://host/base/mine.tar.gz", "https://host/head/mine.tar.gz", "file:///other-1.2.3.zip"]
    base, head, other = (reference.parse(f"path:{url}#sha256={SHA256}") for url in urls)
    expected = {
        "mysql-5.7.22": a_reference("mysql-5.7.22"),
        "mysql-5.7.22#2": a_reference("mysql-5.7.22"),
        "mysql-5.7.22@fast": a_reference("mysql-5.7.22", "fast"),
        "path:base-build": a_reference("/src/base/build"),
        "path:head-build": a_reference("/src/head/build"),
        "path:head-build@fast.cnf": a_reference("/src/head/build", "conf/fast.cnf"),
        "path:my-sql": a_reference("/opt/my sql"),
        "path:base-mine": base,
        "path:head-mine": head,
        "path:other-1.2.3": other,
        "image:mysql:8.4": a_reference("mysql:8.4"),
        "image:mysql:8.4@fast": a_reference("mysql:8.4", "fast"),
        "image:mariadb:0123456789ab": a_reference(f"host:5000/x/mariadb@{DIGEST}"),
        "image:percona-percona-server:8.4": a_reference("percona/percona-server:8.4"),
        "image:mine-percona-server:8.4": a_reference("mine/percona-server:8.4"),
        **{
            label: reference.parse(f"dsn:mysql://{address}")
            for label, address in {
                "dsn:db1": "u@db1",
                "dsn:db1#2": "v@db1",
                "dsn:db1:3307@fast": "u@db1:3307@fast",
                "dsn:ip6---1:3307": "u@[::1]:3307",
                "dsn:a-mysqld.sock": "u@?unix_socket=/run/a/mysqld.sock",
                "dsn:b-mysqld.sock": "u@?unix_socket=/run/b/mysqld.sock",
            }.items()
        },
    }
    assert reference.labels([*expected.values()], {}) == (*expected,)


def test_servers_go_by_what_they_call_themselves() -> None:
    expected = {
        "mysql-8.4.3 (base-build)": a_reference("/src/base/build"),
        "mysql-8.4.3 (head-build)": a_reference("/src/head/build"),
        "mysql-8.4.3 (head-build)@fast.cnf": a_reference("/src/head/build", "conf/fast.cnf"),
        "mariadb-10.1.13 (path)": a_reference("/opt/mariadb"),
        "mariadb-10.1.13 (path)#2": a_reference("/opt/mariadb"),
        "mysql-8.4.3 (image)": a_reference("mysql:8.4"),
        "percona-8.0.36 (dsn)": ServerReference(source="dsn", target="mysql://me@db1:3307"),
        "dsn:db2": ServerReference(source="dsn", target="mysql://me@db2:3306"),  # it does not answer
    }
    names = dict.fromkeys(("/src/base/build", "/src/head/build", "mysql:8.4"), "mysql-8.4.3")
    names |= {"/opt/mariadb": "mariadb-10.1.13", "mysql://me@db1:3307": "percona-8.0.36"}
    assert reference.labels([*expected.values()], names) == (*expected,)


def test_users_name_their_servers() -> None:
    written = ("base = mysql-5.7.22", " head=mysql-8.0.12@./my.cnf", "mysql-5.7.22")
    base, head, other = (reference.parse(text) for text in written)
    assert (base.name, base.target, base.text) == ("base", "mysql-5.7.22", "mysql-5.7.22")
    assert (head.name, head.settings) == ("head", "./my.cnf")
    assert reference.labels([base, head, other], {}) == ("base", "head", "mysql-5.7.22")
    with pytest.raises(InputError, match="servers: two are named base; name each differently: NAME=SERVER"):
        reference.labels([base, base], {})
    same = reference.parse("mysql-5.7.22=mysql-8.0.12")
    with pytest.raises(InputError, match=r"two are named mysql-5\.7\.22"):
        reference.labels([other, same], {})
    password = "new=dsn:mysql://me:secret@db1"
    assert reference.without_password(password) == "new=dsn:mysql://me@db1:3306"
    assert reference.password(password, {}) == "secret"
    assert reference.without_password("a=path:b") == "a=path:b"
    for text in ("=mysql-5.7.22", "a b=mysql-5.7.22", "a/b=mysql-5.7.22", "a="):
        with pytest.raises(InputError):
            reference.parse(text)


targets = st.sampled_from(
    ["mysql-5.7.22", "mysql-8.0.12", "mysql:8.4", "x/mysql:8.4", "y:1/mysql:8.4"]
) | st.lists(st.sampled_from(["a", "b", "a-b", "b#2", "ä@x", ":", "a::b"]), max_size=3).map(
    lambda parts: "/" + "/".join(parts)
)
references = st.builds(
    a_reference, targets, st.none() | st.sampled_from(["fast", "a/fast.cnf", "b/fast.cnf", "fast#2"])
)


@given(
    st.lists(references, max_size=8), st.dictionaries(targets, st.sampled_from(["mysql-8.4.3", "b-1.2.3"]))
)
def test_labels_are_unique_and_begin_alike_for_the_same_server(
    found: list[ServerReference], names: dict[str, str]
) -> None:
    labels = reference.labels(found, names)
    assert len(set(labels)) == len(labels) == len(found)
    assert labels == reference.labels(found, names)
    assert not any(set(label) & set("[]/,") or "::" in label for label in labels)
