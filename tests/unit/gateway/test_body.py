"""Bodies, honest and hostile (seeds.md 3.3; peers' bug list, 21)."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest, TooLarge
from dragoman.gateway.body import check_content_type, decode_object, shallow, text_size


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b' {"a": [1, {"b": "\xc3\xa9"}]} ', {"a": [1, {"b": "é"}]}),
        (b'{"a": "' + b"[" * 1000 + b'"}', {"a": "[" * 1000}),
        (b'{"a": "\\"[[' + b"[" * 100 + b'"}', {"a": '"[[' + "[" * 100}),
    ],
)
def test_an_object_is_read(body, value) -> None:
    assert decode_object(body) == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"a": 1} x',
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\ud800 and more text after it"}',
        b'{"a": 1,}',
        b"{'a': 1}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a": ' + b"[" * 65 + b"]" * 65 + b"}",
        b"[}" * 1000,
    ],
    ids=lambda body: repr(body[:24]),
)
def test_anything_else_is_invalid_json(body) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        decode_object(body)
    assert refusal.value.code is Code.INVALID_JSON


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(("depth", "allowed"), [(64, True), (65, False), (1000, False)])
def test_sixty_four_levels_are_the_most(depth, allowed) -> None:
    wide = b",".join([nested(depth - 1)] * 3)
    assert shallow(b"[" + wide + b"]") is allowed


@pytest.mark.parametrize("text", [b'"' + b'\\"' * 1_000_000, b'["' * 1_000_000, b'"",' * 1_000_000 + b"[" * 65])
def test_a_hostile_body_is_judged_in_linear_time(text) -> None:
    """Quadratic time would take hours here."""
    assert shallow(text) is (b"[" not in text)


def test_brackets_within_strings_do_not_nest() -> None:
    assert shallow(b'["' + b"[" * 100 + b'", "\\"' + b"{" * 100 + b'"]')


@pytest.mark.parametrize(
    "content_type", [None, "application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"]
)
def test_json_or_nothing_is_a_good_content_type(content_type) -> None:
    check_content_type(content_type)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_foreign_page_may_send_unasked_is_refused(content_type) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_content_type(content_type)
    assert refusal.value.code is Code.UNSUPPORTED_MEDIA_TYPE


PICTURE = b"iVBORw0KGgo/+=" * 300_000  # 4.2 MB


def test_pictures_may_be_larger_than_all_text() -> None:
    assert decode_object(b'{"a": "' + PICTURE + b'"}') == {"a": PICTURE.decode()}


@pytest.mark.parametrize("writer", ["a", "/", "\\/"], ids=["letters", "slashes", "escaped_slashes"])
def test_a_picture_counts_for_no_more_than_its_ends(writer: str) -> None:
    body = b'{"a": "' + writer.encode() * 5_000_000 + b'"}'
    assert text_size(body) <= 2 * 4096


@pytest.mark.parametrize("text", ['{"a": "' + "x " * 3_000_000 + '"}', '{"a": [' + "0," * 3_000_000 + "0]}"])
def test_text_and_values_may_not(text: str) -> None:
    with pytest.raises(TooLarge) as refusal:
        decode_object(text.encode())
    assert refusal.value.code is Code.BODY_TOO_LARGE


def test_text_beside_a_picture_may_be_as_large_as_without_one() -> None:
    text = b"x " * 2_000_000
    assert decode_object(b'{"a": "' + PICTURE + b'", "b": "' + text + b'"}')["b"] == text.decode()
    with pytest.raises(TooLarge):
        decode_object(b'{"a": "' + PICTURE + b'", "b": "' + text + text + b'"}')
