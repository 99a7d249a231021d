"""Messages for a wrong file: the file, the field, what was found, what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.catalogue import Maven
from shootout.model.plan import Profile
from shootout.model.value import Name, Value
from shootout.model.workload import Workload

PROFILE = 'description = "d"\nworkloads = ["a"]\nthreads = [1, 8]\n'
STEPS = '[{ statements = [{ name = "a", sql = "S" }] }]'
WORKLOAD = f'title = "t"\ndescription = "d"\ntransactions = [{{ steps = {STEPS} }}]\n'


class Entry(Value):
    sources: tuple[Maven, ...]


def complaint(path: Path, text: str, type: type[object]) -> str:
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        toml.load(path, type)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.toml"


def test_a_right_file_becomes_its_value(path: Path) -> None:
    path.write_text(PROFILE + "[sampling]\nwarmup_max_s = 3\n")
    profile = toml.load(path, Profile)
    assert profile.threads == (1, 8)
    assert profile.sampling.warmup_max_s == 3.0


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        (Profile, PROFILE + "[sampling]\nstarts_mn = 1",
         "sampling: Object contains unknown field `starts_mn`; did you mean 'starts_min'?"),
        (Profile, PROFILE + "[policy]\nzzz = 1", "policy: Object contains unknown field `zzz`"),
        (Profile, PROFILE + '[sampling]\nstarts_min = "3"', "sampling.starts_min: Expected `int`, got `str`"),
        (Profile, PROFILE.replace("8", "0"), "threads[1]: Expected `int` >= 1"),
        (Profile, "threads = [1]\nworkloads = []", "the file: Object missing required field `description`"),
        (Workload, WORKLOAD + 'dataset = "tpc"', "dataset: Invalid enum value 'tpc'; did you mean 'tpcc'?"),
        (Workload, WORKLOAD + "[options]\na = 1.5", "options[...]: Expected `int`, got `float`"),
        (Workload, WORKLOAD + '[parameters]\nid = { type = "rowid" }',
         "parameters[...].type: Invalid value 'rowid'; did you mean 'row_id'?"),
        (Workload, WORKLOAD + '[parameters]\nid = { type = "range_end", off = "a" }',
         "parameters[...]: Object contains unknown field `off`; did you mean 'of'?"),
        (Workload, WORKLOAD.replace('"S" }]', '"S" }], repeat = 0.5'),
         "transactions[0].steps[0].repeat: Expected `int | str`, got `float`"),
        (dict[str, Entry], '[a]\nsources = []\n[b]\nsources = [{ type = "mavn" }]',
         "[...].sources[0].type: Invalid value 'mavn'; did you mean 'maven'?"),
    ],
)  # fmt: skip
def test_the_field_is_named(path: Path, type: type[object], text: str, expected: str) -> None:
    assert complaint(path, text, type) == expected


def test_a_wrong_table_name_says_what_names_look_like(path: Path) -> None:
    message = complaint(path, '["-a"]\nx = 1', dict[Name, dict[str, int]])
    assert message.startswith("a name in the file: Expected `str` matching regex")


def test_a_syntax_error_names_the_line(path: Path) -> None:
    assert "at line 2" in complaint(path, "a = 1\nb = = 2\n", Profile)


def test_a_long_value_is_cut_short(path: Path) -> None:
    assert len(complaint(path, f'"{"x" * 10_000}" = 1', Profile)) < 200


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=f"{path}: cannot be read: {why}"):
            toml.load(path, Profile)


def test_a_name_is_found_in_its_folder_and_a_file_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "quick.toml").touch()
    assert toml.find("quick", tmp_path, "profile") == tmp_path / "quick.toml"
    assert toml.find("mine.toml", tmp_path, "profile") == Path("mine.toml")
    assert toml.find("my/own", tmp_path, "profile") == Path("my/own")


def test_an_unknown_name_gets_the_nearest_or_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^unknown profile 'quick'; there are none$"):
        toml.find("quick", tmp_path, "profile")
    (tmp_path / "quick.toml").touch()
    (tmp_path / "gate.toml").touch()
    with pytest.raises(InputError, match=r"^unknown profile 'quik'; did you mean 'quick'\?$"):
        toml.find("quik", tmp_path, "profile")
    with pytest.raises(InputError, match=r"^unknown profile 'x'; known: gate, quick$"):
        toml.find("x", tmp_path, "profile")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^unknown profile 'gate'; did you mean 'gate\.toml'\?$"):
        toml.find("gate", tmp_path / "none", "profile")
