"""Pins every cap, so that none moves by accident: clients, docs and the engine protocol count on them."""

from __future__ import annotations

from dragoman.core import limits


def test_the_caps_are_these():
    caps = {name: value for name, value in vars(limits).items() if name.startswith("MAX_")}
    assert caps == {
        "MAX_BODY_BYTES": 33_554_432,
        "MAX_BODY_TEXT_BYTES": 4_194_304,
        "MAX_JSON_DEPTH": 64,
        "MAX_PROMPT_BYTES": 16_777_216,
        "MAX_FRAME_BYTES": 65_536,
        "MAX_HEADER_BYTES": 4096,
        "MAX_EXTENSION_BYTES": 1_048_576,
        "MAX_TOP_LOGPROBS": 32,
        "MAX_STOPS": 4,
        "MAX_STOP_SEQUENCES": 64,
        "MAX_STOP_CHARS": 1024,
        "MAX_SLOTS": 64,
        "MAX_TOKENS": 2_147_483_647,
        "MAX_SEED": 9_223_372_036_854_775_807,
        "MAX_TOKEN_ID": 2_147_483_647,
        "MAX_CHOICES": 128,
        "MAX_TOOLS": 128,
        "MAX_TOOL_NAME_CHARS": 64,
        "MAX_TOOL_USE_NAME_CHARS": 128,
        "MAX_BATCH_PROMPTS": 128,
        "MAX_BATCH_PROMPT_TOKENS": 65_536,
        "MAX_BATCH_COMPLETION_TOKENS": 65_536,
        "MAX_LOGIT_BIAS": 4096,
        "MAX_ALLOWED_TOKENS": 32_768,
        "MAX_STOP_TOKEN_IDS": 128,
        "MAX_BAD_WORDS": 256,
        "MAX_DRY_BREAKERS": 64,
        "MAX_GRAMMAR_BYTES": 524_288,
        "MAX_GRAMMAR_DEPTH": 256,
        "MAX_FORMAT_CHOICES": 4096,
        "MAX_SCHEMA_NODES": 10_000,
        "MAX_DRY_BREAKER_CHARS": 40,
        "MAX_IMAGES": 10,
        "MAX_IMAGE_BYTES": 10_485_760,
        "MAX_IMAGES_BYTES": 20_971_520,
        "MAX_IMAGE_PIXELS": 67_108_864,
        "MAX_IMAGE_RATIO": 200,
        "MAX_IDEMPOTENCY_KEY_CHARS": 255,
        "MAX_KEPT_REPLY_BYTES": 16_777_216,
    }
