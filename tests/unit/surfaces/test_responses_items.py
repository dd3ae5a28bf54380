from __future__ import annotations

import base64
import json

import pytest
from openai.types.responses import ResponseItem
from pydantic import TypeAdapter

from dragoman.core.errors import Code, Unsupported
from dragoman.core.request import ImagePart, Message, Role, TextPart, ToolCall
from dragoman.surfaces.readers import Place
from dragoman.surfaces.responses_items import read_input
from dragoman.surfaces.sealed import seal
from support.responses import call_of, messages_of, minting, refusal, request_of

PNG = b"\x89PNG\r\n\x1a\nrest"
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()


def user(text: str) -> Message:
    return Message(role=Role.USER, parts=(TextPart(text=text),))


def tool(call: str, text: str) -> Message:
    return Message(role=Role.TOOL, parts=(TextPart(text=text),), tool_call_id=call)


def call(id: str = "call_1", name: str = "f", arguments: str = "{}") -> dict:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def output(id: str = "call_1", value: object = "done") -> dict:
    return {"type": "function_call_output", "call_id": id, "output": value}


@pytest.mark.parametrize("role", ["user", "system", "developer", "assistant"])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    "content",
    ["hello", [{"type": "input_text", "text": "hel"}, {"type": "output_text", "text": "lo", "annotations": None}]],
)
def test_a_message_with_or_without_a_type_keeps_its_role_and_text(role, typed, content):
    item = {"role": role, "content": content} | ({"type": "message"} if typed else {})
    (message,) = messages_of(item)
    assert (message.role, message.text) == (Role(role), "hello")


def test_a_refusal_is_text_like_any_other():
    (message,) = messages_of({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})
    assert message == Message(role=Role.ASSISTANT, parts=(TextPart(text="No."),))


@pytest.mark.seeds("S153")
def test_a_picture_stands_between_the_texts_around_it():
    content = [
        {"type": "input_text", "text": "<image>"},
        {"type": "input_image", "image_url": PNG_URL, "detail": "high"},
        {"type": "input_text", "text": "</image>"},
    ]
    asked = call_of(input=[{"role": "user", "content": content}])
    assert asked.operation.prompt.messages[0].parts == (
        TextPart(text="<image>"),
        ImagePart(data=PNG, media_type="image/png"),
        TextPart(text="</image>"),
    )
    assert asked.operation.prompt.messages[0].images[0].place == "input.0.content.1.image_url"
    assert asked.ignored == ("input.*.content.*.detail",)


