"""Whatever a schema's grammar lets through, the schema allows: validated by another implementation, over random schemas."""

from __future__ import annotations

import json
from random import Random

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.grammar import grammar_of
from dragoman.core.request import JsonFormat
from support.grammars import random_sentence
from support.schemas import random_schema


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_every_sentence_of_a_schema_s_grammar_is_valid(schema_seed: int, sentence_seed: int):
    schema = random_schema(schema_seed)
    sentence = random_sentence(grammar_of(JsonFormat(schema=schema)), Random(sentence_seed), at_most=400)
    if sentence is not None:  # else it did not come to an end
        jsonschema_rs.validator_for(schema, validate_formats=True).validate(json.loads(sentence))
