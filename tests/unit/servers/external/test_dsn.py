"""Addresses of running servers: what can be written, and that their passwords stay where they are."""

import socket
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout import steps
from shootout.errors import InputError
from shootout.inputs.options import Selection
from shootout.model.plan import ServerReference
from shootout.servers.external import dsn
from shootout.servers.external.dsn import Dsn
from shootout.servers.sources import reference

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
HOSTS = st.sampled_from(["db1", "db-1.example.org", "127.0.0.1", "::1", "fe80::1:2"])


def written(user: str, password: str, at: str, settings: str | None = None) -> str:
    end = "" if settings is None else f"@{settings}"
    return f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@{at}{end}"


@given(TEXT, TEXT, HOSTS, st.integers(1, 65_535), st.none() | st.sampled_from(["fast", "./my.cnf"]))
def test_what_is_written_is_read(
    user: str, password: str, host: str, port: int, settings: str | None
) -> None:
    at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    found = dsn.parse(written(user, password, at, settings))
    assert found == dsn.WrittenDsn(Dsn(user, host, port), password, settings)
    assert dsn.parse(found.dsn.text) == dsn.WrittenDsn(found.dsn, None, None)
    assert found.dsn.where == at


@pytest.mark.parametrize(
    ("text", "expected", "password"),
    [
        ("mysql://u@db1", Dsn("u", "db1", 3306), None),
        ("mysql://u:@db1/", Dsn("u", "db1", 3306), ""),
        ("mysql://u:p%40%2C@[::1]", Dsn("u", "::1", 3306), "p@,"),
        ("mysql://u@?unix_socket=/run/a%40b.sock", Dsn("u", socket="/run/a@b.sock"), None),
        ("mysql://u@db1:33?unix_socket=/run/a.sock", Dsn("u", socket="/run/a.sock"), None),
    ],
)
def test_forms(text: str, expected: Dsn, password: str | None) -> None:
    found = dsn.parse(text)
    assert (found.dsn, found.password) == (expected, password)
    assert dsn.parse(found.dsn.text).dsn == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("postgres://u:s3cret@db1", "it does not begin with mysql://"),
        ("u:s3cret@db1", "it does not begin with mysql://"),
        ("mysql://u:s3cret", "it names no user"),
        ("mysql://:s3cret@db1", "it names no user"),
        ("mysql://u:s3cret@", "it names no host"),
        ("mysql://u:s3cret@db1@", "no settings follow"),
        ("mysql://u:s3cret@db1:0", "port 0: expected 1 to 65535"),
        ("mysql://u:s3cret@db1:65536", "port 65536: expected"),
        ("mysql://u:s3cret@[::z]", "[::z] is not an IPv6 address"),
        ("mysql://u:s3cret@::1", "the @ is not followed by HOST:PORT"),
        ("mysql://u:s3cret/x@y z", "the @ is not followed by HOST:PORT"),
        ("mysql://u:s3cret@db1/test", "it names a schema"),
        ("mysql://u:s3cret%@db1", "the password must be percent-encoded"),
        ("mysql://u:s3cret%FF@db1", "the password must be percent-encoded"),
        ("mysql://u:s3cret@db1?charset=utf8", "the only option is unix_socket"),
        ("mysql://u:s3cret@db1?unix_socket=a.sock", "expected an absolute path"),
        ("mysql://u:s3cret@db1?unix_socket=/" + "a" * 107, "expected an absolute path of at most 107 bytes"),
    ],
)
def test_what_is_no_address_is_said_without_the_password(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        reference.parse(f"dsn:{text}")
    assert said in str(caught.value)
    assert dsn.FORM in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3
    assert dsn.redacted(str(caught.value)) == str(caught.value)


@given(TEXT, st.text("abc@:/?\n", max_size=8))
def test_no_message_has_a_password(password: str, rest: str) -> None:
    text = f"dsn:mysql://u:s3cret{quote(password, safe='')}@db1{rest}"
    try:
        shown = reference.parse(text).text
    except InputError as error:
        shown = str(error)
    assert "s3cret" not in shown


def test_a_typing_error_before_it_does_not_show_a_password() -> None:
    with pytest.raises(InputError, match=r"server 'dns:mysql://u:…@db1': expected"):
        reference.parse("dns:mysql://u:s3:cr@et@db1")
    with pytest.raises(InputError, match=r"server 'u:…': expected"):
        reference.parse("u:s3cret@db1")
    assert dsn.redacted("--server dsn:mysql://u:a@b@c more") == "--server dsn:mysql://u:…@c more"


def test_a_reference_is_shown_without_its_password() -> None:
    found = reference.parse("dsn:mysql://u:s3cret@db1@fast")
    assert found == ServerReference(source="dsn", target="mysql://u@db1:3306", settings="fast")
    assert found.text == "dsn:mysql://u@db1:3306@fast"
    assert reference.parse(found.text) == found
    assert reference.without_password(" dsn:mysql://u:s3cret@db1") == "dsn:mysql://u@db1:3306"
    assert reference.without_password("path:./x") == "path:./x"


def test_a_password_left_out_is_that_of_the_environment() -> None:
    environment = {"MYSQL_PWD": "other"}
    assert reference.password("dsn:mysql://u:mine@db1", environment) == "mine"
    assert reference.password("dsn:mysql://u:@db1", environment) == ""
    assert reference.password("dsn:mysql://u@db1", environment) == "other"
    assert reference.password("dsn:mysql://u@db1", {}) == ""
    assert reference.password("mysql-5.7.22", environment) is None


def test_a_plan_shows_no_password(tmp_path: Path) -> None:
    servers = "dsn:mysql://u:s3cret@db1,mysql-5.7.22,dsn:mysql://u:s3cret@db1"
    made = steps.plan(Selection.read(servers=servers, remote=True))
    passwords = {label: server.password for label, server in made.servers.items()}
    assert passwords == {"dsn:db1": "s3cret", "mysql-5.7.22": "", "dsn:db1#2": "s3cret"}
    assert made.given["--servers"] == "dsn:mysql://u@db1:3306,mysql-5.7.22,dsn:mysql://u@db1:3306"
    assert made.profile.servers == tuple(made.given["--servers"].split(","))
    for value in (made, Selection.read(servers=servers, remote=True), made.only(made.cells[:1])):
        assert "s3cret" not in repr(value)
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'description = "d"\nservers = ["dsn:mysql://u:s3cret@db1"]\n'
        'workloads = ["oltp_point_select"]\nthreads = [1]\n'
    )
    made = steps.plan(Selection.read(profile=str(profile), remote=True))
    assert {label: server.password for label, server in made.servers.items()} == {"dsn:db1": "s3cret"}
    assert made.profile.servers == ("dsn:mysql://u@db1:3306",)
    assert "--servers" not in made.given


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("localhost", True),
        ("127.0.0.1:3307", True),
        ("127.1.2.3", True),
        ("[::1]", True),
        ("db1?unix_socket=/run/mysqld.sock", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("[::2]", False),
        ("db1", False),
        ("localhost.example", False),
    ],
)
def test_what_is_on_this_machine(address: str, local: bool) -> None:
    assert dsn.parse(f"mysql://u@{address}").dsn.is_local == local


def test_a_server_elsewhere_is_not_even_asked_for_its_name_until_that_is_wanted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        elsewhere = f"dsn:mysql://u:s3cret@0.0.0.0:{listener.getsockname()[1]}"
        with pytest.raises(InputError, match=r"0\.0\.0\.0:\d+: this server is not on this .* pass --remote"):
            steps.plan(Selection.read(servers=f"mysql-5.7.22,{elsewhere}"))
        with pytest.raises(BlockingIOError):
            listener.accept()