@pytest.mark.seeds("S153")
@pytest.mark.parametrize(
    "part, param",
    [
        ({"type": "input_image", "image_url": "https://example.com/a.png"}, "input.0.content.0.image_url"),
        ({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, "input.0.content.0.image_url"),
        ({"type": "input_image", "file_id": "file_1"}, "input.0.content.0.file_id"),
        ({"type": "input_image"}, "input.0.content.0.image_url"),
        ({"type": "input_file", "filename": "a.pdf"}, "input.0.content.0"),
        ({"type": "input_audio"}, "input.0.content.0"),
        ({"type": "input_text"}, "input.0.content.0.text"),
        ({"type": "video"}, "input.0.content.0.type"),
        ({"text": "x"}, "input.0.content.0.type"),
        ("x", "input.0.content.0"),
    ],
)
def test_a_part_that_cannot_be_shown_is_refused_at_its_place(part, param):
    assert refusal(input=[{"role": "user", "content": [part]}]).param == param


@pytest.mark.seeds("S153")
def test_an_assistant_shows_no_pictures():
    caught = refusal(input=[{"role": "assistant", "content": [{"type": "input_image", "image_url": PNG_URL}]}])
    assert caught.param == "input.0.content.0.image_url"


def test_a_tool_may_show_a_picture():
    messages = messages_of(call(), output(value=[{"type": "input_image", "image_url": PNG_URL}]))
    assert messages[1].images == (ImagePart(data=PNG, media_type="image/png"),)


@pytest.mark.seeds("S119")
def test_what_an_answer_was_cut_into_is_one_message_again():
    messages = messages_of(
        {"role": "user", "content": "list files"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": "I will."},
        call("call_1", "ls", '{"a": 1}') | {"id": "fc_1", "status": "completed"},
        call("call_2", "pwd"),
        output("call_1", "a.txt") | {"id": "fco_1", "status": "completed"},
        output("call_2", [{"type": "input_text", "text": "/"}, {"type": "input_text", "text": "home"}]),
        {"role": "assistant", "content": "There is a.txt."},
        {"role": "user", "content": "thanks"},
    )
    assert messages == (
        user("list files"),
        Message(
            role=Role.ASSISTANT,
            parts=(TextPart(text="I will."),),
            reasoning="Hm.",
            tool_calls=(
                ToolCall(id="call_1", name="ls", arguments='{"a": 1}'),
                ToolCall(id="call_2", name="pwd", arguments="{}"),
            ),
        ),
        tool("call_1", "a.txt"),
        Message(role=Role.TOOL, parts=(TextPart(text="/"), TextPart(text="home")), tool_call_id="call_2"),
        Message(role=Role.ASSISTANT, parts=(TextPart(text="There is a.txt."),)),
        user("thanks"),
    )


def test_two_messages_of_one_answer_are_two_paragraphs():
    (answer,) = messages_of(
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"role": "assistant", "content": "It is four.", "phase": "final_answer"},
    )
    assert answer.text == "I look.\n\nIt is four."


def test_an_assistant_may_have_said_nothing():
    assert messages_of({"role": "user", "content": "x"}, {"role": "assistant", "content": []}) == (user("x"),)
    assert refusal(input=[{"role": "user", "content": []}]).param == "input.0.content"


def test_a_last_answer_is_not_continued():
    prompt = call_of(
        input=[{"role": "user", "content": "x"}, {"role": "assistant", "content": "Well"}]
    ).operation.prompt
    assert (prompt.continue_final, prompt.add_generation_prompt) == (False, True)


@pytest.mark.parametrize(
    "item, thought",
    [
        (
            {"content": [{"type": "reasoning_text", "text": "a"}], "summary": [{"type": "summary_text", "text": "b"}]},
            "a",
        ),
        ({"summary": [{"type": "summary_text", "text": "b"}, {"type": "summary_text", "text": "c"}]}, "b\n\nc"),
        ({"summary": [], "encrypted_content": seal("sealed")}, "sealed"),
        ({"summary": [{"type": "summary_text", "text": "b"}], "encrypted_content": seal("sealed")}, "b"),
        ({"summary": [], "content": None, "encrypted_content": seal("sealed")}, "sealed"),
    ],
)
def test_visible_thoughts_win_over_sealed_ones(item, thought):
    asked = call_of(input=[{"role": "user", "content": "x"}, {"type": "reasoning", "id": "rs_1"} | item])
    assert asked.operation.prompt.messages[1] == Message(role=Role.ASSISTANT, reasoning=thought)
    assert asked.ignored == ()


def test_thoughts_that_another_server_sealed_have_no_effect_and_are_listed():
    asked = call_of(
        input=[{"role": "user", "content": "x"}, {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}]
    )
    assert asked.operation.prompt.messages == (user("x"),)
    assert asked.ignored == ("input.*.encrypted_content",)


def test_a_compaction_stands_for_the_turns_before_it():
    asked = call_of(input=[{"type": "compaction", "id": "cmp_1", "encrypted_content": seal("They spoke of slate.")}])
    assert asked.operation.prompt.messages == (user("They spoke of slate."),)
    asked = call_of(
        input=[{"type": "compaction", "encrypted_content": "bW9jaw=="}, {"role": "user", "content": "go on"}]
    )
    assert (asked.operation.prompt.messages, asked.ignored) == ((user("go on"),), ("input.*.encrypted_content",))


def test_a_custom_call_is_a_call_with_one_text():
    messages = messages_of(
        {"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": 'a "b"\né'},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "applied"},
    )
    assert messages[0].tool_calls == (ToolCall(id="call_1", name="patch", arguments='{"input":"a \\"b\\"\\né"}'),)
    assert messages[1] == tool("call_1", "applied")


def test_an_output_of_a_tool_that_nobody_called_is_told_by_the_user():
    """The SDK's type lets ``call_id`` out and has names instead; Codex tells a goal so."""
    told = {"type": "function_call_output", "name": "goal_objective", "namespace": "agent", "output": "Find it."}
    assert [message.role for message in messages_of(call(), output(), told)] == [Role.ASSISTANT, Role.TOOL, Role.USER]
    assert [messages_of(told)[0].text, messages_of(told | {"namespace": None})[0].text] == [
        "agent.goal_objective:\nFind it.",
        "goal_objective:\nFind it.",
    ]
    assert messages_of(call(), output() | {"name": "f"})[1] == tool("call_1", "done"), "the call has the name"


@pytest.mark.seeds("S144")
def test_an_output_must_answer_a_call_that_is_there():
    caught = refusal(input=[{"role": "user", "content": "x"}, output("call_9")])
    assert (caught.param, caught.code) == ("input.1.call_id", Code.INVALID_VALUE)
    assert refusal(input=[output(), call()]).param == "input.0.call_id"
    assert refusal(input=[{"type": "custom_tool_call_output", "call_id": "c", "output": ""}]).param == "input.0.call_id"
    assert messages_of(output(), history=[call() | {"id": "fc_1"}])[1] == tool("call_1", "done")


