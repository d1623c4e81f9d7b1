"""Field managers that write another version of the API: managedFields has the field names of that version."""

import copy
from typing import Any

import pytest

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import Ownership, Plan, plan
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER
from rendered import FIELD_MANAGER, observe

METRICS = ("f:spec", "f:metrics")
LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {"f:a": {}}}}
OURS: dict[str, Any] = {**LABELS, "f:spec": {"f:maxReplicas": {}, "f:metrics": {}}}
WITHOUT_METRICS: dict[str, Any] = {**LABELS, "f:spec": {"f:maxReplicas": {}}}
THEIRS: dict[str, Any] = {"f:spec": {"f:targetCPUUtilizationPercentage": {}}}
"""The fields of `kubectl autoscale`, after ours were released: autoscaling/v1 has no spec.metrics."""


def metrics(cpu: int) -> Any:
    """Return the metrics of an autoscaler."""
    target = {"type": "Utilization", "averageUtilization": cpu}
    return [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def planned(
    cpu: int,
    *,
    version: str = "autoscaling/v1",
    ours: Any = OURS,
    theirs: Any = THEIRS,
    policy: Policy | None = None,
    more: dict[str, Any] | None = None,
) -> Plan:
    """Plan the write of an autoscaler with a live target of 50 %."""
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop", "uid": "1", "resourceVersion": "1"}
    metadata |= {"annotations": {"coxswain.dev/adopt": "web"}, "labels": {"a": "b"}}
    entry = {"manager": "kubectl-autoscale", "operation": "Update", "apiVersion": version, "fieldsV1": theirs}
    entries = [entry]
    if ours:
        applied = {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": "autoscaling/v2", "fieldsV1": ours}
        entries.append(applied)
    live = {"metadata": {**metadata, "managedFields": entries}, "spec": {"maxReplicas": 5, "metrics": metrics(50)}}
    observed = observe(HORIZONTAL_POD_AUTOSCALER, copy.deepcopy(live))
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    spec = {"maxReplicas": 5, "metrics": metrics(cpu), **(more or {})}
    manifest = {**kind, "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}}, "spec": spec}
    policy_of = None if policy is None else lambda _: policy
    return plan(manifest, observed, Ownership(frozenset({FIELD_MANAGER}), policy_of))


@pytest.mark.parametrize("ours", [OURS, None, WITHOUT_METRICS])
def test_a_field_of_another_version_is_enforced(ours: Any) -> None:
    """The API server compares in the version of each entry. Without force it answered 409 for ever."""
    assert planned(60, ours=ours).force


@pytest.mark.parametrize("version", ["autoscaling/v2", ""])
def test_an_entry_of_the_same_version_has_known_fields(version: str) -> None:
    assert not planned(60, version=version).force


def test_no_force_is_needed_without_a_difference_in_a_value() -> None:
    assert not planned(50, ours=None).force
    assert not planned(50, more={"minReplicas": 2}).force, "an absent field has no owner"


@pytest.mark.parametrize("theirs", [{"f:metadata": {"f:annotations": {"f:a": {}}}}, {}])
def test_an_entry_without_a_field_of_the_spec_owns_none(theirs: Any) -> None:
    assert not planned(60, theirs=theirs).force


@pytest.mark.parametrize("policy", [Policy.YIELD, Policy.HALT])
def test_a_field_that_may_be_shared_is_not_forced_against_its_policy(policy: Policy) -> None:
    assert not planned(60, policy=policy).force


def test_a_field_that_is_not_ours_is_attributed_to_the_manager_of_the_other_version() -> None:
    """Otherwise its changes were no drift, and the brake on write wars did not count them."""
    ours = WITHOUT_METRICS
    held = planned(60, ours=ours, policy=Policy.YIELD).left
    assert [(each.difference.path, each.manager) for each in held] == [(METRICS, "kubectl-autoscale")]
    assert [each.manager for each in planned(60, ours=ours, policy=Policy.HALT).halted] == ["kubectl-autoscale"]
    assert planned(60, policy=Policy.YIELD).left == (), "a field of ours is not given up"
