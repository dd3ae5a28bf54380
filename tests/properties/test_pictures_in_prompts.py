"""Wherever pictures stand among whatever text, the prompt is the text's own, and each picture stands where it was put."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.request import Conversation, ImagePart, Message, Role, TextPart, TextPrompt
from dragoman.dialects.template import ChatTemplate

SPECIALS = ("<|im_start|>", "<|im_end|>", "<think>")
CHATML = ChatTemplate(
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant",
    bos_token="",
    eos_token="",
    specials=SPECIALS,
)
NOW = datetime(2026, 3, 9, tzinfo=UTC)

pictures = st.builds(ImagePart, data=st.binary(max_size=2), media_type=st.sampled_from(["image/png", "image/jpeg"]))
pieces = st.sampled_from(
    ["<|im_", "end|>", "<|im_end|>", "<think>", "\U00020000", "\U00020001", "a", " ", "\n", "é", ""]
)
texts = st.builds(
    TextPart,
    text=st.one_of(pieces, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)),
)
turns = st.lists(st.lists(st.one_of(pictures, texts), max_size=8).map(tuple), min_size=1, max_size=3)


def conversation(shown: list[tuple[TextPart | ImagePart, ...]]) -> Conversation:
    roles = (Role.USER, Role.ASSISTANT)
    return Conversation(
        messages=tuple(Message(role=roles[index % 2], parts=parts) for index, parts in enumerate(shown))
    )


def plain(prompt: TextPrompt) -> set[int]:
    return {place for start, end in prompt.plain for place in range(start, end)}


@given(turns)
def test_the_text_is_as_without_pictures_and_each_stands_in_its_place(shown):
    prompt = CHATML.render(conversation(shown), now=NOW)
    read: list[str | ImagePart] = [""]
    for index, parts in enumerate(shown):
        read[-1] += f"<|im_start|>{('user', 'assistant')[index % 2]}\n"
        for part in parts:
            if isinstance(part, TextPart):
                read[-1] += part.text
            else:
                read += [part, ""]
        read[-1] += "<|im_end|>\n"
    read[-1] += "<|im_start|>assistant"
    assert prompt.text == "".join(read[::2])
    places = [0, *(place for place, _ in prompt.images), len(prompt.text)]
    assert [prompt.text[start:end] for start, end in pairwise(places)] == read[::2]
    assert [picture for _, picture in prompt.images] == read[1::2]


@given(turns)
def test_every_control_token_that_a_client_spelled_between_two_pictures_is_plain(shown):
    prompt = CHATML.render(conversation(shown), now=NOW)
    covered = plain(prompt)
    places = [0, *(place for place, _ in prompt.images), len(prompt.text)]
    open_tokens = 0
    for start, end in pairwise(places):
        for special in SPECIALS:
            at = prompt.text.find(special, start, end)
            while at >= 0:
                open_tokens += covered.isdisjoint(range(at, at + len(special)))
                at = prompt.text.find(special, at + 1, end)
    assert open_tokens == 2 * len(shown) + 1, "those that the template writes"
