"""The statements that a template of a dataset is known by."""

from __future__ import annotations

from msgspec import structs

from shootout.measure import dataset
from shootout.model.plan import NUMBERS, Dataset


def test_a_template_with_numbers_is_another_than_one_without() -> None:
    own = Dataset(kind="own")
    _, filling = dataset._statements(structs.replace(own, digest=NUMBERS))
    assert len(filling) == 22  # the table, its first row, and twenty times as many again
    assert dataset._statements(own) == ([], [])
