"""docs/operations.md names every metric with its labels, and none that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dragoman.metrics import Metrics
from dragoman.scheduler.miss import Miss

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(dragoman_\w+)` \|([^|]*)\|", PAGE, re.MULTILINE))


def exposed() -> tuple[dict[str, set[str]], set[str]]:
    """The labels of each family, and the names of all series."""
    text, _ = Metrics(max_queue=8, model="small", surfaces=("chat",)).exposition()
    families: dict[str, set[str]] = {}
    series = set()
    for family in text_string_to_metric_families(text.decode()):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        families[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
        series |= {sample.name for sample in family.samples}
    return families, series


@pytest.mark.seeds("S149")
def test_the_table_has_every_metric_with_its_labels() -> None:
    families, _ = exposed()
    assert {name: set(filter(None, labels.strip().split(", "))) for name, labels in ROWS.items()} == families


def test_what_the_page_asks_prometheus_for_exists() -> None:
    families, series = exposed()
    assert set(re.findall(r"dragoman_\w+", PAGE)) <= series | set(families)


def test_every_reason_of_a_miss_is_explained() -> None:
    table = PAGE.partition("### Why a prompt was not cached")[2].partition("###")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {*Miss, "other"}
