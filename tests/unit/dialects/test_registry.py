from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dragoman
from dragoman.core.errors import Code, Unsupported
from dragoman.core.request import TextPrompt
from dragoman.dialects.base import Channel, Dialect, Piece
from dragoman.dialects.registry import FAMILIES, dialect_for
from support.conversations import conversation

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
MARKS = ("<|im_start|>", "<|im_end|>")
HI = conversation([{"role": "user", "content": "hi"}])


def clock() -> datetime:
    return datetime(2026, 3, 9, tzinfo=UTC)


def dialect(template: str | None, specials: tuple[str, ...] = (), name: str | None = None) -> Dialect:
    return dialect_for(template=template, specials=specials, bos_token="<s>", eos_token=None, name=name, clock=clock)


@pytest.mark.parametrize(
    "template, specials, name",
    [
        (CHATML, MARKS, "chatml"),
        (CHATML, MARKS[:1], "template"),
        (CHATML, (), "template"),
        ("{{ messages[0].content }}", MARKS, "template"),
        (None, MARKS, "plain"),
        (None, (), "plain"),
    ],
)
def test_a_family_is_recognised_by_what_the_template_writes_and_the_vocabulary_has(
    template: str | None, specials: tuple[str, ...], name: str
):
    assert dialect(template, specials).name == name


LLAMA = ("<|start_header_id|>", "<|end_header_id|>")


@pytest.mark.parametrize(
    "words, specials, architecture, name",
    [
        ("<tool_call> <function=", MARKS, "", "qwen3_coder"),
        ("<tool_call><function=x>", MARKS, "", "mimo"),
        ("<tool_call> <function= preserve_thinking", MARKS, "", "qwen3_6"),
        ("<seed:tool_call> <function=", (), "", "template"),  # tags like another family's, and not the same
        ("<tool_call> <arg_key> arguments", MARKS, "", "glm"),
        ('<tool_call> {"name", "arguments"}', MARKS, "", "hermes"),
        ("<|im_start|> <|im_end|> <tool_call>", MARKS, "", "chatml"),  # an example in a system turn, but no calls
        ('"parameters": ' + " ".join(LLAMA), LLAMA, "llama", "llama3"),
        ('"parameters": [func_name1( ' + " ".join(LLAMA), LLAMA, "llama", "llama3_pythonic"),
        (" ".join(LLAMA), LLAMA, "llama", "template"),
        ("<|user|> <|assistant|>", (), "olmoe", "olmoe"),
        ("<|user|> <|assistant|>", (), "olmo2", "template"),
        ("<|start|> <|channel|> <|message|> analysis", ("<|start|>", "<|channel|>", "<|message|>"), "", "gpt_oss"),
        ("<|start|> <|channel|> <|message|> analysis", (), "", "template"),  # the vocabulary has no such tokens
    ],
)
def test_of_families_that_look_alike_the_one_that_has_all_its_marks_is_taken(
    words: str, specials: tuple[str, ...], architecture: str, name: str
):
    found = dialect_for(
        template="{# " + words + " #}",
        specials=specials,
        bos_token=None,
        eos_token=None,
        architecture=architecture,
        clock=clock,
    )
    assert found.name == name


def test_the_docs_name_every_family():
    page = (Path(__file__).parents[3] / "docs" / "families.md").read_text()
    assert [family.name for family in FAMILIES if f"`{family.name}`" not in page] == []


def test_a_model_without_a_template_refuses_messages_by_name_but_reads_output():
    plain = dialect(None)
    with pytest.raises(Unsupported, match="this model has no chat template") as failure:
        plain.render(HI)
    assert failure.value.feature == "messages"
    assert failure.value.code is Code.UNSUPPORTED_VALUE
    assert plain.ignores(HI) == ()
    parser = plain.parser(HI, TextPrompt(text=""))
    assert parser.feed("text", special=False) == (Piece(Channel.TEXT, "text"),)
    assert parser.finish() == ()


def test_an_operator_may_name_the_dialect():
    assert dialect(CHATML, MARKS, name="plain").name == "plain"
    assert dialect(CHATML, MARKS, name="template").name == "template"
    bare = dialect(None, MARKS, name="chatml")
    assert bare.render(HI).text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    "template, name, reason",
    [(None, "klingon", "chatml"), (None, "template", "has none"), ("{% if %}", None, "line 1")],
)
def test_what_cannot_be_built_is_refused_with_a_reason(template: str | None, name: str | None, reason: str):
    with pytest.raises(ValueError, match=reason):
        dialect(template, name=name)


def test_the_clock_is_read_for_each_prompt():
    days = iter(range(1, 9))
    dated = dialect_for(
        template="{{ bos_token }}{{ eos_token }}{{ strftime_now('%d') }}",
        specials=(),
        bos_token="<s>",
        eos_token=None,
        clock=lambda: datetime(2026, 3, next(days), tzinfo=UTC),
    )
    assert [dated.render(HI).text, dated.render(HI).text] == ["<s>01", "<s>02"]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
class TestEveryFamily:
    def test_it_answers_to_its_name(self, family):
        assert dialect(CHATML, MARKS, name=family.name).name == family.name

    def test_control_tokens_of_an_answer_are_hidden_and_the_same_characters_as_text_are_not(self, family):
        parser = dialect(CHATML, MARKS, name=family.name).parser(HI, TextPrompt(text=""))
        pieces = [
            *parser.feed("a", special=False),
            *parser.feed("<|im_end|>", special=True),
            *parser.feed("<|im_end|>", special=False),
            *parser.finish(),
        ]
        assert "".join(piece.text for piece in pieces) == "a<|im_end|><|im_end|>", "each character once"
        assert "".join(piece.text for piece in pieces if piece.channel is Channel.TEXT) == "a<|im_end|>"


@pytest.mark.seeds("S28")
def test_no_text_ends_a_turn_only_real_tokens_do_but_for_one_family():
    stops = {family.name: dialect(CHATML, MARKS, name=family.name).stops for family in FAMILIES}
    assert {name: texts for name, texts in stops.items() if texts} == dict.fromkeys(
        ("glm_5_3", "glm"), ("<|user|>", "<|observation|>")
    )


def test_a_family_is_imported_only_when_it_is_used():
    code = (
        "import sys, dragoman.dialects.registry as r\n"
        "assert 'jinja2' not in sys.modules\n"
        "r.dialect_for(template=None, specials=(), bos_token=None, eos_token=None, clock=None)\n"
        "assert 'jinja2' not in sys.modules and 'dragoman.dialects.chatml' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_other_module_knows_a_familys_name():
    root = Path(dragoman.__file__).parent
    names = [family.name for family in FAMILIES if family.marks or family.words or family.architectures]
    known = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names), re.IGNORECASE)
    others = [path for path in root.rglob("*.py") if path.parent != root / "dialects"]
    assert [path.name for path in others if known.search(path.read_text())] == []
