from __future__ import annotations

import pytest

from dragoman.engines.restart import RestartPolicy

POLICY = RestartPolicy(delays=(0.0, 1.0, 3.0), window=100.0)


@pytest.mark.parametrize(
    ("crashes", "now", "expected"),
    [
        ([10.0], 10.0, 0.0),
        ([10.0, 20.0], 20.0, 1.0),
        ([10.0, 20.0, 30.0], 30.0, 3.0),
        ([10.0, 20.0, 30.0, 40.0], 40.0, None),
        ([10.0, 20.0, 30.0, 131.0], 131.0, 0.0),
        ([10.0, 110.0], 110.0, 1.0),
        ([10.0, 110.5], 110.5, 0.0),
    ],
)
def test_restarts_are_at_once_then_later_then_never(crashes, now, expected):
    assert POLICY.delay(crashes, now) == expected


def test_the_first_restart_by_default_does_not_wait():
    assert RestartPolicy().delay([5.0], 5.0) == 0.0
