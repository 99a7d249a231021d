from __future__ import annotations

import random
from pathlib import Path

from tests.real.learn.test_measure import PLANTED, learned, planted


def test_no_literal_of_the_log_is_in_any_file(tmp_path: Path) -> None:
    given, literals = planted(random.Random(5), tmp_path)
    assert len(set(literals)) == PLANTED
    learned(given.dump, given.log, tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        text = file.read_text("utf-8")
        assert not [each for each in literals if each in text or each.encode().hex() in text.lower()], (
            file.name
        )
