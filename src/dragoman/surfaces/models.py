"""The bodies of /v1/models: one object that OpenAI's, Anthropic's and TypeSafe's clients all read (S9, S10).

Keys from three contracts lie beside each other, since none of them forbids the others'.
"""

from __future__ import annotations

from datetime import UTC, datetime

from dragoman.core.json import Json, JsonObject
from dragoman.core.results import ModelCard


def model_list(cards: tuple[ModelCard, ...]) -> JsonObject:
    """Every served model. There is one page."""
    data: list[Json] = [model_object(card) for card in cards]
    return {
        "object": "list",
        "data": data,
        "first_id": cards[0].id if cards else None,
        "last_id": cards[-1].id if cards else None,
        "has_more": False,
        "models": [
            {"name": card.id, "description": card.description, "release_date": _created(card).date().isoformat()}
            for card in cards
        ],
    }


def model_object(card: ModelCard) -> JsonObject:
    """One served model."""
    return {
        "id": card.id,
        # OpenAI
        "object": "model",
        "created": card.created,
        "owned_by": "dragoman",
        # Anthropic
        "type": "model",
        "display_name": card.id,
        "created_at": _created(card).isoformat().replace("+00:00", "Z"),
        "lifecycle": "active",
        "max_input_tokens": card.context_length,
        # vLLM and others
        "root": card.id,
        "max_model_len": card.context_length,
        "context_length": card.context_length,
        "input_modalities": list(card.input_modalities),
    }


def _created(card: ModelCard) -> datetime:
    return datetime.fromtimestamp(card.created, UTC)
