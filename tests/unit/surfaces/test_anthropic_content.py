from __future__ import annotations

import base64
import json
from typing import get_args

import pytest
from anthropic.types import ImageBlockParam, ToolResultBlockParam, ToolUseBlockParam
from anthropic.types.beta import BetaContentBlockParam
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter
from typing_extensions import get_type_hints, is_typeddict

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import ImagePart, Message, Role, TextPart, ToolCall
from dragoman.surfaces.anthropic_block_readers import OF_ASSISTANTS, OF_RESULTS, OF_SYSTEMS, OF_USERS
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.anthropic_turns import MESSAGES
from dragoman.surfaces.sealed import seal

PNG = b"\x89PNG\r\n\x1a\n and more"
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
}
HELLO = {"role": "user", "content": "hi"}


def user(*blocks: dict) -> dict:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict) -> dict:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, **more: object) -> dict:
    return {"type": "text", "text": words, **more}


def use(id_: str, name: str = "f", **arguments: object) -> dict:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def result(of: str, content: object = "r", **more: object) -> dict:
    return {"type": "tool_result", "tool_use_id": of, "content": content, **more}


def parse(*turns: dict):
    return Messages().parse({"messages": list(turns)})


def messages(*turns: dict) -> tuple[Message, ...]:
    return parse(*turns).operation.prompt.messages


def said(message: Message) -> tuple[str, str]:
    return message.role.value, message.text


def refused_at(path: str, *turns: dict, match: str | None = None) -> InvalidRequest:
    with pytest.raises(InvalidRequest, match=match) as caught:
        parse(*turns)
    assert caught.value.param == path
    return caught.value


@pytest.mark.seeds("S114", "S115")
class TestTexts:
    def test_a_string_is_one_block(self):
        assert messages(HELLO) == messages(user(text("hi"))) == (Message(role=Role.USER, parts=(TextPart(text="hi"),)),)

    def test_blocks_are_one_text(self):
        assert messages(user(text("a"), text("b")))[0].text == "ab"

    def test_an_empty_one_is_left_out_with_what_stands_on_it(self):
        """peers.md 109."""
        marked = text("", cache_control={"type": "ephemeral"})
        assert messages(user(text("a"), marked)) == messages(user(text("a")))
        assert messages(user(marked)) == messages({"role": "user", "content": ""}) == (Message(role=Role.USER),)

    def test_citations_are_listed(self):
        call = parse(user(text("a", citations=[])), assistant(text("b", citations=None)), HELLO)
        assert call.ignored == ("messages.*.content.*.citations",)

    def test_a_search_result_is_read_as_text(self):
        found = {
            "type": "search_result",
            "title": "T",
            "source": "https://example.org",
            "content": [text("a"), text("b")],
        }
        assert messages(user(found))[0].text == "T\nhttps://example.org\na\nb"
        assert messages(user(result("t", [found])))[0].text == "T\nhttps://example.org\na\nb"

    def test_a_summary_of_what_came_before_is_text(self):
        for block in (
            {"type": "compaction", "content": "In short."},
            {"type": "compaction", "content": None, "encrypted_content": seal("In short.")},
        ):
            assert said(messages(assistant(block), HELLO)[0]) == ("assistant", "In short.")


@pytest.mark.seeds("S115", "S153")
class TestPictures:
    def test_one_in_base64_is_a_part_of_its_turn(self):
        (message,) = messages(user(text("a"), IMAGE, text("b")))
        place = "messages.0.content.1.source.data"
        assert message.parts == (TextPart(text="a"), ImagePart(data=PNG, media_type="image/png"), TextPart(text="b"))
        assert message.images[0].place == place

    def test_a_tool_may_show_one(self):
        (message,) = messages(user(result("t", [text("a"), IMAGE])))
        assert (message.role, message.text, len(message.images)) == (Role.TOOL, "a", 1)

    @pytest.mark.parametrize(
        "source", [{"type": "url", "url": "https://example.org/a.png"}, {"type": "file", "file_id": "file_1"}]
    )
    def test_one_that_would_have_to_be_fetched_is_refused_by_name(self, source):
        error = refused_at(
            "messages.0.content.0.source.type", user({"type": "image", "source": source}), match="base64"
        )
        assert isinstance(error, Unsupported)

    def test_one_of_another_type_is_refused_where_its_type_is_said(self):
        source = IMAGE["source"] | {"media_type": "image/gif"}
        error = refused_at("messages.0.content.0.source.media_type", user({"type": "image", "source": source}))
        assert isinstance(error, Unsupported)

    def test_one_that_is_none_is_refused(self):
        source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        error = refused_at("messages.0.content.0.source.data", user({"type": "image", "source": source}))
        assert error.code is Code.INVALID_IMAGE

    def test_an_assistant_shows_none(self):
        refused_at("messages.1.content.0.type", HELLO, assistant(IMAGE))

    def test_how_it_would_be_resized_is_listed(self):
        call = parse(user(IMAGE | {"transformations": {"oversized_image": "downsize"}}))
        assert call.ignored == ("messages.*.content.*.transformations",)


