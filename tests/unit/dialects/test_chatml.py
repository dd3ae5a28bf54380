from __future__ import annotations

from datetime import UTC, datetime

from dragoman.dialects import chatml
from dragoman.dialects.base import ModelTraits
from support.conversations import conversation


def test_the_bare_syntax_closes_each_turn_and_opens_the_answer():
    traits = ModelTraits(
        template=None,
        specials=("<|im_start|>", "<|im_end|>"),
        bos_token="",
        eos_token="<|im_end|>",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<|im_end|>"}]
    prompt = chatml.build(traits).render(conversation(turns))
    assert prompt.text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    start = prompt.text.index("<|im_end|><|im_end|>")
    assert prompt.plain == ((start, start + 10),)
