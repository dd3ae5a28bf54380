"""From a row of logits to the next token: float32 rows, no Python loop over the vocabulary, nothing paid for what is not asked.

The order, which is that of S41 with the other samplers where llama.cpp's default chain has them:

1. ``repetition_penalty`` over prompt and answer; ``presence_penalty`` and ``frequency_penalty`` over the answer (``penalties``)
2. DRY over prompt and answer (``dry``)
3. ``logit_bias``, then ``allowed_token_ids`` (``masks``)
4. vetoes: ``bad_words``, and before ``min_tokens`` all that would end the answer (``masks``)
5. the grammar, above all of these (``sampler``)
6. ``typical_p``, then ``min_p``, both on the logits of step 5 and so blind to the temperature (``truncation``)
7. ``temperature``; 0 takes the likeliest token of step 5 and ends here
8. ``top_k``, then ``top_p``, then XTC, each on the probabilities that the one before left (``truncation``)
9. one uniform number picks (``draw``)

Where llama.cpp differs: it has ``logit_bias`` before the penalties and ``min_p`` after ``top_p``, which S41 turns round; it has ``top_k``
before ``typical_p`` and ``temperature`` at the end, which cannot be had together with S41; and its filters may take the likeliest
token away from a greedy request, where ours have no say, as there is nothing to draw.

``ignore_eos`` is not here: as in vLLM the end token stays as likely as the model says, and whoever runs the request goes on after
it. llama.cpp forbids it instead; that is ``min_tokens`` as large as the budget.

Log-probabilities (``logprobs``) are of the model's own row, before all of this, so no step changes the row it is given.
"""

from __future__ import annotations

from dragoman.engines.sampling.draw import draw, uniform
from dragoman.engines.sampling.logprobs import log_softmax, numeric
from dragoman.engines.sampling.sampler import Sampler, prepare

__all__ = ["Sampler", "draw", "log_softmax", "numeric", "prepare", "uniform"]
