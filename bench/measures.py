"""From what the clients saw to the figures of a table. Pure arithmetic."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.streams import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One server under one load, over all rounds. Times are seconds; rates are tokens per second."""

    tokens_per_second: float
    first_token_p50: float
    first_token_p95: float
    between_p50: float
    between_p95: float
    prompt_tokens: float
    cached_share: float
    rounds: int


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the sample lies, linear between neighbours (Hyndman and Fan's type 7).

    Raises ``ValueError`` on an empty sample.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def throughput(streams: Sequence[Stream]) -> float:
    """Output tokens per second of clients that ran at once: from the first request to the last token."""
    started = min(stream.sent for stream in streams)
    ended = max(stream.arrivals[-1] for stream in streams)
    return sum(stream.output_tokens for stream in streams) / (ended - started)


def first_token(streams: Sequence[Stream]) -> float:
    """The median time to first token, in seconds."""
    return percentile((stream.time_to_first_token for stream in streams), 0.5)


def ratio(
    rounds: Sequence[tuple[Sequence[Stream], Sequence[Stream]]], figure: Callable[[Sequence[Stream]], float]
) -> float:
    """The median over rounds of our figure divided by theirs: a drift of the machine hits both sides of a round alike.

    Raises ``StatisticsError`` without any round.
    """
    return statistics.median(figure(ours) / figure(theirs) for ours, theirs in rounds)


def summarise(rounds: Sequence[Sequence[Stream]]) -> Summary:
    """The median of the rounds' throughput, and percentiles of the latencies of all rounds together."""
    streams = [stream for streams in rounds for stream in streams]
    first = [stream.time_to_first_token for stream in streams]
    between = [gap for stream in streams for gap in stream.gaps]
    prompt_tokens = sum(stream.prompt_tokens for stream in streams)
    return Summary(
        tokens_per_second=statistics.median(throughput(streams) for streams in rounds),
        first_token_p50=percentile(first, 0.50),
        first_token_p95=percentile(first, 0.95),
        between_p50=percentile(between, 0.50),
        between_p95=percentile(between, 0.95),
        prompt_tokens=prompt_tokens / len(streams),
        cached_share=sum(stream.cached_tokens for stream in streams) / prompt_tokens,
        rounds=len(rounds),
    )
