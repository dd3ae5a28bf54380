"""The ranges are S26 and S32 to S35 and S40, and for the extensions what the server that they come from documents."""

from __future__ import annotations

import math

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Dry, SamplingParams, Xtc
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_sampling import SAMPLING, sampling, sampling_spelling
from dragoman.surfaces.readers import Place

HUGE = 10**400


def read(**body) -> tuple[SamplingParams, tuple[str, ...]]:
    form = Form(body, SAMPLING, Place())
    return sampling(form), form.ignored


def refusal(**body) -> str | None:
    with pytest.raises(InvalidRequest) as caught:
        read(**body)
    assert caught.value.code is Code.INVALID_VALUE
    return caught.value.param


def test_no_field_is_the_models_own_distribution():
    assert read() == (SamplingParams(), ())


@pytest.mark.seeds("S26", "S30", "S32", "S33", "S34", "S40")
@pytest.mark.parametrize(
    "field, value, kept",
    [
        ("temperature", 0, 0.0),
        ("temperature", 2, 2.0),
        ("top_p", 1, 1.0),
        ("top_p", 1e-9, 1e-9),
        ("top_k", -1, 0),
        ("top_k", 0, 0),
        ("top_k", 1, 1),
        ("min_p", 0, 0.0),
        ("min_p", 1, 1.0),
        ("typical_p", 1e-9, 1e-9),
        ("typical_p", 1, 1.0),
        ("seed", 2**63 - 1, 2**63 - 1),
        ("seed", -(2**63), -(2**63)),
        ("seed", 0, 0),
        ("presence_penalty", -2, -2.0),
        ("presence_penalty", 2, 2.0),
        ("frequency_penalty", -2, -2.0),
        ("frequency_penalty", 2, 2.0),
        ("repetition_penalty", 0.01, 0.01),
        ("repetition_penalty", 2, 2.0),
        ("allowed_token_ids", [0, 2**31 - 1], (0, 2**31 - 1)),
        ("bad_words", [], ()),
        ("bad_words", ["a", " b"], ("a", " b")),
    ],
)
def test_the_edges_are_within(field, value, kept):
    assert getattr(read(**{field: value})[0], field) == kept


