"""Projections: the fields kept of an object, and the parent of a child."""

from typing import Any

import pytest

from coxswain.webapp.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    POD,
    POD_DISRUPTION_BUDGET,
    REPLICA_SET,
    WEBAPP,
)
from rendered import desired, observe
from unit.objects import stored, webapp

APP = webapp(config={"PASSWORD": "hunter2"})
CONFIG = desired(APP)[1]


def test_a_config_map_keeps_no_value() -> None:
    observed = observe(CONFIG_MAP, stored(CONFIG))
    assert "hunter2" not in repr(observed)
    assert len(observed.content["data"]["PASSWORD"]) == 64


def test_of_managed_fields_our_entry_and_the_others_are_kept() -> None:
    raw = stored(CONFIG)
    raw["metadata"]["managedFields"] += [
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {}}},
        {"manager": "coxswain", "operation": "Update", "fieldsV1": {"f:data": {}}},
        {"manager": "controller", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": "coxswain", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:metadata": {}}},
        {"manager": "editor", "subresource": "status", "fieldsV1": {"f:status": {}, "f:metadata": {"f:labels": {}}}},
    ]
    observed = observe(CONFIG_MAP, raw)
    assert observed.owned is not None
    assert set(observed.owned) == {"f:metadata", "f:data", "f:immutable"}
    assert [entry.manager for entry in observed.others] == ["kubectl", "coxswain", "coxswain", "editor"]
    assert observed.others[-1].fields == {"f:metadata": {"f:labels": {}}}, "the status is in no comparison"


def test_finalizers_are_kept_while_they_delay_a_deletion() -> None:
    """Those of other objects would only take memory."""
    raw = stored(CONFIG)
    raw["metadata"]["finalizers"] = ["example.com/hold"]
    assert observe(CONFIG_MAP, raw).finalizers == ()
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert observe(CONFIG_MAP, raw).finalizers == ("example.com/hold",)
    raw["metadata"]["finalizers"] = [f"example.com/{number}" for number in range(1000)]
    assert len(observe(CONFIG_MAP, raw).finalizers) == 16


def test_the_webapps_that_it_names() -> None:
    raw = stored(CONFIG)
    raw["metadata"]["labels"]["coxswain.dev/webapp"] = "other"
    assert observe(CONFIG_MAP, raw).parents == {"web", "other"}


def test_a_webapp_of_another_group_is_a_stranger() -> None:
    raw = stored(CONFIG)
    raw["metadata"]["ownerReferences"][0]["apiVersion"] = "example.com/v1"
    observed = observe(CONFIG_MAP, raw)
    assert observed.parents == {"web"}
    assert observed.controller is not None
    assert observed.controller.kind == "WebApp.example.com"


@pytest.mark.parametrize(
    ("owner", "entry", "label", "ours"),
    [
        ("uid-1", True, "web", True),
        ("uid-1", False, None, True),
        ("uid-2", True, "web", False),
        (None, True, "web", True),
        (None, True, None, True),
        (None, True, "other", False),
        (None, False, "web", False),
    ],
)
def test_whose_child_it_is(owner: str | None, entry: bool, label: str | None, ours: bool) -> None:
    raw = stored(CONFIG)
    metadata = raw["metadata"]
    metadata["ownerReferences"] = [{**metadata["ownerReferences"][0], "uid": owner}] if owner else []
    metadata["managedFields"] = metadata["managedFields"] if entry else []
    metadata["labels"] = {"coxswain.dev/webapp": label} if label else {}
    assert observe(CONFIG_MAP, raw).is_child_of(APP) is ours


def test_a_deployment_keeps_the_counts_that_its_health_needs() -> None:
    status = {"replicas": 1, "terminatingReplicas": 1, "collisionCount": 0}
    observed = observe(DEPLOYMENT, stored(desired(APP)[-1], status=status))
    assert observed.content["status"] == {"replicas": 1, "conditions": []}


