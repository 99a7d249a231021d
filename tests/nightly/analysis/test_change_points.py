import math

import numpy as np
import pytest

from shootout.analysis import change_points


@pytest.mark.parametrize(("memory", "most"), [(0.0, 0.075), (0.3, 0.11)])
def test_false_alarms_are_about_as_rare_as_asked(memory: float, most: float) -> None:
    """1500 series of 52 runs without a change; where neighbours resemble each other they are more."""
    noise, series = np.random.default_rng(5), []
    for _ in range(1500):
        values = [0.0]
        for shock in noise.normal(0, math.sqrt(1 - memory**2), 60):
            values.append(memory * values[-1] + shock)
        series.append(values[-52:])
    alarms = sum(map(bool, map(change_points.find, series)))
    assert 0.03 < alarms / len(series) < most  # of 5 % asked
