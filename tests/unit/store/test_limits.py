"""What is kept unless the operator says otherwise."""

from __future__ import annotations

import pytest

from dragoman.store.limits import StoreLimits


def test_the_defaults_are_what_the_manual_says():
    limits = StoreLimits()
    assert limits.max_responses == 10_000  # peers.md 97
    assert limits.max_bytes == 1_073_741_824
    assert limits.max_age == 2_592_000  # 30 days, OpenAI's
    assert limits.reply_window == 86_400


@pytest.mark.parametrize("name", ["max_responses", "max_bytes", "max_age", "reply_window"])
def test_a_limit_that_keeps_nothing_is_a_mistake(name):
    with pytest.raises(ValueError, match="above zero"):
        StoreLimits(**{name: 0})