def test_a_call_without_an_output_is_let_through():
    assert messages_of(call())[0].tool_calls == (ToolCall(id="call_1", name="f", arguments="{}"),)


@pytest.mark.seeds("S144")
def test_history_comes_first_and_its_calls_are_in_the_prompt():
    history = [
        {
            "type": "message",
            "id": "msg_1",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_text", "text": "ls"}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "f",
            "arguments": "{}",
            "status": "completed",
        },
    ]
    messages = messages_of(output(), history=history)
    assert messages == (
        user("ls"),
        Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="call_1", name="f", arguments="{}"),)),
        tool("call_1", "done"),
    )
    assert call_of(input=[output()], history=history).history == tuple(history)


def test_what_had_no_effect_in_an_earlier_turn_is_not_listed_again():
    history = [{"type": "message", "id": "msg_1", "role": "assistant", "content": "x", "phase": "commentary"}]
    assert call_of(history=history).ignored == ()


def test_a_reference_stands_for_the_item_that_it_names():
    known = {
        "type": "message",
        "id": "msg_7",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I am.", "annotations": []}],
    }
    for reference in ({"type": "item_reference", "id": "msg_7"}, {"id": "msg_7"}, {"id": "msg_7", "type": None}):
        request = request_of(input=[{"role": "user", "content": "who?"}, reference])
        assert request.references == ("msg_7",)
        asked = request.resolve(referred={"msg_7": known})
        assert [message.text for message in asked.operation.prompt.messages] == ["who?", "I am."]
        assert asked.input[1] == known | {"status": "completed"}
        with pytest.raises(Exception) as caught:
            request.resolve()
        assert (caught.value.param, caught.value.code) == ("input.1.id", Code.ITEM_NOT_FOUND)


@pytest.mark.parametrize(
    "items, calls, said",
    [
        (
            [
                {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}},
                {"type": "local_shell_call_output", "id": "c", "output": "a.txt"},
            ],
            [("c", "local_shell", {"type": "exec", "command": ["ls"], "env": {}})],
            ["a.txt"],
        ),
        (
            [
                {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
                {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "é", "stderr": ""}]},
            ],
            [("c", "shell", {"commands": ["ls"]})],
            ['[{"stdout":"é","stderr":""}]'],
        ),
        (
            [
                {"type": "apply_patch_call", "call_id": "c", "status": "completed", "operation": {"type": "delete_file", "path": "a"}},
                {"type": "apply_patch_call_output", "call_id": "c", "status": "failed"},
            ],
            [("c", "apply_patch", {"type": "delete_file", "path": "a"})],
            ["failed"],
        ),
        (
            [{"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}],
            [("ci_1", "code_interpreter", {"code": "1+1"})],
            ['[{"type":"logs","logs":"2"}]'],
        ),
        (
            [{"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": [{"text": "t"}]}],
            [("fs_1", "file_search", {"queries": ["q"]})],
            ['[{"text":"t"}]'],
        ),
        (
            [{"type": "mcp_call", "id": "mcp_1", "name": "ask", "server_label": "s", "arguments": '{"q": 1}', "output": "yes"}],
            [("mcp_1", "ask", {"q": 1})],
            ["yes"],
        ),
        (
            [{"type": "mcp_call", "id": "mcp_1", "name": "ask", "server_label": "s", "arguments": '{"q": 1}', "error": "no"}],
            [("mcp_1", "ask", {"q": 1})],
            ["no"],
        ),
    ],
)  # fmt: skip
def test_what_another_servers_tools_did_is_a_call_and_its_output(items, calls, said):
    messages = messages_of(*items)
    assert [(made.id, made.name, json.loads(made.arguments)) for made in messages[0].tool_calls] == calls
    assert [message.text for message in messages[1:]] == said
    assert [message.role for message in messages[1:]] == [Role.TOOL] * len(said)


