"""What a SUBMIT means to the engine, and what it refuses by name. Codes are those of seeds.md section 2."""

from __future__ import annotations

import pytest

from dragoman.core.request import SamplingParams, TextPrompt
from dragoman.engines.base import EngineImage
from dragoman.engines.eyes import Patch
from dragoman.engines.intake import Refused, read_detokenize, read_submit, read_tokenize
from dragoman.protocol.frames import DetokenizeCommand, Image, Submit, TokenizeCommand

CONTEXT = 16


class Letters:
    """One token for each character: its code point. Ids up to 199 exist, and those under 32 are control tokens."""

    size = 200
    end_tokens = frozenset({0})

    def __init__(self) -> None:
        self.seen: list[TextPrompt] = []

    def tokenize(self, prompt: TextPrompt) -> list[int]:
        self.seen.append(prompt)
        return [ord(character) for character in prompt.text]

    def piece(self, token: int) -> bytes:
        return f"<{token}>".encode()

    def is_control(self, token: int) -> bool:
        return token < 32

    def ends(self, token: int) -> bool:
        return token == 0


def submit(payload: bytes = b"hello", **fields) -> Submit:
    values = {"id": 1, "slot": 0, "payload": payload, "max_tokens": 4, "temperature": 0.5, "top_p": 0.9} | fields
    return Submit(**values)


def read(command: Submit, vocabulary: Letters | None = None):
    return read_submit(command, vocabulary or Letters(), CONTEXT)


def refusal(command: Submit) -> tuple[str, str]:
    with pytest.raises(Refused) as caught:
        read(command)
    return caught.value.code, caught.value.detail


def test_text_is_tokenised_with_its_special_tokens_and_ids_are_taken_as_they_are() -> None:
    vocabulary = Letters()
    assert read(submit(b"hi"), vocabulary).prompt == (104, 105)
    assert vocabulary.seen == [TextPrompt(text="hi", parse_special=True, add_special=True)]
    assert read(submit(b"5 199\n0", ids=True), vocabulary).prompt == (5, 199, 0)
    assert len(vocabulary.seen) == 1


@pytest.mark.seeds("S21", "S22")
@pytest.mark.parametrize(
    ("max_tokens", "limit", "bounded"),
    [(0, 0, True), (1, 1, True), (10, 10, True), (11, 11, False), (12, 11, False), (10**9, 11, False)],
)
def test_a_budget_is_clamped_to_what_is_left_of_the_context(max_tokens, limit, bounded) -> None:
    intake = read(submit(b"hello", max_tokens=max_tokens))
    assert (intake.limit, intake.bounded) == (limit, bounded)


@pytest.mark.parametrize("length", [15, 16])
def test_a_prompt_must_leave_room_for_one_token(length) -> None:
    command = submit(b"x" * length, max_tokens=1)
    if length == 15:
        assert read(command).limit == 1
    else:
        assert refusal(command) == ("CONTEXT_EXCEEDED", "16 16")


@pytest.mark.seeds("S23")
def test_a_prompt_that_is_only_scored_may_fill_the_context() -> None:
    assert read(submit(b"x" * 16, max_tokens=0)).limit == 0
    assert refusal(submit(b"x" * 17, max_tokens=0)) == ("CONTEXT_EXCEEDED", "17 16")


@pytest.mark.parametrize("command", [submit(b""), submit(b"", ids=True), submit(b" \n", ids=True)])
def test_an_empty_prompt_is_refused(command) -> None:
    assert refusal(command)[0] == "EMPTY_PROMPT"


@pytest.mark.parametrize("ids", [b"200", b"-1", b"1 x", b"1.0", b"1_0", b"+1", b"9" * 5000])
def test_what_is_no_id_of_the_vocabulary_is_refused(ids) -> None:
    assert refusal(submit(ids, ids=True)) == ("BAD_REQUEST", "invalid token id")


