"""Every cap, as a literal, with its reason. A test pins the values."""

from __future__ import annotations

from typing import Final

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""A request body: ``MAX_IMAGES_BYTES`` in base64 are 27 MiB, and ``MAX_BODY_TEXT_BYTES`` come on top."""

MAX_BODY_TEXT_BYTES: Final = 4 * 1024 * 1024
"""What a body may hold beside pictures in base64: its values take many times their bytes once they are read.

A full 128k-token context of prose is under 1 MiB, tools included.
"""

MAX_JSON_DEPTH: Final = 64
"""Nesting of a body; real tool schemas stay under 20, and parsers recurse."""

MAX_PROMPT_BYTES: Final = 16 * 1024 * 1024
"""Payload of a SUBMIT (seeds.md 2.3)."""

MAX_FRAME_BYTES: Final = 65_536
"""Payload of a DATA, ECHO, TOOL or GRP frame (seeds.md 2.4)."""

MAX_HEADER_BYTES: Final = 4096
"""One header line of the engine protocol (seeds.md 2.3)."""

MAX_EXTENSION_BYTES: Final = 1024 * 1024
"""JSON that follows a SUBMIT payload, or a MODEL frame with its chat template."""

MAX_TOP_LOGPROBS: Final = 32
"""Alternatives per token on the engine protocol (S69)."""

MAX_STOPS: Final = 4
"""Stop strings of one request (S27, OpenAI)."""

MAX_STOP_SEQUENCES: Final = 64
"""Stop strings of one request to Messages, where Anthropic names no number; each is looked for at every token."""

MAX_STOP_CHARS: Final = 1024
"""One stop string; text is held back for as long as a stop may still come."""

MAX_SLOTS: Final = 64
"""Sequences that an engine may run at once; more rows do not pay on any machine we measured."""

MAX_TOKENS: Final = 2**31 - 1
"""An output budget as a number; above it is not a budget but a mistake."""

MAX_SEED: Final = 2**63 - 1
"""OpenAI documents a signed 64-bit integer."""

MAX_TOKEN_ID: Final = 2**31 - 1
"""What an engine's C int holds; only the engine knows its vocabulary."""

MAX_CHOICES: Final = 128
"""Answers to one prompt, candidates of ``best_of`` included (OpenAI)."""

MAX_TOOLS: Final = 128
"""Functions that one request may offer (OpenAI)."""

MAX_TOOL_NAME_CHARS: Final = 64
"""Of a function's name (OpenAI)."""

MAX_TOOL_USE_NAME_CHARS: Final = 128
"""Of a tool's name in Messages (Anthropic); agents join a server's name and its tool's."""

MAX_BATCH_PROMPTS: Final = 128
"""Members of one array of prompts (S99)."""

MAX_BATCH_PROMPT_TOKENS: Final = 65_536
"""Of all members of a batch: ids as such, text by its UTF-8 bytes, of which a token has at least one (S99)."""

MAX_BATCH_COMPLETION_TOKENS: Final = 65_536
"""Members of a batch times their budget (S99)."""

MAX_LOGIT_BIAS: Final = 4096
"""Biased tokens of one request; at 20 bytes each they fit an extension of the engine protocol many times."""

MAX_ALLOWED_TOKENS: Final = 32_768
"""Ids of one request that may come at all; a third of an extension of the engine protocol."""

MAX_STOP_TOKEN_IDS: Final = 128
"""Ids that end an answer; models have a handful of such tokens."""

MAX_BAD_WORDS: Final = 256
"""Each is looked for at every token."""

MAX_GRAMMAR_BYTES: Final = 512 * 1024
"""What an answer must be a sentence of; a hundred tools with their schemas need half of it, and it fits an extension twice."""

MAX_FORMAT_CHOICES: Final = 4096
"""Texts of which the answer must be one; each is an alternative of a grammar."""

MAX_SCHEMA_NODES: Final = 10_000
"""Schemas within one schema; the largest that clients are known to send have a tenth, and compilers stop at 50,000 rules."""

MAX_GRAMMAR_DEPTH: Final = 256
"""Brackets within brackets of a grammar that we read ourselves; readers of grammars recurse, and none that is meant nests thirty deep."""

MAX_DRY_BREAKERS: Final = 64
"""Each is turned into the tokens that may contain it."""

MAX_DRY_BREAKER_CHARS: Final = 40
"""One breaker; llama.cpp cuts them there."""

MAX_IMAGES: Final = 10
"""Pictures of one request (peers.md 126); engines compute each as hundreds of tokens."""

MAX_IMAGE_BYTES: Final = 10 * 1024 * 1024
"""One picture's file (seeds.md 3.5)."""

MAX_IMAGES_BYTES: Final = 20 * 1024 * 1024
"""All files of one request (seeds.md 3.5)."""

MAX_IMAGE_PIXELS: Final = 64 * 1024 * 1024
"""One picture as its header tells: more than any phone's camera takes, and 256 MiB once decoded with an alpha channel."""

MAX_IDEMPOTENCY_KEY_CHARS: Final = 255
"""One Idempotency-Key; clients send UUIDs, and this is what other services take."""

MAX_KEPT_REPLY_BYTES: Final = 16 * 1024 * 1024
"""An answer that a retry may get again; a streamed token takes some 250 bytes, so these are 60,000."""

MAX_IMAGE_RATIO: Final = 200
"""The longer side of a picture by the shorter; vision towers round the shorter one up, and would make a thread very large."""
