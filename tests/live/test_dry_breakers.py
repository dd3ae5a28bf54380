"""DRY with breakers on the demo model's own vocabulary, against llama.cpp's sampler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.core.request import Dry, TextPrompt
from dragoman.engines.sampling.dry import DontRepeat

samplers = pytest.importorskip("support.llama_samplers", exc_type=ImportError)

pytestmark = pytest.mark.live

TEXTS = (
    "User: say it again\nBot: I say it again and again\nUser: say it again\nBot: I say it",
    'He said: "this is how it was". She said: "this is how it was", and he said: "this is how',
    "one two three four\n\none two three four\n\none two three",
    "**Note** that this repeats. **Note** that this repeats. **Note** that",
    "repeat after me repeat after me repeat after me repeat after",
)


@pytest.fixture(scope="module")
def vocabulary(demo_model: Path):
    """Of the model's file, without its weights."""
    from dragoman.engines.llama.vocabulary import LlamaVocabulary

    with samplers.vocabulary_of(demo_model) as model:
        yield LlamaVocabulary(model)


@pytest.mark.parametrize("breakers", [(), Dry(multiplier=1.0).breakers, ("User:", "Bot:"), ("\n\n",), ("it",)], ids=str)
@pytest.mark.parametrize("window", [-1, 12])
def test_penalties_between_breakers_are_those_of_llama_cpp(vocabulary, breakers, window) -> None:
    dry = Dry(multiplier=0.8, allowed_length=1, window=window, breakers=breakers)
    found = 0
    for text in TEXTS:
        history = vocabulary.tokenize(TextPrompt(text=text))
        change = DontRepeat(dry, vocabulary)
        for end in range(len(history) - 3, len(history) + 1):
            row = np.zeros(vocabulary.size, np.float32)
            change.apply(row, tuple(history[:-5]), history[-5:end])
            ours = {int(token): float(row[token]) for token in np.flatnonzero(row)}
            sampler = samplers.dry(0.8, 1.75, 1, 1000 if window < 0 else window, breakers, vocabulary._vocab)
            left = samplers.left_by([sampler], np.zeros(vocabulary.size, np.float32), history[:end])
            theirs = {token: logit for token, logit in left.items() if logit}
            assert ours == pytest.approx(theirs), text
            found += len(theirs)
    assert found >= 3
