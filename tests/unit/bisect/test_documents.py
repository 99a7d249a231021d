from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shootout.bisect.documents import BISECTIONS
from shootout.bisect.values import BuildRecord
from shootout.commands.bisect import CAPABILITY
from shootout.errors import InputError
from shootout.writers import markdown
from tests.support.bisect.builders import a_bisection, a_run, written


def test_readable_ones_are_found_the_newest_first(tmp_path: Path) -> None:
    paths = [written(tmp_path, a_bisection(id=f"2026112{day}T100000Z-000001")) for day in (4, 1, 2)]
    assert BISECTIONS.find(tmp_path) == (paths[1], paths[2], paths[0])
    paths[2].write_text("{}")
    left_out: list[str] = []
    ids = [bisection.id for bisection in BISECTIONS.newest_first(tmp_path, left_out.append)]
    assert ids == ["20261124T100000Z-000001", "20261121T100000Z-000001"]
    (reason,) = left_out
    assert "not a bisection" in reason


@pytest.mark.parametrize("labels", ["a", "aa", "ab"])
def test_damaged_ones_are_refused(labels: str, tmp_path: Path) -> None:
    found = a_bisection(labels, builds={"z": BuildRecord(seconds=1.0)})
    with pytest.raises(InputError, match="its revisions are damaged"):
        BISECTIONS.read(written(tmp_path, found))


def test_one_of_the_first_format_is_judged_by_todays_rule(tmp_path: Path) -> None:
    path = written(tmp_path, a_bisection(), a_run({"a": 0.0, "d": 0.0, "e": -0.05, "h": -0.05}))
    raw = msgspec.json.decode(path.read_bytes())
    del raw["begun_in"]
    path.write_bytes(msgspec.json.encode(raw | {"format": 1, "confidence": 0.95, "trim": 0.2}))
    assert BISECTIONS.read(path) == replace(a_bisection(), begun_in=1)
    judged = CAPABILITY.judge(path)
    assert [judged.value[key] for key in ("answer", "first", "last")] == ["step", "e", "e"]
    assert "An older shootout began this" in markdown.write(judged)


def test_the_command_that_continues_names_its_folder(tmp_path: Path) -> None:
    """Run elsewhere it would start again in the default folder."""
    path = written(tmp_path / "out" / "results", a_bisection())
    assert f"--out {tmp_path / 'out'}" in markdown.write(CAPABILITY.judge(path))
    elsewhere = written(tmp_path / "copied", a_bisection())
    assert "--out" not in markdown.write(CAPABILITY.judge(elsewhere))
