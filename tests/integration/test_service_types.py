"""Service types on the real API server: each type to each other and back, and the allocated values that remain."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest

from integration.adoptions import ADOPT, OUR_LABEL, command_in
from integration.scene import SPEC, Scene, eventually

pytestmark = pytest.mark.slow

HTTP = {"name": "http", "port": 80, "targetPort": "http"}
RANGES = ["10.0.0.0/8"]
SHAPES: dict[str, dict[str, Any]] = {
    "cluster-ip": {},
    "node-port": {"type": "NodePort", "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local"},
    "balancer": {"type": "LoadBalancer", "sessionAffinity": "ClientIP", "loadBalancerSourceRanges": RANGES},
    "local": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "trafficDistribution": "PreferSameZone"},
    "alias": {"type": "ExternalName", "externalName": "shop.example.com"},
    "headless": {"headless": True, "publishNotReadyAddresses": True},
}
WITH_NODE_PORTS = ("node-port", "balancer", "local")
ALLOCATED = ("clusterIP", "clusterIPs", "healthCheckNodePort")
PAIRS = list(itertools.permutations(SHAPES, 2))


def spec(shape: str, **more: Any) -> dict[str, Any]:
    """Return a WebApp without pods, with a Service of this shape."""
    return {**SPEC, "replicas": 0, "service": {"ports": [HTTP], **SHAPES[shape], "replace": "Allowed", **more}}


def services(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return the Services by name."""
    return {found["metadata"]["name"]: found for found in scene.list("service", OUR_LABEL)}


