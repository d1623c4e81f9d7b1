"""The fault suite switches each applied union and merge key to each other value."""

from typing import Any

import pytest

from fault_engine.editing import holds
from fault_engine.script import Edit, Settle
from fault_engine.switches import Switch, steps, switches
from faults.workloads.webapp import WEBAPP

CONTAINER = ("f:spec", "f:containers", 'k:{"name":"app"}')
VOLUME = 'k:{"name":"files"}'


def thing(spec: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return an object with some fields applied by the operator."""
    entry = {"manager": "coxswain", "operation": "Apply", "fieldsV1": fields}
    return {"metadata": {"name": "web", "managedFields": [entry]}, "spec": spec}


def nested(*path: str, inner: dict[str, Any]) -> dict[str, Any]:
    """Return fields below a path."""
    for element in reversed(path):
        inner = {element: inner}
    return inner


def found(spec: dict[str, Any], *path: str, inner: dict[str, Any] | None = None) -> dict[str, Switch]:
    """Return the switches of an object with one field, by path."""
    return {switch.path: switch for switch in switches(thing(spec, nested(*path, inner=inner or {})), WEBAPP)}


def test_the_handler_of_a_probe_becomes_each_other_one_and_the_rest_stays() -> None:
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5}
    made = found(
        {"readinessProbe": probe}, "f:spec", "f:readinessProbe", inner={"f:httpGet": {}, "f:periodSeconds": {}}
    )
    assert sorted(path.rpartition(" ")[2] for path in made) == ["exec", "grpc", "tcpSocket"]
    step = made["spec.readinessProbe to exec"].step
    assert step["path"] == "/spec/readinessProbe"
    assert step["value"] == {"periodSeconds": 5, "exec": {"command": ["/bin/other"]}}


@pytest.mark.parametrize(("kind", "other"), [("RollingUpdate", "Recreate"), ("Recreate", "RollingUpdate")])
def test_the_strategy_becomes_the_other_one(kind: str, other: str) -> None:
    (switch,) = found({"strategy": {"type": kind}}, "f:spec", "f:strategy", inner={"f:type": {}}).values()
    assert switch.step["value"]["type"] == other


@pytest.mark.parametrize(
    ("variable", "members"),
    [
        ({"value": "1"}, {"fieldRef", "configMapKeyRef", "secretKeyRef", "resourceFieldRef"}),
        ({}, {"fieldRef", "configMapKeyRef", "secretKeyRef", "resourceFieldRef"}),
        ({"valueFrom": {"fieldRef": {}}}, {"value", "configMapKeyRef", "secretKeyRef", "resourceFieldRef"}),
    ],
    ids=["a value", "an empty value", "a reference"],
)
def test_a_variable_gets_its_value_from_elsewhere(variable: dict[str, Any], members: set[str]) -> None:
    env = [{"name": "A", "value": "0"}, {"name": "B", **variable}]
    made = found({"env": env}, "f:spec", "f:env", 'k:{"name":"B"}')
    named = {path for path in made if path.startswith("spec.env[B] to ")}
    assert {path.rpartition(" ")[2] for path in named} == members
    assert all(made[path].step["path"] == "/spec/env/1" for path in named)
    assert all(made[path].step["value"]["name"] == "B" for path in named)


def test_another_name_leaves_an_item_that_its_writer_removes() -> None:
    env = [{"name": "B", "value": "1"}]
    spec = {"containers": [{"name": "app", "env": env}]}
    switch = found(spec, *CONTAINER, "f:env", 'k:{"name":"B"}')["spec.containers[app].env[B]: name to Bx"]
    assert switch.step == {"op": "replace", "path": "/spec/containers/0/env/0/name", "value": "Bx"}
    assert switch.is_back == '.spec.containers[?(@.name=="app")].env[?(@.name=="B")].name'
    removal = {"spec": {"containers": [{"name": "app", "env": [{"$patch": "delete", "name": "Bx"}]}]}}
    assert switch.removal == removal
    edit, wait, removed, settle = steps("deployments", "web", switch)
    assert isinstance(edit, Edit)
    assert isinstance(removed, Edit)
    assert removed.way == "strategic"
    assert isinstance(settle, Settle)
    assert f"--for=jsonpath={{{switch.is_back}}}=B" in str(wait)


def test_a_port_has_another_number_or_protocol_and_nothing_is_left_of_it() -> None:
    key = 'k:{"port":80,"protocol":"TCP"}'
    spec = {"ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}
    made = found(spec, "f:spec", "f:ports", key)
    assert [switch.step["value"] for switch in made.values()] == [81, "UDP"]
    assert all(len(steps("services", "web", switch)) == 2 for switch in made.values())


def test_a_volume_has_another_source() -> None:
    spec = {"volumes": [{"name": "files", "configMap": {"name": "web"}}]}
    made = found(spec, "f:spec", "f:volumes", VOLUME)
    sources = {path.rpartition(" ")[2] for path in made if " to " in path and ":" not in path}
    assert sources == {"emptyDir", "secret", "projected", "persistentVolumeClaim", "ephemeral"}


def test_what_others_have_set_and_the_owner_are_left_alone() -> None:
    assert switches({"metadata": {"managedFields": []}, "spec": {"strategy": {"type": "Recreate"}}}, WEBAPP) == []
    owner = {"uid": "1"}
    fields = nested("f:metadata", "f:ownerReferences", 'k:{"uid":"1"}', inner={})
    made = thing({}, fields)
    made["metadata"]["ownerReferences"] = [owner]
    assert switches(made, WEBAPP) == []


@pytest.mark.parametrize(
    ("live", "patch", "won"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": {"b": [1]}}, {"a": {"b": [1]}}, True),
        ({}, {"a": None}, True),
        ({"a": 1}, {"a": None}, False),
        (None, {"a": {"b": 1}}, False),
    ],
)
def test_a_fighter_knows_when_it_has_won(live: Any, patch: Any, won: bool) -> None:
    assert holds(live, patch) is won
