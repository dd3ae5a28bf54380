"""ChatML, the turn syntax that most small open models share.

    <|im_start|>user
    Hello<|im_end|>
    <|im_start|>assistant

Both markers are control tokens. A turn ends when the engine samples a real ``<|im_end|>``, which it knows by its id; the same
characters written as plain tokens are text. So there are no stop texts here.
"""

from __future__ import annotations

from dataclasses import replace

from dragoman.dialects import generic
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.generic import GenericDialect

BARE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The syntax and nothing else, for a model that brings no template but is said to speak ChatML."""


def build(traits: ModelTraits) -> GenericDialect:
    """The model's own template where it has one, since families differ in their default system turn and their tools."""
    return generic.build(replace(traits, template=traits.template or BARE), name="chatml")
