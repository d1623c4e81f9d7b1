"""Live values that exclude a desired value: found, reassigned with it, and left with it."""

import copy
from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import Difference, differences
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.unions import rivals_in_list, rivals_in_map, rivals_of
from coxswain.kernel.conflicts.write_plan import Plan
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, text
from coxswain.kernel.objects.manifests import Manifest
from rendered import desired, kind_of, observe, plan_of
from unit.objects import fields_of, stored, webapp

POD = ("f:spec", "f:template", "f:spec")
SPEC, RANGES = ("f:spec",), {"loadBalancerSourceRanges": ["10.0.0.0/8"]}
APP = (*POD, "f:containers", 'k:{"name":"app"}')


def shown(rivals: dict[str, Any]) -> dict[str, list[str]]:
    return {key: [text(path[-1:]) for path in paths] for key, paths in rivals.items()}


@pytest.mark.parametrize(
    ("path", "wanted", "live", "rivals"),
    [
        (("f:readinessProbe",), {"httpGet": {}}, {"httpGet": {}}, {}),
        (("f:readinessProbe",), {"httpGet": {}}, {"exec": {}}, {"httpGet": ["exec"]}),
        (("f:livenessProbe",), {"grpc": {}}, {"grpc": {}, "tcpSocket": {}}, {"grpc": ["tcpSocket"]}),
        (("f:startupProbe",), {"exec": {}, "periodSeconds": 3}, {"periodSeconds": 5}, {}),
        (("f:preStop",), {"sleep": {}}, {"exec": {}}, {"sleep": ["exec"]}),
        (("f:valueFrom",), {"fieldRef": {}}, {"secretKeyRef": {}}, {"fieldRef": ["secretKeyRef"]}),
        (("f:env", 'k:{"name":"A"}'), {"value": "1"}, {"valueFrom": {}}, {"value": ["valueFrom"]}),
        (("f:env", 'k:{"name":"A"}'), {"name": "A"}, {"value": "1"}, {"value": ["value"]}),
        (
            ("f:volumes", 'k:{"name":"a"}'),
            {"name": "a", "configMap": {}},
            {"emptyDir": {}},
            {"configMap": ["emptyDir"]},
        ),
        (("f:containers", 'k:{"name":"a"}'), {"value": "1"}, {"valueFrom": {}}, {}),
        (("f:strategy",), {"type": "Recreate"}, {"rollingUpdate": {}}, {"type": ["rollingUpdate"]}),
        (("f:strategy",), {"type": "Recreate"}, {"type": "Recreate"}, {}),
        (("f:strategy",), {"type": "RollingUpdate"}, {"rollingUpdate": {}}, {}),
        (SPEC, {"type": "NodePort"}, RANGES, {"type": ["loadBalancerSourceRanges"]}),
        (SPEC, {"type": "ExternalName"}, RANGES, {"type": ["loadBalancerSourceRanges"]}),
        (SPEC, {"type": "LoadBalancer"}, RANGES, {}),
        (SPEC, {"type": "ClusterIP"}, {}, {}),
        (SPEC, {"replicas": 1}, RANGES, {}),
        ((), {"exec": {}}, {"httpGet": {}}, {}),
    ],
)
def test_members_of_a_union(path: Any, wanted: Any, live: Any, rivals: dict[str, list[str]]) -> None:
    found = rivals_in_map(path, wanted, live)
    assert {key: [each.removeprefix(".") for each in paths] for key, paths in shown(found).items()} == rivals


PORT = {"name": "http", "port": 80, "protocol": "TCP"}


@pytest.mark.parametrize(
    ("live", "rivals"),
    [
        ([PORT], []),
        ([{**PORT, "port": 99}], ["ports[port=99,protocol=TCP]"]),
        ([{**PORT, "protocol": "UDP"}], ["ports[port=80,protocol=UDP]"]),
        ([{**PORT, "port": 99, "name": "other"}], []),
        (
            [PORT, {**PORT, "port": 1}, {**PORT, "port": 2}],
            ["ports[port=1,protocol=TCP]", "ports[port=2,protocol=TCP]"],
        ),
    ],
)
def test_items_with_the_same_name(live: list[Any], rivals: list[str]) -> None:
    found = rivals_in_list(("f:ports",), PORT, live, ['k:{"port":80,"protocol":"TCP"}'])
    assert [text(path) for path in found] == rivals
    assert rivals_in_list(("f:env",), PORT, live, ['k:{"name":"http"}']) == ()


