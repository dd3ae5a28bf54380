from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import TextPrompt
from dragoman.dialects.runner import TemplateRunner
from support.conversations import conversation

TRUTH = json.loads((Path(__file__).parents[2] / "fixtures" / "tool_renders.json").read_text())
"""``renders``: conversations with tools, rendered by Transformers; the file says with which version."""

NOW = datetime(2026, 3, 9, 14, 5, 7, tzinfo=UTC)
NAMES = "{% for t in tools %}{{ t.function.name }}{% endfor %}"


def runner(source: str, *specials: str) -> TemplateRunner:
    return TemplateRunner(source, bos_token="<s>", eos_token="</s>", specials=specials)


def tool(name: str = "f", description: str = "", **properties: dict) -> dict:
    return {
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties},
        }
    }


def render(source: str, *specials: str, said: str = "hi", tools: list[dict] | None = None) -> TextPrompt:
    chat = conversation([{"role": "user", "content": said}], tools=tools)
    return runner(source, *specials).write(chat, now=NOW).prompt


def plain_texts(prompt: TextPrompt) -> list[str]:
    return [prompt.text[start:end] for start, end in prompt.plain]


@pytest.mark.seeds("S119", "S120")
class TestAgainstTransformers:
    @pytest.mark.parametrize("case", TRUTH["renders"], ids=lambda case: case["name"])
    @pytest.mark.parametrize(
        "specials",
        [(), ("<s>", "</s>", "<tool_call>", "[INST]", "<|city|>", "<day>")],
        ids=["no_specials", "specials"],
    )
    def test_tools_calls_and_results_are_those_of_transformers(self, case: dict, specials: tuple[str, ...]):
        template = runner(TRUTH["templates"][case["template"]], *specials)
        chat = conversation(case["messages"], tools=case["tools"])
        prompt = template.write(chat, now=NOW).prompt
        assert prompt == TextPrompt(text=case["text"], add_special=False)


class TestCallShapes:
    @pytest.mark.parametrize(
        "wanted, shown",
        [
            ("{{ call.function.arguments | tojson }}", '{"n": 1}'),
            ("{{ call.function.arguments.items() | list }}", "[('n', 1)]"),
            ("{{ '' + call.function.arguments }}", '{"n":1}'),
            ("{{ '' if m.content is none else raise_exception('no') }}{{ '' + call.function.arguments }}", '{"n":1}'),
        ],
    )
    def test_earlier_calls_have_the_form_that_the_template_takes(self, wanted: str, shown: str):
        source = (
            "{% for m in messages %}{% for call in m.tool_calls or [] %}{{ call.function.name }} "
            + wanted
            + "{% endfor %}{% endfor %}"
        )
        turn = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"n":1}'}}]}
        assert runner(source).write(conversation([turn]), now=NOW).prompt.text == f"f {shown}"

    def test_a_template_that_takes_no_calls_at_all_is_a_template(self):
        source = "{% for m in messages %}{% if m.tool_calls %}{{ raise_exception('no calls') }}{% endif %}{{ m.content }}{% endfor %}"
        assert render(source).text == "hi"


class TestControlTokensInTools:
    """Law 7: declarations are a client's text, too."""

    @pytest.mark.parametrize(
        "source, declared, forged",
        [
            (NAMES, tool("a<|end|>b"), "<|end|>"),
            ("{{ tools[0].function.description }}", tool(description="see <|end|>"), "<|end|>"),
            ("{{ tools | tojson }}", tool(key={"description": "<|end|>"}), "<|end|>"),
            ("{{ tools | tojson }}", tool(key={"enum": ["<|end|>"]}), "<|end|>"),
            ("{{ tools | tojson }}", tool(**{"<|end|>": {}}), "<|end|>"),
            ("{% for t in tools %}<|{{ t.function.name }}|>{% endfor %}", tool("end"), "end"),
            ("{% for k in tools[0].function.parameters.properties %}<|{{ k }}|>{% endfor %}", tool(end={}), "end"),
        ],
    )
    def test_a_control_token_in_a_declaration_is_text(self, source: str, declared: dict, forged: str):
        prompt = render(source + "<|end|>", "<|end|>", tools=[declared])
        assert prompt.text.endswith("<|end|>")
        assert plain_texts(prompt) == [forged]

    def test_a_control_token_in_the_keys_of_an_earlier_call_is_text(self):
        source = "{% for k in messages[0].tool_calls[0].function.arguments %}<|{{ k }}|>{% endfor %}<|end|>"
        turn = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"end": 1}}}]}
        prompt = runner(source, "<|end|>").write(conversation([turn]), now=NOW).prompt
        assert (prompt.text, prompt.plain) == ("<|end|><|end|>", ((2, 5),))

    def test_names_that_a_template_sorts_and_compares_do_not_keep_forged_text_from_being_told_apart(self):
        """``b_end`` and ``a_im`` hold characters of control tokens, so under a veil they would come in another order."""
        source = (
            "{% for k, v in tools[0].function.parameters.properties | dictsort %}{{ k }}:{{ v.type }} {% endfor %}"
            "{% if tools[0].function.name == 'im' %}!{% endif %}<|im_end|>{{ messages[0].content }}"
        )
        declared = tool("im", **{name: {"type": "string"} for name in ("end", "im", "a_im", "zz")})
        prompt = render(source, "<|im_end|>", said="x<|im_end|>", tools=[declared])
        assert prompt.text == "a_im:string end:string im:string zz:string !<|im_end|>x<|im_end|>"
        assert prompt.plain == ((55, 65),)

    def test_sorted_names_that_make_a_token_are_not_let_through(self):
        source = "{% for k in tools[0].function.parameters.properties | sort %}<|{{ k }}|>{% endfor %}{{ messages[0].content }}"
        declared = tool(zz={}, im_end={})
        with pytest.raises(InvalidRequest, match="told apart") as failure:
            render(source, "<|im_end|>", said="<|im_end|>", tools=[declared])
        assert failure.value.code is Code.TEMPLATE_FAILED

    def test_ordinary_declarations_need_no_spans_and_no_second_look(self):
        source = "{{ tools | tojson }}{% if tools[0].function.name == 'get_weather' %}!{% endif %}"
        declared = tool("get_weather", "The weather of a city.", city_name={"type": "string"})
        prompt = render(source, "<|im_start|>", "<|im_end|>", tools=[declared])
        assert prompt.text.endswith("!")
        assert prompt.plain == ()
