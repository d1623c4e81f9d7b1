"""A running operator serves its metrics: they show a WebApp from its creation to Ready."""

import json
import re

from prometheus_client.parser import text_string_to_metric_families

from integration.scene import Scene, eventually
from unit.test_reference import names, rows


def scraped(scene: Scene) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the series of /metrics."""
    status, text = scene.operator.metrics()
    assert status == 200
    return {
        (each.name, frozenset(each.labels.items())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def total(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, /, **labels: str) -> float:
    """Return the sum of the series with these labels."""
    return sum(value for (each, has), value in found.items() if each == name and labels.items() <= dict(has).items())


def test_the_life_of_a_webapp_shows(scene: Scene) -> None:
    before = scraped(scene)
    scene.apply_ready()

    def change(name: str, /, **labels: str) -> float:
        return total(after, name, **labels) - total(before, name, **labels)

    def counted() -> bool:
        ready = total(scraped(scene), "coxswain_parents", kind="webapps", condition="Ready", status="True")
        conditions = [
            each["status"]
            for item in json.loads(scene.kubectl("get", "webapps", "--all-namespaces", "--output", "json"))["items"]
            for each in item.get("status", {}).get("conditions", [])
            if each["type"] == "Ready"
        ]
        return ready == conditions.count("True") >= 1

    eventually(counted, "all WebApps that are Ready count")
    after = scraped(scene)
    assert change("controller_runtime_reconcile_time_seconds_count", controller="webapp") >= 2
    assert change("controller_runtime_reconcile_panics_total") == 0
    assert change("workqueue_adds_total", name="webapp") >= 2
    # A ServiceAccount, a ConfigMap, a Service and a Deployment.
    assert change("rest_client_requests_total", method="PATCH", code="201") >= 4
    assert change("rest_client_request_duration_seconds_count", verb="PATCH") >= 4
    assert total(after, "coxswain_objects", kind="deployments") >= 1
    hosts = {dict(labels)["host"] for name, labels in after if name == "rest_client_requests_total"}
    assert len(hosts) == 1
    assert re.fullmatch(r"[\w.]+:\d+", hosts.pop())
    assert total(after, "rest_client_requests_total", method="GET", code="200") >= 2 * 10, "the LISTs and the watches"
    assert total(after, "coxswain_watch_last_event_age_seconds", kind="webapps") < 120
    assert total(after, "coxswain_resync_last_success_timestamp_seconds", kind="webapps") > 1.7e9
    values = {value for _, labels in after for _, value in labels}
    assert scene.namespace not in values


def test_every_documented_metric_is_served(scene: Scene) -> None:
    _, text = scene.operator.metrics()
    served = {
        family.name + ("_total" if family.type == "counter" else "") for family in text_string_to_metric_families(text)
    }
    ours = {name for name in served if not name.startswith(("python_", "process_"))}
    assert ours == {names(row[0])[0] for row in rows("Metrics")}
