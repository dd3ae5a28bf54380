from __future__ import annotations

import pytest

from dragoman.core.errors import InvalidRequest, Unsupported
from dragoman.core.request import GrammarFormat, JsonFormat, RegexFormat, Thinking
from dragoman.surfaces.anthropic_call import MessagesCall
from dragoman.surfaces.anthropic_messages import Messages

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
JSON_SCHEMA = {"type": "json_schema", "schema": SCHEMA}


def parse(**body: object) -> MessagesCall:
    return Messages().parse({"max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], **body})


def wish(**body: object) -> Thinking:
    return parse(**body).operation.prompt.thinking


@pytest.mark.seeds("S68")
class TestThinking:
    @pytest.mark.parametrize(
        "config, expected",
        [
            ({"type": "enabled", "budget_tokens": 1024}, Thinking(enabled=True, budget=1024)),
            ({"type": "enabled"}, Thinking(enabled=True)),
            ({"type": "disabled"}, Thinking(enabled=False)),
            ({"type": "adaptive"}, Thinking()),
            ({"type": "between_tools"}, Thinking(enabled=True)),
            (None, Thinking()),
        ],
    )
    def test_each_type_says_whether_the_model_thinks(self, config, expected):
        assert wish(thinking=config) == expected

    def test_a_budget_of_thoughts_that_are_none_is_listed(self):
        assert parse(thinking={"type": "enabled", "budget_tokens": 1024}).ignored == ()
        assert parse(thinking={"type": "disabled", "budget_tokens": 1024}).ignored == ("thinking.budget_tokens",)

    def test_a_budget_beyond_every_context_is_taken(self):
        """It is clamped where the context is known; pi and qwen-code send theirs beside a smaller ``max_tokens``."""
        assert wish(thinking={"type": "enabled", "budget_tokens": 2**31 - 1}).budget == 2**31 - 1

    @pytest.mark.parametrize(
        "config, path",
        [
            ({}, "thinking.type"),
            ({"type": "on"}, "thinking.type"),
            ({"type": "enabled", "budget_tokens": -1}, "thinking.budget_tokens"),
            ({"type": "enabled", "budget_tokens": "many"}, "thinking.budget_tokens"),
            ({"type": "adaptive", "display": "all"}, "thinking.display"),
            (True, "thinking"),
        ],
    )
    def test_what_is_no_configuration_is_refused_at_its_path(self, config, path):
        with pytest.raises(InvalidRequest) as caught:
            parse(thinking=config)
        assert caught.value.param == path

    @pytest.mark.parametrize(
        "shown, expected",
        [(None, "summarized"), ("summarized", "summarized"), ("omitted", "omitted"), ("updates", "summarized")],
    )
    def test_the_client_says_how_it_is_shown(self, shown, expected):
        call = parse(thinking={"type": "adaptive", "display": shown})
        assert call.thinking_display == expected
        assert call.ignored == (("thinking.display",) if shown == "updates" else ())

    def test_without_a_word_it_is_shown(self):
        assert parse().thinking_display == "summarized"


class TestEffort:
    @pytest.mark.parametrize("effort", ["low", "medium", "high", "xhigh", "max"])
    def test_anthropics_words_are_handed_on(self, effort):
        assert wish(output_config={"effort": effort}) == Thinking(effort=effort)

    def test_it_goes_beside_what_the_client_says_of_thinking(self):
        """Claude Code sends both for a model that it does not know."""
        assert wish(thinking={"type": "adaptive"}, output_config={"effort": "high"}) == Thinking(effort="high")
        assert wish(thinking={"type": "disabled"}, output_config={"effort": "high"}) == Thinking(
            enabled=False, effort="high"
        )

    @pytest.mark.parametrize("effort", ["none", "minimal", 3])
    def test_other_words_are_refused(self, effort):
        with pytest.raises(InvalidRequest) as caught:
            parse(output_config={"effort": effort})
        assert caught.value.param == "output_config.effort"

    def test_a_budget_for_a_task_is_listed(self):
        call = parse(output_config={"task_budget": {"type": "tokens", "total": 5}})
        assert call.ignored == ("output_config.task_budget",)


@pytest.mark.seeds("S63")
class TestEarlierThoughts:
    @pytest.mark.parametrize("keep", ["all", {"type": "all"}])
    def test_all_are_kept_where_the_client_says_so(self, keep):
        call = parse(context_management={"edits": [{"type": "clear_thinking_20251015", "keep": keep}]})
        assert call.operation.prompt.thinking == Thinking(preserve=True)
        assert call.ignored == ()

    @pytest.mark.parametrize(
        "edit",
        [
            {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}},
            {"type": "clear_thinking_20251015"},
            {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 100}},
            {"type": "compact_20260112"},
            {"type": "of_another_day"},
        ],
    )
    def test_other_edits_are_listed_and_leave_the_conversation_as_it_is(self, edit):
        call = parse(context_management={"edits": [edit]})
        assert call.operation == parse().operation
        assert call.ignored == (f"context_management.edits.*.{edit['type']}",)

    def test_no_edits_ask_for_nothing(self):
        assert parse(context_management={"edits": []}) == parse(context_management={}) == parse()


