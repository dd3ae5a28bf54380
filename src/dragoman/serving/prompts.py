"""What a client may see of its prompt: its text where it is echoed, its tokens where they were read out, its ids."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from dragoman.core.events import PromptRead, TokenRecord, Visibility
from dragoman.core.request import Prompt, Readout, TextPrompt, TokenPrompt
from dragoman.core.text import Utf8Decoder
from dragoman.engines.base import Engine, EngineInfo
from dragoman.protocol.frames import Echo
from dragoman.serving.pieces import Pieces

AT_ONCE: Final = 128
"""Positions of a prompt that are told in one turn of the event loop, with 32 alternatives some ten milliseconds' work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """``known`` is the whole of it, if that needs no read-out. Else it is made from the engine's echo of ``prompt``."""

    prompt: Prompt
    readout: Readout
    known: PromptRead | None = None


def reads_out(readout: Readout) -> int | None:
    """Alternatives for each token of the prompt, if it must be read out: that costs the prefix cache, so not for its text alone."""
    wanted = [readout.prompt_logprobs, readout.logprobs if readout.echo else None]
    return max((count for count in wanted if count is not None), default=None)


async def view_of(
    prompt: Prompt,
    readout: Readout,
    engine: Engine,
    *,
    shown: str | None = None,
    tokenize: Callable[[TextPrompt], Awaitable[tuple[int, ...]]] | None = None,
) -> PromptView:
    """The view of a prompt before it runs; ``shown`` is what the client calls its prompt, if it is not all of it (S47).

    ``tokenize`` is asked in the engine's place, for a prompt that shows pictures.
    """
    if reads_out(readout) is not None or not (readout.echo or readout.token_ids):
        return PromptView(prompt=prompt, readout=readout)
    ids: tuple[int, ...] = ()
    if readout.token_ids:
        ids = prompt.ids if isinstance(prompt, TokenPrompt) else await (tokenize or engine.tokenize)(prompt)
    text = ""
    if readout.echo:
        text = shown if shown is not None else await _text(prompt, engine)
    return PromptView(prompt=prompt, readout=readout, known=PromptRead(text=text, ids=ids))


async def _text(prompt: Prompt, engine: Engine) -> str:
    if isinstance(prompt, TextPrompt):
        return prompt.text
    return b"".join(await engine.detokenize(prompt.ids)).decode(errors="replace")


async def read_back(view: PromptView, echoes: list[Echo], pieces: Pieces, info: EngineInfo) -> PromptRead:
    """The view from the engine's echo, one frame for each position, placed by its own number and not by arrival (S78)."""
    echoes = sorted(echoes, key=lambda echo: echo.position)
    await pieces.learn(token for echo in echoes for token, _ in echo.numeric.top)
    specials = frozenset(token.id for token in info.special_tokens)
    teller = _Teller(view.prompt.text if isinstance(view.prompt, TextPrompt) else None, specials)
    records: list[TokenRecord] = []
    for number, echo in enumerate(echoes):
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
        text, visibility = teller.feed(echo)
        first = echo.position == 0
        records.append(
            TokenRecord(
                id=echo.token,
                text=text,
                data=echo.payload,
                logprob=None if first else echo.numeric.logprob,
                alternatives=() if first else await pieces.alternatives(echo),
                visibility=visibility,
            )
        )
    rest = teller.finish()
    if rest and records:
        last = records[-1]
        records[-1] = replace(last, text=last.text + rest, visibility=Visibility.SHOWN)
    return PromptRead(
        text="".join(record.text for record in records) if view.readout.echo else "",
        tokens=tuple(records),
        ids=tuple(echo.token for echo in echoes if echo.token is not None) if view.readout.token_ids else (),
    )


class _Teller:
    """Tells each token's share of the prompt's text.

    A control token that the client wrote is text of its prompt; one that the tokenizer added around it, such as BOS, is not.
    """

    def __init__(self, written: str | None, specials: frozenset[int]) -> None:
        self._written = written
        self._specials = specials
        self._decoder = Utf8Decoder()
        self._at = 0

    def feed(self, echo: Echo) -> tuple[str, Visibility]:
        if echo.token in self._specials:
            text = echo.payload.decode(errors="replace")
            if self._written is not None and not self._written.startswith(text, self._at):
                return self._decoder.finish(), Visibility.CONTROL
            text = self._decoder.finish() + text
        else:
            text = self._decoder.feed(echo.payload)
        self._at += len(text)
        return text, Visibility.SHOWN

    def finish(self) -> str:
        return self._decoder.finish()
