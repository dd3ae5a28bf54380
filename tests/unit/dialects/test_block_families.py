"""What the tapes do not tell of the families that call in tags and blocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dragoman.core.errors import Unsupported
from dragoman.core.json import JsonObject
from dragoman.core.request import Conversation, ToolChoice, ToolMode, ToolSpec
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.glm import IN_LINES, SYNTAX, build
from dragoman.dialects.kimi_k2 import named
from dragoman.dialects.nested import MARK
from support.conversations import conversation
from support.dialect_tapes import Answer, answer, ask, model, parse, speak, tokens
from support.grammars import accepts
from support.tools import TOOLS

CITY = ("get_weather", '{"city":"Paris"}', True)
VERBATIM = ("deepseek_v3", "deepseek_v3_1", "kimi_k2")
"""Families whose calls hold JSON, which is passed on as it was written, and written with spaces, as templates do."""

CALLS = {
    "qwen3_coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
    "mimo": "<tool_call><function=get_weather><parameter=city>Paris</parameter></function></tool_call>",
    "glm": "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>",
    "minimax_m2": (
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n</invoke>\n'
        "</minimax:tool_call>"
    ),
    "minimax_m3": (
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>'
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
    ),
    "deepseek_v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
        '{"city": "Paris"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "deepseek_v3_1": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>"
    ),
    "deepseek_v4": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Paris'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    ),
    "deepseek_v4_1": (
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="get_weather">\n<｜DSML｜ parameter name="city" string="true">Paris'
        "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"
    ),
    "kimi_k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
        '{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "kimi_k3": (
        '<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
        '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|>"
    ),
}
"""One call, as each family's template writes it where there are no thoughts."""

AFTER_THOUGHTS = {"minimax_m2": "</think>\n\n"}
"""What comes first in an answer of a family whose prompt always opens thoughts."""

every = pytest.mark.parametrize("family", CALLS)


def asked(**choice: object) -> Conversation:
    return replace(ask(TOOLS.values(), thinking=False), tool_choice=ToolChoice(**choice))


def takes(family: str, chat: Conversation, text: str) -> bool:
    dialect = speak(family)
    grammar = dialect.grammar(chat, dialect.render(chat), None)
    assert grammar is not None
    return accepts(grammar, AFTER_THOUGHTS.get(family, "") + text, specials=model(family).specials)


def heard(family: str, text: str, chat: Conversation | None = None) -> Answer:
    dialect = speak(family)
    chat = chat or asked()
    parts = tokens(AFTER_THOUGHTS.get(family, "") + text, model(family).specials)
    return answer(parse(dialect.parser(chat, dialect.render(chat)), parts))


@pytest.mark.seeds("S120")
class TestEachFamily:
    @every
    def test_a_call_is_read(self, family: str):
        arguments = '{"city": "Paris"}' if family in VERBATIM else CITY[1]
        assert heard(family, CALLS[family]).calls == (("get_weather", arguments, True),)

    @every
    @pytest.mark.seeds("S121", "S122")
    def test_a_call_that_must_be_is_all_that_may_be(self, family: str):
        chat = asked(mode=ToolMode.REQUIRED)
        assert takes(family, chat, CALLS[family])
        assert not takes(family, chat, "It is sunny.")
        assert not takes(family, chat, "")
        assert takes(family, asked(mode=ToolMode.REQUIRED, names=("get_weather",)), CALLS[family])
        assert not takes(family, asked(mode=ToolMode.REQUIRED, names=("search",)), CALLS[family])

    @every
    def test_a_call_that_may_be_is_one_of_a_tool(self, family: str):
        assert takes(family, asked(), "It is sunny.")
        assert takes(family, asked(), f"I look.{CALLS[family]}")
        assert not takes(family, asked(), CALLS[family].replace("get_weather", "guess"))
        assert not takes(family, asked(), CALLS[family].replace("city", "town"))

    @every
    @pytest.mark.seeds("S127")
    def test_one_call_at_most_is_one(self, family: str):
        both = heard(family, f"{CALLS[family]}\n{CALLS[family]}")
        assert [name for name, _, _ in both.calls] == ["get_weather", "get_weather"]
        assert not takes(family, asked(parallel=False), f"{CALLS[family]}\n{CALLS[family]}")

    @every
    def test_without_tools_it_is_text(self, family: str):
        if family != "kimi_k3":  # whose every answer is made of such tags
            specials = model(family).specials
            shown = "".join(text for text, special in tokens(CALLS[family], specials) if not special)
            assert heard(family, CALLS[family], ask(thinking=False)) == Answer(text=shown)


