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


PROXY = {"name": "proxy", "image": "registry.example/proxy:1"}
NAMED: Fields = {".": {}, "f:name": {}}
FIELD_OF_OTHERS: Fields = {"f:env": {'k:{"name":"DEBUG"}': NAMED}}


def item(path: str, key: str, fields: Fields) -> Fields:
    """Return the fields of an item of a list."""
    found: Fields = {f"k:{key}": fields}
    for name in reversed(path.split(".")):
        found = {NAME if name == "app" else f"f:{name}": found}
    return found


SIDECAR = ("spec.template.spec.initContainers", '{"name":"proxy"}')
VARIABLE = ("spec.template.spec.containers.app.env", '{"name":"LEVEL"}')
MOUNT = ("spec.template.spec.containers.app.volumeMounts", '{"mountPath":"/data"}')
SECRET = ("spec.template.spec.imagePullSecrets", '{"name":"registry"}')


@pytest.mark.parametrize("policy", [Policy.ENFORCE, Policy.YIELD])
@pytest.mark.parametrize(
    ("before", "after", "theirs", "taken"),
    [
        ({"sidecars": [PROXY]}, {}, item(*SIDECAR, NAMED), ["initContainers[name=proxy]"]),
        (
            {"sidecars": [PROXY, {**PROXY, "name": "stays"}]},
            {"sidecars": [{**PROXY, "name": "stays"}]},
            item(*SIDECAR, NAMED),
            ["initContainers[name=proxy]"],
        ),
        ({"sidecars": [PROXY]}, {}, item(*SIDECAR, {**NAMED, "f:image": {}}), []),
        ({"sidecars": [PROXY]}, {}, item(*SIDECAR, FIELD_OF_OTHERS), []),
        ({"env": [{"name": "LEVEL", "value": "info"}]}, {}, item(*VARIABLE, NAMED), ["env[name=LEVEL]"]),
        ({"env": [{"name": "LEVEL", "value": "info"}]}, {}, item(*VARIABLE, {**NAMED, "f:value": {}}), []),
        ({"env": [{"name": "LEVEL"}]}, {}, item(*VARIABLE, NAMED), []),
        (
            {"writablePaths": ["/data"]},
            {},
            item(*MOUNT, {".": {}, "f:mountPath": {}}),
            ["volumeMounts[mountPath=/data]"],
        ),
        ({"imagePullSecrets": [{"name": "registry"}]}, {}, item(*SECRET, NAMED), []),
    ],
)
def test_a_removed_item_takes_the_rest_of_others_along_if_it_is_none(
    before: Any, after: Any, theirs: Fields, taken: list[str], policy: Policy
) -> None:
    """The API server refused a container without an image: the WebApp was stuck. A variable stayed, with no value."""
    made = planned(deployment(**before), deployment(**after), theirs, policy)
    assert [
        text(path).removeprefix("spec.template.spec.").removeprefix("containers[name=app].") for path in made.rivals
    ] == taken


@pytest.mark.parametrize(("named", "taken"), [({}, ["spec.ports[port=99,protocol=TCP]"]), ({"f:name": {}}, [])])
def test_a_removed_port_of_a_service_takes_the_rest_along_if_it_has_no_name(named: Fields, taken: list[str]) -> None:
    """Several ports need names: 422 'spec.ports[1].name: Required value'."""
    port = {".": {}, "f:port": {}, "f:protocol": {}, **named}
    before = desired(webapp(ports=[*PORTS, {"name": "metrics", "containerPort": 99}]))[-2]
    theirs = item("spec.ports", '{"port":99,"protocol":"TCP"}', port)
    made = planned(before, desired(webapp(ports=PORTS))[-2], theirs, Policy.ENFORCE)
    assert [text(path) for path in made.rivals] == taken


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
