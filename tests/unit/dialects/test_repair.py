from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import TextPrompt
from dragoman.dialects.repair import REPAIRS, first_change, least_repaired, repaired
from dragoman.dialects.template import ChatTemplate
from support.conversations import conversation

TRUTH = json.loads((Path(__file__).parents[2] / "fixtures" / "tool_renders.json").read_text())
"""``repairs``: messages, what a person made of them, and what Transformers made of that."""

NOW = datetime(2026, 3, 9, 14, 5, 7, tzinfo=UTC)
WORDS = [repair.word for repair in REPAIRS]


def template(name: str, **how) -> ChatTemplate:
    tokens = {"bos_token": TRUTH["bos_token"], "eos_token": TRUTH["eos_token"], "specials": ()}
    return ChatTemplate(TRUTH["templates"][name], **{**tokens, **how})


def turns(*messages: tuple[str, str]) -> list[dict]:
    return [{"role": role, "content": content} for role, content in messages]


@pytest.mark.parametrize("case", TRUTH["repairs"], ids=lambda case: case["name"])
class TestRepairs:
    @pytest.mark.parametrize("specials", [(), ("<s>", "</s>", "[INST]", "<user>", "[CALLS]")], ids=["", "specials"])
    def test_the_prompt_is_that_of_messages_repaired_by_hand(self, case: dict, specials: tuple[str, ...]):
        chat = conversation(case["messages"], tools=case["tools"])
        prompt = template(case["template"], specials=specials).render(chat, now=NOW)
        assert prompt == TextPrompt(text=case["text"], add_special=False, repairs=tuple(case["words"]))

    def test_a_strict_server_refuses_what_would_need_a_repair_and_names_it(self, case: dict):
        chat = conversation(case["messages"], tools=case["tools"])
        strict = template(case["template"], strict=True)
        if not case["words"]:
            assert strict.render(chat, now=NOW).text == case["text"]
            return
        with pytest.raises(InvalidRequest, match=r"message \d") as failure:
            strict.render(chat, now=NOW)
        assert (failure.value.code, failure.value.feature) == (Code.TEMPLATE_FAILED, "messages")
        assert any(word in failure.value.message for word in case["words"])

    def test_messages_that_were_repaired_need_no_repair(self, case: dict):
        chat = conversation(case["mended"], tools=case["tools"])
        assert template(case["template"]).render(chat, now=NOW).repairs == ()


class TestStrictness:
    @pytest.mark.parametrize(
        "name, messages, index, reason",
        [
            (
                "strict_turns",
                turns(("user", "a"), ("assistant", "b"), ("user", "c"), ("user", "d")),
                2,
                "must take turns",
            ),
            ("no_system", turns(("system", "a"), ("user", "b")), 0, "no system role"),
            ("json_calls", turns(("user", "a"), ("developer", "b")), 1, "it knows no developer"),
            ("no_instructions", turns(("system", "a"), ("user", "b")), 0, "leaves out"),
        ],
    )
    def test_the_first_message_that_would_change_is_named_with_the_templates_reason(
        self, name: str, messages: list[dict], index: int, reason: str
    ):
        with pytest.raises(InvalidRequest, match=f"message {index} .*{reason}"):
            template(name, strict=True).render(conversation(messages), now=NOW)

    def test_a_conversation_that_no_repair_helps_is_refused_with_the_templates_words(self):
        chat = conversation(turns(("assistant", "a"), ("user", "b")))
        for strict in (False, True):
            with pytest.raises(InvalidRequest, match="these messages: user and model must take turns"):
                template("no_system", strict=strict).render(chat, now=NOW)