SETUP, PROXY = {"name": "setup"}, {"name": "proxy"}


@pytest.mark.parametrize(
    ("wanted", "live", "rivals"),
    [
        ({"initContainers": [PROXY]}, {"containers": [SETUP]}, {}),
        (
            {"initContainers": [SETUP, PROXY]},
            {"containers": [{"name": "app"}, PROXY]},
            {"initContainers": ["containers[name=proxy]"]},
        ),
        (
            {"containers": [PROXY]},
            {"containers": [PROXY], "initContainers": [PROXY]},
            {"containers": ["initContainers[name=proxy]"]},
        ),
    ],
)
def test_names_are_unique_over_both_lists_of_containers(wanted: Any, live: Any, rivals: dict[str, list[str]]) -> None:
    found = rivals_in_map(POD, wanted, live)
    assert {key: [text(path[len(POD) :]) for path in paths] for key, paths in found.items()} == rivals


def test_a_namesake_is_the_rival_of_one_container() -> None:
    """The conflict over it must not extend to the other init containers."""
    rivals = ((*POD, "f:containers", 'k:{"name":"proxy"}'),)
    elsewhere = ((*POD, "f:startupProbe"),)
    items = (*POD, "f:initContainers")
    assert rivals_of((*items, 'k:{"name":"proxy"}', "f:image"), rivals) == rivals
    assert rivals_of((*items, 'k:{"name":"setup"}', "f:image"), rivals + elsewhere) == elsewhere
    assert rivals_of(items, rivals) == rivals


APPLICATION = webapp(
    ports=[{"name": "http", "containerPort": 8080}],
    env=[{"name": "A", "value": "1"}],
    readinessProbe={"tcpSocket": {"port": "http"}},
)
SERVICE, DEPLOYMENT = desired(APPLICATION)[-2:]


def container(live: Manifest) -> Any:
    return live["spec"]["template"]["spec"]["containers"][0]


def switched_probe(live: Manifest) -> None:
    container(live)["readinessProbe"] = {"exec": {"command": ["true"]}}


