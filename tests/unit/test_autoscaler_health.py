"""The reported problems of an autoscaler that does not scale."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coxswain.kernel.status.health import HEALTHY, Child, Level
from coxswain.webapp.diagnosis.autoscaling_health import failing
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER
from coxswain.webapp.status import warning_events
from rendered import observations, observe
from unit.objects import webapp

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCALER = "the HPA was unable to compute the replica count: "
API = "unable to fetch metrics from resource metrics API: the server could not find the requested resource"
SIDECAR = "failed to get cpu utilization: missing request for cpu in container proxy of Pod web-7d4b9-x2x"
REQUEST = "failed to get cpu utilization: missing request for cpu in container app of Pod web-7d4b9-x2x"


def autoscaler(reason: str, message: str, *, type_: str = "ScalingActive", minutes: float = 3) -> dict[str, Any]:
    since = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": type_, "status": "False", "reason": reason, "message": message, "lastTransitionTime": since}
    return {"status": {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("reason", "message", "advice"),
    [
        ("FailedGetResourceMetric", SCALER + API, "kubectl get apiservices | grep metrics.k8s.io"),
        ("FailedGetResourceMetric", SCALER + REQUEST, "Set spec.resources.requests.cpu"),
        ("FailedGetPodsMetric", "no", "grep custom.metrics.k8s.io"),
        ("FailedGetExternalMetric", "no", "grep external.metrics.k8s.io"),
        ("ScalingDisabled", "scaling is disabled", "kubectl scale deployment web -n shop --replicas=1"),
        ("Other", "", "kubectl describe hpa web -n shop"),
    ],
)
def test_the_cause_and_the_next_command(reason: str, message: str, advice: str) -> None:
    health = failing(webapp(), autoscaler(reason, message), NOW).health
    assert health.level is Level.HEALTHY, "the pods serve traffic"
    assert "does not scale, so the Deployment keeps its count. Kubernetes retries" in health.message
    assert advice in health.message
    assert "web-7d4b9" not in health.message, "the name differs between pods"


def test_metrics_of_new_pods_have_time_to_come() -> None:
    found = failing(webapp(), autoscaler("FailedGetResourceMetric", API, minutes=1.5), NOW)
    assert found.health == HEALTHY
    assert found.until == NOW + timedelta(minutes=0.5)


def test_what_it_cannot_scale_at_all_comes_first() -> None:
    both = autoscaler("FailedGetResourceMetric", API)
    both["status"]["conditions"] += autoscaler("FailedGetScale", "no", type_="AbleToScale")["status"]["conditions"]
    assert "describe hpa" in failing(webapp(), both, NOW).health.message


def test_without_a_failed_condition_nothing_is_told() -> None:
    assert failing(webapp(), {}, NOW).health == HEALTHY
    able = [{"type": type_, "status": "True"} for type_ in ("AbleToScale", "ScalingActive")]
    owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "uid-1", "controller": True}
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop", "uid": "uid-2", "resourceVersion": "1"}
    metadata |= {"labels": {"coxswain.dev/webapp": "web"}, "ownerReferences": [owner]}
    live = observe(HORIZONTAL_POD_AUTOSCALER, {"metadata": metadata, "spec": {}, "status": {"conditions": able}})
    assert failing(webapp(), live.content, NOW).health == HEALTHY


def test_another_number_in_the_quotation_is_no_new_event() -> None:
    before, now = (failing(webapp(), autoscaler("Other", f"{count} metrics"), NOW).health for count in (3, 4))
    child = Child("HorizontalPodAutoscaler", "web", now)
    reported: Any = {"kind": child.kind, "name": child.name, "message": before.message}
    assert warning_events(observations([child]), {"children": [reported]}) == []
    assert [each.reason for each in warning_events(observations([child]), {})] == ["NotScaling"]


@pytest.mark.parametrize(
    ("sidecars", "step"),
    [
        (
            [{"name": "proxy", "image": "p"}],
            "Set spec.sidecars[name=proxy].resources.requests.cpu, or use another metric: kubectl edit webapp web",
        ),
        (
            [],
            (
                "Container proxy is not of the WebApp: set its request where it comes from, or measure container app "
                "alone by containerResource in spec.autoscaling.metrics: kubectl edit webapp web"
            ),
        ),
    ],
)
def test_the_request_of_a_sidecar_counts(sidecars: list[dict[str, str]], step: str) -> None:
    """An injected container counts, too, and no field of the WebApp has its request."""
    found = failing(webapp(sidecars=sidecars), autoscaler("FailedGetResourceMetric", SIDECAR), NOW)
    assert step in found.health.message


@pytest.mark.parametrize(
    ("container", "step"),
    [
        ("ap", "Check the container ap in spec.autoscaling.metrics: kubectl edit webapp web -n shop"),
        ("app", "kubectl get apiservices | grep metrics.k8s.io"),
        ("proxy", "kubectl get apiservices | grep metrics.k8s.io"),
    ],
)
def test_a_container_without_metrics_may_be_misspelt(container: str, step: str) -> None:
    message = f"{SCALER}failed to get cpu utilization: container {container} not present in metrics for pod shop/web-1"
    app = webapp(sidecars=[{"name": "proxy", "image": "p"}])
    found = failing(app, autoscaler("FailedGetContainerResourceMetric", message), NOW)
    assert step in found.health.message
