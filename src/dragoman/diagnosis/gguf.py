"""The head of a GGUF file, read without llama.cpp: is it one, is it whole, and what would it cost to run.

Layout (ggml's docs/gguf.md, versions 2 and 3, little-endian): magic, version, number of tensors, number of metadata
pairs, the pairs, then a description of each tensor, then the data, aligned.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)

MAX_PAIRS: Final = 65_536
"""Metadata pairs; real files have under 100."""

MAX_TENSORS: Final = 1 << 20
"""Tensors; the largest models have some thousands."""

MAX_STRING_BYTES: Final = 16 * 1024 * 1024
"""One string; a chat template is under 100 kB."""

MAX_ARRAY: Final = 1 << 24
"""Members of an array; the largest vocabularies have under a million."""

Value: TypeAlias = bool | int | float | str | tuple[int | float | bool, ...]


class NotGguf(ValueError):
    """The file is not a GGUF file that can be read, for the reason given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a file says of its model, arrays of texts left out. ``size`` is the file's, in bytes."""

    metadata: Mapping[str, Value]
    size: int

    @property
    def architecture(self) -> str:
        """The family of the network, such as ``llama``."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def name(self) -> str:
        """The model's own name; may be empty."""
        return str(self.metadata.get("general.name", ""))

    @property
    def context_length(self) -> int | None:
        """Tokens that the model was trained on at once."""
        return self._number("context_length")

    def kv_bytes(self, *, cell_bytes: int) -> int | None:
        """Bytes of the KV cache per token with ``cell_bytes`` a number, or None where the file does not tell.

        An upper bound for models with sliding windows or recurrent layers, which keep less.
        """
        layers, heads = self._number("block_count"), self._number("attention.head_count")
        width = self._number("embedding_length")
        if layers is None or heads is None or width is None or heads < 1:
            return None
        key = self._number("attention.key_length") or width // heads
        value = self._number("attention.value_length") or width // heads
        kv_heads = self.metadata.get(f"{self.architecture}.attention.head_count_kv", heads)
        total = sum(int(each) for each in kv_heads) if isinstance(kv_heads, tuple) else int(kv_heads) * layers
        return total * (key + value) * cell_bytes

    def _number(self, key: str) -> int | None:
        value = self.metadata.get(f"{self.architecture}.{key}")
        if isinstance(value, tuple):  # a number for each layer: the largest bounds them
            return max((int(each) for each in value), default=None)
        return int(value) if isinstance(value, int) else None


def read_header(path: Path) -> Header:
    """Read the head of ``path``. Raises ``NotGguf`` with the reason, ``OSError`` when the file cannot be opened."""
    size = path.stat().st_size
    with path.open("rb") as file:
        reader = _Reader(file)
        if file.read(4) != MAGIC:
            raise NotGguf("it does not start with the letters GGUF")
        version, tensors, pairs = reader.unpack("<I"), reader.unpack("<Q"), reader.unpack("<Q")
        if version not in VERSIONS:
            raise NotGguf(f"its version is {version}; this server reads {VERSIONS[0]} and {VERSIONS[1]}")
        if pairs > MAX_PAIRS or tensors > MAX_TENSORS:
            raise NotGguf("its head is damaged")
        metadata: dict[str, Value] = {}
        for _ in range(int(pairs)):
            key = reader.text()
            value = reader.value(int(reader.unpack("<I")))
            if value is not None:
                metadata[key] = value
        last = reader.last_tensor(int(tensors))
        if size <= file.tell() + last:
            raise NotGguf("it is cut short: tensors are missing at its end")
    return Header(metadata=metadata, size=size)


_SCALARS: Final = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING: Final = 8
_ARRAY: Final = 9


class _Reader:
    """Typed reads from the head; a file that ends early is ``NotGguf``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def unpack(self, form: str) -> int | float | bool:
        data = self._take(struct.calcsize(form))
        number: int | float | bool = struct.unpack(form, data)[0]
        return number

    def text(self) -> str:
        length = int(self.unpack("<Q"))
        if length > MAX_STRING_BYTES:
            raise NotGguf("its head is damaged")
        return self._take(length).decode(errors="replace")

    def value(self, kind: int) -> Value | None:
        """A value; None for an array of texts, which is only skipped."""
        if kind in _SCALARS:
            return self.unpack(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise NotGguf(f"it holds a value of the unknown type {kind}")
        member, count = int(self.unpack("<I")), int(self.unpack("<Q"))
        if count > MAX_ARRAY:
            raise NotGguf("its head is damaged")
        if member in _SCALARS:
            form = _SCALARS[member]
            return struct.unpack(f"<{count}{form[1]}", self._take(count * struct.calcsize(form)))
        if member != _STRING:
            raise NotGguf("it holds arrays of arrays")
        for _ in range(count):
            self.text()
        return None

    def last_tensor(self, count: int) -> int:
        """Skip the descriptions of the tensors; the largest offset of one in the data."""
        last = 0
        for _ in range(count):
            self.text()
            dimensions = int(self.unpack("<I"))
            self._take(dimensions * 8 + 4)
            last = max(last, int(self.unpack("<Q")))
        return last

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise NotGguf("it ends within its head")
        return data