def test_plain_spans_are_counted_in_bytes_on_the_wire_and_in_characters_here() -> None:
    vocabulary = Letters()
    text = "aé\u2013z𝄞b"  # 1, 2, 3, 1, 4 and 1 bytes
    spans = [[1, 3], [3, 6], [7, 11], [12, 12]]
    read(submit(text.encode(), extension={"plain": spans}), vocabulary)
    assert vocabulary.seen[0].plain == ((1, 2), (2, 3), (4, 5), (6, 6))
    for (start, end), (first, last) in zip(spans, vocabulary.seen[0].plain, strict=True):
        assert text.encode()[start:end].decode() == text[first:last]


@pytest.mark.parametrize(
    "spans",
    [
        [[2, 3]],  # cuts the é
        [[0, 2]],
        [[0, 99]],
        [[-1, 1]],
        [[3, 1]],
        [[0, 3], [1, 3]],
        [[0, 1, 3]],
        [[0]],
        [0, 1],
        ["ab"],
        [[0.0, 1.0]],
        [[None, 1]],
        {"0": 1},
        "ab",
        None,
        7,
    ],
    ids=str,
)
def test_spans_that_are_no_ordered_ranges_of_characters_are_refused(spans) -> None:
    assert refusal(submit("aé".encode(), extension={"plain": spans}))[0] == "BAD_REQUEST"


def test_text_that_is_not_utf8_is_refused() -> None:
    assert refusal(submit(b"\xff"))[0] == "BAD_REQUEST"


def test_sampling_parameters_come_from_the_header_and_the_extension() -> None:
    extension = {"top_k": 7, "min_p": 0.25, "seed": -5, "ignore_eos": True, "isolation": "key 1"}
    intake = read(submit(extension=extension, slot=3))
    assert intake.sampling == SamplingParams(temperature=0.5, top_p=0.9, top_k=7, min_p=0.25, seed=-5)
    assert (intake.slot, intake.ignore_eos, intake.isolation, intake.extended) == (3, True, "key 1", True)


def test_a_plain_submit_has_the_defaults_of_the_older_protocol() -> None:
    intake = read(submit())
    assert intake.sampling == SamplingParams(temperature=0.5, top_p=0.9, top_k=0, min_p=0, seed=None)
    assert (intake.ignore_eos, intake.isolation, intake.extended, intake.echo, intake.logprobs) == (
        False,
        "",
        False,
        None,
        None,
    )
    assert (intake.min_tokens, intake.stop_token_ids) == (0, ())


@pytest.mark.seeds("S87")
@pytest.mark.parametrize(
    ("word", "extension", "logprobs", "echo"),
    [
        (3, None, 3, 3),
        (0, None, None, None),
        (None, None, None, None),
        (3, {}, 3, None),
        (3, {"logprobs": 3}, 3, None),
        (None, {"logprobs": 0}, 0, None),
        (None, {"echo": 0}, None, 0),
        (5, {"logprobs": 5, "echo": 2}, 5, 2),
    ],
)
def test_logprobs_and_echo_are_one_wish_in_the_older_form_and_two_in_an_extension(
    word, extension, logprobs, echo
) -> None:
    intake = read(submit(logprobs=word, extension=extension))
    assert (intake.logprobs, intake.echo) == (logprobs, echo)


@pytest.mark.seeds("S36", "S37")
def test_what_ends_an_answer_comes_from_the_extension() -> None:
    intake = read(submit(extension={"min_tokens": 3, "stop_token_ids": [0, 199]}))
    assert (intake.min_tokens, intake.stop_token_ids) == (3, (0, 199))


