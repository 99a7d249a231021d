"""Options that ask for more memory than a machine has."""

from __future__ import annotations

import pytest

from shootout.errors import InputError
from shootout.runner import fitting
from shootout.settings import layers
from shootout.settings.profiles import SettingsProfile

BIG = {"innodb-buffer-pool-size": "64G", "innodb_buffer_pool_instances": "8", "loose_key_buffer_size": "16G"}


def test_buffers_that_a_machine_cannot_hold_are_said_with_smaller_ones() -> None:
    with pytest.raises(InputError) as caught:
        fitting.require_memory("big.cnf", SettingsProfile(name="big", options=BIG), 8 << 30)
    assert str(caught.value) == (
        "big.cnf: innodb_buffer_pool_size 64 GiB, key_buffer_size 16 GiB: "
        "more than this machine's memory, 8 GiB\n"
        "To measure with smaller ones: big.cnf+innodb_buffer_pool_size=1638M+key_buffer_size=409M"
    )
    smaller = layers.combine("defaults", str(caught.value).partition("+")[2])
    fitting.require_memory("", smaller, 8 << 30)


def test_buffers_that_fit_together_are_nothing_to_say() -> None:
    fitting.require_memory("big.cnf", SettingsProfile(name="big", options=BIG), 80 << 30)
    of_another = SettingsProfile(name="v", options={}, versions={"8.0": BIG})
    with pytest.raises(InputError):
        fitting.require_memory("v.cnf", of_another, 79 << 30)
    unclear = SettingsProfile(name="x", options={"innodb_buffer_pool_size": "80%", "key_buffer_size": ""})
    fitting.require_memory("x.cnf", unclear, 1 << 30)
