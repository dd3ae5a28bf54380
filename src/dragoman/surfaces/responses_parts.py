"""One piece of text inside an output item as it grows: output text, reasoning as it is, or its summary.

They have the same events under different names, in this order: the part is added, deltas, the text is done, the part is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.responses_events import ItemEvents


@dataclass(frozen=True, slots=True, kw_only=True)
class PartForm:
    """What a kind of part is called. ``part`` and ``text`` begin its events' names; ``index`` is the field that counts such parts.

    ``rows``: its tokens are described. ``tells_cut``: the event that ends it says so, if the budget did.
    """

    type: str
    part: str
    text: str
    index: str
    rows: bool = False
    tells_cut: bool = False


OUTPUT_TEXT: Final = PartForm(
    type="output_text", part="response.content_part", text="response.output_text", index="content_index", rows=True
)
REASONING_TEXT: Final = PartForm(
    type="reasoning_text", part="response.content_part", text="response.reasoning_text", index="content_index"
)
SUMMARY_TEXT: Final = PartForm(
    type="summary_text",
    part="response.reasoning_summary_part",
    text="response.reasoning_summary_text",
    index="summary_index",
    tells_cut=True,
)
"""``openai.types.responses.ResponseReasoningSummaryPartDoneEvent.status`` is where a cut is told."""


class StreamedPart:
    """The first part of its item, and the only one."""

    def __init__(self, form: PartForm, events: ItemEvents) -> None:
        self._form = form
        self._events = events
        self._place: dict[str, Json] = {form.index: 0}
        self._texts: list[str] = []
        self._rows: list[Json] = []
        self._begun = False
        self._deltas = events.deltas(f"{form.text}.delta", **self._place, **self._described([]))

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._texts)

    def begin(self) -> ServerEvent:
        """The part, which is empty."""
        self._begun = True
        return self._events.make(f"{self._form.part}.added", **self._place, part=self._object())

    def add(self, text: str, rows: list[Json] | None = None) -> ServerEvent:
        """More text; ``rows`` describe its tokens."""
        self._texts.append(text)
        if not rows:
            return self._deltas.make(text)
        self._rows += rows
        return self._events.make(f"{self._form.text}.delta", **self._place, delta=text, **self._described(rows))

    def finish(self, *, cut: bool) -> list[ServerEvent]:
        """The text, and the part. A text that was cut is done, too: it is what there is."""
        ending: dict[str, Json] = {"status": "incomplete"} if cut and self._form.tells_cut else {}
        return [
            self._events.make(f"{self._form.text}.done", **self._place, text=self.text, **self._described(self._rows)),
            self._events.make(f"{self._form.part}.done", **self._place, part=self._object(), **ending),
        ]

    def objects(self) -> list[Json]:
        """The parts that the item has now: this one, once it began."""
        return [self._object()] if self._begun else []

    def _object(self) -> JsonObject:
        if not self._form.rows:
            return {"type": self._form.type, "text": self.text}
        return {"type": self._form.type, "text": self.text, "annotations": [], "logprobs": list(self._rows)}

    def _described(self, rows: list[Json]) -> dict[str, Json]:
        return {"logprobs": rows} if self._form.rows else {}
