"""A struct of which another manager owns a part is removed or left as a whole, never in invalid halves."""

import json
from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually

PORTS = [{"name": "http", "containerPort": 8080}]
HTTP = {"httpGet": {"port": "http", "path": "/a"}}
YIELD: dict[str, Any] = {**SPEC, "ports": PORTS, "conflicts": {"policy": "Yield"}}


def container(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]
    return found


def change_probe(scene: Scene, kind: str, probe: dict[str, Any]) -> None:
    """Let another manager change a part of a probe."""
    name, at = container(scene)["name"], f"/spec/template/spec/containers/0/{kind}"
    for field, value in probe.items():
        scene.json_patch("deployment", {"op": "add", "path": f"{at}/{field}", "value": value})
    assert container(scene)["name"] == name


@pytest.mark.parametrize("policy", ["Enforce", "Yield"])
@pytest.mark.parametrize("kind", ["livenessProbe", "startupProbe"])
def test_a_probe_goes_with_the_fields_that_others_set_in_it(scene: Scene, kind: str, policy: str) -> None:
    """The API server refused what was left: a probe without a handler."""
    spec = {**SPEC, "ports": PORTS, "conflicts": {"policy": policy}}
    scene.apply_ready(spec={**spec, kind: {"tcpSocket": {"port": "http"}}})
    change_probe(scene, kind, {"periodSeconds": 7})
    scene.ready()
    assert container(scene)[kind]["periodSeconds"] == 7
    scene.apply(spec={**spec, "image": "registry.example/web:2"})
    eventually(lambda: container(scene)["image"] == "registry.example/web:2", "the new image is applied")
    assert kind not in container(scene)
    scene.ready()


def test_items_that_the_spec_took_over_can_be_removed(scene: Scene) -> None:
    """The API server refused the rest: a port without a name, and a container without an image."""
    scene.apply_ready()
    sidecar = {"initContainers": [{"name": "proxy", "image": "registry.example/proxy:1", "restartPolicy": "Always"}]}
    variable = {"containers": [{"name": "app", "env": [{"name": "LEVEL", "value": "debug"}]}]}
    template = {"spec": {"template": {"spec": {**sidecar, **variable}}}}
    scene.kubectl("patch", "deployment", "web", "--patch", json.dumps(template))
    port = {"name": "metrics", "port": 99, "targetPort": 99}
    scene.kubectl("patch", "service", "web", "--patch", json.dumps({"spec": {"ports": [port]}}))
    taken = {
        "ports": [*PORTS, {"name": "admin", "containerPort": 99}],
        "sidecars": [{"name": "proxy", "image": "registry.example/proxy:2"}],
        "env": [{"name": "LEVEL", "value": "info"}],
    }
    scene.apply_ready(spec={**SPEC, **taken})
    scene.apply_ready(spec={**SPEC, "ports": PORTS})
    assert [each["name"] for each in container(scene)["env"]] == ["GREETING"]
    assert "initContainers" not in scene.get("deployment")["spec"]["template"]["spec"]
    assert [each["name"] for each in scene.get("service")["spec"]["ports"]] == ["http"]


WITHOUT_HTTP: list[dict[str, Any]] = [
    {"readinessProbe": {"exec": {"command": ["true"]}}},
    {"readinessProbe": {"tcpSocket": {"port": "http"}}},
    {},
]


@pytest.mark.parametrize("then", WITHOUT_HTTP, ids=["exec", "tcpSocket", "default"])
def test_a_yielded_handler_stays_whole_and_the_rest_is_applied(scene: Scene, then: dict[str, Any]) -> None:
    """The operator removed its own part of the handler, and the API server refused the rest."""
    scene.apply_ready(spec={**YIELD, "readinessProbe": HTTP})
    change_probe(scene, "readinessProbe", {"httpGet/path": "/b"})
    scene.apply(spec={**YIELD, **then, "config": {"A": "2"}, "image": "registry.example/web:2"})
    eventually(lambda: container(scene)["image"] == "registry.example/web:2", "the rest is applied")
    handler = container(scene)["readinessProbe"]["httpGet"]
    assert (handler["port"], handler["path"]) == ("http", "/b")
    scene.ready()
    assert scene.condition("Conflicted")["status"] == "True"
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=2), "nothing flaps"


def test_a_yielded_service_type_stays_and_the_rest_is_applied(scene: Scene) -> None:
    service = {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    scene.apply(spec={**YIELD, "service": service})
    eventually(lambda: scene.find("service"), "the Service exists")
    scene.patch("service", {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})
    scene.apply(spec={**YIELD, "labels": {"example.com/team": "blue"}})
    eventually(
        lambda: scene.get("service")["metadata"]["labels"].get("example.com/team") == "blue", "the rest is applied"
    )
    assert scene.get("service")["spec"]["type"] == "LoadBalancer"
    eventually(lambda: scene.condition("Conflicted")["status"] == "True", "the conflict is reported")
