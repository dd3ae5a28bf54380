from __future__ import annotations

from typing import Any

import pytest

from support.event_order import responses
from support.event_order.mutation import Events, again, broken, drop, edit, put, remove, swap, written

USAGE = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 2,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 7,
}


def response(status: str, output: Events = (), **fields: Any) -> dict:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1.0,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None,
        **fields,
    }


def state(kind: str, *output: dict, status: str | None = None, **fields: Any) -> dict:
    return {"type": f"response.{kind}", "response": response(status or kind, output, **fields)}


def numbered(*events: Any) -> Events:
    counted = [{**one, "sequence_number": number} for number, one in enumerate(events)]
    return [*counted, "[DONE]"]


OPENING = (state("created", status="in_progress"), state("in_progress"))


def item(index: int, start: dict, whole: dict, *inside: dict) -> Events:
    about = {"output_index": index}
    return [
        {"type": "response.output_item.added", **about, "item": start},
        *({**about, "item_id": start["id"], **one} for one in inside),
        {"type": "response.output_item.done", **about, "item": whole},
    ]


def grown(events: str, text: str, key: str, **about: Any) -> Events:
    """A text that comes in two deltas."""
    half = len(text) // 2
    deltas = [{"type": f"response.{events}.delta", "delta": part, **about} for part in (text[:half], text[half:])]
    return [*deltas, {"type": f"response.{events}.done", key: text, **about}]


def part(kind: str, events: str, texts: str, text: str, **index: int) -> Events:
    logprobs = {"logprobs": []} if kind == "output_text" else {}
    annotations = {"annotations": []} if kind == "output_text" else {}
    return [
        {"type": f"response.{events}.added", **index, "part": {"type": kind, "text": "", **annotations, **logprobs}},
        *grown(texts, text, "text", **index, **logprobs),
        {"type": f"response.{events}.done", **index, "part": {"type": kind, "text": text, **annotations, **logprobs}},
    ]


def message(index: int, text: str) -> Events:
    head = {"id": f"msg_{index}", "type": "message", "role": "assistant"}
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return item(
        index,
        {**head, "status": "in_progress", "content": []},
        {**head, "status": "completed", "content": content},
        *part("output_text", "content_part", "output_text", text, content_index=0),
    )


def reasoning(index: int, text: str) -> Events:
    head = {"id": f"rs_{index}", "type": "reasoning", "summary": []}
    return item(
        index,
        {**head, "status": "in_progress"},
        {**head, "status": "completed", "content": [{"type": "reasoning_text", "text": text}]},
        *part("reasoning_text", "content_part", "reasoning_text", text, content_index=0),
    )


def summary(index: int, text: str) -> Events:
    head = {"id": f"rs_{index}", "type": "reasoning"}
    return item(
        index,
        {**head, "status": "in_progress", "summary": []},
        {**head, "status": "completed", "summary": [{"type": "summary_text", "text": text}]},
        *part("summary_text", "reasoning_summary_part", "reasoning_summary_text", text, summary_index=0),
    )


def function(index: int, arguments: str, *, cut: bool = False) -> Events:
    head = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}", "name": "f"}
    inside = grown("function_call_arguments", arguments, "arguments")
    inside[-1]["name"] = "f"
    return item(
        index,
        {**head, "status": "in_progress", "arguments": ""},
        {**head, "status": "incomplete" if cut else "completed", "arguments": arguments},
        *(inside[:-1] if cut else inside),
    )


def custom(index: int, text: str) -> Events:
    head = {"id": f"ctc_{index}", "type": "custom_tool_call", "call_id": f"call_{index}", "name": "c"}
    whole = {**head, "status": "completed", "input": text}
    return item(index, {**head, "input": ""}, whole, *grown("custom_tool_call_input", text, "input"))


def stream(*items: Events) -> Events:
    output = [one[-1]["item"] for one in items]
    told = [event for one in items for event in one]
    return numbered(*OPENING, *told, state("completed", *output, usage=USAGE))


