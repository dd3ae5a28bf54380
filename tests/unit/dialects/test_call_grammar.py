from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dragoman.core.errors import Unsupported
from dragoman.core.json import JsonObject
from dragoman.core.request import (
    Conversation,
    JsonFormat,
    Message,
    OutputFormat,
    Role,
    TextPart,
    TextPrompt,
    Thinking,
    ToolChoice,
    ToolMode,
    ToolSpec,
)
from dragoman.dialects import hermes, llama3, mistral
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import arguments_schema
from dragoman.dialects.family import FamilyDialect
from support.grammars import accepts
from support.tools import TOOLS

SPECIALS = ("[TOOL_CALLS]", "[ARGS]", "<|im_end|>")
IDS = {text: 256 + place for place, text in enumerate(SPECIALS)}
WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city":"</tool_call> \\"é\\""}}\n</tool_call>'
NOW = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
THOUGHT = "<think>\n1 < 2 <tool_call>\n</think>\n\n"


def traits(template: str) -> ModelTraits:
    return ModelTraits(
        template=template,
        specials=SPECIALS,
        special_ids=IDS,
        bos_token="",
        eos_token="",
        clock=lambda: datetime(2026, 3, 9, tzinfo=UTC),
    )


HERMES = hermes.build(traits("{{ messages }}{{ tools }}"))
THINKING = hermes.build(traits("{{ messages }}{{ tools }}<think>"))
LLAMA = llama3.build(traits("{{ messages }}{{ tools }}"))
MISTRAL = mistral.build(traits("{{ messages }}{{ tools }}[ARGS]"))


def grammar(
    dialect: FamilyDialect,
    *tools: str,
    mode: ToolMode = ToolMode.AUTO,
    names: tuple[str, ...] = (),
    parallel: bool = True,
    output: OutputFormat | None = None,
    prompt: str = "",
) -> str:
    found = dialect.grammar(
        Conversation(
            messages=(Message(role=Role.USER, parts=(TextPart(text="Hello"),)),),
            tools=tuple(TOOLS[name] for name in tools or TOOLS),
            tool_choice=ToolChoice(mode=mode, names=names, parallel=parallel),
        ),
        TextPrompt(text=prompt),
        output,
    )
    assert found is not None
    return found


def takes(grammar: str, text: str) -> bool:
    return accepts(grammar, text, specials=SPECIALS)


class TestAuto:
    def test_any_text_is_an_answer(self):
        for text in ("", "Hello", "a < b\n\n{} </tool_call>", "é 😀"):
            assert takes(grammar(HERMES), text)

    def test_calls_may_follow_it_or_stand_alone(self):
        for text in (WEATHER, f"I look.\n{WEATHER}", f"{WEATHER}\n{NOW}"):
            assert takes(grammar(HERMES), text)

    @pytest.mark.parametrize(
        "text",
        [
            "The tag <tool_call> opens a call.",
            NOW.replace("now", "dance"),
            WEATHER.replace("city", "town"),
            NOW.replace("{}", '{"a":1}'),
            f"{NOW} Done.",
            NOW.removesuffix("</tool_call>"),
        ],
    )
    def test_behind_an_opener_nothing_else_stands(self, text: str):
        assert not takes(grammar(HERMES), text)

    def test_without_tools_anything_goes(self):
        conversation = Conversation(messages=(Message(role=Role.USER),))
        assert HERMES.grammar(conversation, TextPrompt(text=""), None) is None

    def test_where_none_may_be_called_anything_goes(self):
        conversation = Conversation(
            messages=(Message(role=Role.USER),),
            tools=tuple(TOOLS.values()),
            tool_choice=ToolChoice(mode=ToolMode.NONE),
        )
        assert HERMES.grammar(conversation, TextPrompt(text=""), None) is None


