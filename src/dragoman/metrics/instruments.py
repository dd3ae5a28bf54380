"""Makes gauges, counters and histograms under our prefix, in a registry of their own, and writes them as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

PREFIX: Final = "dragoman_"


class Instruments:
    """One server's numbers: two servers in one process share none. Everything starts at zero with the process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)

    def gauge(self, name: str, documentation: str, *, labels: Sequence[str] = ()) -> Gauge:
        """A value that goes up and down."""
        return Gauge(PREFIX + name, documentation, labels, registry=self.registry)

    def counter(self, name: str, documentation: str, *, labels: Sequence[str] = ()) -> Counter:
        """A count; ``_total`` is added to its name."""
        return Counter(f"{PREFIX}{name}_total", documentation, labels, registry=self.registry)

    def histogram(
        self, name: str, documentation: str, *, buckets: Sequence[float], labels: Sequence[str] = ()
    ) -> Histogram:
        """A distribution over ``buckets``, upper bounds to which +Inf is added."""
        return Histogram(PREFIX + name, documentation, labels, buckets=buckets, registry=self.registry)

    def exposition(self) -> tuple[bytes, str]:
        """The text of all numbers, and its content type: format 0.0.4."""
        return generate_latest(self), CONTENT_TYPE_PLAIN_0_0_4

    def collect(self) -> Iterator[Metric]:
        """The families as this format knows them.

        Times of creation belong to OpenMetrics; here they would be a gauge beside every counter, a third of the text.
        """
        for family in self.registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