PLAIN = stream(message(0, "Paris"))
"""0 and 1 the opening; 2 to 8 the message: added, part added, two deltas, text done, part done, done; 9 and 10 the end."""
CALLED = stream(function(0, '{"a":1}'))
"""2 to 6 the call: added, two deltas, arguments done, done; 7 and 8 the end."""
AGENT = stream(reasoning(0, "Hmm."), message(1, "Well."), function(2, "{}"), custom(3, "ls"))
PATIENT = numbered(
    state("created", status="queued"), state("queued"), state("in_progress"), state("completed", usage=USAGE)
)
CUT = numbered(
    *OPENING,
    *function(0, '{"a"', cut=True),
    state(
        "incomplete",
        function(0, '{"a"', cut=True)[-1]["item"],
        incomplete_details={"reason": "max_output_tokens"},
        usage=USAGE,
    ),
)
FLAT = {"code": "engine_crashed", "message": "it died", "param": None}
LEFT = {**message(0, "Paris")[-1]["item"], "status": "incomplete"}
FAILED = numbered(
    *OPENING,
    *message(0, "Paris")[:4],
    {"type": "error", **FLAT, "error": {"type": "server_error", **FLAT}},
    state("failed", LEFT, error={"code": "server_error", "message": "it died"}),
)
"""2 to 5 half a message, 6 the error, 7 and 8 the end."""
CANCELLED = numbered(*OPENING, state("incomplete", status="cancelled"))


def violations(events: Events, after: int | None = None) -> list[str]:
    return responses.violations(written(events, named=True), after=after)


@pytest.mark.seeds("S2")
@pytest.mark.parametrize(
    "events", [PLAIN, CALLED, AGENT, stream(summary(0, "Hm.")), PATIENT, CUT, FAILED, CANCELLED, stream()]
)
def test_a_sound_stream_has_no_violation(events):
    assert violations(events) == []


def test_a_keep_alive_that_says_the_state_again_is_sound():
    """peers.md 100."""
    events = [*PLAIN[:4], PLAIN[1], *PLAIN[4:-1]]
    assert violations(numbered(*events)) == []


@pytest.mark.parametrize("after", [0, 4, 7])
def test_a_stream_that_was_resumed_is_sound_from_its_number_on(after):
    assert violations(PLAIN[after + 1 :], after=after) == []
    assert any("in the place of" in found for found in violations(PLAIN[after + 2 :], after=after))


