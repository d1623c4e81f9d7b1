"""A running operator serves its metrics: they show a WebApp from its creation to Ready, and not everyone gets them."""

import json
import re
import shlex
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.operator_process import OperatorProcess
from coxswain.kernel.api.access_review import REFUSED_SECONDS
from integration.scene import Scene, eventually
from integration.test_rbac import granted, used
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
    assert total(after, "coxswain_relist_last_success_timestamp_seconds", kind="webapps") > 1.7e9
    values = {value for _, labels in after for _, value in labels}
    assert scene.namespace not in values


def test_every_documented_metric_is_served(scene: Scene) -> None:
    _, text = scene.operator.metrics()
    served = {
        family.name + ("_total" if family.type == "counter" else "") for family in text_string_to_metric_families(text)
    }
    ours = {name for name in served if not name.startswith(("python_", "process_"))}
    assert ours == {names(row[0])[0] for row in rows("Metrics")}


AUTH = Path(__file__).parents[2] / "manifests" / "components" / "metrics" / "clusterrole-auth.yaml"


def get(operator: OperatorProcess, token: str | None) -> tuple[int, str]:
    """Return the status and text of /metrics for a bearer token, over TLS without verification."""
    request = urllib.request.Request(operator.address("metrics") + "/metrics")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=10, context=unverified) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def scraper(scene: Scene) -> Iterator[str]:
    """The token of a ServiceAccount, whose binding is deleted after the test."""
    scene.kubectl("create", "serviceaccount", "scraper")
    yield scene.kubectl("create", "token", "scraper").strip()
    scene.kubectl(
        "delete", "clusterrolebinding", f"{scene.namespace}-scraper-coxswain-metrics-reader", "--ignore-not-found"
    )


def test_only_who_may_gets_the_metrics(
    scene: Scene, scraper: str, another_operator: Callable[..., OperatorProcess]
) -> None:
    """The command in the refusal grants the right. The operator uses exactly its rights for reviews."""
    mark = scene.cluster.audit()
    operator = another_operator("--metrics-secure")
    assert operator.address("metrics").startswith("https://")
    assert operator.probe("/metrics")[0] == 404
    for token in (None, "not-a-token", f"{scraper}x"):
        status, text = get(operator, token)
        assert (status, "kubectl create token" in text) == (401, True), text
    status, text = get(operator, scraper)
    assert status == 403
    user = f"system:serviceaccount:{scene.namespace}:scraper"
    assert text.startswith(f'User "{user}" may not get /metrics.')
    assert "coxswain_build_info" not in text

    kubectl, *arguments = shlex.split(text.splitlines()[1])
    assert kubectl == "kubectl"
    scene.kubectl(*arguments)
    eventually(lambda: get(operator, scraper)[0] == 200, "the right is granted", timeout=REFUSED_SECONDS + 10, pause=1)
    assert "coxswain_build_info{" in get(operator, scraper)[1]

    reviews = {right for right in used(mark, scene.namespace) if right[1].endswith("reviews")}
    assert reviews == granted(AUTH)
    assert scraper not in operator.logged()


@pytest.mark.slow
def test_without_the_rights_the_operator_says_so(
    scene: Scene, scraper: str, another_operator: Callable[..., OperatorProcess]
) -> None:
    scene.kubectl("delete", "clusterrolebinding", "coxswain-metrics-auth")
    try:
        operator = another_operator("--metrics-secure")

        def refused() -> str | None:
            status, text = get(operator, scraper)
            return text if status == 500 else None

        text = eventually(refused, "RBAC has noticed")
        assert 'cannot create resource "tokenreviews"' in text
        assert "manifests/components/metrics" in text
        assert operator.logged().count("requests for the metrics cannot be authorized: ") == 1
    finally:
        scene.kubectl("apply", "-f", str(AUTH.with_name("clusterrolebinding-auth.yaml")))
    eventually(lambda: get(operator, scraper)[0] == 403, "the rights are back")
