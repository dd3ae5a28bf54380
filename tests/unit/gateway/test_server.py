"""Binding, and how a running server ends."""

from __future__ import annotations

import pytest

from dragoman.gateway.server import InsecureBind, check_bind


@pytest.mark.seeds("S5")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_loopback_needs_no_key(host) -> None:
    check_bind(host, ())


@pytest.mark.seeds("S5")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_beyond_loopback_a_key_or_a_clear_wish_is_needed(host) -> None:
    with pytest.raises(InsecureBind, match="DRAGOMAN_API_KEY"):
        check_bind(host, ())
    check_bind(host, ("key",))
    check_bind(host, (), allow_insecure=True)
