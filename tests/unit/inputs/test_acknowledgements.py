from datetime import date
from pathlib import Path

import pytest

from shootout import paths
from shootout.errors import InputError
from shootout.inputs.acknowledgements import load_acknowledged


def test_the_shipped_file_acknowledges_nothing() -> None:
    assert load_acknowledged(paths.FIXTURES / "acknowledged.toml") == ()
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        load_acknowledged(paths.FIXTURES / "none.toml")


def test_its_example_can_be_used(tmp_path: Path) -> None:
    text = (paths.FIXTURES / "acknowledged.toml").read_text()
    file = tmp_path / "acknowledged.toml"
    file.write_text(
        "\n".join(line.removeprefix("# ") for line in text.split("example:\n#\n")[1].splitlines())
    )
    (entry,) = load_acknowledged(file)
    assert (entry.threads, entry.at_most, entry.expires) == (1, 0.1, date(2027, 3, 31))
