from __future__ import annotations

from math import inf, nan

import pytest

from dragoman.core.events import Alternative, PromptRead, TokenRecord, Visibility
from dragoman.core.request import Readout
from dragoman.surfaces.openai_logprobs import CompletionLogprobs, chat_rows, prompt_fields, token_ids

HELLO = TokenRecord(
    id=7,
    text="Hello",
    data=b"Hello",
    logprob=-0.5,
    alternatives=(Alternative(7, b"Hello", -0.5), Alternative(8, b" Hi", -1.5), Alternative(9, b"\xe2\x80", -2.5)),
)
END = TokenRecord(
    id=2,
    text="",
    data=b"<|im_end|>",
    logprob=-0.1,
    alternatives=(Alternative(2, b"<|im_end|>", -0.1), Alternative(3, b"<|im_start|>", -3.0)),
    visibility=Visibility.CONTROL,
)


def token(text: str, data: bytes, logprob: float | None = -1.0) -> TokenRecord:
    return TokenRecord(id=1, text=text, data=data, logprob=logprob)


@pytest.mark.seeds("S71")
def test_a_row_of_chat_has_the_token_its_value_its_bytes_and_the_likeliest():
    assert chat_rows([HELLO], 2) == [
        {
            "token": "Hello",
            "logprob": -0.5,
            "bytes": [72, 101, 108, 108, 111],
            "top_logprobs": [
                {"token": "Hello", "logprob": -0.5, "bytes": [72, 101, 108, 108, 111]},
                {"token": " Hi", "logprob": -1.5, "bytes": [32, 72, 105]},
            ],
        }
    ]


@pytest.mark.seeds("S71")
def test_without_top_logprobs_a_row_of_chat_lists_no_other_tokens():
    assert [row["top_logprobs"] for row in chat_rows([HELLO], 0)] == [[]]


@pytest.mark.seeds("S82")
def test_a_token_that_a_stop_cut_is_what_was_emitted_of_it_also_among_its_own_alternatives():
    # The stop is "lo". The bytes are the emitted characters', in the row and in the entry of the same token.
    cut = TokenRecord(id=7, text="Hel", data=b"Hel", logprob=-0.5, alternatives=HELLO.alternatives)
    (row,) = chat_rows([cut], 2)
    assert (row["token"], row["bytes"]) == ("Hel", [72, 101, 108])
    assert [(top["token"], top["bytes"]) for top in row["top_logprobs"]] == [
        ("Hel", [72, 101, 108]),
        (" Hi", [32, 72, 105]),
    ]
    assert CompletionLogprobs(2).add([cut])["top_logprobs"] == [{"Hel": -0.5, " Hi": -1.5}]


@pytest.mark.seeds("S82")
def test_a_part_of_a_character_is_a_row_without_text_that_keeps_its_bytes():
    rows = chat_rows([token("", b"\xc3"), token("é", b"\xa9")], 0)
    assert [(row["token"], row["bytes"]) for row in rows] == [("", [0xC3]), ("é", [0xA9])]
    # Who joins the bytes instead of the tokens gets the same text.
    assert bytes(byte for row in rows for byte in row["bytes"]).decode() == "é"


@pytest.mark.seeds("S83")
def test_chat_describes_only_what_is_shown():
    unseen = [
        TokenRecord(id=1, text="", data=b"x", logprob=-1.0, visibility=kind) for kind in ("cut", "hidden", "control")
    ]
    assert chat_rows([*unseen, HELLO], 0) == chat_rows([HELLO], 0)


def test_an_alternative_that_is_no_text_is_spelled_as_openai_spells_it():
    assert chat_rows([HELLO], 3)[0]["top_logprobs"][2] == {"token": r"\xe2\x80", "logprob": -2.5, "bytes": [0xE2, 0x80]}
    assert CompletionLogprobs(3).add([HELLO])["top_logprobs"][0][r"bytes:\xe2\x80"] == -2.5


@pytest.mark.seeds("S79")
def test_a_token_that_is_unlikelier_than_all_that_was_asked_for_comes_last_with_its_own_value():
    likelier = (Alternative(8, b" Hi", -0.2), Alternative(9, b"Hey", -1.0))
    sampled = TokenRecord(
        id=7, text="Hello", data=b"Hello", logprob=-9.0, alternatives=(*likelier, Alternative(7, b"Hello", -9.0))
    )
    assert [top["token"] for top in chat_rows([sampled], 2)[0]["top_logprobs"]] == [" Hi", "Hey", "Hello"]
    (table,) = CompletionLogprobs(1).add([sampled])["top_logprobs"]
    assert list(table.items()) == [(" Hi", -0.2), ("Hello", -9.0)]


@pytest.mark.seeds("S81")
@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_a_number_that_json_lacks_is_null(value):
    odd = TokenRecord(id=7, text="a", data=b"a", logprob=value, alternatives=(Alternative(7, b"a", value),))
    (row,) = chat_rows([odd], 1)
    assert (row["logprob"], row["top_logprobs"][0]["logprob"]) == (None, None)
    arrays = CompletionLogprobs(1).add([odd])
    assert (arrays["token_logprobs"], arrays["top_logprobs"]) == ([None], [{"a": None}])
    prompt = prompt_fields(PromptRead(tokens=(odd,)), Readout(prompt_logprobs=1))
    assert prompt["prompt_logprobs"][0]["7"]["logprob"] is None


