"""Whatever stands anywhere in a Responses body, it is read or refused by name; turns may be cut anywhere; grammars keep their sentences."""

from __future__ import annotations

import json
import re
from itertools import count, pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import InvalidRequest
from dragoman.core.regular import RegularFault, regular_expression
from dragoman.core.request import Conversation, Role
from dragoman.surfaces.responses import Responses

SURFACE = Responses()
WORDS = (
    "message function_call function_call_output reasoning compaction user assistant function custom namespace web_search mcp_call "
    "input_text input_image auto text json_schema call_1 f"
).split()
KEYS = (
    "type role content text name arguments call_id output id tools parameters input format image_url encrypted_content summary "
    "namespace definition syntax effort schema action strict"
).split()
FIELDS = (
    "input tools tool_choice reasoning text include metadata conversation previous_response_id instructions max_output_tokens "
    "top_logprobs truncation parallel_tool_calls stop background store"
).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 20) | st.sampled_from([*WORDS, "", "\0", "\udfff"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)
SAYINGS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=10)


def mint() -> Any:
    numbers = count(1)
    return lambda: str(next(numbers))


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_any_body_is_a_call_or_is_refused_at_a_place_of_it(body):
    try:
        call = SURFACE.parse(body, mint=mint()).resolve()
    except InvalidRequest as error:
        refused = error.param
    else:
        refused = ""
        assert json.dumps(call.echo)
        assert all(item["id"] for item in call.input)
    assert refused is not None
    assert refused.isascii()


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Items of a conversation in which every output has its call."""
    items: list[dict[str, Any]] = []
    calls = 0
    for kind in draw(
        st.lists(st.sampled_from(["user", "assistant", "thought", "call", "custom"]), min_size=1, max_size=8)
    ):
        said = draw(SAYINGS)
        match kind:
            case "user" | "assistant":
                items.append({"role": kind, "content": said})
            case "thought":
                items.append({"type": "reasoning", "content": [{"type": "reasoning_text", "text": said}]})
            case "call":
                calls += 1
                items.append(
                    {"type": "function_call", "call_id": f"c{calls}", "name": "f", "arguments": json.dumps(said)}
                )
                items.append({"type": "function_call_output", "call_id": f"c{calls}", "output": said})
            case _:
                calls += 1
                items.append({"type": "custom_tool_call", "call_id": f"c{calls}", "name": "n", "input": said})
                items.append({"type": "custom_tool_call_output", "call_id": f"c{calls}", "output": said})
    return items


@given(turns(), st.data())
def test_a_conversation_means_the_same_wherever_it_is_cut_into_turns(items, data):
    """What is kept is the history of the next request, so a prompt does not depend on where turns ended (S144)."""
    make = mint()
    whole = SURFACE.parse({"input": items}, mint=make).resolve()
    cut = data.draw(st.integers(0, len(items) - 1))
    before = SURFACE.parse({"input": items[:cut], "previous_response_id": "resp_0"}, mint=make).input
    rest = SURFACE.parse({"input": items[cut:], "previous_response_id": "resp_1"}, mint=make).resolve(before)
    assert rest.operation == whole.operation
    prompt = whole.operation.prompt
    assert isinstance(prompt, Conversation)
    roles = [message.role for message in prompt.messages]
    assert (Role.ASSISTANT, Role.ASSISTANT) not in list(pairwise(roles))


@st.composite
def grammars(draw: st.DrawFn) -> tuple[str, str]:
    """A grammar whose rules use only later ones, and a sentence that it derives."""
    rules, sentences = [], {}
    for number in reversed(range(draw(st.integers(1, 4)))):
        options, derived = [], []
        for _ in range(draw(st.integers(1, 3))):
            parts, text = [], ""
            for _ in range(draw(st.integers(0, 3))):
                if sentences and draw(st.booleans()):
                    name = draw(st.sampled_from(sorted(sentences)))
                    piece, means = name, sentences[name]
                else:
                    means = draw(SAYINGS)
                    piece = json.dumps(means, ensure_ascii=False)
                mark, times = draw(st.sampled_from([("", 1), ("?", 0), ("*", 2), ("+", 3), ("{2}", 2), ("~1..3", 3)]))
                parts.append(f"({piece}){mark}")
                text += means * times
            options.append(" ".join(parts))
            derived.append(text)
        name = f"r{number}" if number else "start"
        rules.append(f"{name}: {' | '.join(options)}")
        sentences[name] = draw(st.sampled_from(derived))
    return "\n".join(reversed(rules)), sentences["start"]


@given(grammars())
def test_an_expression_matches_every_sentence_that_its_grammar_derives(case):
    grammar, sentence = case
    assert re.compile(regular_expression(grammar).removesuffix("$")).fullmatch(sentence)


@settings(max_examples=300)
@given(st.text(st.sampled_from(list('start: r|"/()[]?*+{2}~.->%i\n\\a'))))
def test_any_text_is_a_grammar_or_is_told_why_not(text):
    try:
        told = regular_expression(f"start: {text}")
    except RegularFault as fault:
        told = str(fault)
    assert told
