"""Pods whose containers cannot start yet: no scheduler, no node, no volume."""

from datetime import timedelta
from typing import Any

import pytest

from coxswain.webapp.diagnosis.pod_start import PREPARED, SCHEDULED, of_start
from coxswain.webapp.diagnosis.pods import diagnosis, projected_pod
from unit.objects import webapp
from unit.pod_states import EDIT, NOW, PODS, ago, container, deployment, pod, replica_set, unscheduled, waiting

EVENTS = f"See the Events: kubectl describe pods {PODS}"
WAITS = "volumes or network have not been ready for 2 minutes. The kubelet retries. "
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "shop"}}
SECRET = {"name": "tls", "secret": {"secretName": "tls"}}
CLAIMED = (
    "A ReadWriteOnce claim attaches to one node at a time: let one pod use shop "
    "(spec.replicas 1, spec.rollout.strategy Recreate). "
)
REFERENCES = "Check that the ConfigMaps and Secrets in spec.volumes exist, and their keys. "


def preparing(seconds: float, status: str = "False") -> dict[str, Any]:
    """A pod whose volumes the kubelet has mounted, or tried to mount, for so long."""
    conditions = [
        {"type": SCHEDULED, "status": "True", "lastTransitionTime": ago(seconds)},
        {"type": PREPARED, "status": status, "lastTransitionTime": ago(seconds)},
    ]
    found = pod(container(waiting("ContainerCreating")), conditions=conditions)
    return {**found, **projected_pod(found)}


@pytest.mark.parametrize(
    ("volumes", "advice"),
    [
        ([], EVENTS),
        ([{"name": "tmp", "emptyDir": {}}], EVENTS),
        ([CLAIM], CLAIMED + EVENTS),
        ([SECRET], REFERENCES + EVENTS),
        ([SECRET, CLAIM], CLAIMED + REFERENCES + EVENTS),
    ],
)
def test_volumes_that_are_not_mounted_in_time_are_a_cause(volumes: list[Any], advice: str) -> None:
    """Only Events say Multi-Attach or FailedMount; the condition says for how long the kubelet has tried."""
    found = of_start(preparing(120), {"volumes": volumes}, webapp(), NOW)
    assert found.cause is not None
    assert (found.cause.reason, found.cause.text) == ("ContainerCreating", WAITS + advice)


def test_volumes_have_two_minutes_and_a_requeue() -> None:
    found = of_start(preparing(119), {"volumes": [CLAIM]}, webapp(), NOW)
    assert (found.cause, found.until) == (None, NOW + timedelta(seconds=1))
    found = of_start(preparing(999, "True"), {"volumes": [CLAIM]}, webapp(), NOW)
    assert found.cause is None, "the image is being pulled"


def test_it_is_told_of_the_deployment() -> None:
    made = deployment()
    made["spec"]["template"]["spec"]["volumes"] = [CLAIM]
    found = diagnosis(webapp(), made, [replica_set()], [preparing(500)], NOW)
    assert found.cause is not None
    assert (found.cause.reason, found.pods, found.of) == ("ContainerCreating", ("web-new-1",), 1)


@pytest.mark.parametrize(
    ("template", "fields"),
    [
        ({}, "spec.resources.requests, spec.nodeSelector and spec.tolerations"),
        ({"affinity": {}}, "spec.resources.requests, spec.nodeSelector, spec.affinity and spec.tolerations"),
        (
            {"volumes": [CLAIM]},
            "spec.resources.requests, spec.nodeSelector, the claims in spec.volumes and spec.tolerations",
        ),
        (
            {"volumes": [{"name": "index", "ephemeral": {}}]},
            "spec.resources.requests, spec.nodeSelector, the claims in spec.volumes and spec.tolerations",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.resources.requests, spec.nodeSelector, spec.topologySpreadConstraints and spec.tolerations",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
            "spec.resources.requests, spec.nodeSelector and spec.tolerations",
        ),
    ],
)
def test_a_pod_without_a_node_names_the_fields_that_may_be_the_cause(template: Any, fields: str) -> None:
    found = of_start(unscheduled("0/3 nodes"), template, webapp(), NOW)
    assert found.cause is not None
    assert found.cause.text == f"cannot be scheduled. The scheduler retries. Add nodes, or check {fields}: {EDIT}"


def pending(seconds: float, conditions: list[Any]) -> dict[str, Any]:
    found = pod(conditions=conditions)
    found["metadata"]["creationTimestamp"] = ago(seconds)
    return projected_pod(found)


def test_a_scheduler_that_is_not_there_is_a_cause() -> None:
    batch = {"schedulerName": "batch"}
    found = of_start(pending(120, []), batch, webapp(), NOW)
    assert found.cause is not None
    assert found.cause.text == f"no scheduler batch has handled them for 2 minutes. Check spec.schedulerName: {EDIT}"
    assert of_start(pending(119, []), batch, webapp(), NOW).until == NOW + timedelta(seconds=1)


def test_a_scheduler_that_has_handled_the_pod_is_none() -> None:
    """The projection keeps PodScheduled of a pending pod: without it, both look the same."""
    scheduled = [{"type": SCHEDULED, "status": "True"}]
    assert of_start(pending(999, scheduled), {"schedulerName": "batch"}, webapp(), NOW).cause is None
    assert of_start(pending(999, []), {"schedulerName": "default-scheduler"}, webapp(), NOW).cause is None
