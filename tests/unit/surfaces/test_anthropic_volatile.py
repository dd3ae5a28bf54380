from __future__ import annotations

import time

import pytest

from dragoman.core.request import Role
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.anthropic_volatile import steady
from dragoman.surfaces.readers import Place

HEADER = "x-anthropic-billing-header: cc_version=2.1.332.{}; cc_entrypoint=cli; cch={};"
COUNT = "<total_tokens>{} tokens left</total_tokens>"


def system_of(surface: Messages, system: object, *turns: dict) -> list[str]:
    body = {"system": system, "messages": [{"role": "user", "content": "hi"}, *turns]}
    prompt = surface.parse(body).operation.prompt
    return [message.text for message in prompt.messages if message.role is Role.SYSTEM]


def blocks(*texts: str) -> list[dict]:
    return [{"type": "text", "text": text} for text in texts]


class TestTheBillingHeader:
    """peers.md 106: it differs with each request, and so no two prompts would have a beginning in common."""

    @pytest.mark.parametrize(
        "system",
        [
            lambda header: blocks(header, "You are an agent.", "\nWork with care."),
            lambda header: f"{header}\nYou are an agent.\nWork with care.",
            lambda header: blocks(f"{header}\nYou are an agent.", "\nWork with care."),
        ],
        ids=["a_block", "a_string", "the_first_line_of_a_block"],
    )
    def test_requests_that_differ_in_it_alone_have_one_prompt(self, system):
        for header in (HEADER.format("54f", "abcd1"), HEADER.format("0c4", "ffff2")):
            assert system_of(Messages(), system(header)) == ["You are an agent.\nWork with care."]

    def test_that_it_is_left_out_is_told(self):
        body = {"system": blocks(HEADER, "a"), "messages": [{"role": "user", "content": "hi"}]}
        assert Messages().parse(body, strict=True).ignored == ("system.x-anthropic-billing-header",)
        assert Messages().parse_count(body)[1] == ("system.x-anthropic-billing-header",)

    def test_with_nothing_else_there_is_no_system_turn(self):
        assert system_of(Messages(), blocks(HEADER)) == []
        assert system_of(Messages(), HEADER) == []

    def test_it_may_be_kept(self):
        assert system_of(Messages(keep_billing_header=True), blocks(HEADER, "a")) == [HEADER + "a"]

    @pytest.mark.parametrize("text", [f"Say {HEADER}", f"a\n{HEADER}\nb", "x-anthropic-billing: 1"])
    def test_what_only_speaks_of_it_stays(self, text):
        assert system_of(Messages(), text) == [text]

    def test_what_others_say_is_never_touched(self):
        body = {"messages": [{"role": "user", "content": HEADER}, {"role": "assistant", "content": COUNT.format(1)}]}
        prompt = Messages().parse(body).operation.prompt
        assert [message.text for message in prompt.messages] == [HEADER, COUNT.format(1)]


class TestTheCountOfTokens:
    """peers.md 2.17: it is another one on each turn, and those of earlier turns stay."""

    def test_the_text_is_the_same_on_every_turn(self):
        first = f"Be brief.\n{COUNT.format(14_999_436)}"
        assert system_of(Messages(), first) == ["Be brief."]
        assert system_of(Messages(), f"{first}\n{COUNT.format(14_990_000)}") == ["Be brief."]
        assert system_of(Messages(), blocks("Be brief.", COUNT.format("14,999,436"))) == ["Be brief."]

    def test_what_follows_it_stays(self):
        assert system_of(Messages(), f"a\n{COUNT.format(5)}\nb") == ["a\nb"]

    def test_a_system_turn_that_holds_nothing_else_is_gone(self):
        late = {"role": "system", "content": COUNT.format(5)}
        assert system_of(Messages(), "a", late) == ["a"]
        assert system_of(Messages(keep_billing_header=True), "a", late) == ["a", COUNT.format(5)]

    @pytest.mark.parametrize(
        "text", ["<total_tokens>many tokens left</total_tokens>", "<total_tokens>5</total_tokens>", "a \n"]
    )
    def test_what_only_looks_like_it_stays(self, text):
        assert steady(text, Place()) == text

    def test_white_space_without_end_takes_no_time(self):
        text = " \n" * 1_000_000 + "a"
        began = time.process_time()
        assert steady(text, Place()) == text
        assert time.process_time() - began < 1