class TestStrictTools:
    STRICT = ToolSpec(
        name="zip",
        strict=True,
        parameters={
            "type": "object",
            "properties": {"code": {"type": "string", "pattern": "^[0-9]{5}$"}},
            "required": ["code"],
            "additionalProperties": False,
        },
    )

    @pytest.mark.parametrize("family", ["qwen3_coder", "mimo", "glm", "minimax_m2", "minimax_m3", "deepseek_v4"])
    def test_what_text_cannot_be_held_to_is_refused_by_name(self, family: str):
        dialect = speak(family)
        chat = replace(asked(), tools=(self.STRICT,))
        with pytest.raises(Unsupported, match=r"'zip'.*pattern") as failure:
            dialect.grammar(chat, dialect.render(chat), None)
        assert failure.value.feature == "tools"

    @pytest.mark.parametrize("family", ["deepseek_v3", "deepseek_v3_1", "kimi_k2", "kimi_k3"])
    def test_json_is_held_to_it(self, family: str):
        chat = replace(asked(mode=ToolMode.REQUIRED), tools=(self.STRICT,))
        argument = '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        block = '<|open|>json type="object"<|sep|>{"city": "Paris"}<|close|>json<|sep|>'
        call = CALLS[family].replace("get_weather", "zip").replace(argument, block).replace("city", "code")
        assert takes(family, chat, call.replace("Paris", "75001"))
        assert not takes(family, chat, call)


