"""Each family's grammar lets a model write the calls of its tapes, and what it lets it write is read as just these calls."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dragoman.core.errors import Unsupported
from dragoman.core.request import ChoiceFormat, ToolChoice, ToolMode
from dragoman.dialects.base import Dialect
from support.dialect_tapes import Tape, answer, families, model, parse, speak, tapes
from support.grammars import accepts, led

CALLING = [family for family in families() if "calls" not in model(family).lacks]
SINGLE = {"gpt_oss": "the token behind a call ends the answer", "llama3": "its template takes one call a turn"}
"""Families that are held to one call an answer, and why."""

LEADING = {"llama3": "a JSON object may be text, but for the first thing that is said"}
"""Families whose calls are enforced only where they lead, and why."""

UNSAID = {"chatml", "granite", "hermes"}
"""Families of which some models think, but not those with these templates: constrained, they are not made to."""

UNTAUGHT = {"chatml", "gemma3"}
"""Families whose models were taught no calls: forced, they make one."""

VERBATIM = {"glm", "glm_5_3", "mimo"}
"""Families that write strings as they stand: where they are enforced, they cannot hold what closes them."""


def tape_of(family: str, case: str) -> Tape:
    return next(tape for tape in tapes(family) if tape.case == case)


def held(tape: Tape, choice: ToolChoice) -> tuple[Dialect, str, list[tuple[str, str, bool]]]:
    """The family's dialect, its grammar, and the calls that a model makes which wants to write the tape."""
    dialect = speak(tape.family)
    conversation = replace(tape.conversation, tool_choice=choice)
    prompt = dialect.render(conversation)
    grammar = dialect.grammar(conversation, prompt, None)
    assert grammar is not None
    written = led(grammar, tape.output, specials=model(tape.family).specials)
    return dialect, grammar, list(answer(parse(dialect.parser(conversation, prompt), written)).calls)


def meant(calls: list[tuple[str, str, bool]] | tuple[tuple[str, str, bool], ...]) -> list[tuple[str, object, bool]]:
    return [(name, json.loads(arguments), ended) for name, arguments, ended in calls]


@pytest.mark.seeds("S120", "S121")
@pytest.mark.parametrize("mode", [ToolMode.AUTO, ToolMode.REQUIRED])
@pytest.mark.parametrize(
    "family, case",
    [(family, "one_call") for family in CALLING]
    + [(family, "hard_strings") for family in CALLING if family not in VERBATIM],
)
def test_a_call_is_written_as_the_family_writes_it(family: str, case: str, mode: ToolMode):
    tape = tape_of(family, case)
    _, _, calls = held(tape, ToolChoice(mode=mode))
    assert meant(calls) == meant(tape.expected.calls)


@pytest.mark.parametrize("family", [family for family in CALLING if family not in LEADING])
def test_a_call_may_follow_text_where_the_model_chooses(family: str):
    tape = tape_of(family, "call_after_text")
    _, _, calls = held(tape, ToolChoice())
    assert meant(calls) == meant(tape.expected.calls)


@pytest.mark.parametrize("family", [family for family in CALLING if family not in SINGLE])
def test_calls_follow_one_another_unless_one_is_all_that_is_wanted(family: str):
    tape = tape_of(family, "two_calls")
    _, _, calls = held(tape, ToolChoice(mode=ToolMode.AUTO if family in UNTAUGHT else ToolMode.REQUIRED))
    assert meant(calls) == meant(tape.expected.calls)
    try:
        _, _, calls = held(tape, ToolChoice(mode=ToolMode.REQUIRED, parallel=False))
    except AssertionError:
        return  # the grammar wants the end where the model wants a second call
    assert len(calls) == 1


@pytest.mark.seeds("S122")
@pytest.mark.parametrize("family", CALLING)
def test_no_other_tool_is_called_than_those_that_are_allowed(family: str):
    tape = tape_of(family, "one_call")
    wanted = tape.expected.calls[0][0]
    _, _, calls = held(tape, ToolChoice(mode=ToolMode.REQUIRED, names=(wanted,)))
    assert [name for name, _, _ in calls] == [wanted]
    other = next(tool.name for tool in tape.conversation.tools if tool.name != wanted)
    with pytest.raises(AssertionError):
        held(tape, ToolChoice(mode=ToolMode.REQUIRED, names=(other,)))


@pytest.mark.parametrize("family", CALLING)
def test_plain_text_is_free_where_the_model_chooses_and_impossible_where_it_must_call(family: str):
    tape = tape_of(family, "plain_text")
    dialect, _, calls = held(tape, ToolChoice())
    assert calls == []
    conversation = replace(tape.conversation, tool_choice=ToolChoice(mode=ToolMode.REQUIRED))
    grammar = dialect.grammar(conversation, dialect.render(conversation), None)
    assert grammar is not None
    assert not accepts(grammar, tape.output, specials=model(family).specials)


@pytest.mark.parametrize(
    "family", [family for family in CALLING if family not in UNSAID and "reasoning" not in model(family).lacks]
)
def test_thoughts_come_before_what_is_constrained(family: str):
    tape = tape_of(family, "reasoning")
    conversation = replace(tape.conversation, tools=())
    dialect = speak(family)
    prompt = dialect.render(conversation)
    grammar = dialect.grammar(conversation, prompt, ChoiceFormat(options=(tape.expected.text,)))
    assert grammar is not None
    written = led(grammar, tape.output, specials=model(family).specials)
    came = answer(parse(dialect.parser(conversation, prompt), written))
    assert (came.text, came.reasoning) == (tape.expected.text, tape.expected.reasoning)


@pytest.mark.seeds("S120", "S163")
@pytest.mark.parametrize("family", [family for family in families() if "calls" in model(family).lacks])
def test_a_family_that_was_taught_no_tools_refuses_them_by_name(family: str):
    dialect = speak(family)
    calling = replace(
        tape_of(family, "plain_text").conversation, tools=tape_of("hermes", "one_call").conversation.tools
    )
    with pytest.raises(Unsupported) as refusal:
        dialect.render(calling)
    assert refusal.value.feature == "tools"
    silent = replace(calling, tool_choice=ToolChoice(mode=ToolMode.NONE))
    assert dialect.render(silent).text
    assert dialect.grammar(silent, dialect.render(silent), None) is None