class TestThoughts:
    def test_they_go_before_what_was_said(self):
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        assert messages(HELLO, assistant(thought, text("Yes.")), HELLO)[1] == Message(
            role=Role.ASSISTANT, parts=(TextPart(text="Yes."),), reasoning="Hm."
        )

    def test_a_signature_of_ours_holds_those_that_were_not_shown(self):
        """``display: omitted`` leaves the text empty (Claude Code's way)."""
        thought = {"type": "thinking", "thinking": "", "signature": seal("Hm.")}
        assert messages(HELLO, assistant(thought, text("Yes.")), HELLO)[1].reasoning == "Hm."

    def test_those_that_are_shown_win_over_the_signature(self):
        thought = {"type": "thinking", "thinking": "Seen.", "signature": seal("Hm.")}
        assert messages(HELLO, assistant(thought, text("Yes.")), HELLO)[1].reasoning == "Seen."

    def test_redacted_ones_of_ours_are_read(self):
        thought = {"type": "redacted_thinking", "data": seal("Hm.")}
        assert messages(HELLO, assistant(thought, text("Yes.")), HELLO)[1].reasoning == "Hm."

    @pytest.mark.parametrize(
        "foreign",
        [{"type": "thinking", "thinking": "", "signature": "EqQBCg=="}, {"type": "redacted_thinking", "data": "EqQB"}],
    )
    def test_foreign_words_have_no_effect(self, foreign):
        assert messages(HELLO, assistant(foreign, text("Yes.")), HELLO) == messages(
            HELLO, assistant(text("Yes.")), HELLO
        )

    def test_several_are_one_with_paragraphs(self):
        thoughts = [{"type": "thinking", "thinking": words, "signature": ""} for words in ("a", "b")]
        assert messages(HELLO, assistant(*thoughts, text("c")), HELLO)[1].reasoning == "a\n\nb"

    def test_a_user_thinks_none(self):
        refused_at("messages.0.content.0.type", user({"type": "thinking", "thinking": "a", "signature": ""}))


@pytest.mark.seeds("S119")
class TestCallsAndResults:
    def test_a_turn_has_its_thoughts_its_text_and_its_calls(self):
        thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
        turn = assistant(thought, text("I look."), use("t1", "get", city="Köln", n=[1, {"a": None}]), use("t2", "now"))
        message = messages(HELLO, turn, user(result("t1"), result("t2")))[1]
        assert message == Message(
            role=Role.ASSISTANT,
            parts=(TextPart(text="I look."),),
            reasoning="Hm.",
            tool_calls=(
                ToolCall(id="t1", name="get", arguments='{"city":"Köln","n":[1,{"a":null}]}'),
                ToolCall(id="t2", name="now", arguments="{}"),
            ),
        )

    def test_results_and_what_the_user_adds_are_turns_of_their_own(self):
        shown = messages(
            HELLO, assistant(use("t1"), use("t2")), user(result("t2", "B"), result("t1", "A"), text("Go on."))
        )
        assert [said(message) for message in shown[2:]] == [("tool", "B"), ("tool", "A"), ("user", "Go on.")]
        assert [message.tool_call_id for message in shown[2:]] == ["t2", "t1", None]

    def test_results_stand_behind_their_calls_whatever_the_user_said_first(self):
        shown = messages(HELLO, assistant(use("t1")), user(text("Here: "), result("t1", "A"), text("go on.")))
        assert [said(message) for message in shown[2:]] == [("tool", "A"), ("user", "Here: go on.")]

    @pytest.mark.parametrize(
        "content, expected", [("A", "A"), ([text("A"), text("B")], "AB"), ([], ""), ("", ""), (None, "")]
    )
    def test_a_result_is_a_string_or_blocks_or_nothing(self, content, expected):
        (message,) = messages(user(result("t1", content)))
        assert (message.text, message.tool_call_id) == (expected, "t1")

    def test_that_it_is_an_error_is_listed(self):
        assert parse(user(result("t1", is_error=True))).ignored == ("messages.*.content.*.is_error",)

    @pytest.mark.parametrize(
        "turn, path",
        [
            (user(use("t1")), "messages.1.content.0.type"),
            (assistant(result("t1")), "messages.1.content.0.type"),
            (assistant({"type": "tool_use", "id": "t", "name": "f", "input": "{}"}), "messages.1.content.0.input"),
            (assistant({"type": "tool_use", "id": "t", "name": "f"}), "messages.1.content.0.input"),
            (assistant({"type": "tool_use", "name": "f", "input": {}}), "messages.1.content.0.id"),
            (assistant(use("t", "f", a="\udfff")), "messages.1.content.0.input"),
            (user({"type": "tool_result", "content": "r"}), "messages.1.content.0.tool_use_id"),
            (user(result("t", 5)), "messages.1.content.0.content"),
            (user(result("t", [use("t")])), "messages.1.content.0.content.0.type"),
        ],
    )
    def test_what_is_no_call_or_result_is_refused_at_its_path(self, turn, path):
        refused_at(path, HELLO, turn)


