from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.events import Accepted, Finished, FinishReason, TextDelta, Usage
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions

STAMP = Stamp(id="1", created=1, model="m")
CASES = [
    pytest.param(
        ChatCompletions(),
        {"messages": [{"role": "user", "content": "x"}]},
        lambda choice: choice["delta"].get("content", ""),
        lambda choice: choice["message"]["content"],
        id="chat",
    ),
    pytest.param(
        Completions(), {"prompt": "x"}, lambda choice: choice["text"], lambda choice: choice["text"], id="completions"
    ),
]


@pytest.mark.parametrize("surface, body, streamed, whole", CASES)
@given(text=st.text(), cuts=st.lists(st.integers(0, 30)), reason=st.sampled_from(FinishReason))
def test_buffered_is_the_fold_of_the_stream_however_it_is_cut(surface, body, streamed, whole, text, cuts, reason):
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(edges)]
    usage = Usage(prompt_tokens=1, completion_tokens=len(pieces))
    events = [
        Accepted(prompt_tokens=1),
        *(TextDelta(text=piece) for piece in pieces),
        Finished(reason=reason, usage=usage),
    ]

    projector = surface.projector(surface.parse(body), STAMP)
    sent = [event for item in events for event in projector.feed(item)]

    # One line each, so that one write is one event for every reader of the format.
    assert all(b"\n" not in event.data and b"\r" not in event.data for event in sent)
    assert sent.pop().data == b"[DONE]"
    choices = [msgspec.json.decode(event.data)["choices"][0] for event in sent]
    assert [streamed(choice) for choice in choices if streamed(choice)] == pieces
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + [reason.value]
    result = projector.result()
    assert whole(result["choices"][0]) == text
    assert result["choices"][0]["finish_reason"] == reason.value