class TestChoices:
    @pytest.mark.seeds("S121")
    def test_required_is_calls_and_nothing_else(self):
        forced = grammar(HERMES, mode=ToolMode.REQUIRED)
        assert takes(forced, NOW)
        assert takes(forced, f"{NOW}\n{WEATHER}")
        assert not takes(forced, "")
        assert not takes(forced, "Hello")
        assert not takes(forced, f"I look.\n{NOW}")

    @pytest.mark.seeds("S122")
    def test_a_named_tool_is_the_only_one(self):
        forced = grammar(HERMES, mode=ToolMode.REQUIRED, names=("now",))
        assert takes(forced, NOW)
        assert not takes(forced, WEATHER)

    def test_it_is_called_once_as_sdks_expect(self):
        assert not takes(grammar(HERMES, mode=ToolMode.REQUIRED, names=("now",)), f"{NOW}\n{NOW}")
        assert takes(grammar(HERMES, mode=ToolMode.REQUIRED, names=("now", "search")), f"{NOW}\n{NOW}")

    def test_no_answer_has_more_than_sixteen(self):
        for mode in (ToolMode.AUTO, ToolMode.REQUIRED):
            assert takes(grammar(HERMES, mode=mode), "\n".join([NOW] * 16))
            assert not takes(grammar(HERMES, mode=mode), "\n".join([NOW] * 17))

    def test_allowed_tools_are_the_only_ones_where_calls_are_free(self):
        free = grammar(HERMES, names=("now", "search"))
        assert takes(free, f"Hello\n{NOW}")
        assert not takes(free, WEATHER)

    @pytest.mark.seeds("S127")
    def test_one_call_at_most_where_they_may_not_be_parallel(self):
        for mode in (ToolMode.AUTO, ToolMode.REQUIRED):
            one = grammar(HERMES, mode=mode, parallel=False)
            assert takes(one, NOW)
            assert not takes(one, f"{NOW}\n{NOW}")

    def test_a_format_or_calls_where_both_are_asked_for(self):
        either = grammar(HERMES, output=JsonFormat(schema={"type": "integer"}))
        assert takes(either, "12")
        assert takes(either, NOW)
        assert not takes(either, "Hello")
        assert not takes(either, f"12{NOW}")
        assert not takes(grammar(HERMES, output=JsonFormat(), mode=ToolMode.REQUIRED), "{}")


class TestReasoning:
    def test_it_may_come_first_where_the_model_reasons(self):
        for mode, behind in ((ToolMode.AUTO, "Hello"), (ToolMode.AUTO, NOW), (ToolMode.REQUIRED, NOW)):
            assert takes(grammar(THINKING, mode=mode), THOUGHT + behind)
            assert takes(grammar(THINKING, mode=mode), behind)
        assert not takes(grammar(THINKING, mode=ToolMode.REQUIRED), f"{THOUGHT}Hello")
        assert not takes(grammar(HERMES, mode=ToolMode.REQUIRED), THOUGHT + NOW)

    def test_it_comes_first_where_the_prompt_opened_it(self):
        opened = grammar(THINKING, mode=ToolMode.REQUIRED, prompt="assistant\n<think>\n")
        assert takes(opened, f"1 < 2 <tool_call></think>\n\n{NOW}")
        assert not takes(opened, NOW)

    def test_it_does_not_come_where_the_prompt_closed_it(self):
        closed = grammar(THINKING, mode=ToolMode.REQUIRED, prompt="<think>\n\n</think>\n\n")
        assert takes(closed, NOW)
        assert not takes(closed, THOUGHT + NOW)

    def test_a_format_stands_behind_it(self):
        formatted = grammar(THINKING, output=JsonFormat(), prompt="<think>")
        assert takes(formatted, 'So {"a": 1}?</think>\n{"a":1}')
        assert not takes(formatted, '{"a":1}')


class TestOtherOpeners:
    def test_a_control_token_opens_calls_and_its_letters_are_text(self):
        free = grammar(MISTRAL)
        assert takes(free, "Hello [TOOL␟_CALLS]")
        assert takes(free, 'Hello[TOOL_CALLS]get_weather[ARGS]{"city":"x"}[TOOL_CALLS]now[ARGS]{}')
        assert not takes(free, "Hello[TOOL_CALLS]Hello")

    def test_json_that_leads_is_a_call_and_behind_text_it_is_not(self):
        call = '{"name": "now", "parameters": {}}'
        assert takes(grammar(LLAMA), call)
        assert takes(grammar(LLAMA), f"So: {call} it is.")
        assert takes(grammar(LLAMA), '{"city": 1}')
        assert not takes(grammar(LLAMA), '{"name": "Bob"}')
        assert not takes(grammar(LLAMA, mode=ToolMode.REQUIRED), f"{call}; {call}")

    def test_a_control_token_without_a_number_is_named_or_refused(self):
        nameless = mistral.build(
            ModelTraits(
                template="{{ tools }}[ARGS]",
                specials=SPECIALS,
                bos_token="",
                eos_token="",
                clock=lambda: datetime(2026, 3, 9, tzinfo=UTC),
            )
        )
        with pytest.raises(Unsupported, match="TOOL_CALLS"):
            grammar(nameless)


