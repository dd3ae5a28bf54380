from __future__ import annotations

import json

import pytest

from dragoman.core.request import ToolSpec
from dragoman.dialects.base import CallArguments, CallBegun, CallEnded, Channel, Parsed, Piece
from dragoman.dialects.json_body import JsonArguments, JsonCall
from dragoman.dialects.machine import Machine
from dragoman.dialects.table import Control, Edge, Holds, State, Table

TEXT = State(holds=Holds.TEXT, edges={"<call>": Edge("name", tentative=True)})

PAIRS = Table(
    {
        "text": TEXT,
        "after": State(holds=Holds.SPACE, edges=TEXT.edges, otherwise="text"),
        "name": State(holds=Holds.NAME, edges={":": Edge("pairs")}),
        "pairs": State(holds=Holds.SPACE, edges={"<k>": Edge("key"), "</call>": Edge("after", ends=True)}),
        "key": State(holds=Holds.KEY, edges={"=": Edge("value"), "=json:": Edge("json")}),
        "value": State(holds=Holds.TYPED, edges={"</k>": Edge("pairs", tentative=True)}),
        "json": State(holds=Holds.JSON, edges={"</k>": Edge("pairs")}),
    }
)
"""``<call>name: <k>key=value</k> </call>``, and text around it."""

TAGS = Table(
    {
        "text": State(holds=Holds.TEXT, edges={Control("<call>"): Edge("head", tentative=True)}),
        "head": State(holds=Holds.SPACE, edges={"{": Edge("body", keep=True)}),
        "body": State(holds=Holds.BODY, call=JsonCall, then=Edge("end", ends=True)),
        "end": State(holds=Holds.SPACE, edges={Control("</call>"): Edge("text")}),
    }
)
"""A control token, a call as JSON, and another control token."""

WEATHER = ToolSpec(
    name="weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
)


def read(
    table: Table, *texts: str, tools: tuple[ToolSpec, ...] = (WEATHER,), declared_only: bool = False
) -> list[Parsed]:
    """Texts that begin with a tilde are control tokens."""
    machine = Machine(table, start="text", tools=tools, declared_only=declared_only)
    out: list[Parsed] = []
    for text in texts:
        out += machine.feed(text.removeprefix("~"), special=text.startswith("~"))
    return [*out, *machine.finish()]


def joined(out: list[Parsed], channel: Channel | None = None) -> str:
    return "".join(
        part.text for part in out if isinstance(part, Piece) and (channel is None or part.channel is channel)
    )


def shown(out: list[Parsed]) -> str:
    return joined(out, Channel.TEXT)


def calls(out: list[Parsed]) -> list[tuple[str, str, bool]]:
    """Name, arguments, and whether it ended."""
    found: list[list[object]] = []
    for part in out:
        match part:
            case CallBegun(name):
                found.append([name, "", False])
            case CallArguments(text):
                found[-1][1] = f"{found[-1][1]}{text}"
            case CallEnded():
                found[-1][2] = True
            case _:
                pass
    return [(str(name), str(arguments), bool(ended)) for name, arguments, ended in found]


class TestCallsOfKeysAndValues:
    def test_values_become_json_by_the_tools_schema(self):
        out = read(PAIRS, '<call>weather: <k>city=12 "é"</k> <k>days=3</k> </call>')
        assert calls(out) == [("weather", '{"city":"12 \\"é\\"","days":3}', True)]
        assert shown(out) == ""

    def test_a_family_may_say_itself_which_values_are_json(self):
        assert calls(read(PAIRS, "<call>weather:<k>city=json:[1, 2]</k></call>")) == [
            ("weather", '{"city":[1,2]}', True)
        ]

    def test_a_call_without_arguments_has_an_empty_object(self):
        assert calls(read(PAIRS, "<call>now: </call>")) == [("now", "{}", True)]

    def test_a_closing_tag_that_no_terminal_follows_is_part_of_the_value(self):
        assert calls(read(PAIRS, "<call>weather:<k>city=a</k>b</k> </k></call>")) == [
            ("weather", '{"city":"a</k>b</k> "}', True)
        ]

    def test_a_string_grows_as_it_comes(self):
        out = read(PAIRS, "<call>weather:<k>city=", "Pa", "ris", "</k></call>")
        assert [part.text for part in out if isinstance(part, CallArguments)] == ['{"city":', '"Pa', "ris", '"', "}"]

    def test_white_space_around_calls_is_hidden(self):
        out = read(PAIRS, "I look. \n<call>now:</call>\n\n<call>now:</call>  And then?\n")
        assert shown(out) == "I look.And then?\n"
        assert len(calls(out)) == 2

    def test_an_event_stands_behind_the_characters_that_completed_it(self):
        out = read(PAIRS, "<call>now:</call>x")
        places = [joined(out[: out.index(event)]) for event in out if not isinstance(event, Piece)]
        assert places == ["<call>now:", "<call>now:</call>", "<call>now:</call>"]