def switched_value(live: Manifest) -> None:
    container(live)["env"][0] = {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


def renumbered_port(live: Manifest) -> None:
    container(live)["ports"][0]["containerPort"] = 99


def renumbered_service_port(live: Manifest) -> None:
    live["spec"]["ports"][0]["port"] = 99


CHANGES = {
    "a probe's handler": (DEPLOYMENT, switched_probe, "readinessProbe.tcpSocket", ["readinessProbe.exec"]),
    "where an env has its value from": (DEPLOYMENT, switched_value, "env[name=A].value", ["env[name=A].valueFrom"]),
    "the number of a port": (
        DEPLOYMENT,
        renumbered_port,
        "ports[containerPort=8080,protocol=TCP]",
        ["ports[containerPort=99,protocol=TCP]"],
    ),
    "the number of a Service's port": (
        SERVICE,
        renumbered_service_port,
        "spec.ports[port=8080,protocol=TCP]",
        ["spec.ports[port=99,protocol=TCP]"],
    ),
}


def planned(change: str, policy: Policy, *, reassigned: bool = False) -> Plan:
    """Plan the write after kubectl changed a child by an Update and became the owner of its changes."""
    manifest, edit, _, _ = CHANGES[change]
    live = stored(manifest)
    edit(live)
    ours, theirs = (
        fields_of(manifest),
        fields_of(
            {key: value for key, value in live.items() if key != "metadata"} | {"metadata": manifest["metadata"]}
        ),
    )
    live["metadata"]["managedFields"] = [
        {"manager": "coxswain", "operation": "Apply", "fieldsV1": common(ours, theirs)},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": beyond(theirs, ours)},
    ]
    if reassigned:
        live["metadata"]["managedFields"] = [{"manager": "coxswain", "operation": "Apply", "fieldsV1": theirs}]
    return plan_of(manifest, observe(kind_of(live), live), lambda _: policy, ())


def common(one: Any, other: Any) -> Any:
    return {key: common(below, other[key]) for key, below in one.items() if key in other}


def beyond(one: Any, other: Any) -> Any:
    left = {}
    for key, below in one.items():
        if key not in other:
            left[key] = below
        elif inside := beyond(below, other[key]):
            left[key] = inside
    return left


@pytest.mark.parametrize("change", CHANGES)
def test_enforce_takes_the_other_over_and_then_it_goes(change: str) -> None:
    _, _, wanted, rivals = CHANGES[change]
    made = planned(change, Policy.ENFORCE)
    assert [difference.text.endswith(wanted) for difference in made.differences if difference.wanted is not None]
    assert [text(path) for path in made.rivals if any(text(path).endswith(rival) for rival in rivals)]
    assert len(made.rivals) == len(rivals)
    assert (made.force, made.left) == (True, ())


@pytest.mark.parametrize("change", CHANGES)
def test_yield_leaves_both_and_takes_nothing_over(change: str) -> None:
    """Yield omits the desired member. Even then the other one is not reassigned as a surplus member."""
    _, _, wanted, _ = CHANGES[change]
    made = planned(change, Policy.YIELD)
    assert [(held.difference.text.endswith(wanted), held.manager) for held in made.left] == [(True, "kubectl-edit")]
    assert made.rivals == ()
    assert [difference.text for difference in made.differences if difference.rivals] == []


@pytest.mark.parametrize("change", CHANGES)
def test_halt_waits(change: str) -> None:
    made = planned(change, Policy.HALT)
    assert [held.manager for held in made.halted] == ["kubectl-edit"]


def test_an_env_without_a_value_takes_a_value_back() -> None:
    manifest = desired(webapp(env=[{"name": "A"}]))[-1]
    live = copy.deepcopy(stored(manifest))
    container(live)["env"][0]["value"] = "theirs"
    theirs = ManagedFieldsEntry(
        "kubectl-edit",
        {
            "f:spec": {
                "f:template": {"f:spec": {"f:containers": {APP[-1]: {"f:env": {'k:{"name":"A"}': {"f:value": {}}}}}}}
            }
        },
    )
    found: list[Difference] = differences(manifest, live, fields_of(manifest), [theirs])
    assert [(each.text, each.wanted, len(each.rivals)) for each in found] == [
        ("spec.template.spec.containers[name=app].env[name=A].value", None, 1)
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_a_field_is_reassigned_once(change: str) -> None:
    """The apply after the reassignment failed, or the operator was killed between the two."""
    made = planned(change, Policy.ENFORCE, reassigned=True)
    assert made.differences
    assert made.rivals == ()


def adopted_service(*ports: Manifest, policy: Policy = Policy.ENFORCE) -> Plan:
    """Plan the adoption of a Service created by kubectl with these ports."""
    content = {**SERVICE, "spec": {**SERVICE["spec"], "ports": list(ports)}}
    raw = stored(content)
    raw["metadata"]["managedFields"] = [
        {"manager": "kubectl-expose", "operation": "Update", "fieldsV1": fields_of(content)}
    ]
    return plan_of(SERVICE, observe(kind_of(SERVICE), raw), lambda _: policy, adopting=True)


UNNAMED = {"port": 80, "protocol": "TCP", "targetPort": 8080}
OURS = {"name": "http", "port": 8080, "protocol": "TCP", "targetPort": "http"}


@pytest.mark.parametrize(
    ("ports", "gone"),
    [
        ((UNNAMED,), ["spec.ports[port=80,protocol=TCP]"]),
        ((OURS,), []),
        (({**UNNAMED, "port": 8080},), []),
        ((OURS, {**UNNAMED, "name": "more"}), ["spec.ports[port=80,protocol=TCP]"]),
        (({**OURS, "port": 81},), ["spec.ports[port=81,protocol=TCP]"]),
    ],
)
def test_an_adoption_removes_undesired_ports_of_the_former_owner(ports: tuple[Manifest, ...], gone: list[str]) -> None:
    """K35: an unnamed port cannot stay beside another one, and the new pods need not listen on any of these ports."""
    assert [text(path) for path in adopted_service(*ports).rivals] == gone


def test_ports_of_a_former_owner_stay_if_the_policy_says_so() -> None:
    assert adopted_service(UNNAMED, policy=Policy.YIELD).rivals == ()


def test_ports_that_others_add_to_a_child_stay() -> None:
    content = {**SERVICE, "spec": {**SERVICE["spec"], "ports": [OURS, {**UNNAMED, "name": "more"}]}}
    assert plan_of(SERVICE, observe(kind_of(SERVICE), stored(content))).rivals == ()


def test_the_other_limit_of_a_budget_is_a_rival() -> None:
    """Someone replaced maxUnavailable with minAvailable: the API server refuses both together."""
    wanted = {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    live = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    rivals = rivals_in_map(("f:spec",), wanted, live)
    assert rivals == {"maxUnavailable": (("f:spec", "f:minAvailable"),)}
