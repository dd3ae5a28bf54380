"""A Hugging Face tokenizer made of nothing but a GGUF file's own vocabulary: ``tokenizer_folder.py MODEL FOLDER``.

For byte-level BPE whose digits stand alone, as SmolLM2's do. Runs in the judges' environment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL = 3
"""The type that a GGUF file gives to tokens which are never text."""


def write(model: Path, folder: Path) -> None:
    """Write ``tokenizer.json`` and its configuration."""
    fields = {name: field.contents() for name, field in GGUFReader(model).fields.items() if "tokenizer" in name}
    texts = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({text: index for index, text in enumerate(texts)}, merges))
    digits, bytes_ = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    control = [text for text, kind in zip(texts, fields["tokenizer.ggml.token_type"], strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in control])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": texts[fields["tokenizer.ggml.bos_token_id"]],
        "eos_token": texts[fields["tokenizer.ggml.eos_token_id"]],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
