"""OLMoE, which knows turns and nothing else: no tools (S120), and no reasoning.

    |||IP_ADDRESS|||<|user|>
    How will it be?
    <|assistant|>

The roles are plain text, and one token both begins the prompt and ends a turn.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.family import build_family
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Table
from dragoman.dialects.toolless import ToollessDialect

SYNTAX: Final = Syntax(table=Table(prose({}, think=None)), think=None)


def build(traits: ModelTraits) -> ToollessDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="olmoe", dialect=ToollessDialect)
