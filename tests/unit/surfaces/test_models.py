from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from openai.types import Model
from pydantic import TypeAdapter

from dragoman.core.results import ModelCard
from dragoman.surfaces.models import model_list, model_object

CARD = ModelCard(id="smollm2", created=1_764_489_600, context_length=8192, description="A small model")


@pytest.mark.seeds("S9")
def test_a_model_is_openais_object():
    model = TypeAdapter(Model).validate_python(model_object(CARD), strict=True)
    assert (model.id, model.created, model.owned_by) == ("smollm2", 1_764_489_600, "dragoman")


@pytest.mark.seeds("S10")
def test_a_model_says_how_much_it_can_hold():
    card = model_object(CARD)
    assert (card["max_model_len"], card["context_length"], card["root"]) == (8192, 8192, "smollm2")


def test_a_model_has_what_anthropics_sdk_requires():
    card = model_object(CARD)
    assert (card["type"], card["display_name"], card["lifecycle"]) == ("model", "smollm2", "active")
    assert card["created_at"] == "2025-11-30T08:00:00Z"
    assert datetime.fromisoformat(card["created_at"]).timestamp() == CARD.created


def test_the_list_is_one_page_for_three_clients():
    listed = model_list((CARD,))
    assert listed == {
        "object": "list",
        "data": [model_object(CARD)],
        "first_id": "smollm2",
        "last_id": "smollm2",
        "has_more": False,
        "models": [{"name": "smollm2", "description": "A small model", "release_date": "2025-11-30"}],
    }


def test_an_empty_list_has_no_ends():
    listed = model_list(())
    assert (listed["data"], listed["first_id"], listed["last_id"]) == ([], None, None)


@pytest.mark.seeds("S9", "S10")
def test_a_model_says_what_it_reads():
    assert model_object(CARD)["input_modalities"] == ["text"]
    assert model_object(replace(CARD, input_modalities=("text", "image")))["input_modalities"] == ["text", "image"]
