"""From formats and tool choices to the grammar that the engine is given, or to a refusal by name."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import (
    ChoiceFormat,
    Conversation,
    Generate,
    JsonFormat,
    Message,
    Role,
    TextPart,
    TextPrompt,
    ToolChoice,
    ToolMode,
    ToolSpec,
)
from dragoman.serving.constraint import enforced, grammar_for
from support.hand_engine import FEATURES, HandEngine, info
from support.stage import RAW, Stage
from support.tag_dialect import TagDialect

ABLE = info(features=FEATURES | {"grammar"})
ONE_OF = ChoiceFormat(options=("yes", "no"))
TOOL = ToolSpec(name="f")


class Pedant(TagDialect):
    """Writes down what it was asked to enforce."""

    def grammar(self, conversation, prompt, output) -> str | None:
        return f"{len(conversation.tools)} {prompt.text} {output}"


AS_IT_LIKES = ToolChoice()


def chat(*tools: ToolSpec, choice: ToolChoice = AS_IT_LIKES, **options) -> Generate:
    turns = (Message(role=Role.USER, parts=(TextPart(text="hi"),)),)
    return Generate(prompt=Conversation(messages=turns, tools=tools, tool_choice=choice), **options)


def test_a_raw_prompt_is_held_to_the_format_alone() -> None:
    grammar = grammar_for(Generate(prompt=RAW, output=ONE_OF), RAW, Pedant(), ABLE)
    assert grammar == 'start: "yes" | "no"\n'
    assert grammar_for(Generate(prompt=RAW), RAW, Pedant(), ABLE) is None


def test_a_conversation_is_held_to_what_its_dialect_says() -> None:
    prompt = TextPrompt(text="[user]hi")
    assert grammar_for(chat(TOOL, output=ONE_OF), prompt, Pedant(), ABLE) == f"1 [user]hi {ONE_OF}"


def test_an_engine_without_grammars_gets_none() -> None:
    assert grammar_for(chat(TOOL), TextPrompt(text="x"), Pedant(), info()) is None


@pytest.mark.seeds("S60")
def test_a_schema_that_can_not_be_enforced_is_named_before_anything_is_decoded() -> None:
    operation = Generate(prompt=RAW, output=JsonFormat(schema={"properties": {"a": {"not": {"type": "string"}}}}))
    with pytest.raises(InvalidRequest, match=r"properties\.a") as refusal:
        grammar_for(operation, RAW, Pedant(), ABLE)
    assert (refusal.value.feature, refusal.value.code) == ("output", Code.INVALID_VALUE)


NEVER = ToolChoice(mode=ToolMode.NONE, parallel=False)


@pytest.mark.seeds("S59", "S121", "S122", "S127")
@pytest.mark.parametrize(
    ("operation", "features"),
    [
        (Generate(prompt=RAW), []),
        (chat(TOOL), []),
        (Generate(prompt=RAW, output=ONE_OF), ["output"]),
        (chat(TOOL, choice=ToolChoice(mode=ToolMode.REQUIRED)), ["tool_choice"]),
        (chat(TOOL, choice=ToolChoice(names=("f",))), ["tool_choice"]),
        (chat(TOOL, choice=ToolChoice(parallel=False)), ["parallel_tool_calls"]),
        (chat(ToolSpec(name="f", strict=True)), ["tools"]),
        (chat(ToolSpec(name="f", strict=True), choice=NEVER), []),
    ],
)
async def test_a_promise_that_the_engine_can_not_keep_is_refused_by_name(operation, features) -> None:
    assert list(enforced(operation)) == features
    stage = Stage(HandEngine(engine_info=info()))
    if features:
        with pytest.raises(Unsupported) as refusal:
            await stage.begin(operation)
        assert refusal.value.feature == features[0]
        assert not stage.engine.submitted
    else:
        generation, _ = await stage.running(operation)
        await generation.aclose()


async def test_the_engine_is_given_the_grammar() -> None:
    stage = Stage(HandEngine(engine_info=ABLE))
    generation, stream = await stage.running(Generate(prompt=RAW, output=ONE_OF))
    assert stream.request.grammar == 'start: "yes" | "no"\n'
    await generation.aclose()


class TestLargeGrammars:
    """An engine takes 512 KiB. An agent's many tools may make more, in families that write arguments one by one."""

    class Verbose(TagDialect):
        def grammar(self, conversation, prompt, output) -> str | None:
            return "start: /.*/\n" + "#" * 512 * 1024

    def asked(self, choice: ToolChoice) -> str | None:
        chat = Conversation(messages=(Message(role=Role.USER),), tools=(TOOL,), tool_choice=choice)
        return grammar_for(Generate(prompt=chat), TextPrompt(text="Hi"), self.Verbose(), ABLE)

    def test_calls_that_the_model_may_make_are_as_it_writes_them(self) -> None:
        assert self.asked(ToolChoice()) is None

    @pytest.mark.parametrize("choice", [ToolChoice(mode=ToolMode.REQUIRED), ToolChoice(parallel=False)])
    def test_what_must_be_kept_is_refused_by_name(self, choice: ToolChoice) -> None:
        with pytest.raises(InvalidRequest, match="fewer or smaller tools"):
            self.asked(choice)
