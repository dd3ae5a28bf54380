"""A Responses body that is well-formed by itself, and what it becomes with the items that came before it.

Tools may stand in items, and names in the choice of tools mean what all of them say. So messages and tools are worked out last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import JsonObject
from dragoman.core.request import Conversation, Message, Role, TextPart, Thinking, ToolChoice, ToolMode
from dragoman.surfaces.images import check_images
from dragoman.surfaces.readers import Place
from dragoman.surfaces.responses_call import ResponsesCall
from dragoman.surfaces.responses_entries import Entry, Item, Offered, Referred
from dragoman.surfaces.responses_items import read_item
from dragoman.surfaces.responses_tool_choice import Wish, choice_of
from dragoman.surfaces.responses_tools import Definition, Offer, offer_of
from dragoman.surfaces.responses_transcript import messages_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a body says of its prompt. ``at`` is its root, which also gathers what has no effect.

    ``of_calls`` are fields that the body has and that mean nothing where no call can come.
    """

    items: tuple[Item, ...] = ()
    instructions: str | None = None
    definitions: tuple[Definition, ...] = ()
    wish: Wish = field(default_factory=Wish)
    parallel: bool = True
    of_calls: tuple[str, ...] = ()
    thinking: Thinking = field(default_factory=Thinking)
    template_args: JsonObject = field(default_factory=dict)
    may_be_empty: bool = False
    at: Place = field(default_factory=Place, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A ``ResponsesRequest``. ``call`` is the call but for its prompt, its tools and its items."""

    call: ResponsesCall
    asked: Asked
    mint: Callable[[], str] = field(compare=False, repr=False)
    store: bool = True
    background: bool = False
    generate: bool = True
    previous: str | None = None
    conversation: str | None = None

    @property
    def stream(self) -> bool:
        """Events in the place of one object."""
        return self.call.stream

    @property
    def references(self) -> tuple[str, ...]:
        """Ids of items that the input speaks of without having them."""
        return tuple(entry.id for item in self.asked.items for entry in item.entries if isinstance(entry, Referred))

    @property
    def input(self) -> tuple[JsonObject, ...]:
        """The new items, each with an id, references not yet replaced."""
        return tuple(item.kept for item in self.asked.items)

    def resolve(
        self, history: Sequence[JsonObject] = (), referred: Mapping[str, JsonObject] | None = None
    ) -> ResponsesCall:
        """The call, with the items that came before and those that were referred to, by their ids.

        Raises ``InvalidRequest`` naming the field: for an item that is missing, an output without its call, a tool that is none.
        """
        asked = self.asked
        before = self._read(history)
        items = tuple(self._found(item, referred or {}) for item in asked.items)
        entries = [entry for item in (*before, *items) for entry in item.entries]
        offer, choice = self._offer(entries)
        prompt = Conversation(
            messages=self._messages(entries, offer),
            tools=() if self._barred else offer.specs,
            tool_choice=choice,
            thinking=asked.thinking,
            template_args=asked.template_args,
        )
        return replace(
            self.call,
            operation=replace(
                self.call.operation,
                prompt=prompt,
                strict_tool_calls=self.call.operation.strict_tool_calls and bool(prompt.tools),
            ),
            named_call=asked.wish.one,
            tools=offer.tools,
            input=tuple(item.kept for item in items),
            history=tuple(history),
            ignored=tuple(asked.at.ignored),
        )

    @property
    def _barred(self) -> bool:
        """No call may come, so no tool is shown."""
        return self.asked.wish.mode is ToolMode.NONE

    def _read(self, history: Sequence[JsonObject]) -> tuple[Item, ...]:
        # They were read once, and what had no effect was told then: so they have a record of their own.
        place = Place().child("previous_response_id" if self.conversation is None else "conversation")
        return tuple(read_item(item, place.child(index), self.mint) for index, item in enumerate(history))

    def _found(self, item: Item, referred: Mapping[str, JsonObject]) -> Item:
        match item.entries:
            case (Referred(id=id, place=place),):
                known = referred.get(id)
                if known is None:
                    raise InvalidRequest(
                        f"{place.path} names an item that is not known here", code=Code.ITEM_NOT_FOUND, param=place.path
                    )
                return read_item(known, Place().inside(*place.path.split(".")[:-1]), self.mint)
            case _:
                return item

    def _offer(self, entries: Sequence[Entry]) -> tuple[Offer, ToolChoice]:
        asked, at = self.asked, self.asked.at
        added = [tool for entry in entries if isinstance(entry, Offered) for tool in entry.tools]
        offer = offer_of((*asked.definitions, *added))
        if self._barred or not offer.specs:
            for name in (*asked.of_calls, *(["tools"] if offer.specs else ())):
                at.child(name).ignore()
        if self._barred:
            return offer, ToolChoice()
        return offer, choice_of(asked.wish, offer, at.child("tool_choice"), parallel=asked.parallel)

    def _messages(self, entries: Sequence[Entry], offer: Offer) -> tuple[Message, ...]:
        messages = messages_of(entries, offer)
        place = self.asked.at.child("input")
        check_images(messages, place)
        if self.asked.instructions is not None:
            instructions = Message(role=Role.SYSTEM, parts=(TextPart(text=self.asked.instructions),))
            messages = (instructions, *messages)
        if not messages and not self.asked.may_be_empty:
            raise place.wrong(f"{place.path} holds nothing that could be answered")
        return messages