@pytest.mark.seeds("S26", "S32", "S33", "S34", "S35", "S40")
@pytest.mark.parametrize(
    "field, value, param",
    [
        ("temperature", -0.01, "temperature"),
        ("temperature", 2.01, "temperature"),
        ("temperature", "1", "temperature"),
        ("temperature", False, "temperature"),
        ("top_p", 0, "top_p"),
        ("top_p", 1.01, "top_p"),
        ("top_k", -2, "top_k"),
        ("top_k", 1.0, "top_k"),
        ("min_p", -0.1, "min_p"),
        ("min_p", 1.1, "min_p"),
        ("typical_p", 0, "typical_p"),
        ("typical_p", 1.1, "typical_p"),
        ("seed", 2**63, "seed"),
        ("seed", -(2**63) - 1, "seed"),
        ("seed", 1.5, "seed"),
        ("presence_penalty", 2.01, "presence_penalty"),
        ("presence_penalty", -2.01, "presence_penalty"),
        ("frequency_penalty", 2.01, "frequency_penalty"),
        ("frequency_penalty", "0", "frequency_penalty"),
        ("repetition_penalty", 0, "repetition_penalty"),
        ("repetition_penalty", -1, "repetition_penalty"),
        ("repetition_penalty", math.inf, "repetition_penalty"),
        ("repeat_penalty", 0, "repeat_penalty"),
        ("repeat_last_n", -2, "repeat_last_n"),
        ("allowed_token_ids", [], "allowed_token_ids"),
        ("allowed_token_ids", [-1], "allowed_token_ids.0"),
        ("allowed_token_ids", [1, "2"], "allowed_token_ids.1"),
        ("allowed_token_ids", [0] * 32_769, "allowed_token_ids"),
        ("bad_words", ["a", ""], "bad_words.1"),
        ("bad_words", "a", "bad_words"),
        ("bad_words", ["a"] * 257, "bad_words"),
        ("bad_words", ["\ud800"], "bad_words.0"),
        ("xtc_probability", 1.1, "xtc_probability"),
        ("xtc_threshold", -0.1, "xtc_threshold"),
        ("dry_multiplier", -1, "dry_multiplier"),
        ("dry_base", 0.5, "dry_base"),
        ("dry_allowed_length", -1, "dry_allowed_length"),
        ("dry_penalty_last_n", -2, "dry_penalty_last_n"),
        ("dry_sequence_breakers", [], "dry_sequence_breakers"),
        ("dry_sequence_breakers", ["x" * 41], "dry_sequence_breakers.0"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(field, value, param):
    assert refusal(**{field: value}) == param


class TestLogitBias:
    @pytest.mark.seeds("S35")
    def test_a_bias_is_kept_within_a_hundred(self):
        biases = {"0": 0.5, "1": -100, "2": 150, "3": -150.5, "4": HUGE, "2147483647": 100}
        assert read(logit_bias=biases)[0].logit_bias == (
            (0, 0.5),
            (1, -100.0),
            (2, 100.0),
            (3, -100.0),
            (4, 100.0),
            (2**31 - 1, 100.0),
        )

    # peers.md 6 and 7
    @pytest.mark.seeds("S35")
    @pytest.mark.parametrize(
        "biases, param",
        [
            ({"AI": -100}, "logit_bias.AI"),
            ({"-1": 1}, "logit_bias.-1"),
            ({"05": 1}, "logit_bias.05"),
            ({"1.0": 1}, "logit_bias.1.0"),
            ({"": 1}, "logit_bias."),
            ({"2147483648": 1}, "logit_bias.2147483648"),
            ({"9" * 5000: 1}, "logit_bias." + "9" * 64),
            ({"٣": 1}, "logit_bias.\\u0663"),
            ({"5": math.inf}, "logit_bias.5"),
            ({"5": math.nan}, "logit_bias.5"),
            ({"5": "x"}, "logit_bias.5"),
            ({"5": True}, "logit_bias.5"),
            ({"5": None}, "logit_bias.5"),
            ([[5, 1]], "logit_bias"),
            ({str(token): 1 for token in range(4097)}, "logit_bias"),
        ],
        ids=range(15),
    )
    def test_what_is_no_bias_of_a_token_is_refused_where_it_stands(self, biases, param):
        assert refusal(logit_bias=biases) == param

    def test_a_bias_of_nothing_needs_no_token(self):
        """OpenAI's own SDK tests send such a key."""
        assert read(logit_bias={"foo": 0, "5": 0.0})[0].logit_bias == ()


class TestRepetition:
    def test_openais_peers_look_at_everything_and_llama_cpp_at_the_last_64_tokens(self):
        def seen(**body) -> tuple[float, int]:
            found = read(**body)[0]
            return found.repetition_penalty, found.repetition_window

        assert seen(repetition_penalty=1.2) == (1.2, -1)
        assert seen(repeat_penalty=1.2) == (1.2, 64)
        assert seen(repeat_penalty=1.2, repeat_last_n=0) == (1.2, 0)
        assert seen(repeat_penalty=1.2, repeat_last_n=-1) == (1.2, -1)
        assert seen(repetition_penalty=1.2, repeat_last_n=100) == (1.2, 100)

    def test_of_two_names_one_wins_and_the_other_is_listed(self):
        params, ignored = read(repetition_penalty=1.2, repeat_penalty=1.5)
        assert (params.repetition_penalty, params.repetition_window) == (1.2, -1)
        assert ignored == ("repeat_penalty",)

    @pytest.mark.parametrize("body", [{}, {"repetition_penalty": 1}, {"repeat_penalty": 1.0}])
    def test_without_a_penalty_its_window_is_listed_and_still_checked(self, body):
        assert read(**body, repeat_last_n=10) == (SamplingParams(), ("repeat_last_n",))
        assert refusal(**body, repeat_last_n="10") == "repeat_last_n"

    def test_an_error_names_the_penalty_as_the_client_did(self):
        def spelled(**body) -> str:
            return sampling_spelling(Form(body, SAMPLING, Place()))["repetition_penalty"]

        assert spelled(repeat_penalty=1.2) == "repeat_penalty"
        assert spelled(repetition_penalty=1.2) == "repetition_penalty"


class TestLlamaSamplers:
    def test_xtc_is_on_with_a_probability(self):
        assert read(xtc_probability=0.5)[0].xtc == Xtc(probability=0.5, threshold=0.1)
        assert read(xtc_probability=0.5, xtc_threshold=0.2)[0].xtc == Xtc(probability=0.5, threshold=0.2)
        assert read(xtc_probability=0, xtc_threshold=0.2) == (SamplingParams(), ("xtc_threshold",))

    def test_dry_is_on_with_a_multiplier_and_has_llama_cpps_defaults(self):
        on = Dry(multiplier=0.8, base=1.75, allowed_length=2, window=-1, breakers=("\n", ":", '"', "*"))
        assert read(dry_multiplier=0.8)[0].dry == on

    def test_every_part_of_dry_reaches_it(self):
        body = {"dry_base": 2, "dry_allowed_length": 3, "dry_penalty_last_n": 64, "dry_sequence_breakers": ["."]}
        expected = Dry(multiplier=1.0, base=2.0, allowed_length=3, window=64, breakers=(".",))
        assert read(dry_multiplier=1, **body) == (SamplingParams(dry=expected), ())
        assert read(**body) == (SamplingParams(), tuple(body))
