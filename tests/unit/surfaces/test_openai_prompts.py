"""Forms, batches and their caps: S48 and S90 to S102."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import FillIn, PromptBatch, TextPrompt, TokenPrompt
from dragoman.surfaces.openai_completions import Completions

COMPLETIONS = Completions()


def parsed(prompt, **body):
    return COMPLETIONS.parse({"prompt": prompt} | body).operation.prompt


def refusal(prompt, **body) -> tuple[str | None, Code]:
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse({"prompt": prompt} | body)
    return caught.value.param, caught.value.code


class TestForms:
    @pytest.mark.seeds("S90", "S91")
    @pytest.mark.parametrize(
        "prompt, found",
        [
            ("", TextPrompt(text="")),
            ("a <|im_end|>", TextPrompt(text="a <|im_end|>")),
            (["a"], TextPrompt(text="a")),
            ([1, 2, 3], TokenPrompt(ids=(1, 2, 3))),
            ([0], TokenPrompt(ids=(0,))),
            ([[1, 2]], TokenPrompt(ids=(1, 2))),
            (["a", "b"], PromptBatch(prompts=(TextPrompt(text="a"), TextPrompt(text="b")))),
            ([[1, 2], [3]], PromptBatch(prompts=(TokenPrompt(ids=(1, 2)), TokenPrompt(ids=(3,))))),
        ],
    )
    def test_a_prompt_has_four_forms_and_a_batch_of_one_is_that_one(self, prompt, found):
        assert parsed(prompt) == found

    @pytest.mark.seeds("S91")
    @pytest.mark.parametrize("flat, nested", [("a", ["a"]), ([1, 2], [[1, 2]])])
    def test_a_batch_of_one_is_in_no_way_different(self, flat, nested):
        options = {"n": 2, "best_of": 3, "logprobs": 1, "max_tokens": 70_000, "echo": True}
        whole = COMPLETIONS.parse({"prompt": flat} | options)
        assert COMPLETIONS.parse({"prompt": nested} | options) == whole
        assert COMPLETIONS.parse({"prompt": nested, "stream": True}) == COMPLETIONS.parse(
            {"prompt": flat, "stream": True}
        )

    @pytest.mark.seeds("S92")
    @pytest.mark.parametrize(
        "prompt",
        [
            [],
            [[]],
            [1, "a"],
            ["a", 1],
            [[1], "a"],
            ["a", [1]],
            [True],
            [-1],
            [1.0],
            [2**31],
            [["a"]],
            [[True]],
            {},
            5,
            [None],
            True,
        ],
    )
    def test_a_fault_of_shape_is_named_prompt(self, prompt):
        assert refusal(prompt) == ("prompt", Code.INVALID_VALUE)

    @pytest.mark.seeds("S94")
    @pytest.mark.parametrize(
        "prompt, member",
        [
            ([[1], []], "prompt[1]"),
            ([[], [1]], "prompt[0]"),
            ([[1], [2], [True]], "prompt[2]"),
            ([[1], [-1]], "prompt[1]"),
            ([[1], [[2]]], "prompt[1]"),
            ([[1], [2**31]], "prompt[1]"),
            ([["a"], [1]], "prompt[0]"),
            (["a", "b\0"], "prompt[1]"),
            (["\ud800", "b"], "prompt[0]"),
        ],
    )
    def test_a_fault_of_one_member_names_it(self, prompt, member):
        assert refusal(prompt) == (member, Code.INVALID_VALUE)

    @pytest.mark.parametrize("body", [{}, {"prompt": None}])
    def test_a_prompt_is_required(self, body):
        with pytest.raises(InvalidRequest) as caught:
            COMPLETIONS.parse(body)
        assert (caught.value.param, caught.value.code) == ("prompt", Code.MISSING_FIELD)

    @pytest.mark.parametrize("prompt", ["a\0b", ["a\0b"], "\ud800", ["\udc00"]])
    def test_a_prompt_that_is_no_text_is_refused(self, prompt):
        assert refusal(prompt) == ("prompt", Code.INVALID_VALUE)


OFF = {"parse_special": False, "add_special_tokens": False}


class TestSpecialTokens:
    def test_they_can_be_turned_off_for_every_text(self):
        plain = TextPrompt(text="a", parse_special=False, add_special=False)
        assert parsed("a", **OFF) == plain
        assert parsed(["a", "a"], **OFF) == PromptBatch(prompts=(plain, plain))
        assert parsed("a", suffix="b", **OFF) == FillIn(before=plain, after="b")

    @pytest.mark.parametrize("prompt", [[1], [[1], [2]]])
    def test_ids_hold_no_text_so_the_choice_is_listed(self, prompt):
        call = COMPLETIONS.parse({"prompt": prompt} | OFF)
        assert call.ignored == ("parse_special", "add_special_tokens")


class TestSuffix:
    @pytest.mark.seeds("S48")
    @pytest.mark.parametrize("prompt", ["def f(a, b):\n", ["def f(a, b):\n"]])
    def test_text_on_both_sides_leaves_a_gap(self, prompt):
        assert parsed(prompt, suffix="\n# end") == FillIn(before=TextPrompt(text="def f(a, b):\n"), after="\n# end")

    @pytest.mark.parametrize("prompt", ["a", [1], ["a", "b"]])
    @pytest.mark.parametrize("suffix", ["", None])
    def test_nothing_behind_it_is_no_gap(self, prompt, suffix):
        assert parsed(prompt, suffix=suffix) == parsed(prompt)

    @pytest.mark.seeds("S48")
    @pytest.mark.parametrize("prompt", [[1, 2], [[1, 2]], ["a", "b"], [[1], [2]]])
    def test_only_one_text_can_have_a_gap(self, prompt):
        assert refusal(prompt, suffix="x") == ("suffix", Code.UNSUPPORTED_VALUE)

    @pytest.mark.parametrize("suffix", [5, "\ud800", "a\0", ["x"]])
    def test_it_is_text(self, suffix):
        assert refusal("a", suffix=suffix)[1] is Code.INVALID_VALUE


class TestBatches:
    @pytest.mark.seeds("S102")
    @pytest.mark.parametrize("field, value", [("stream", True), ("n", 2), ("best_of", 2)])
    def test_a_batch_has_one_whole_answer_for_each_member(self, field, value):
        assert refusal(["a", "b"], **{field: value}) == (field, Code.UNSUPPORTED_VALUE)

    @pytest.mark.seeds("S102")
    def test_a_batch_may_say_so(self):
        plain = COMPLETIONS.parse({"prompt": ["a", "b"]})
        assert COMPLETIONS.parse({"prompt": ["a", "b"], "stream": False, "n": 1, "best_of": 1}) == plain

    @pytest.mark.seeds("S99")
    def test_a_batch_has_128_members_at_most(self):
        assert len(parsed(["a"] * 128).prompts) == 128
        assert refusal(["a"] * 129) == ("prompt", Code.BATCH_TOO_LONG)
        assert Code.BATCH_TOO_LONG == "prompt_batch_cap_exceeded"

    @pytest.mark.seeds("S99")
    @pytest.mark.parametrize(
        "fits, too_much",
        [
            ([[7] * 65_535, [7]], [[7] * 65_535, [7, 7]]),
            (["x" * 65_535, "x"], ["x" * 65_535, "xx"]),
            # two bytes of UTF-8 each
            (["é" * 32_767, "é"], ["é" * 32_767, "éx"]),
        ],
        ids=["ids", "text", "bytes"],
    )
    def test_the_members_have_65536_tokens_or_bytes_at_most(self, fits, too_much):
        assert len(parsed(fits).prompts) == 2
        assert refusal(too_much) == ("prompt", Code.BATCH_PROMPT_TOKENS)
        assert Code.BATCH_PROMPT_TOKENS == "prompt_batch_token_budget_exceeded"

    @pytest.mark.seeds("S99", "S100")
    def test_the_members_may_generate_65536_tokens_between_them(self):
        assert len(parsed(["a"] * 64, max_tokens=1024).prompts) == 64
        assert refusal(["a"] * 65, max_tokens=1024) == ("max_tokens", Code.BATCH_COMPLETION_TOKENS)
        assert Code.BATCH_COMPLETION_TOKENS == "batch_completion_budget_exceeded"
        assert len(parsed(["a"] * 128).prompts) == 128  # 16 each, where nothing is said

    @pytest.mark.seeds("S91", "S99")
    @pytest.mark.parametrize("prompt", [["x" * 65_537], [[7] * 65_537], "x" * 65_537])
    def test_one_prompt_is_exempt_from_both_budgets(self, prompt):
        COMPLETIONS.parse({"prompt": prompt, "max_tokens": 65_537})

    @pytest.mark.seeds("S101")
    @pytest.mark.parametrize("option", [{"n": 0}, {"n": 2}, {"temperature": 9}, {"logprobs": 99}, {"max_tokens": -1}])
    @pytest.mark.parametrize("prompt", [[[1], []], ["a", 1], ["a"] * 129])
    def test_the_options_of_a_batch_are_checked_before_its_members(self, prompt, option):
        (name,) = option
        assert refusal(prompt, **option)[0] == name

    @pytest.mark.seeds("S101")
    def test_what_a_batch_may_generate_is_checked_after_its_members(self):
        assert refusal([[1]] * 99 + [[]], max_tokens=1024)[0] == "prompt[99]"

    @pytest.mark.seeds("S101")
    @pytest.mark.parametrize("prompt", [[], [1.0], [[]], 5])
    def test_a_single_prompt_is_checked_before_the_options(self, prompt):
        assert refusal(prompt, n=0, temperature=9) == ("prompt", Code.INVALID_VALUE)
