"""The plan for structs of which another manager owns a part."""

from typing import Any

import pytest

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import Plan
from coxswain.kernel.objects.field_paths import Fields, minus_path, text
from coxswain.kernel.objects.manifests import Manifest
from rendered import desired, kind_of, observe, plan_of
from unit.objects import fields_of, stored, webapp

NAME = 'k:{"name":"app"}'
CONTAINER = ("f:spec", "f:template", "f:spec", "f:containers", NAME)
PORTS = [{"name": "http", "containerPort": 8080}]


def planned(before: Manifest, after: Manifest, theirs: Fields, policy: Policy, without: str = "") -> Plan:
    """Plan `after` for a child made from `before`, in which kubectl has become the owner of some fields."""
    live = stored(before)
    ours: Fields = fields_of(before)
    if without:
        ours = minus_path(ours, (*CONTAINER, "f:readinessProbe", "f:httpGet", without))
    live["metadata"]["managedFields"] = [
        {"manager": "coxswain", "operation": "Apply", "fieldsV1": ours},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": theirs},
    ]
    return plan_of(after, observe(kind_of(live), live), lambda _: policy, ())


def below_container(fields: Fields) -> Fields:
    for element in reversed(CONTAINER):
        fields = {element: fields}
    return fields


def deployment(**spec: Any) -> Manifest:
    return desired(webapp(ports=PORTS, **spec))[-1]


@pytest.mark.parametrize("policy", [Policy.ENFORCE, Policy.YIELD])
def test_a_removed_probe_takes_the_part_of_others_along(policy: Policy) -> None:
    theirs = below_container({"f:livenessProbe": {"f:periodSeconds": {}}})
    before = deployment(livenessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 7})
    made = planned(before, deployment(), theirs, policy)
    assert [text(path).rpartition(".")[2] for path in made.rivals] == ["livenessProbe"]


def test_a_removed_probe_that_is_ours_alone_needs_no_takeover() -> None:
    before = deployment(livenessProbe={"tcpSocket": {"port": "http"}})
    made = planned(before, deployment(), below_container({"f:terminationMessagePath": {}}), Policy.ENFORCE)
    assert made.rivals == ()
    assert [difference.rivals for difference in made.differences] == [()]


def test_a_handler_left_to_another_manager_keeps_our_part() -> None:
    before = deployment(readinessProbe={"httpGet": {"port": "http", "path": "/b"}})
    theirs = below_container({"f:readinessProbe": {"f:httpGet": {"f:path": {}}}})
    after = deployment(readinessProbe={"exec": {"command": ["true"]}})
    made = planned(before, after, theirs, Policy.YIELD, without="f:path")
    probe = made.manifest["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    assert probe["httpGet"]["port"] == "http"
    assert "path" not in probe["httpGet"]
    assert "exec" not in probe
    assert [held.manager for held in made.left] == ["kubectl-edit"]