@pytest.mark.seeds("S58", "S59", "S60")
class TestFormats:
    @pytest.mark.parametrize("body", [{"output_config": {"format": JSON_SCHEMA}}, {"output_format": JSON_SCHEMA}])
    def test_a_schema_is_what_the_answer_must_be(self, body):
        assert parse(**body).operation.output == JsonFormat(schema=SCHEMA)

    def test_any_object_may_be_asked_for(self):
        assert parse(output_config={"format": {"type": "json_object"}}).operation.output == JsonFormat()

    @pytest.mark.parametrize(
        "value, output",
        [
            ({"type": "regex", "regex": "a+"}, RegexFormat(pattern="a+")),
            ({"type": "grammar", "grammar": 'start: "a"'}, GrammarFormat(source='start: "a"', syntax="lark")),
        ],
    )
    def test_expressions_and_grammars_may_be_asked_for_as_on_the_other_surfaces(self, value, output):
        assert parse(output_config={"format": value}).operation.output == output

    @pytest.mark.parametrize("value", [None, {}, {"type": "text"}, {"type": None}])
    def test_what_asks_for_text_is_let_through(self, value):
        assert parse(output_config={"format": value}) == parse()
        assert parse(output_format=value).operation == parse().operation

    @pytest.mark.parametrize(
        "value, path",
        [
            ("json_schema", ""),
            ({"type": "json_schema"}, ".schema"),
            ({"type": "xml"}, ".type"),
            ({"type": "regex"}, ".regex"),
            ({"type": "grammar", "grammar": 5}, ".grammar"),
            ({"type": "json_schema", "schema": "{}"}, ".schema"),
            ({"type": "json_schema", "schema": {"type": "thing"}}, ".schema.type"),
        ],
    )
    def test_what_is_no_format_is_refused_at_its_path(self, value, path):
        for place, body in (
            ("output_config.format", {"output_config": {"format": value}}),
            ("output_format", {"output_format": value}),
        ):
            with pytest.raises(InvalidRequest) as caught:
                parse(**body)
            assert caught.value.param == place + path

    def test_a_keyword_that_cannot_be_enforced_is_refused_by_name(self):
        schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
        with pytest.raises(Unsupported) as caught:
            parse(output_config={"format": {"type": "json_schema", "schema": schema}})
        assert caught.value.param == "output_config.format.schema.properties.a.uniqueItems"

    def test_two_formats_are_one_too_many(self):
        with pytest.raises(InvalidRequest, match=r"output_config\.format and output_format") as caught:
            parse(output_config={"format": JSON_SCHEMA}, output_format=JSON_SCHEMA)
        assert caught.value.param == "output_format"