def test_what_cannot_be_told_of_them_is_listed_by_the_kind_of_item():
    asked = call_of(
        input=[
            {"role": "user", "content": "x"},
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            },
            {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AAAA"},
            {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        ]
    )
    assert asked.operation.prompt.messages == (user("x"),)
    assert asked.ignored == ("input.*.web_search_call", "input.*.image_generation_call", "input.*.mcp_list_tools")


@pytest.mark.parametrize(
    "item, param",
    [
        ({}, "input.0.type"),
        ({"content": "x"}, "input.0.type"),
        ({"type": "moon"}, "input.0.type"),
        ({"type": "compaction_trigger"}, "input.0.type"),
        ({"type": 5}, "input.0.type"),
        ({"role": "tool", "content": "x"}, "input.0.role"),
        ({"role": "user"}, "input.0.content"),
        ({"role": "user", "content": 5}, "input.0.content"),
        ({"role": "user", "content": "\0"}, "input.0.content"),
        ({"role": "user", "content": "x", "id": 5}, "input.0.id"),
        ({"type": "message", "content": "x"}, "input.0.role"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "input.0.call_id"),
        ({"type": "function_call", "call_id": "c", "arguments": "{}"}, "input.0.name"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}, "input.0.arguments"),
        ({"type": "function_call_output", "output": "x"}, "input.0.call_id"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "f"}, "input.0.input"),
        ({"type": "reasoning", "content": [{"type": "reasoning_text"}]}, "input.0.content.0.text"),
        ({"type": "reasoning", "encrypted_content": seal("\0")}, "input.0.encrypted_content"),
        ({"type": "compaction"}, "input.0.encrypted_content"),
        ({"type": "item_reference"}, "input.0.id"),
        ({"type": "local_shell_call", "call_id": "c"}, "input.0.action"),
        ({"type": "shell_call_output", "output": "x"}, "input.0.call_id"),
        ({"type": "mcp_call", "id": "m", "name": "n", "arguments": {}}, "input.0.arguments"),
        ({"type": "additional_tools", "role": "developer"}, "input.0.tools"),
        ("x", "input.0"),
    ],
)
def test_a_malformed_item_is_refused_at_its_path(item, param):
    assert refusal(input=[item]).param == param


def test_an_input_is_a_text_or_items():
    for value in (5, {"role": "user", "content": "x"}, True):
        assert refusal(input=value).param == "input"


def test_an_unknown_field_of_an_item_is_listed_or_refused_when_strict():
    item = {"role": "user", "content": "x", "foo": 1}
    assert call_of(input=[item]).ignored == ("input.*.foo",)
    assert refusal(input=[item], strict=True).param == "input.0.foo"


def test_items_without_an_id_get_one_of_their_kind_and_the_others_keep_theirs():
    asked = call_of(
        input=[
            {"role": "user", "content": "x"},
            {"role": "user", "content": "y", "id": "msg_mine"},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "id": None},
            call(),
            output(),
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": ""},
            {"type": "custom_tool_call_output", "call_id": "c", "output": ""},
            {"type": "compaction", "encrypted_content": seal("x")},
            {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}},
        ]
    )
    assert [item["id"] for item in asked.input] == [
        "msg_1",
        "msg_mine",
        "rs_2",
        "fc_3",
        "fco_4",
        "ctc_5",
        "ctco_6",
        "cmp_7",
        "ws_8",
    ]


def test_kept_items_are_what_openais_sdk_lists():
    asked = call_of(
        input=[
            {"role": "user", "content": "x"},
            {"role": "user", "content": [{"type": "input_text", "text": "y"}, {"type": "input_image", "image_url": PNG_URL}]},
            {"role": "system", "content": [{"type": "text", "text": "z"}]},
            {"role": "assistant", "content": "hello"},
            {"role": "assistant", "content": [{"type": "input_text", "text": "a"}, {"type": "refusal", "refusal": "No."}]},
            {"type": "reasoning", "content": None, "encrypted_content": None},
            call() | {"status": None},
            output(),
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "o"},
            {"type": "compaction", "encrypted_content": seal("x")},
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "t"}]},
        ]
    )  # fmt: skip
    read = [TypeAdapter(ResponseItem).validate_python(dict(item)) for item in asked.input]
    assert [type(item).__name__ for item in read] == [
        "ResponseInputMessageItem",
        "ResponseInputMessageItem",
        "ResponseInputMessageItem",
        "ResponseOutputMessage",
        "ResponseOutputMessage",
        "ResponseReasoningItem",
        "ResponseFunctionToolCallItem",
        "ResponseFunctionToolCallOutputItem",
        "ResponseCustomToolCallItem",
        "ResponseCustomToolCallOutputItem",
        "ResponseCompactionItem",
        "AdditionalTools",
    ]
    assert [item.get("status") for item in asked.input[:10]] == [*["completed"] * 5, None, *["completed"] * 4]
    assert asked.input[5] == {"type": "reasoning", "id": "rs_6", "summary": []}  # neither null (wire.md 0.3)


def test_kept_items_mean_what_they_meant_when_they_came():
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "y"}, {"type": "input_image", "image_url": PNG_URL}]},
        {"role": "assistant", "content": "hello"},
        {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "o"},
        {"role": "user", "content": "x"},
    ]  # fmt: skip
    asked = call_of(input=items)
    again = call_of(input=list(asked.input))
    assert again.operation == asked.operation
    assert again.input == asked.input


def test_items_are_read_alone_for_whoever_keeps_a_list_of_them():
    items = read_input([{"role": "user", "content": "x"}], Place().child("items"), minting())
    assert [item.kept["id"] for item in items] == ["msg_1"]


def test_an_unknown_kind_is_unsupported_and_not_merely_wrong():
    assert isinstance(refusal(input=[{"type": "moon"}]), Unsupported)
