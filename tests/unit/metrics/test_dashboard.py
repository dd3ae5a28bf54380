"""The Grafana dashboard asks for nothing that the server does not expose, and shows what an operator looks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dragoman.metrics import Metrics

ROOT = Path(__file__).parents[3]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "dashboards" / "grafana.json").read_text(encoding="utf-8"))
PANELS: dict[str, dict[str, Any]] = {panel["title"]: panel for panel in DASHBOARD["panels"] if panel["type"] != "row"}

ADDED_BY_PROMETHEUS = {"instance", "job", "le"}
SELECTOR = re.compile(r"(?P<name>dragoman_\w+)(?:\{(?P<matchers>[^}]*)\})?(?P<range>\[\S+?\])?")


def exposed() -> dict[str, tuple[str, set[str]]]:
    """Each name of the exposition with its family's type and the labels that its series carry."""
    text, _ = Metrics(max_queue=8, model="small", surfaces=("chat",)).exposition()
    found: dict[str, tuple[str, set[str]]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found[sample.name] = (family.type, set(sample.labels) | ADDED_BY_PROMETHEUS)
    return found


def queries() -> Iterator[str]:
    for panel in PANELS.values():
        yield from (target["expr"] for target in panel["targets"])


def asked() -> str:
    return "\n".join(queries())


def test_every_series_that_is_asked_for_is_exposed_with_its_labels() -> None:
    series = exposed()
    variables = [variable["definition"] for variable in DASHBOARD["templating"]["list"] if "definition" in variable]
    for query in [*queries(), *variables]:
        selectors = list(SELECTOR.finditer(query))
        assert selectors, f"no series in {query}"
        for selector in selectors:
            assert selector["name"] in series, query
            _, labels = series[selector["name"]]
            used = set(re.findall(r"(\w+)=~?", selector["matchers"] or ""))
            for group in re.findall(r"by \(([^)]*)\)", query):
                used |= set(re.split(r",\s*", group))
            assert used <= labels, f"{used - labels} in {query}"


def test_counters_are_asked_for_their_rate_and_gauges_for_their_value() -> None:
    """A counter that is drawn as it is only ever rises; a rate of a gauge means nothing."""
    series = exposed()
    for query in queries():
        for selector in SELECTOR.finditer(query):
            kind, _ = series[selector["name"]]
            assert (kind != "gauge") == (selector["range"] is not None), query


def test_quantiles_are_computed_from_buckets() -> None:
    for query in queries():
        assert ("histogram_quantile(" in query) == ("_bucket{" in query and "by (le)" in query), query


@pytest.mark.parametrize(
    "name",
    [
        "requests_total", "scheduler_active", "scheduler_queued", "scheduler_capacity", "scheduler_queue_wait_seconds",
        "time_to_first_token_seconds", "inter_token_latency_seconds", "prompt_tokens_total", "completion_tokens_total",
        "cached_prompt_tokens_total", "prefix_misses_total", "cancellations_total", "engine_restarts_total",
        "scheduler_rejected_total", "scheduler_timed_out_total",
    ],
)  # fmt: skip
def test_what_an_operator_looks_for_is_shown(name) -> None:
    assert f"dragoman_{name}" in asked()


def test_it_works_with_whichever_prometheus_the_importer_has() -> None:
    assert DASHBOARD["id"] is None, "an id belongs to the Grafana that gave it"
    datasource, *_ = DASHBOARD["templating"]["list"]
    assert (datasource["type"], datasource["query"]) == ("datasource", "prometheus")
    chosen = {"type": "prometheus", "uid": f"${{{datasource['name']}}}"}
    for panel in PANELS.values():
        assert panel["datasource"] == chosen
        assert all(target["datasource"] == chosen for target in panel["targets"])


def test_variables_that_are_used_are_defined() -> None:
    used = set(re.findall(r"\$(?!__)\{?(\w+)", json.dumps(DASHBOARD)))
    assert used == {variable["name"] for variable in DASHBOARD["templating"]["list"]}


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24, "Grafana's grid has 24 columns"
