"""An exposition as numbers, read by the parser of Prometheus' own client library and not by what wrote it."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from dragoman.metrics import Metrics


def numbers(metrics: Metrics) -> dict[str, float]:
    """Each series under its name without our prefix, such as ``cancellations_total{phase=queue}``."""
    text, _ = metrics.exposition()
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            name = sample.name.removeprefix("dragoman_") + (f"{{{labels}}}" if labels else "")
            assert name not in found, f"{name} is there twice"
            found[name] = sample.value
    return found


def moved(metrics: Metrics, before: dict[str, float]) -> dict[str, float]:
    """What has another value now; the buckets and counts of histograms left out."""
    return {
        name: value
        for name, value in numbers(metrics).items()
        if value != before.get(name) and "_bucket" not in name and "_count" not in name
    }


def bounds(metrics: Metrics, histogram: str) -> list[float]:
    """The upper bounds of a histogram's buckets."""
    found = numbers(metrics)
    buckets = [name for name in found if name.startswith(f"{histogram}_bucket{{")]
    return [float(name.partition("le=")[2].partition(",")[0].rstrip("}")) for name in buckets]