class TestWhatOnlyLooksLikeACall:
    @pytest.mark.parametrize(
        "text", ["a < b", "<call> is a tag", "the <call>a b: tag", "<call>", "<cal", "<call>:</call>"]
    )
    def test_it_is_text(self, text: str):
        out = read(PAIRS, text)
        assert calls(out) == []
        # What the end cut may have been a call, so that whole openers are not shown there.
        assert shown(out) == ("" if text == "<call>" else text)

    def test_the_call_behind_it_is_one(self):
        out = read(PAIRS, "the <call> a tag: <call><call>now:</call>")
        assert shown(out) == "the <call> a tag: <call>"
        assert calls(out) == [("now", "{}", True)]

    def test_names_of_others_are_none_where_calls_look_like_text(self):
        assert calls(read(PAIRS, "<call>dance:</call>", declared_only=True)) == []
        assert shown(read(PAIRS, "<call>dance:</call>", declared_only=True)) == "<call>dance:</call>"
        assert calls(read(PAIRS, "<call>weather:</call>", declared_only=True)) == [("weather", "{}", True)]

    def test_a_name_of_no_known_length_holds_nothing_back(self):
        machine = Machine(PAIRS, start="text")
        fed = "<call>" + "a" * 300
        assert joined(list(machine.feed(fed, special=False))) == fed


class TestCuts:
    """S57: what was streamed stays, and a call that was cut has no end."""

    WHOLE = '<call>weather: <k>city=Pa</k>ris "x"</k> <k>days=12</k> </call>'

    def test_arguments_are_a_prefix_wherever_the_answer_is_cut(self):
        final = '{"city":"Pa</k>ris \\"x\\"","days":12}'
        for place in range(len(self.WHOLE)):
            out = read(PAIRS, self.WHOLE[:place])
            assert joined(out) == self.WHOLE[:place]
            assert "<call>" not in shown(out)
            for name, arguments, ended in calls(out):
                assert name == "weather"
                assert final.startswith(arguments)
                assert not ended

    def test_the_beginning_of_a_tag_behind_a_call_is_not_shown(self):
        assert shown(read(PAIRS, "<call>now:</call>\n<cal")) == ""

    def test_neither_is_one_before_it_where_there_must_be_one(self):
        machine = Machine(PAIRS, start="text", tools=(WEATHER,), must_call=True)
        out = [*machine.feed(" <cal", special=False), *machine.finish()]
        assert (shown(out), joined(out)) == ("", " <cal")
        assert shown(read(PAIRS, "a <cal")) == "a <cal"

    def test_a_value_that_may_have_ended_is_left_open(self):
        assert calls(read(PAIRS, "<call>weather:<k>city=Paris</k>")) == [("weather", '{"city":"Paris', False)]
        assert calls(read(PAIRS, "<call>weather:<k>city=Paris</")) == [("weather", '{"city":"Paris', False)]

    def test_nothing_is_said_of_a_number_that_may_go_on(self):
        assert calls(read(PAIRS, "<call>weather:<k>days=1")) == [("weather", '{"days":', False)]