class TestValues:
    @pytest.mark.parametrize(
        "written, meant",
        [
            ("2", "2"),
            (" 2 ", "2"),
            ("true", "true"),
            ("True", "true"),
            ("soon", '"soon"'),
            ("", '""'),
        ],
    )
    def test_what_should_be_a_number_is_json_or_else_a_string(self, written: str, meant: str):
        text = CALLS["glm"].replace("city", "days").replace("Paris", written)
        assert heard("glm", text).calls == (("get_weather", f'{{"days":{meant}}}', True),)

    def test_what_should_be_a_string_is_one_as_it_stands(self):
        for written in ("12", " true ", '"x"', "<b>\n&amp;", "\\n"):
            (call,) = heard("glm", CALLS["glm"].replace("Paris", written)).calls
            assert call == ("get_weather", f'{{"city":{_dumps(written)}}}', True)

    def test_lines_of_their_own_are_not_the_values(self):
        text = CALLS["qwen3_coder"].replace("Paris", "\n  Paris\n")
        assert heard("qwen3_coder", text).calls == (("get_weather", '{"city":"\\n  Paris\\n"}', True),)

    def test_a_value_in_line_is_read_where_a_model_forgot_the_lines(self):
        text = CALLS["qwen3_coder"].replace("\nParis\n", "Paris")
        assert heard("qwen3_coder", text).calls == (CITY,)

    def test_dsml_says_itself_what_is_a_string(self):
        text = CALLS["deepseek_v4"].replace('string="true">Paris', 'string="false">12')
        assert heard("deepseek_v4", text).calls == (("get_weather", '{"city":12}', True),)

    def test_xtml_may_give_all_arguments_as_one_object(self):
        argument = '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        block = '<|open|>json type="object"<|sep|>{"city":"Paris"}<|close|>json<|sep|>'
        assert heard("kimi_k3", CALLS["kimi_k3"].replace(argument, block)).calls == (CITY,)

    @pytest.mark.parametrize(
        "family, argument, given",
        [
            ("deepseek_v4", "</｜DSML｜invoke>", '{"days":3}</｜DSML｜invoke>'),
            ("deepseek_v4", '<｜DSML｜parameter name="city"', '{"days":3}\n<｜DSML｜parameter name="city"'),
            ("deepseek_v4", "</｜DSML｜invoke>", "{</｜DSML｜invoke>"),
            (
                "kimi_k3",
                "<|close|>call",
                '<|open|>json type="object"<|sep|>{"days":3}<|close|>json<|sep|><|close|>call',
            ),
        ],
    )
    def test_an_object_beside_arguments_by_name_is_no_call(self, family: str, argument: str, given: str):
        ((name, arguments, ended),) = heard(family, CALLS[family].replace(argument, given)).calls
        assert name == "get_weather"
        assert arguments in {'{"city":"Paris"', '{"days":3}'}
        assert not ended

    def test_an_object_that_was_cut_by_its_tag_is_no_call(self):
        argument = '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        block = '<|open|>json type="object"<|sep|>{"city":"Par<|close|>json<|sep|>'
        found = heard("kimi_k3", CALLS["kimi_k3"].replace(argument, block))
        assert found.calls == (("get_weather", '{"city":"Par', False),)

    def test_attributes_are_unescaped(self):
        text = CALLS["kimi_k3"].replace('key="city"', 'key="a &quot;b&quot; &amp;amp;"')
        assert heard("kimi_k3", text).calls == (("get_weather", '{"a \\"b\\" &amp;":"Paris"}', True),)


class TestTags:
    """MiniMax-M3, whose arguments are tags of their own names."""

    def held(self, parameters: JsonObject, arguments: str, *, strict: bool = False) -> str:
        """What is read of a call with these tags, in which ``|`` is the mark, and which the grammar allows."""
        tool = ToolSpec(name="f", parameters={"type": "object", **parameters}, strict=strict)
        asked = replace(ask([tool]), tool_choice=ToolChoice(mode=ToolMode.REQUIRED))
        dialect = speak("minimax_m3")
        prompt = dialect.render(asked)
        call = f'<tool_call>\n|<invoke name="f">|{arguments}|</invoke>\n|</tool_call>'
        text = f"|{call}".replace("|", MARK)
        grammar = dialect.grammar(asked, prompt, None)
        assert grammar is not None
        assert accepts(grammar, text, specials=model("minimax_m3").specials)
        ((_, read, ended),) = answer(parse(dialect.parser(asked, prompt), [(text, False)])).calls
        assert ended
        return read

    @pytest.mark.parametrize(
        "parameters",
        [
            {"additionalProperties": True},
            {"properties": {"city": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            {"properties": {"a>b": {"type": "string"}}},
        ],
    )
    def test_arguments_that_are_not_all_named_by_tags_are_any(self, parameters: JsonObject):
        assert self.held(parameters, "<city>Paris|</city>|<days>3|</days>") == '{"city":"Paris","days":3}'

    @pytest.mark.parametrize("name", ["a>b", "<a", "/a", "", " a"])
    def test_a_strict_tool_whose_argument_no_tag_can_name_is_refused(self, name: str):
        with pytest.raises(Unsupported, match="'f'"):
            self.held({"properties": {name: {"type": "string"}}}, "", strict=True)

    def test_what_refers_to_a_definition_is_no_fault_of_the_schema(self):
        maybe = {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]}
        point = {"type": "object", "properties": {"x": {"type": "integer"}}}
        parameters = {"properties": {"at": maybe}, "$defs": {"point": point}}
        assert self.held(parameters, '<at>{"x":1}|</at>') == '{"at":{"x":1}}'


class TestFaults:
    @pytest.mark.parametrize("tag", ["<tool_call>", "<tool_call>\n"])
    def test_a_tag_in_prose_is_text(self, tag: str):
        text = f"Write {tag}and then its name."
        assert heard("glm", text) == Answer(text=text)
        assert heard("qwen3_coder", text) == Answer(text=text)

    def test_a_block_may_come_where_thoughts_were_not_closed(self):
        chat = replace(asked(), thinking=ask(thinking=True).thinking)
        found = heard("deepseek_v4", f"They want the weather.\n\n{CALLS['deepseek_v4']}", chat)
        assert found == Answer(reasoning="They want the weather.", calls=(CITY,))

    @every
    @pytest.mark.seeds("S57")
    def test_a_call_that_was_cut_shows_no_markup_and_has_no_end(self, family: str):
        whole = CALLS[family]
        found = heard(family, f"I look.{whole[: whole.index('Paris') + 3]}")
        arguments = '{"city": "Par' if family in VERBATIM else '{"city":"Par'
        assert found == Answer(text="I look.", calls=(("get_weather", arguments, False),))


class TestRendering:
    TURNS = (
        {"role": "user", "content": "How is it here and there?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_b", "function": {"name": "get_weather", "arguments": '{"city": "Paris", "days": 2}'}},
                {"id": "call_a", "function": {"name": "now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "noon"},
        {"role": "tool", "tool_call_id": "call_b", "content": "sunny"},
    )

    def prompt(self, family: str) -> str:
        return speak(family).render(conversation([*self.TURNS])).text

    @pytest.mark.parametrize("family", [*CALLS, "qwen3_6", "qwen3_8", "glm_5_3", "deepseek_v3_2"])
    def test_results_stand_in_the_order_of_the_calls(self, family: str):
        prompt = self.prompt(family)
        assert prompt.index("sunny") < prompt.index("noon")

    @pytest.mark.parametrize(
        "family", [family for family in CALLS if not family.startswith(("deepseek_v3", "kimi_k2"))]
    )
    def test_past_calls_are_written_as_they_are_read(self, family: str):
        prompt = self.prompt(family)
        start, end = prompt.index("I look."), prompt.index("sunny")
        calls = heard(family, prompt[start:end]).calls
        assert calls[:2] == (("get_weather", '{"city":"Paris","days":2}', True), ("now", "{}", True))

    def test_a_strangers_ids_become_those_that_the_model_writes(self):
        prompt = self.prompt("kimi_k2")
        assert "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>" in prompt
        assert "<|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>" in prompt
        assert prompt.index("## Return of functions.get_weather:0\nsunny") < prompt.index(
            "## Return of functions.now:1\nnoon"
        )
        assert "call_" not in prompt.replace("<|tool_call_", "")

    @pytest.mark.parametrize(
        "call_id, name",
        [("functions.get_weather:0", "get_weather"), ("a.b:12", "a.b"), ("now", "now"), (" functions.now:1 ", "now")],
    )
    def test_the_tools_name_is_in_the_id(self, call_id: str, name: str):
        assert named(call_id) == name


class TestGlm:
    LINES = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"

    def test_calls_in_lines_are_read_too(self):
        assert heard("glm", self.LINES).calls == (CITY,)

    def test_calls_are_asked_for_as_the_template_writes_them(self):
        traits = ModelTraits(
            template="", specials=(), bos_token="", eos_token="", clock=lambda: datetime(2026, 3, 9, tzinfo=UTC)
        )
        assert build(traits).syntax is SYNTAX
        assert build(replace(traits, template="{{ '</arg_key>\\n<arg_value>' }}")).syntax is SYNTAX
        in_lines = build(replace(traits, template="<tool_call>a\n<arg_key>b</arg_key>\n<arg_value>c</arg_value>"))
        assert in_lines.syntax is IN_LINES
        chat = asked(mode=ToolMode.REQUIRED)
        grammar = in_lines.grammar(chat, in_lines.render(chat), None)
        assert accepts(grammar, self.LINES)
        assert not accepts(grammar, CALLS["glm"])

    @pytest.mark.seeds("S28")
    def test_turns_of_others_end_an_answer(self):
        assert speak("glm").stops == speak("glm_5_3").stops == ("<|user|>", "<|observation|>")


def _dumps(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