def test_an_id_outside_the_vocabulary_is_refused_by_the_name_of_its_list() -> None:
    for key, value in (("stop_token_ids", [200]), ("allowed_token_ids", [5, 200]), ("logit_bias", [[200, 1.0]])):
        code, detail = refusal(submit(extension={key: value}))
        assert (code, detail.split()[0]) == ("BAD_REQUEST", key)
        assert "200" in detail


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("top_k", -1),
        ("top_k", 1.0),
        ("top_k", True),
        ("top_k", None),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("min_p", float("nan")),
        ("min_p", float("inf")),
        ("min_p", "0.5"),
        ("min_p", False),
        ("seed", 2**63),
        ("seed", -(2**63) - 1),
        ("seed", 1.5),
        ("seed", True),
        ("ignore_eos", 1),
        ("echo", "yes"),
        ("echo", True),
        ("echo", 33),
        ("logprobs", 33),
        ("logprobs", False),
        ("min_tokens", -1),
        ("min_tokens", 1.5),
        ("stop_token_ids", 5),
        ("stop_token_ids", ["5"]),
        ("stop_token_ids", [True]),
        ("parse_special", None),
        ("add_special", 0),
        ("grammar", 5),
        ("grammar", ""),
        ("grammar", "\ud800"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name(name, value) -> None:
    code, detail = refusal(submit(extension={name: value}))
    assert (code, detail) == ("BAD_REQUEST", name)


def test_a_grammar_is_taken_up_to_half_a_mebibyte_of_utf8() -> None:
    longest = "é" * (256 * 1024)
    assert read(submit(extension={"grammar": longest})).grammar == longest
    assert refusal(submit(extension={"grammar": longest + "x"})) == (
        "BAD_REQUEST",
        "grammar is longer than 524288 bytes",
    )


@pytest.mark.parametrize("seed", [0, 2**63 - 1, -(2**63)])
def test_every_signed_64_bit_seed_is_taken(seed) -> None:
    assert read(submit(extension={"seed": seed})).sampling.seed == seed


def test_no_seed_and_a_seed_of_null_are_the_same() -> None:
    assert read(submit(extension={"seed": None})).sampling.seed is None


def test_tokenize_carries_its_options() -> None:
    command = TokenizeCommand(
        id=1, payload=b"ab", options={"plain": [[1, 2]], "parse_special": False, "add_special": False}
    )
    vocabulary = Letters()
    assert read_tokenize(command, vocabulary) == (97, 98)
    assert vocabulary.seen == [TextPrompt(text="ab", plain=((1, 2),), parse_special=False, add_special=False)]


def test_detokenize_shows_control_tokens_only_on_request() -> None:
    def pieces(special: bool) -> tuple[bytes, ...]:
        return read_detokenize(DetokenizeCommand(id=1, ids=(65, 2, 66), special=special), Letters())

    assert pieces(True) == (b"<65>", b"<2>", b"<66>")
    assert pieces(False) == (b"<65>", b"", b"<66>")


@pytest.mark.parametrize("token", [-1, 200])
def test_detokenize_refuses_ids_outside_the_vocabulary(token) -> None:
    with pytest.raises(Refused, match="BAD_REQUEST"):
        read_detokenize(DetokenizeCommand(id=1, ids=(1, token)), Letters())


class Bare:
    """A picture is two positions, with nothing around them."""

    def look(self, image: EngineImage) -> list[int | Patch]:
        return [Patch(2, image)]


def test_a_prompt_can_not_end_with_a_picture_since_nothing_tells_what_follows_it() -> None:
    image = Image(id=1, payload=b"RGB", grid_h=1, grid_w=1, rgb=True)
    with pytest.raises(Refused) as caught:
        read_submit(submit(b"ab", images=(image,), extension={"images": [2]}), Letters(), CONTEXT, Bare())
    assert (caught.value.code, caught.value.detail[:7]) == ("BAD_REQUEST", "images ")
    intake = read_submit(submit(b"ab", images=(image,), extension={"images": [1]}), Letters(), CONTEXT, Bare())
    assert (len(intake.prompt), [(each.start, each.end) for each in intake.stretches]) == (4, [(1, 3)])


def test_positions_of_pictures_count_against_the_context() -> None:
    image = Image(id=1, payload=b"RGB", grid_h=1, grid_w=1, rgb=True)
    command = submit(b"x" * 14, max_tokens=1, images=(image,), extension={"images": [1]})
    with pytest.raises(Refused) as caught:
        read_submit(command, Letters(), CONTEXT, Bare())
    assert (caught.value.code, caught.value.detail) == ("CONTEXT_EXCEEDED", "16 16")


def test_the_older_word_pin_asks_that_a_prompt_is_kept() -> None:
    assert [read(submit(pin=pin)).kept for pin in (False, True)] == [False, True]
