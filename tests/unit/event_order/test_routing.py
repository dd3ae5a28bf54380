from __future__ import annotations

import pytest

from support.event_order import violations


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/v1/chat/completions", "neither [DONE]"),
        ("/v1/completions", "neither [DONE]"),
        ("/v1/messages?beta=true", "neither message_stop"),
        ("/v1/responses", "the response has not ended"),
        ("/v1/responses/resp_1?stream=true", "the response has not ended"),
    ],
)
def test_each_path_has_the_order_of_its_contract(path, what):
    assert any(what in found for found in violations(path, {}, b""))


def test_a_resumed_stream_is_numbered_from_where_it_was_left():
    done = b'event: error\ndata: {"type":"error","sequence_number":8}\n\n'
    found = violations("/v1/responses/resp_1?stream=true&starting_after=7", None, done)
    assert not any("in the place of" in one for one in found)


def test_what_was_asked_for_is_read_from_the_body():
    asked = {"stream_options": {"include_usage": True}}
    assert any("asked for did not come" in one for one in violations("/v1/completions", asked, b"data: [DONE]\n\n"))


def test_a_stream_of_no_contract_has_no_rules():
    assert violations("/metrics", None, b"anything") == []