@pytest.mark.seeds("S77")
def test_offsets_count_characters_and_go_on_from_one_delta_to_the_next():
    # "café!" in five tokens, the fourth of which begins the é that the fifth completes; "👩" is one character.
    arrays = CompletionLogprobs(1)
    first = arrays.add([token("ca", b"ca"), token("f", b"f"), token("", b"\xc3")])
    second = arrays.add([token("é", b"\xa9"), token("👩", "👩".encode()), token("!", b"!")])
    assert (first["text_offset"], second["text_offset"]) == ([0, 2, 3], [3, 4, 5])
    assert arrays.whole["text_offset"] == [0, 2, 3, 3, 4, 5]
    assert "".join(arrays.whole["tokens"]) == "café👩!"


def test_the_arrays_of_completions_have_the_end_token_and_not_what_was_cut_or_hidden():
    # lm-eval asks for one token and reads its value even where it is the end of the text.
    unseen = [TokenRecord(id=1, text="", data=b"x", logprob=-1.0, visibility=kind) for kind in ("cut", "hidden")]
    arrays = CompletionLogprobs(2).add([HELLO, *unseen, END])
    assert arrays["tokens"] == ["Hello", ""]
    assert arrays["token_logprobs"] == [-0.5, -0.1]
    assert arrays["text_offset"] == [0, 5]


@pytest.mark.parametrize("record", [HELLO, END], ids=["shown", "control"])
def test_the_likeliest_key_is_the_token_itself_where_it_was_drawn_greedily(record):
    # How lm-eval finds out whether an answer was the greedy one.
    arrays = CompletionLogprobs(3).add([record])
    (table,) = arrays["top_logprobs"]
    assert [max(table, key=table.__getitem__)] == arrays["tokens"]


def test_tokens_that_read_alike_keep_their_values_under_names_of_their_own():
    # Two tokens of the same text, as vocabularies have them for bytes: the drawn one has the name, whatever its rank.
    drawn = TokenRecord(
        id=7, text="a", data=b"a", logprob=-2.0, alternatives=(Alternative(5, b"a", -1.0), Alternative(7, b"a", -2.0))
    )
    (table,) = CompletionLogprobs(2).add([drawn])["top_logprobs"]
    assert list(table.items()) == [("token_id:5", -1.0), ("a", -2.0)]


def test_other_tokens_that_read_alike_are_told_apart_too():
    drawn = TokenRecord(
        id=7,
        text="b",
        data=b"b",
        logprob=-3.0,
        alternatives=(Alternative(5, b"a", -1.0), Alternative(6, b"a", -2.0), Alternative(7, b"b", -3.0)),
    )
    (table,) = CompletionLogprobs(3).add([drawn])["top_logprobs"]
    assert list(table.items()) == [("a", -1.0), ("token_id:6", -2.0), ("b", -3.0)]


@pytest.mark.seeds("S78")
def test_the_first_position_of_a_prompt_has_no_value_and_no_alternatives():
    arrays = CompletionLogprobs(1).add([token("A", b"A", None), HELLO])
    assert arrays["token_logprobs"] == [None, -0.5]
    assert arrays["top_logprobs"] == [None, {"Hello": -0.5}]
    prompt = prompt_fields(PromptRead(tokens=(token("A", b"A", None),)), Readout(prompt_logprobs=1))
    assert prompt == {"prompt_logprobs": [None]}


def test_prompt_logprobs_have_vllms_shape():
    # vLLM's Logprob: logprob, rank (from 1, or null), decoded_token; the position's keys are token ids.
    prompt = PromptRead(tokens=(token("A", b"A", None), HELLO), ids=(1, 7))
    assert prompt_fields(prompt, Readout(prompt_logprobs=2, token_ids=True)) == {
        "prompt_logprobs": [
            None,
            {
                "7": {"logprob": -0.5, "rank": 1, "decoded_token": "Hello"},
                "8": {"logprob": -1.5, "rank": 2, "decoded_token": " Hi"},
            },
        ],
        "prompt_token_ids": [1, 7],
    }


@pytest.mark.parametrize(
    "alternatives, count",
    [
        ((Alternative(8, b" Hi", -0.2), Alternative(7, b"Hello", -9.0)), 1),
        ((Alternative(7, b"Hello", -9.0),), 0),
        ((), 0),
        ((), 3),
    ],
)
def test_the_rank_of_a_prompts_own_token_is_null_where_it_is_not_among_the_likeliest(alternatives, count):
    rare = TokenRecord(id=7, text="Hello", data=b"Hello", logprob=-9.0, alternatives=alternatives)
    (table,) = prompt_fields(PromptRead(tokens=(rare,)), Readout(prompt_logprobs=count))["prompt_logprobs"]
    assert table["7"] == {"logprob": -9.0, "rank": None, "decoded_token": "Hello"}


def test_nothing_of_the_prompt_is_told_unasked():
    assert prompt_fields(PromptRead(text="A", tokens=(HELLO,), ids=(7,)), Readout(echo=True, logprobs=1)) == {}


def test_token_ids_are_of_all_tokens_whose_id_is_known():
    nameless = TokenRecord(id=None, text="x", data=b"x")
    assert token_ids([HELLO, nameless, END]) == [7, 2]