class TestControlTokens:
    def test_a_control_terminal_is_none_when_it_is_spelled(self):
        spelled = '<call>{"name": "now"}'
        assert shown(read(TAGS, spelled)) == spelled
        assert calls(read(TAGS, "~<call>", '{"name": "now"}', "~</call>")) == [("now", "{}", True)]

    def test_a_text_terminal_is_one_as_a_token_too(self):
        assert calls(read(PAIRS, "~<call>", "now:", "~</call>")) == [("now", "{}", True)]

    def test_a_token_is_a_piece_of_its_own_and_nothing_is_held_back_before_it(self):
        machine = Machine(PAIRS, start="text")
        assert list(machine.feed("a <cal", special=False)) == [Piece(Channel.TEXT, "a")]
        assert list(machine.feed("<|end|>", special=True)) == [
            Piece(Channel.TEXT, " <cal"),
            Piece(Channel.HIDDEN, "<|end|>"),
        ]

    def test_text_behind_a_token_that_begins_no_call_is_text(self):
        out = read(TAGS, "a", "~<call>", " b")
        assert shown(out) == "a b"
        assert joined(out) == "a<call> b"

    def test_an_unknown_token_within_a_call_changes_nothing(self):
        assert calls(read(TAGS, "~<call>", '{"name": "now", ', "~<|x|>", '"arguments": {}}', "~</call>")) == [
            ("now", "{}", True)
        ]

    def test_the_space_before_a_token_belongs_to_the_text_unless_the_token_is_a_terminal(self):
        assert shown(read(TAGS, "a ", "~<|x|>")) == "a "
        assert shown(read(TAGS, "a ", "~<call>", '{"name": "now"}')) == "a"


class TestBrokenCalls:
    def test_a_body_that_fails_has_no_end_and_the_text_behind_is_shown(self):
        out = read(TAGS, "~<call>", '{"name": "now", "arguments": {"a": b}}', "~</call>", "Sorry.")
        assert calls(out) == [("now", '{"a": b', False)]
        assert shown(out) == "Sorry."

    def test_it_is_the_same_for_every_split(self):
        text = '{"name": "now", "arguments": {"a": "\\u12zz"}} more'
        whole = read(TAGS, "~<call>", text)
        for place in range(len(text)):
            parts = read(TAGS, "~<call>", text[:place], text[place:])
            assert calls(parts) == calls(whole)
            assert shown(parts) == shown(whole)


class TestLongestTerminals:
    TABLE = Table(
        {
            "text": State(holds=Holds.TEXT, edges={"<a>": Edge("one"), "<a>\n": Edge("two")}),
            "one": State(holds=Holds.REASONING),
            "two": State(holds=Holds.TEXT),
        }
    )

    def test_a_terminal_waits_while_a_longer_one_may_come(self):
        assert shown(read(self.TABLE, "<a>", "\nx")) == "x"
        assert joined(read(self.TABLE, "<a>", "x"), Channel.REASONING) == "x"
        assert joined(read(self.TABLE, "<a>"), Channel.HIDDEN) == "<a>"


def test_arguments_of_a_body_are_told_as_they_are_written():
    table = Table(
        {
            "text": State(holds=Holds.TEXT, edges={"!": Edge("name", tentative=True)}),
            "name": State(holds=Holds.NAME, edges={"{": Edge("body", keep=True)}),
            "body": State(holds=Holds.BODY, body=lambda _: JsonArguments(), then=Edge("text", ends=True)),
        }
    )
    out = read(table, 'a !now{"b" : [1, "}"] } c')
    assert calls(out) == [("now", '{"b" : [1, "}"] }', True)]
    assert shown(out) == "a c"
    assert json.loads(calls(out)[0][1]) == {"b": [1, "}"]}


@pytest.mark.parametrize(
    "states, reason",
    [
        ({"text": State(holds=Holds.TEXT, edges={"x": Edge("nowhere")})}, "'nowhere'"),
        ({"text": State(holds=Holds.BODY, then=Edge("text"))}, "reader"),
        ({"text": State(holds=Holds.BODY, call=JsonCall)}, "leads somewhere"),
        (
            {"a": State(holds=Holds.SPACE, otherwise="b"), "b": State(holds=Holds.SPACE, otherwise="a")},
            "does not take every character",
        ),
    ],
)
def test_a_table_that_cannot_work_is_none(states: dict[str, State], reason: str):
    with pytest.raises(ValueError, match=reason):
        Table(states)