def raw_pod(**status: Any) -> dict[str, Any]:
    """Return a pod as sent by the API server, with many fields that are not kept."""
    metadata = {
        "name": "web-new-1",
        "namespace": "shop",
        "uid": "pod-1",
        "resourceVersion": "10",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"coxswain.dev/webapp": "web", "pod-template-hash": "new", "app.kubernetes.io/name": "web"},
        "annotations": {"x": "y"},
        "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-new", "uid": "set-1", "controller": True}
        ],
    }
    spec = {"containers": [{"name": "app", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running", "podIP": "10.0.0.1", **status}}


def test_of_a_pod_hash_phase_conditions_and_container_states_are_kept() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    state = {"name": "app", "ready": False, "restartCount": 1, "image": "x", "state": {"waiting": {}}, "lastState": {}}
    status = {
        "conditions": [condition, {"type": "X", "status": "True"}],
        "containerStatuses": [{**state, "imageID": "x", "volumeMounts": [{"name": "files"}]}],
    }
    observed = observe(POD, raw_pod(**status))
    assert observed.content == {
        "metadata": {
            "name": "web-new-1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"pod-template-hash": "new"},
        },
        "status": {
            "phase": "Running",
            "conditions": [condition],
            "initContainerStatuses": [],
            "containerStatuses": [state],
        },
    }
    assert (observed.owned, observed.others, observed.parents) == (None, (), frozenset({"web"}))


def test_of_a_container_that_is_ready_only_that_is_kept() -> None:
    ready = {"name": "app", "ready": True, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    observed = observe(POD, raw_pod(containerStatuses=[ready]))
    assert observed.content["status"]["containerStatuses"] == [{"name": "app", "ready": True}]


def test_of_a_replica_set_hash_revision_and_controller_are_kept() -> None:
    raw = raw_pod()
    raw["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "3"
    observed = observe(REPLICA_SET, raw)
    labels, annotations = {"pod-template-hash": "new"}, {"deployment.kubernetes.io/revision": "3"}
    assert observed.content == {"metadata": {"labels": labels, "annotations": annotations}}
    assert observed.controller is not None
    assert observed.controller.uid == "set-1"


@pytest.mark.parametrize(
    ("version", "kind", "named"),
    [
        ("apps/v1", "Deployment", {"shop"}),
        ("apps/v1beta2", "Deployment", {"shop"}),
        ("apps/v1", "StatefulSet", set()),
        ("example.com/v1", "Deployment", set()),
        ("v1", "Deployment", set()),
        (None, "Deployment", set()),
        ("coxswain.dev/v1", "WebApp", {"shop"}),
        ("example.com/v1", "WebApp", set()),
    ],
)
def test_of_an_autoscaler_of_others_target_limits_and_decision_are_kept(
    version: str | None, kind: str, named: set[str]
) -> None:
    """The autoscalers of KEDA have a controller."""
    raw = raw_pod()
    raw["metadata"]["ownerReferences"][0].update(apiVersion="keda.sh/v1alpha1", kind="ScaledObject")
    del raw["metadata"]["labels"]["coxswain.dev/webapp"]
    target = {"apiVersion": version, "kind": kind, "name": "shop"}
    target = {key: value for key, value in target.items() if value is not None}
    raw["spec"] = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9, "metrics": [{"type": "Resource"}]}
    raw["status"] = {"currentReplicas": 2, "desiredReplicas": 3}
    observed = observe(HORIZONTAL_POD_AUTOSCALER, raw)
    identity = {"kind": "HorizontalPodAutoscaler", "metadata": {"labels": {}}}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9}
    assert observed.content == {**identity, "spec": spec, "status": {"desiredReplicas": 3}}
    assert (observed.label, observed.owned, observed.others) == (None, None, ())
    assert observed.parents == named


def test_an_autoscaler_with_our_label_is_of_both_webapps() -> None:
    """The WebApp in its label, and the WebApp that it scales."""
    raw = raw_pod()
    raw["spec"] = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}}
    assert observe(HORIZONTAL_POD_AUTOSCALER, raw).parents == {"web", "shop"}


def test_of_our_autoscaler_the_spec_and_what_is_wrong_are_kept() -> None:
    manifest = desired(webapp(autoscaling={"maxReplicas": 3}))[-1]
    condition = {"status": "False", "reason": "FailedGetResourceMetric", "message": "no", "lastTransitionTime": "x"}
    conditions = [
        {"type": "AbleToScale", "status": "True"},
        {"type": "ScalingActive", **condition},
        {"type": "ScalingLimited", "status": "False"},
    ]
    live = stored(manifest, status={"currentMetrics": [{}], "conditions": conditions})
    observed = observe(HORIZONTAL_POD_AUTOSCALER, live)
    assert observed.content["spec"] == manifest["spec"]
    assert observed.content["status"] == {"conditions": [conditions[1]]}
    assert observed.is_child_of(webapp())


BUDGET = {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/instance": "shop"}}}


def test_of_a_budget_of_others_selector_and_limit_are_kept() -> None:
    raw = {**raw_pod(), "spec": BUDGET}
    del raw["metadata"]["labels"]["coxswain.dev/webapp"]
    observed = observe(POD_DISRUPTION_BUDGET, raw)
    assert observed.content["spec"] == BUDGET
    assert observed.parents == {"shop"}


def test_a_budget_that_names_no_webapp_is_of_none() -> None:
    others: list[dict[str, Any]] = [{"selector": {"matchLabels": {"team": "web"}}}, {"selector": {}}, {}]
    for spec in others:
        raw = {**raw_pod(), "spec": spec}
        raw["metadata"]["labels"] = {}
        assert observe(POD_DISRUPTION_BUDGET, raw).parents == frozenset()


def test_a_malformed_object_is_an_error() -> None:
    with pytest.raises(KeyError):
        observe(WEBAPP, {"metadata": {}})