@pytest.mark.seeds("S2")
@pytest.mark.parametrize(
    ("events", "change", "what"),
    [
        (PLAIN, drop(0), "before response.created"),
        (PLAIN, drop(1), "before response.in_progress"),
        (PLAIN, drop(3), "number 4 in the place of 3"),
        (PLAIN, edit(3, "sequence_number", 2), "number 2 in the place of 3"),
        (PLAIN, swap(4), "number 5 in the place of 4"),
        (PLAIN, drop(9), "has not ended"),
        (PLAIN, drop(10), "[DONE] did not come"),
        (PLAIN, again(10), "follows [DONE]"),
        (PLAIN, again(9), "after the response has ended"),
        (PLAIN, put(9, "[DONE]"), "before the response has ended"),
        (PLAIN, put(3, 5), "not an object"),
        (PLAIN, again(0), "a second one"),
        (PLAIN, edit(1, "response.id", "resp_2"), "in a stream of resp_1"),
        (PLAIN, edit(0, "response.id", "chatcmpl-1"), "no id of a response"),
        (PLAIN, edit(1, "response.status", "completed"), "the response is completed"),
        (PLAIN, edit(9, "response.status", "in_progress"), "the response is in_progress"),
        (PLAIN, edit(9, "response.usage", None), "no usage"),
        (PLAIN, edit(9, "response.incomplete_details", {"reason": "max_output_tokens"}), "exactly where"),
        (PLAIN, edit(9, "response.output", []), "not what was told"),
        (PLAIN, edit(9, "response.output.0.id", "msg_9"), "not what was told"),
        (PLAIN, edit(9, "response.output.0.content.0.text", "Rome"), "not what was told"),
        (PLAIN, remove(3, "part"), "official type"),
        (PLAIN, edit(4, "type", "response.future.delta"), "official type"),
        (PLAIN, edit(4, "type", "response.refusal.delta"), "in a part of output_text"),
        (CALLED, edit(3, "type", "response.mcp_call_arguments.delta"), "no use for"),
        (PLAIN, edit(2, "output_index", 1), "index 1 in the place of 0"),
        (PLAIN, edit(4, "output_index", 1), "was not added"),
        (PLAIN, edit(4, "item_id", "msg_9"), "not msg_9"),
        (PLAIN, edit(4, "content_index", 1), "part 1 is not open"),
        (PLAIN, edit(3, "content_index", 1), "part 1 in the place of 0"),
        (PLAIN, edit(3, "part.text", "P"), "something in it"),
        (PLAIN, edit(3, "part", {"type": "reasoning_text", "text": ""}), "in a part of reasoning_text"),
        (PLAIN, drop(4), "not its deltas"),
        (PLAIN, edit(6, "text", "Rome"), "not its deltas"),
        (PLAIN, swap(5), "after it was done"),
        (PLAIN, drop(6), "whose text was not done"),
        (PLAIN, edit(7, "part.text", "Rome"), "a part that is not what was told"),
        (PLAIN, drop(7), "is open"),
        (PLAIN, again(7), "is not open"),
        (PLAIN, drop(8), "an item is not done"),
        (PLAIN, again(8), "item 0 is done"),
        (PLAIN, swap(7), "item 0 is done"),
        (PLAIN, edit(8, "item.status", "in_progress"), "is in_progress"),
        (PLAIN, edit(8, "item.id", "msg_9"), "its id has changed"),
        (PLAIN, edit(8, "item.content.0.text", "Rome"), "its content is not what was told"),
        (PLAIN, edit(2, "item.status", "completed"), "over when it begins"),
        (PLAIN, edit(2, "item.content", PLAIN[8]["item"]["content"]), "begins with something"),
        (PLAIN, put(3, PLAIN[2]), "another item is open"),
        (PLAIN, put(3, PLAIN[2]), "another item, too"),
        (PLAIN, put(4, {**PLAIN[3], "content_index": 1}), "another part is open"),
        (CALLED, drop(5), "was not done"),
        (CALLED, edit(5, "arguments", "{}"), "not its deltas"),
        (CALLED, edit(5, "name", "g"), "another name"),
        (CALLED, edit(6, "item.arguments", "{}"), "its arguments is not what was told"),
        (CALLED, edit(6, "item.call_id", "call_9"), "its call_id has changed"),
        (CALLED, edit(6, "item.name", "g"), "its name has changed"),
        (CALLED, edit(2, "item", PLAIN[2]["item"]), "in a message"),
        (PATIENT, swap(1), "after it was in progress"),
        (CUT, edit(-2, "response.incomplete_details", None), "exactly where"),
        (FAILED, remove(6, "error"), "without the object"),
        (FAILED, edit(6, "error.message", "else"), "says two things"),
        (FAILED, edit(6, "code", 5), "official type"),
        (FAILED, put(7, PLAIN[5]), "after an error"),
        (FAILED, edit(7, "response.error", None), "no error"),
        (FAILED, edit(7, "response.output.0.status", "in_progress"), "in progress still"),
        (FAILED, edit(7, "response.output", []), "not what was told"),
    ],
)
def test_a_broken_stream_is_found(events, change, what):
    assert any(what in found for found in violations(broken(events, change)))


def test_an_event_that_is_not_called_by_its_type_is_found():
    nameless = written(PLAIN, named=True).replace(b"event: response.completed\n", b"")
    assert any("called None" in found for found in responses.violations(nameless))
