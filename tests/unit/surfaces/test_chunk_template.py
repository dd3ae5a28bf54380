from __future__ import annotations

import msgspec
import pytest

from dragoman.surfaces.chunk_template import ChunkTemplate

HOSTILE = 'a "quote", a \\, a line\nbreak, \0, ünïcode'


@pytest.mark.parametrize("text", ["", HOSTILE])
def test_a_filled_chunk_is_the_chunk_with_the_text(text):
    template = ChunkTemplate({"model": "\0", "first": ChunkTemplate.HOLE, "second": [ChunkTemplate.HOLE]}, holes=2)
    assert msgspec.json.decode(template.fill(text).data) == {"model": "\0", "first": text, "second": [text]}


def test_an_event_has_the_name_that_its_template_has():
    assert (
        ChunkTemplate({"t": ChunkTemplate.HOLE}, event="grown").fill("x").encode()
        == b'event: grown\ndata: {"t":"x"}\n\n'
    )
    assert ChunkTemplate({"t": ChunkTemplate.HOLE}).fill("x").encode() == b'data: {"t":"x"}\n\n'