def without_numbers(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a Service without allocated values."""
    rest = {key: value for key, value in service["spec"].items() if key not in ALLOCATED}
    rest.pop("selector", None)
    ports = [{key: value for key, value in port.items() if key != "nodePort"} for port in rest.get("ports", [])]
    return {**rest, "ports": ports}


def step(scene: Scene, shapes: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Apply shapes to WebApps, and return the Services after all WebApps are Ready."""
    scene.apply_all({name: spec(shape) for name, shape in shapes.items()})
    scene.all_ready(len(shapes))
    return services(scene)


def test_every_type_becomes_every_other_and_comes_back(scene: Scene) -> None:
    """One WebApp for each pair, in the same steps. Allocated values are kept; headless requires a new object."""
    there = {f"{first}-{second}": (first, second) for first, second in PAIRS}
    mark = scene.cluster.audit()
    before = step(scene, {name: first for name, (first, _) in there.items()} | {shape: shape for shape in SHAPES})
    fresh = {shape: without_numbers(before[shape]) for shape in SHAPES}
    for forth in (True, False):
        ends = {name: pair if forth else pair[::-1] for name, pair in there.items()}
        shapes = {name: second for name, (_, second) in ends.items()} | {shape: shape for shape in SHAPES}
        after = step(scene, shapes)
        for name, (first, second) in ends.items():
            said = f"{name}: {first} to {second}"
            assert without_numbers(after[name]) == fresh[second], said
            check_allocated(before[name], after[name], first, second, said)
        before = after
    scene.settled(mark)
    reasons = {event["reason"] for name in there for event in scene.events(name)}
    assert not reasons & {"DriftCorrected", "Contested", "FieldConflict"}


def check_allocated(before: Any, after: Any, first: str, second: str, said: str) -> None:
    """Check the kept and removed values."""
    same = before["metadata"]["uid"] == after["metadata"]["uid"]
    replaced = "alias" not in (first, second) and (first == "headless") != (second == "headless")
    assert same is not replaced, said
    address, later = (found["spec"].get("clusterIP") for found in (before, after))
    if second == "alias":
        assert later is None, said
    elif second == "headless":
        assert later == "None", said
    elif first not in ("alias", "headless"):
        assert later == address, said
    else:
        assert later not in (None, "None"), said
    ports, ports_later = (
        [port.get("nodePort") for port in found["spec"].get("ports", [])] for found in (before, after)
    )
    if first in WITH_NODE_PORTS and second in WITH_NODE_PORTS:
        assert ports == ports_later, said
    assert all(ports_later) if second in WITH_NODE_PORTS else not any(ports_later), said
    assert ("healthCheckNodePort" in after["spec"]) is (second == "local"), said


def test_an_allocated_node_port_and_health_check_port_stay_through_other_changes(scene: Scene) -> None:
    scene.apply_ready(spec=spec("local"))
    before = scene.get("service")["spec"]
    scene.apply_ready(spec={**spec("local", internalTrafficPolicy="Local"), "annotations": {"example.com/a": "1"}})
    after = scene.get("service")["spec"]
    for name in (*ALLOCATED, "ports"):
        assert after[name] == before[name]
    scene.apply_ready(spec=spec("local", ports=[{**HTTP, "nodePort": before["ports"][0]["nodePort"]}]))
    scene.apply_ready(spec=spec("local"))
    assert scene.get("service")["spec"]["ports"] == before["ports"], "a requested port is kept"


@pytest.mark.parametrize("shape", ["node-port", "local"])
def test_without_leave_a_headless_service_stays_and_the_message_says_how(scene: Scene, shape: str) -> None:
    scene.apply_ready(spec=spec("headless", replace="Forbidden"))
    before = scene.get("service")
    scene.apply(spec=spec(shape, replace="Forbidden", sessionAffinity="ClientIP"))
    message = scene.not_ready("Immutable")["message"]
    assert "set spec.service.replace: Allowed" in message
    mark = scene.cluster.audit()
    assert scene.settled(mark).total() <= 2, "it stops writing"
    after = scene.get("service")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["sessionAffinity"] == "ClientIP", "all other fields are applied"
    scene.kubectl(*command_in(message))
    scene.ready()
    assert scene.get("service")["spec"]["type"] == SHAPES[shape]["type"]


@pytest.mark.parametrize("replace", ["Forbidden", "Allowed"])
def test_another_class_of_load_balancer_needs_a_new_service(scene: Scene, replace: str) -> None:
    scene.apply_ready(spec=spec("balancer", loadBalancerClass="example.com/a", replace=replace))
    before = scene.get("service")
    mark = scene.cluster.audit()
    scene.apply_ready(spec=spec("balancer", replace=replace))
    assert scene.get("service")["spec"]["loadBalancerClass"] == "example.com/a", "a removed class is kept"
    wanted = spec("balancer", loadBalancerClass="example.com/b", replace=replace, sessionAffinity="None")
    scene.apply(spec=wanted)
    if replace == "Forbidden":
        message = scene.not_ready("Immutable")["message"]
        assert "spec.loadBalancerClass cannot be changed in place" in message
        found = scene.get("service")
        assert (found["spec"]["loadBalancerClass"], found["spec"]["sessionAffinity"]) == ("example.com/a", "None")
        scene.kubectl(*command_in(message))
    scene.ready()
    scene.settled(mark)
    after = scene.get("service")
    assert after["spec"]["loadBalancerClass"] == "example.com/b"
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert ("Replaced" in [event["reason"] for event in scene.events()]) is (replace == "Allowed")


def test_a_taken_node_port_is_reported_and_not_retried(scene: Scene) -> None:
    scene.apply_ready("other", spec("node-port"))
    taken = scene.get("service", "other")["spec"]["ports"][0]["nodePort"]
    scene.apply(spec=spec("node-port", ports=[{**HTTP, "nodePort": taken}]))
    message = scene.not_ready("Rejected")["message"]
    assert f"spec.ports[0].nodePort: Invalid value: {taken}: provided port is already allocated" in message
    assert scene.condition("Stalled")["status"] == "True"
    mark = scene.cluster.audit()
    assert not {"create services", "patch services"} & scene.settled(mark).keys()
    scene.apply_ready(spec=spec("node-port"))


def test_ready_does_not_wait_for_a_load_balancer_and_the_url_is_its_address(scene: Scene) -> None:
    webapp = scene.apply_ready(spec=spec("balancer"))
    inside = f"http://web.{scene.namespace}.svc"
    assert (webapp["status"]["url"], webapp["status"]["urls"]) == (inside, [inside])
    progressing = scene.condition("Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "WaitingForAddress")
    assert "Service web: waiting for an address of the load balancer" in progressing["message"]
    ingress = [{"ip": "192.0.2.7"}, {"hostname": "lb.example.com"}]
    scene.patch_status("service", {"loadBalancer": {"ingress": ingress}}, "web")
    eventually(lambda: scene.condition("Progressing")["status"] == "False", "the address is there")
    status = scene.ready()["status"]
    assert status["url"] == "http://192.0.2.7"
    assert status["urls"] == ["http://192.0.2.7", "http://lb.example.com", inside]
    scene.apply_ready(spec=spec("node-port"))
    assert scene.ready()["status"]["urls"] == [inside]


def test_an_alias_stands_beside_the_pods(scene: Scene) -> None:
    alias = {**SPEC, "service": {**SHAPES["alias"], "ports": [{"name": "https", "port": 443}]}}
    webapp = scene.apply_ready(spec=alias)
    assert webapp["status"]["readyReplicas"] == 1
    assert webapp["status"]["urls"] == ["https://shop.example.com", f"https://web.{scene.namespace}.svc"]
    service = scene.get("service")["spec"]
    assert not {"selector", "clusterIP"} & service.keys()
    scene.apply_ready("worker", {"image": "registry.example/worker:1", "service": SHAPES["alias"]})
    assert scene.get("service", "worker")["spec"]["externalName"] == "shop.example.com"


def yielded(path: str, **service: Any) -> dict[str, Any]:
    rules = [{"kind": "Service", "path": path, "policy": "Yield"}]
    return {**spec("node-port", **service), "conflicts": {"policy": "Enforce", "rules": rules}}


@pytest.mark.parametrize(
    ("path", "theirs"),
    [
        ("spec.externalTrafficPolicy", {"externalTrafficPolicy": "Cluster"}),
        ("spec.internalTrafficPolicy", {"internalTrafficPolicy": "Cluster"}),
        ("spec.type", {"type": "LoadBalancer"}),
    ],
)
def test_a_policy_leaves_a_field_to_others(scene: Scene, path: str, theirs: dict[str, Any]) -> None:
    scene.apply_ready(spec=yielded(path))
    scene.patch("service", {"spec": theirs})
    eventually(lambda: scene.condition("Conflicted")["status"] == "True", "the conflict is reported")
    scene.apply_ready(spec=yielded(path, sessionAffinity="ClientIP"))
    found = scene.get("service")["spec"]
    assert found["sessionAffinity"] == "ClientIP"
    assert theirs.items() <= found.items()
    scene.apply(spec=spec("node-port", sessionAffinity="ClientIP"))
    name = path.rpartition(".")[2]
    eventually(lambda: scene.get("service")["spec"][name] == SHAPES["node-port"][name], "the field is enforced")


def test_a_changed_node_port_is_corrected_and_an_allocated_one_is_kept(scene: Scene) -> None:
    scene.apply_ready(spec=spec("node-port", ports=[{**HTTP, "nodePort": 30517}, {"name": "b", "port": 81}]))
    ports = scene.get("service")["spec"]["ports"]
    free = ports[1]["nodePort"] + (1 if ports[1]["nodePort"] < 32767 else -1)
    patches = [
        {"op": "replace", "path": f"/spec/ports/{n}/nodePort", "value": value} for n, value in ((0, 30518), (1, free))
    ]
    scene.json_patch("service", *patches)

    def now() -> list[int]:
        return [port["nodePort"] for port in scene.get("service")["spec"]["ports"]]

    eventually(lambda: now() == [30517, free], "only our port is corrected")


THEIRS: dict[str, dict[str, Any]] = {
    "node-port": {"type": "NodePort", "externalTrafficPolicy": "Local"},
    "balancer": {
        "type": "LoadBalancer",
        "loadBalancerSourceRanges": RANGES,
        "allocateLoadBalancerNodePorts": False,
        "loadBalancerClass": "example.com/theirs",
    },
    "headless": {"clusterIP": "None"},
    "cluster-ip": {},
}


@pytest.mark.parametrize("manager", ["helm", "flux"])
@pytest.mark.parametrize("shape", THEIRS)
def test_an_adopted_service_keeps_its_type_and_addresses(scene: Scene, shape: str, manager: str) -> None:
    """K31, for a manager of the operation Update and one of Apply; also after a restart."""
    port = {"name": "http", "port": 8080, "targetPort": 8080}
    thing = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "annotations": ADOPT},
        "spec": {"selector": {"app": "old"}, "ports": [port], **THEIRS[shape]},
    }
    options = ("create",) if manager == "helm" else ("apply", "--server-side")
    scene.kubectl(*options, f"--field-manager={manager}", "-f", "-", input=json.dumps(thing))
    before = scene.get("service")
    scene.apply_ready(spec={**SPEC, "service": {"ports": [{**HTTP, "port": 8080}]}})
    kept = ("type", "clusterIP", "externalTrafficPolicy", "loadBalancerSourceRanges", "loadBalancerClass")

    def same() -> bool:
        after = scene.get("service")
        numbers = [[port.get("nodePort") for port in found["spec"]["ports"]] for found in (before, after)]
        return numbers[0] == numbers[1] and all(after["spec"].get(name) == before["spec"].get(name) for name in kept)

    adopted = scene.get("service")
    assert adopted["metadata"]["uid"] == before["metadata"]["uid"]
    assert adopted["spec"]["selector"] == {OUR_LABEL: "web"}
    assert same()
    # The annotation that allowed the adoption is no longer needed.
    scene.kubectl("annotate", "service", "web", "coxswain.dev/adopt-", "example.com/touched=1")
    scene.operator.stop()
    scene.operator.start()
    mark = scene.cluster.audit()
    assert not [request for request in scene.settled(mark) if request.startswith("patch services")]
    assert same()
    if shape in ("node-port", "balancer"):
        # A change of the type is drift.
        other = "NodePort" if shape == "balancer" else "ClusterIP"
        ranges = {"loadBalancerSourceRanges": None, "allocateLoadBalancerNodePorts": None, "loadBalancerClass": None}
        scene.patch("service", {"spec": {"type": other, **(ranges if shape == "balancer" else {})}})
        eventually(lambda: scene.get("service")["spec"]["type"] == THEIRS[shape]["type"], "the type is corrected")
    replace = {"replace": "Allowed"} if shape == "headless" else {}
    kind = "NodePort" if shape == "cluster-ip" else "ClusterIP"
    scene.apply_ready(spec={**SPEC, "service": {"type": kind, "ports": [{**HTTP, "port": 8080}], **replace}})
    after = scene.get("service")
    assert after["spec"]["type"] == kind
    assert "coxswain.dev/service-type" not in after["metadata"].get("annotations", {})
    assert not {"loadBalancerSourceRanges", "loadBalancerClass"} & after["spec"].keys()


