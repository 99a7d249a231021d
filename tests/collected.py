"""The number of tests in each folder, recorded in `collected.txt`; `python -m tests.collected` renews it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from shootout.paths import ROOT

RECORDED = Path(__file__).with_suffix(".txt")


def counted(items: Sequence[pytest.Item]) -> Counter[str]:
    """Count the tests of each folder, before any is deselected."""
    return Counter(str(item.path.parent.relative_to(ROOT)) for item in items)


def differences(arguments: Sequence[Path], items: Sequence[pytest.Item]) -> list[str]:
    """Name the folders, among those that pytest was given whole, that lost or gained tests."""
    named = [path for path in arguments if path.is_dir()]
    recorded = {folder: int(count) for count, folder in map(str.split, RECORDED.read_text().splitlines())}
    now = counted(items)
    return [
        f"{folder}: {now[folder]} tests are collected, {recorded.get(folder, 0)} are recorded; "
        "if that is meant: python -m tests.collected"
        for folder in sorted({*recorded, *now})
        if any((ROOT / folder).is_relative_to(path) for path in named)
        if now[folder] != recorded.get(folder, 0)
    ]


class Record:
    """A plugin that records what pytest collects."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> object:
        lines = (f"{count:5} {folder}\n" for folder, count in sorted(counted(items).items()))
        RECORDED.write_text("".join(lines))
        return (yield)


if __name__ == "__main__":
    raise SystemExit(pytest.main(["--collect-only", "--quiet", "--quiet", str(ROOT / "tests")], [Record()]))
