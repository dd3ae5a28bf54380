"""Why a schema can not be enforced, and where in it."""

from __future__ import annotations

from dragoman.core.json_schema.pointer import Path


class SchemaFault(Exception):
    """``path`` leads from the schema's root to what is wrong.

    ``malformed``: that is no schema at all, or no reasonable one. Else it is one, and no grammar can hold an answer to it.
    """

    def __init__(self, message: str, path: Path, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.malformed = malformed
