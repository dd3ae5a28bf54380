from __future__ import annotations

import msgspec
import pytest
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseErrorEvent, ResponseStreamEvent
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed, InvalidRequest
from dragoman.core.events import (
    Accepted,
    Alternative,
    PromptRead,
    ReasoningDelta,
    TextDelta,
    TokenRecord,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Visibility,
)
from dragoman.surfaces.sealed import unseal
from support.response_answers import (
    ACCEPTED,
    CALLED,
    CUT,
    FINISHED,
    HELLO,
    STOP,
    asked,
    fed,
    projector,
    read,
    told,
)

EVENT = TypeAdapter(ResponseStreamEvent)
ENGINE_DIED = EngineFailed("the engine died", code=Code.ENGINE_CRASHED)
THOUGHT = [ACCEPTED, ReasoningDelta(text="Hm"), ReasoningDelta(text="m."), TextDelta(text="Yes"), STOP, FINISHED]


def call(name: str, *pieces: str, index: int = 0, ended: bool = True) -> list:
    begun = [ToolCallBegun(index=index, name=name), *(ToolCallArguments(index=index, text=piece) for piece in pieces)]
    return [*begun, ToolCallEnded(index=index)] if ended else begun


WEATHER = [ACCEPTED, *call("get_weather", '{"city":', '"Oslo"}'), CALLED, FINISHED]
PATCH = [ACCEPTED, *call("apply_patch", '{"input":"a\\', 'nb"}'), CALLED, FINISHED]
EVERYTHING = [
    ACCEPTED,
    PromptRead(),
    ReasoningDelta(text="Hm."),
    TextDelta(text="Let me see. "),
    *call("get_weather", '{"city":"Oslo"}'),
    *call("files__read", index=1),
    *call("apply_patch", '{"input":"x"}', index=2),
    TextDelta(text="Done."),
    STOP,
    FINISHED,
]
ANSWERS = pytest.mark.parametrize(
    "events", [HELLO, THOUGHT, WEATHER, PATCH, EVERYTHING], ids=["text", "reasoning", "call", "custom", "everything"]
)


def kinds(stream: list[dict]) -> list[str]:
    """The types, without what all of them have in common."""
    return [event["type"].removeprefix("response.") for event in stream]


@ANSWERS
@pytest.mark.parametrize("summaries", [True, False], ids=["summary", "raw"])
def test_what_is_sent_is_what_the_official_types_say(events, summaries):
    stream, whole = told(events, asked(summaries=summaries, encrypted=True))
    for event in stream:
        parsed = EVENT.validate_python(event, strict=True)
        # OpenAI's specification requires the name here, and its SDK has not got it.
        assert set(parsed.model_extra) <= ({"name"} if "arguments" in event else set())
    TypeAdapter(Response).validate_python(whole, strict=True)


@pytest.mark.seeds("S2")
@ANSWERS
def test_events_are_named_by_their_type_and_numbered_without_a_gap(events):
    sent = fed(projector(), events)
    assert (sent[-1].data, sent[-1].event) == (b"[DONE]", None)
    assert [event.event for event in sent[:-1]] == [event["type"] for event in read(sent)]
    assert [event["sequence_number"] for event in read(sent)] == list(range(len(sent) - 1))
    assert all(b"\n" not in event.data for event in sent)