class TestArguments:
    @pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
    def test_where_no_arguments_are_named_there_are_none(self, parameters: JsonObject | None):
        assert arguments_schema(parameters) == {"type": "object", "properties": {}, "additionalProperties": False}

    @pytest.mark.parametrize(
        "more",
        [
            {"additionalProperties": True},
            {"$ref": "#/$defs/a"},
            {"allOf": []},
            {"patternProperties": {}},
            {"minProperties": 1},
            {"required": ["b"]},
        ],
    )
    def test_what_is_not_named_is_left_out_unless_the_schema_says_more(self, more: JsonObject):
        named: JsonObject = {"properties": {"a": {}}, "required": ["a"]}
        assert arguments_schema(named)["additionalProperties"] is False
        assert arguments_schema({**named, **more}).get("additionalProperties", True) is True

    def held(self, *, strict: bool) -> str | None:
        bad = {"type": "object", "properties": {"a": {"type": "integer", "not": {"const": 1}}}, "required": ["a"]}
        return HERMES.grammar(
            Conversation(
                messages=(Message(role=Role.USER),),
                tools=(ToolSpec(name="f", parameters=bad, strict=strict), TOOLS["now"]),
            ),
            TextPrompt(text=""),
            None,
        )

    def test_a_schema_that_cannot_be_enforced_costs_its_own_tool_alone(self):
        held = self.held(strict=False)
        assert held is not None
        assert takes(held, '<tool_call>\n{"name": "f", "arguments": {"a":2}}\n</tool_call>')
        assert not takes(held, NOW.replace("{}", '{"a":1}'))

    @pytest.mark.seeds("S123")
    def test_of_a_strict_tool_it_is_refused_by_name(self):
        with pytest.raises(Unsupported, match="'f'") as failure:
            self.held(strict=True)
        assert failure.value.feature == "tools"


class TestBudgetOfReasoning:
    """A bounded thought ends where its budget does, closed as the family closes it; tokens are bytes here."""

    SPECIALS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
    CONTROL = hermes.build(
        replace(
            traits("{{ messages }}{{ tools }}<think>"),
            specials=SPECIALS,
            special_ids={text: 256 + place for place, text in enumerate(SPECIALS)},
        )
    )
    MERELY_ONE = hermes.build(
        replace(traits("{{ messages }}{{ tools }}<think>"), specials=(), special_ids={}, single_ids={"</think>": 257})
    )

    @pytest.fixture(params=[CONTROL, MERELY_ONE], ids=["control token", "one token"])
    def model(self, request):
        return request.param

    def takes(self, model: FamilyDialect, budget: int, text: str, **fields) -> bool:
        conversation = Conversation(
            messages=(Message(role=Role.USER, parts=(TextPart(text="Hello"),)),),
            thinking=Thinking(budget=budget),
            **fields,
        )
        found = model.grammar(conversation, TextPrompt(text="<think>"), None)
        assert found is not None
        return accepts(found, text, specials=self.SPECIALS if model is self.CONTROL else self.SPECIALS[:2])

    def test_a_thought_within_it_is_followed_by_any_answer(self, model):
        assert self.takes(model, 8, "1 < 2\n</think>\n\nHello")
        assert self.takes(model, 8, "</think>Hello")

    def test_a_longer_one_must_close(self, model):
        assert self.takes(model, 8, "12345678</think>Hello")
        assert not self.takes(model, 8, "123456789</think>Hello")

    def test_none_at_all_closes_at_once(self, model):
        assert self.takes(model, 0, "</think>Hello")
        assert not self.takes(model, 0, "1</think>Hello")

    def test_calls_follow_it_as_ever(self, model):
        fields = {"tools": tuple(TOOLS.values()), "tool_choice": ToolChoice(mode=ToolMode.REQUIRED)}
        assert self.takes(model, 8, f"12345678</think>{NOW}", **fields)
        assert not self.takes(model, 8, f"123456789</think>{NOW}", **fields)
        assert not self.takes(model, 8, "12345678</think>Hello", **fields)

    def test_where_it_cannot_be_kept_it_is_told(self):
        """Without reasoning there is nothing to bound, and a closer of several tokens cannot be forced between any two."""
        conversation = Conversation(messages=(), thinking=Thinking(budget=8))
        for dialect in (HERMES, THINKING):
            assert dialect.grammar(conversation, TextPrompt(text=""), None) is None
            assert "thinking_budget" in dialect.ignores(conversation)
        for dialect in (self.CONTROL, self.MERELY_ONE):
            assert "thinking_budget" not in dialect.ignores(conversation)