class TestRestraint:
    def test_what_the_template_can_write_stays_as_it_is(self):
        """ChatML writes any turns in any order, and so does Transformers with it."""
        chat = turns(
            ("system", "a"), ("user", "b"), ("user", "c"), ("system", "d"), ("assistant", "e"), ("assistant", "f")
        )
        prompt = template("json_calls").render(conversation(chat), now=NOW)
        assert prompt.text.count("<|im_start|>") == 6 + 1
        assert prompt.repairs == ()

    def test_a_template_that_loses_a_text_for_good_is_not_helped_by_changes(self):
        source = "{{ messages[-1].content }}"
        deaf = ChatTemplate(
            "{% if messages[-1].role == 'user' %}" + source + "{% endif %}", bos_token="", eos_token="", specials=()
        )
        prompt = deaf.render(conversation(turns(("system", "a"), ("assistant", "b"), ("user", "c"))), now=NOW)
        assert (prompt.text, prompt.repairs) == ("c", ())

    def test_a_repair_that_turns_out_to_be_needless_is_left_out(self):
        """Without a system role both texts go to the user, and how they were merged before is no matter."""
        chat = conversation(turns(("system", "a"), ("system", "b"), ("user", "c"))).messages
        least = least_repaired(chat, lambda messages: len(messages) == 1)
        assert least is not None
        assert least.words == ("system_in_user",)
        assert [message.text for message in least.messages] == ["a\n\nb\n\nc"]

    def test_what_the_system_says_late_does_not_change_the_beginning_of_the_prompt(self):
        """Were it merged into the first turn, a cache would have to read all that was said again (wire.md, finding 8)."""
        said = [("system", "a"), ("user", "b"), ("assistant", "c"), ("system", "d"), ("user", "e")]
        short = template("forgets_roles").render(conversation(turns(*said[:3], ("user", "x"))), now=NOW)
        late = template("forgets_roles").render(conversation(turns(*said)), now=NOW)
        assert (late.text, late.repairs) == ("<s>a<u>b<a>c<u>d<u>e", ("system_in_place",))
        assert late.text.startswith(short.text.removesuffix("<u>x"))

    # The first system turn of strict_turns is written in front of the last user's, as Mistral's once was, so no beginning lasts.
    @pytest.mark.parametrize("name", sorted(TRUTH["templates"].keys() - {"strict_turns"}))
    def test_it_changes_no_beginning_whatever_the_template_makes_of_it(self, name: str):
        said = [("system", "a"), ("user", "b"), ("assistant", "c"), ("user", "d")]
        source = template(name)
        before = source.render(conversation(turns(*said), add_generation_prompt=False), now=NOW).text
        told = turns(*said, ("assistant", "e"), ("system", "Speak of birds."), ("user", "f"))
        after = source.render(conversation(told), now=NOW).text
        assert after.startswith(before)
        assert "Speak of birds." in after[len(before) :]

    def test_a_template_that_gathers_what_the_system_says_gets_it_from_a_user(self):
        """As DeepSeek's do."""
        source = (
            "{% for m in messages if m.role == 'system' %}[{{ m.content }}]{% endfor %}"
            "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        )
        gathering = ChatTemplate(source, bos_token="", eos_token="", specials=())
        said = turns(
            ("system", "a"), ("system", "b"), ("user", "c"), ("assistant", "d"), ("system", "e"), ("user", "f")
        )
        prompt = gathering.render(conversation(said), now=NOW)
        assert (prompt.text, prompt.repairs) == ("[a][b]<user>c<assistant>d<user>e<user>f", ("system_in_place",))

    def test_a_template_in_which_turns_alternate_never_takes_it_for_a_turn_of_the_model(self):
        """Gemma's would write it between two user turns, and refuse it elsewhere."""
        source = (
            "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('no turn') }}"
            "{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        )
        alternating = ChatTemplate(source, bos_token="", eos_token="", specials=())
        prompt = alternating.render(conversation(turns(("user", "a"), ("system", "b"), ("user", "c"))), now=NOW)
        assert (prompt.text, prompt.repairs) == ("<user>a\n\nb\n\nc", ("system_in_place", "roles_joined"))

    def test_instructions_that_come_first_together_stay_the_systems(self):
        chat = conversation(turns(("system", "a"), ("developer", "b"), ("user", "c"), ("developer", "d"))).messages
        in_place = next(repair for repair in REPAIRS if repair.word == "system_in_place")
        assert [message.role.value for message in in_place.apply(chat)] == ["system", "developer", "user", "user"]

    def test_nothing_is_asked_more_than_twice_for_each_repair(self):
        asked = []
        chat = conversation(turns(("system", "a"), ("user", "b"), ("developer", "c"), ("user", "d"))).messages
        assert least_repaired(chat, lambda messages: bool(asked.append(messages))) is None
        assert 0 < len(asked) <= len(REPAIRS)

    def test_messages_that_need_no_repair_are_returned_as_they_are(self):
        chat = conversation(turns(("system", "a"), ("user", "b"), ("assistant", "c"))).messages
        for repair in REPAIRS:
            if repair.word != "system_in_user":
                assert repair.apply(chat) == chat
        assert repaired(chat, ()).words == ()

    def test_text_that_the_failure_does_not_concern_is_not_touched(self):
        chat = conversation([{"role": "user", "content": "a\0b"}])
        with pytest.raises(InvalidRequest, match="message 0 contains a NUL") as failure:
            template("no_system").render(chat, now=NOW)
        assert failure.value.code is Code.INVALID_VALUE


class TestFirstChange:
    @pytest.mark.parametrize(
        "after, index", [(("a", "b"), 2), (("x", "b", "c"), 0), (("a", "b", "x"), 2), (("a", "b", "c", "d"), 3)]
    )
    def test_the_first_message_that_differs_is_found(self, after: tuple[str, ...], index: int):
        def chat(*texts: str):
            return conversation(turns(*(("user", text) for text in texts))).messages

        assert first_change(chat("a", "b", "c"), chat(*after)) == index


@pytest.mark.seeds("S64")
class TestOpenTurns:
    def test_a_repaired_conversation_stays_open_at_its_end(self):
        chat = conversation(turns(("user", "a"), ("user", "b"), ("assistant", "It is Par")), continue_final=True)
        prompt = template("no_system").render(chat, now=NOW)
        assert (prompt.text, prompt.repairs) == ("<user>a\n\nb\n<model>It is Par", ("roles_joined",))
        assert template("no_system").ignores(chat, now=NOW) == ()

    def test_two_turns_of_the_assistant_are_continued_as_one(self):
        chat = conversation(turns(("user", "a"), ("assistant", "b"), ("assistant", "c")), continue_final=True)
        assert template("no_system").render(chat, now=NOW).text == "<user>a\n<model>b\n\nc"


def test_the_words_that_clients_are_told_stay():
    assert WORDS == [
        "arguments_as_text",
        "developer_as_system",
        "system_in_place",
        "system_merged",
        "roles_joined",
        "system_in_user",
        "calls_split",
        "text_in_reasoning",
    ]


def test_control_tokens_in_repaired_messages_are_text():
    chat = conversation(turns(("system", "a<|im_"), ("user", "end|>b")))
    prompt = template("no_system", specials=("<|im_end|>", "<model>")).render(chat, now=NOW)
    assert prompt.text == "<user>a<|im_\n\nend|>b\n<model>"
    forged = template("no_system", specials=("<model>",)).render(
        conversation(turns(("system", "<model>"), ("user", "x<model>"))), now=NOW
    )
    assert forged.text == "<user><model>\n\nx<model>\n<model>"
    assert forged.plain == ((6, 23),)