def test_ranges_of_another_manager_go_when_the_spec_leaves_the_load_balancer(scene: Scene) -> None:
    """The API server would refuse any other type together with them."""
    thing = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "annotations": ADOPT},
        "spec": {"ports": [{"name": "http", "port": 80}], **THEIRS["balancer"]},
    }
    scene.create(thing)
    scene.apply_ready(spec={**SPEC, "service": {"ports": [HTTP]}})
    assert scene.get("service")["spec"]["loadBalancerSourceRanges"] == RANGES
    scene.apply_ready(spec={**SPEC, "service": {"type": "NodePort", "ports": [HTTP]}})
    assert "loadBalancerSourceRanges" not in scene.get("service")["spec"]


def test_an_adopted_alias_leads_to_the_pods_afterwards(scene: Scene) -> None:
    metadata = {"name": "web", "annotations": ADOPT}
    alias = {"type": "ExternalName", "externalName": "old.example.com", "ports": [{"name": "old", "port": 1}]}
    scene.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": alias})
    scene.apply_ready()
    found = scene.get("service")["spec"]
    assert (found["type"], found["selector"]) == ("ClusterIP", {OUR_LABEL: "web"})
    assert "externalName" not in found
    assert [port["name"] for port in found["ports"]] == ["http"]


def test_an_adopted_service_becomes_an_alias_if_the_spec_says_so(scene: Scene) -> None:
    metadata = {"name": "web", "annotations": ADOPT}
    theirs = {"type": "NodePort", "selector": {"app": "old"}, "ports": [{"name": "old", "port": 1}]}
    scene.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": theirs})
    scene.apply_ready(spec={**SPEC, "service": SHAPES["alias"]})
    found = scene.get("service")["spec"]
    assert found["type"] == "ExternalName"
    assert not {"selector", "ports", "clusterIP"} & found.keys()
