from __future__ import annotations

import pytest

from dragoman.core.request import Thinking
from support.conversations import conversation
from support.dialect_tapes import speak

HI = [{"role": "user", "content": "hi"}]
BEFORE = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "Hello", "reasoning_content": "A greeting."},
    {"role": "user", "content": "again"},
]


def prompt(family: str, thinking: Thinking, messages: list[dict] = HI, **args: object) -> str:
    return speak(family).render(conversation(messages, thinking=thinking, template_args=args)).text


def ignored(family: str, thinking: Thinking) -> tuple[str, ...]:
    return speak(family).ignores(conversation(HI, thinking=thinking))


@pytest.mark.seeds("S61", "S62")
@pytest.mark.parametrize(
    "family, thinking, end",
    [
        ("qwen3_6", Thinking(), "<think>\n"),
        ("qwen3_6", Thinking(enabled=True), "<think>\n"),
        ("qwen3_6", Thinking(enabled=False), "<think>\n\n</think>\n\n"),
        ("qwen3_6", Thinking(effort="none"), "<think>\n\n</think>\n\n"),
        ("qwen3_8", Thinking(effort="none"), "<think>\n\n</think>\n\n"),
        ("mimo", Thinking(enabled=False), "<think></think>"),
        ("glm", Thinking(enabled=True), "<|assistant|><think>"),
        ("glm", Thinking(enabled=False), "<|assistant|></think>"),
        ("glm_5_3", Thinking(enabled=False), "<|assistant|><think>"),
        ("minimax_m3", Thinking(), "]~b]ai\n"),
        ("minimax_m3", Thinking(enabled=True), "<mm:think>"),
        ("minimax_m3", Thinking(effort="high"), "<mm:think>"),
        ("minimax_m3", Thinking(enabled=False), "</mm:think>"),
        ("deepseek_v3_1", Thinking(), "</think>"),
        ("deepseek_v3_1", Thinking(effort="low"), "<think>"),
        ("deepseek_v4", Thinking(effort="none"), "</think>"),
        ("kimi_k3", Thinking(), "<|open|>think<|sep|>"),
        ("kimi_k3", Thinking(effort="none"), "<|open|>response<|sep|>"),
    ],
)
def test_thoughts_are_switched_in_each_familys_way(family: str, thinking: Thinking, end: str):
    assert prompt(family, thinking).endswith(end)
    assert ignored(family, thinking) == ()


@pytest.mark.seeds("S62")
@pytest.mark.parametrize(
    "family, effort, told",
    [
        ("qwen3_8", "minimal", "Think with low effort."),
        ("qwen3_8", "low", "Think with low effort."),
        ("glm_5_3", "low", "Effort: Low<"),
        ("glm_5_3", "medium", "Effort: High<"),
        ("glm_5_3", "high", "Effort: High<"),
        ("glm_5_3", "xhigh", "Effort: Max<"),
        ("glm_5_3", "none", "Effort: Low<"),
        ("deepseek_v4", "xhigh", "Reason as hard as you can."),
        ("deepseek_v4_1", "minimal", "Effort: 50 "),
        ("deepseek_v4_1", "medium", "Effort: 75 "),
        ("deepseek_v4_1", "max", "Effort: 100 "),
        ("kimi_k3", "minimal", "thinking_effort=low<"),
        ("kimi_k3", "medium", "thinking_effort=medium<"),
        ("kimi_k3", "xhigh", "thinking_effort=max<"),
    ],
)
def test_an_effort_is_told_in_the_familys_words(family: str, effort: str, told: str):
    assert told in prompt(family, Thinking(effort=effort))
    assert ignored(family, Thinking(effort=effort)) == ()


@pytest.mark.seeds("S61")
def test_a_model_that_always_thinks_does_so_least_where_it_shall_not():
    assert "Effort: Low<" in prompt("glm_5_3", Thinking(enabled=False))
    assert "Effort: Max<" in prompt("glm_5_3", Thinking(enabled=True))


def test_an_argument_for_the_template_wins_over_what_a_family_would_set():
    assert "thinking_effort=low<" in prompt("kimi_k3", Thinking(effort="high"), thinking_effort="low")


@pytest.mark.seeds("S63")
class TestPreservedThinking:
    KEPT = "<|im_start|>assistant\n<think>\nA greeting.\n</think>\n\nHello<|im_end|>"
    DROPPED = "<|im_start|>assistant\nHello<|im_end|>"

    @pytest.mark.parametrize(
        "thinking, kept",
        [
            (Thinking(), False),
            (Thinking(enabled=True), False),
            (Thinking(enabled=False), True),
            (Thinking(effort="none"), True),
            (Thinking(enabled=True, preserve=True), True),
            (Thinking(enabled=False, preserve=False), False),
        ],
    )
    def test_past_thoughts_are_kept_by_default_just_where_no_new_ones_come(self, thinking: Thinking, kept: bool):
        assert (self.KEPT if kept else self.DROPPED) in prompt("qwen3_6", thinking, BEFORE)

    def test_the_switch_may_also_be_given_as_an_argument(self):
        assert self.KEPT in prompt("qwen3_6", Thinking(), BEFORE, enable_thinking=False)

    def test_a_turn_without_thoughts_has_an_empty_block(self):
        before = [{key: value for key, value in turn.items() if key != "reasoning_content"} for turn in BEFORE]
        assert "<think>\n\n</think>\n\nHello" in prompt("qwen3_6", Thinking(enabled=False), before)

    def test_so_a_prompt_grows_at_its_end(self):
        first = prompt("qwen3_6", Thinking(enabled=False), BEFORE[:1])
        second = prompt(
            "qwen3_6", Thinking(enabled=False), [BEFORE[0], {"role": "assistant", "content": "Hello"}, BEFORE[2]]
        )
        assert second.startswith(f"{first}Hello")