@pytest.mark.seeds("S2")
def test_a_message_is_told_in_the_order_of_the_contract():
    stream, _ = told(HELLO)
    assert kinds(stream) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert stream[0]["response"]["output"] == stream[1]["response"]["output"] == []
    assert stream[2]["item"]["content"] == []
    assert stream[3]["part"] == {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    assert [event["delta"] for event in stream[4:6]] == ["Hel", "lo"]
    assert stream[6]["text"] == stream[7]["part"]["text"] == "Hello"


@ANSWERS
def test_the_last_event_carries_the_buffered_object(events):
    stream, whole = told(events)
    assert stream[-1]["response"] == whole
    assert whole["usage"]["total_tokens"] == 14


@pytest.mark.seeds("S118")
def test_ids_have_the_contracts_prefixes_and_stay_the_same_from_event_to_object():
    stream, whole = told(EVERYTHING)
    assert whole["id"] == "resp_a1"
    items = whole["output"]
    assert [item["id"].split("_")[0] for item in items] == ["rs", "msg", "fc", "fc", "ctc", "msg"]
    assert len({item["id"] for item in items}) == len(items)
    assert [item["call_id"].split("_")[0] for item in items if "call_id" in item] == ["call"] * 3
    assert len({item["call_id"] for item in items if "call_id" in item}) == 3
    for event in stream:
        if "output_index" in event:
            item = items[event["output_index"]]
            assert event.get("item_id", item["id"]) == item["id"]
            assert event.get("item", item)["id"] == item["id"]
            assert event.get("item", item).get("call_id") == item.get("call_id")


@ANSWERS
def test_an_item_that_is_done_is_the_item_of_the_object(events):
    stream, whole = told(events, asked(encrypted=True))
    done = [event for event in stream if event["type"] == "response.output_item.done"]
    assert [event["item"] for event in done] == whole["output"]
    assert [event["output_index"] for event in done] == list(range(len(done)))
    assert {item["status"] for item in whole["output"]} == {"completed"}


@ANSWERS
def test_the_official_accumulator_reads_the_stream_as_the_buffered_object(events):
    from openai import omit

    stream, whole = told(events)
    state, out, texts = ResponseStreamState(input_tools=omit, text_format=omit), [], {}
    for event in stream:
        for told_event in state.handle_event(EVENT.validate_python(event)):
            out.append(told_event)
            if told_event.type in ("response.output_text.delta", "response.function_call_arguments.delta"):
                texts[told_event.output_index] = told_event.snapshot
    assert out[-1].type == "response.completed"
    assert out[-1].response.output_text == Response.model_validate(whole).output_text
    for index, text in texts.items():
        item = whole["output"][index]
        assert text == (item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"])


def test_reasoning_is_told_as_it_is_where_no_summary_was_asked_for():
    stream, whole = told(THOUGHT)
    assert kinds(stream)[2:9] == [
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
    ]
    assert stream[3]["part"] == {"type": "reasoning_text", "text": ""}
    assert whole["output"][0] == {
        "id": whole["output"][0]["id"],
        "type": "reasoning",
        "status": "completed",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hmm."}],
    }


def test_the_whole_thought_is_its_own_summary_where_one_was_asked_for():
    stream, whole = told(THOUGHT, asked(summaries=True))
    assert kinds(stream)[2:9] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    assert [event["summary_index"] for event in stream[3:8]] == [0] * 5
    assert stream[2]["item"]["summary"] == []
    item = whole["output"][0]
    assert item["summary"] == [{"type": "summary_text", "text": "Hmm."}]
    assert "content" not in item


def test_what_the_client_carries_is_in_the_item_that_is_done_and_nowhere_null():
    stream, whole = told(THOUGHT, asked(summaries=True, encrypted=True))
    assert unseal(whole["output"][0]["encrypted_content"]) == "Hmm."
    added = next(event["item"] for event in stream if event["type"] == "response.output_item.added")
    assert "encrypted_content" not in added
    _, plain = told(THOUGHT)
    assert "encrypted_content" not in plain["output"][0]


def test_a_call_is_told_with_its_name_and_its_arguments():
    stream, whole = told(WEATHER)
    assert kinds(stream)[2:7] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert (stream[2]["item"]["name"], stream[2]["item"]["arguments"]) == ("get_weather", "")
    assert (stream[5]["name"], stream[5]["arguments"]) == ("get_weather", '{"city":"Oslo"}')
    assert whole["output"][0]["arguments"] == '{"city":"Oslo"}'
    assert "namespace" not in whole["output"][0]


def test_a_call_without_arguments_is_added_and_done_all_the_same():
    stream, whole = told([ACCEPTED, *call("get_weather"), CALLED, FINISHED])  # peers.md 93
    assert kinds(stream)[2:6] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert stream[3]["delta"] == stream[4]["arguments"] == whole["output"][0]["arguments"] == "{}"


def test_a_tool_of_a_namespace_is_told_by_both_of_its_names():
    stream, whole = told([ACCEPTED, *call("files__read", "{}"), CALLED, FINISHED])
    told_of = [stream[2]["item"], whole["output"][0]]
    assert [(item["namespace"], item["name"]) for item in told_of] == [("files", "read")] * 2


def test_a_custom_tool_gets_text():
    stream, whole = told(PATCH)
    assert kinds(stream)[2:7] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert [event["delta"] for event in stream[3:5]] == ["a", "\nb"]
    assert stream[5]["input"] == whole["output"][0]["input"] == "a\nb"
    assert whole["output"][0]["type"] == "custom_tool_call"


def test_text_after_a_call_is_a_message_of_its_own():
    _, whole = told(EVERYTHING)
    said = [item["content"][0]["text"] for item in whole["output"] if item["type"] == "message"]
    assert said == ["Let me see. ", "Done."]


def test_nothing_is_opened_by_text_that_is_empty():
    stream, whole = told([ACCEPTED, TextDelta(text=""), ReasoningDelta(text=""), STOP, FINISHED])
    assert kinds(stream) == ["created", "in_progress", "completed"]
    assert whole["output"] == []


@pytest.mark.seeds("S57")
@pytest.mark.parametrize(
    ("name", "pieces", "said"),
    [
        ("get_weather", ['{"city":"Os'], {"arguments": '{"city":"Os'}),
        ("get_weather", [], {"arguments": ""}),
        ("apply_patch", ['{"input":"a\\'], {"input": "a"}),
    ],
)
def test_a_call_that_the_budget_cut_is_incomplete_and_its_arguments_are_not_called_done(name, pieces, said):
    stream, whole = told([ACCEPTED, *call(name, *pieces, ended=False), CUT, FINISHED])
    assert whole["status"] == "incomplete"
    assert whole["incomplete_details"] == {"reason": "max_output_tokens"}
    item = whole["output"][0]
    assert {"status": item["status"], **said} == {"status": "incomplete", **{key: item[key] for key in said}}
    assert kinds(stream)[-2:] == ["output_item.done", "incomplete"]
    assert not any(kind.endswith(("arguments.done", "input.done")) for kind in kinds(stream))


def test_only_the_last_item_of_an_answer_that_was_cut_is_incomplete():
    stream, whole = told([ACCEPTED, *call("get_weather", "{}"), TextDelta(text="And"), CUT, FINISHED])
    assert [item["status"] for item in whole["output"]] == ["completed", "incomplete"]
    assert kinds(stream)[-4:] == ["output_text.done", "content_part.done", "output_item.done", "incomplete"]


def test_a_summary_that_was_cut_says_so():
    stream, _ = told([ACCEPTED, ReasoningDelta(text="Hm"), CUT, FINISHED], asked(summaries=True))
    ends = {event["type"]: event.get("status") for event in stream}
    assert ends["response.reasoning_summary_part.done"] == "incomplete"
    stream, _ = told(THOUGHT, asked(summaries=True))
    assert all("status" not in event for event in stream if event["type"].endswith("part.done"))


# Log-probabilities


def record(text: str, data: bytes, visibility: Visibility = Visibility.SHOWN) -> TokenRecord:
    others = (Alternative(65, b"A", -0.25), Alternative(7, data, -0.5), Alternative(66, b"B", -1.5))
    return TokenRecord(id=7, text=text, data=data, logprob=-0.5, alternatives=others, visibility=visibility)


def test_text_is_described_where_that_was_asked_for():
    events = [
        ACCEPTED,
        TextDelta(text="", tokens=(record("", b"\xc3"),)),
        TextDelta(text="é", tokens=(record("é", b"\xa9"),)),
        TextDelta(text="", tokens=(record("", b"<|im_end|>", Visibility.CONTROL),)),
        STOP,
        FINISHED,
    ]
    stream, whole = told(events, asked(logprobs=1))
    rows = whole["output"][0]["content"][0]["logprobs"]
    itself = {"token": "", "logprob": -0.5, "bytes": [0xC3]}
    assert rows[0] == {**itself, "top_logprobs": [{"token": "A", "logprob": -0.25, "bytes": [65]}, itself]}
    assert [row["token"] for row in rows] == ["", "é"]
    assert [event["logprobs"] for event in stream if event["type"] == "response.output_text.delta"] == [rows]
    assert [event["logprobs"] for event in stream if event["type"] == "response.output_text.done"] == [rows]
    for event in stream:
        EVENT.validate_python(event, strict=True)
    plain, _ = told(events)
    assert {str(event["logprobs"]) for event in plain if "logprobs" in event} == {"[]"}


def test_rows_do_not_end_the_call_during_which_they_come():
    begun = call("get_weather", "{", ended=False)
    syntax = TextDelta(text="", tokens=(record("", b"<tool>", Visibility.HIDDEN),))
    events = [ACCEPTED, *begun, syntax, ToolCallArguments(index=0, text="}"), ToolCallEnded(index=0), CALLED, FINISHED]
    _, whole = told(events, asked(logprobs=0))
    assert [item["arguments"] for item in whole["output"]] == ["{}"]


# What else may happen to a response


@pytest.mark.seeds("S155")
def test_a_stream_that_breaks_ends_in_an_error_of_both_shapes_and_a_failed_response():
    answer = projector()
    sent = fed(answer, HELLO[:2]) + answer.fail(ENGINE_DIED)
    assert sent[-1].data == b"[DONE]"
    stream = read(sent)
    error, last = stream[-2:]
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    flat = {"code": "engine_crashed", "message": "the engine died", "param": None}
    assert error == {
        "type": "error",
        "sequence_number": len(stream) - 2,
        **flat,
        "error": {"type": "server_error", **flat},
    }
    assert TypeAdapter(ResponseErrorEvent).validate_python(error, strict=True).message == "the engine died"
    assert last["type"] == "response.failed"
    assert last["response"]["error"] == {"code": "server_error", "message": "the engine died"}
    assert last["response"] == msgspec.json.decode(msgspec.json.encode(answer.result()))
    assert [item["status"] for item in last["response"]["output"]] == ["incomplete"]
    assert "response.output_item.done" not in {event["type"] for event in stream}


def test_an_error_names_the_field_as_this_client_spells_it():
    error = InvalidRequest("too long", code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt")
    stream = read(projector(asked(spelling={"prompt": "input"})).fail(error))
    assert kinds(stream) == ["created", "error", "failed"]
    assert stream[1]["param"] == stream[1]["error"]["param"] == "input"


def test_a_response_in_the_background_is_queued_before_the_engine_takes_it():
    answer = projector(queued=True)
    assert answer.status == "queued"
    opening = read(answer.opening())
    assert kinds(opening) == ["created", "queued"]
    assert [event["response"]["status"] for event in opening] == ["queued"] * 2
    assert answer.opening() == []
    taken = read(answer.feed(ACCEPTED))
    assert [(event["type"], event["sequence_number"]) for event in taken] == [("response.in_progress", 2)]
    assert (answer.status, taken[0]["response"]["status"]) == ("in_progress", "in_progress")


def test_a_response_that_nobody_waits_for_is_told_when_the_engine_takes_it():
    answer = projector()
    assert answer.opening() == []
    assert kinds(read(answer.feed(ACCEPTED))) == ["created", "in_progress"]
    unopened = projector(queued=True)
    assert kinds(read(unopened.feed(Accepted(prompt_tokens=1)))) == ["created", "queued", "in_progress"]


@pytest.mark.parametrize("before", [0, 1, 2, 3], ids=["queued", "taken", "begun", "saying"])
def test_a_cancelled_response_says_so_in_an_event_that_clients_know_to_be_the_last(before):
    answer = projector(queued=True)
    sent = answer.opening() + fed(answer, HELLO[:before]) + answer.cancelled()
    stream = read(sent)
    EVENT.validate_python(stream[-1], strict=True)
    assert stream[-1]["type"] == "response.incomplete"
    assert stream[-1]["sequence_number"] == len(stream) - 1
    assert stream[-1]["response"]["status"] == answer.status == "cancelled"
    assert stream[-1]["response"]["incomplete_details"] is None
    assert {item["status"] for item in answer.output_items} <= {"incomplete"}
    assert sent[-1].data == b"[DONE]"


@pytest.mark.seeds("S157")
def test_a_keep_alive_is_an_event_of_the_running_sequence():
    answer = projector()
    assert answer.keepalive() == b": keep-alive\n\n"
    stream = fed(answer, HELLO[:2])
    name, data, *rest = answer.keepalive().decode().split("\n")
    assert (name, rest) == ("event: response.in_progress", ["", ""])
    beat = msgspec.json.decode(data.removeprefix("data: "))
    EVENT.validate_python(beat, strict=True)
    assert beat["response"]["output"] == list(answer.output_items)
    numbers = [event["sequence_number"] for event in (*read(stream), beat, *read(fed(answer, HELLO[2:])))]
    assert numbers == list(range(11))  # the ten of this answer, and the one between them


@pytest.mark.seeds("S157")
def test_no_event_follows_the_last_one():
    answer = projector()
    fed(answer, HELLO)
    assert answer.keepalive() == b": keep-alive\n\n"


@pytest.mark.seeds("S157")
def test_a_keep_alive_of_a_queued_response_does_not_say_that_it_runs():
    answer = projector(queued=True)
    answer.opening()
    beat = read([answer.beat()])[0]
    assert (beat["type"], beat["response"]["status"], beat["sequence_number"]) == ("response.queued", "queued", 2)


def test_the_first_event_is_that_there_is_a_response_whoever_asks_for_it():
    answer = projector()
    assert kinds(read([answer.beat(), *answer.feed(ACCEPTED)])) == ["created", "in_progress"]


def test_the_object_can_be_read_at_any_time():
    answer = projector()
    fed(answer, HELLO[:2])
    assert answer.result()["status"] == "in_progress"
    assert answer.result()["usage"] is None
    assert [item["status"] for item in answer.output_items] == ["in_progress"]
    assert answer.id == answer.result()["id"]
