"""What a model's vocabulary says of the texts that dialects may force."""

from __future__ import annotations

from dragoman.compose.backend import single_ids
from support.hand_engine import HandEngine, info


class Vocabulary(HandEngine):
    """One in which the end of a thought is so many tokens."""

    def __init__(self, *ids: int, features: frozenset[str] = frozenset({"tokenize"})) -> None:
        super().__init__(engine_info=info(features=features))
        self.ids = ids

    async def tokenize(self, prompt, images=()):
        assert not prompt.add_special
        return self.ids


async def test_a_text_that_is_one_token_has_its_id():
    assert await single_ids(Vocabulary(7)) == {"</think>": 7}


async def test_a_text_of_several_tokens_has_none():
    assert await single_ids(Vocabulary(7, 8)) == {}


async def test_an_engine_that_is_no_tokenizer_is_not_asked():
    assert await single_ids(Vocabulary(7, features=frozenset())) == {}