class TestHostedTools:
    """Answers of other servers come back to this one, when a client changes servers: no text of theirs is lost."""

    def test_what_they_did_is_a_call_and_its_result(self):
        turn = assistant(
            text("I search."),
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [
                    {
                        "type": "web_search_result",
                        "title": "T",
                        "url": "https://example.org",
                        "encrypted_content": "c2VjcmV0",
                    }
                ],
            },
            text("Found."),
        )
        shown = messages(HELLO, turn, HELLO)
        assert [message.role.value for message in shown] == ["user", "assistant", "tool", "assistant", "user"]
        assert shown[1].tool_calls == (ToolCall(id="s1", name="web_search", arguments='{"query":"x"}'),)
        assert shown[2].tool_call_id == "s1"
        assert json.loads(shown[2].text) == [{"type": "web_search_result", "title": "T", "url": "https://example.org"}]
        assert (shown[1].text, shown[3].text) == ("I search.", "Found.")

    def test_texts_of_a_remote_tool_are_texts(self):
        turn = assistant(
            {"type": "mcp_tool_use", "id": "m1", "name": "look", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [text("A"), text("B")]},
        )
        shown = messages(HELLO, turn, HELLO)
        assert [said(message) for message in shown[1:3]] == [("assistant", ""), ("tool", "A\nB")]

    def test_an_answer_goes_on_after_the_last_result(self):
        turn = assistant(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        )
        prompt = parse(HELLO, turn).operation.prompt
        assert (prompt.messages[-1].role, prompt.continue_final) == (Role.TOOL, False)

    @pytest.mark.parametrize("kind", ["fallback", "mcp_tool_listing"])
    def test_what_tells_a_model_nothing_is_listed(self, kind):
        call = parse(HELLO, assistant({"type": kind}, text("a")), HELLO)
        assert call.operation == parse(HELLO, assistant(text("a")), HELLO).operation
        assert call.ignored == (f"messages.*.content.*.{kind}",)


@pytest.mark.seeds("S115")
class TestWhatCannotBeShown:
    @pytest.mark.parametrize("kind", ["document", "container_upload"])
    def test_it_is_refused_by_name(self, kind):
        block = {"type": kind, "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
        for turn, path in (
            (user(block), "messages.0.content.0"),
            (user(result("t", [block])), "messages.0.content.0.content.0"),
        ):
            assert isinstance(refused_at(path, turn, match=kind), Unsupported)

    @pytest.mark.parametrize(
        "content, path",
        [
            ([{"type": "thing"}], "messages.0.content.0.type"),
            ([{"text": "a"}], "messages.0.content.0.type"),
            (["a"], "messages.0.content.0"),
            ([], "messages.0.content"),
            (5, "messages.0.content"),
            (None, "messages.0.content"),
            ("a\0b", "messages.0.content"),
            ([text("\udfff")], "messages.0.content.0.text"),
        ],
    )
    def test_what_is_no_content_is_refused_at_its_path(self, content, path):
        refused_at(path, {"role": "user", "content": content})


def test_every_block_of_the_sdk_has_a_place():
    """Those of the beta's union: each is read, or refused by name."""
    params = [param for param in get_args(BetaContentBlockParam) if is_typeddict(param)]
    official = {
        kind for param in params for kind in get_args(get_args(get_type_hints(param, include_extras=True)["type"])[0])
    }
    assert {"text", "tool_use", "thinking", "mcp_tool_use"} <= official
    read = {*OF_USERS, *OF_ASSISTANTS, *OF_RESULTS, *OF_SYSTEMS}
    assert official - read == {"document", "container_upload", "tool_removal"}


@pytest.mark.parametrize(
    "turn, fits",
    [
        (HELLO, True),
        (user(text("a"), IMAGE, result("t", [text("r"), IMAGE])), True),
        (assistant(text("a"), use("t")), True),
        (assistant(), True),
        ({"role": "system", "content": "a"}, True),
        (user(), False),
        (user(use("t")), False),
        (assistant(IMAGE), False),
        (user({"type": "text"}), False),
        ({"role": "tool", "content": "a"}, False),
        ({"content": "a"}, False),
    ],
)
def test_a_turn_fits_the_schema_where_it_is_read(turn, fits):
    assert Draft202012Validator(MESSAGES.schema).is_valid([HELLO, turn]) is fits
    if fits:
        parse(HELLO, turn, HELLO)
    else:
        with pytest.raises(InvalidRequest):
            parse(HELLO, turn, HELLO)


@pytest.mark.parametrize(
    "official, sample",
    [
        (ImageBlockParam, IMAGE),
        (ToolResultBlockParam, result("t", [text("a"), IMAGE])),
        (ToolUseBlockParam, use("t", a=1)),
    ],
)
def test_the_samples_are_what_the_sdk_would_send(official, sample):
    TypeAdapter(official).validate_python(sample)
