"""HTTPRoutes and Ingresses on the real API server with the Gateway API CRD: each field, drift, and migration."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from faults.schema_walk import mutations
from integration.gateways import GATEWAY, assign, report, there
from integration.scene import SPEC, Scene, eventually, manifest, masked
from yaml_files import webapp_schema

ROOT = Path(__file__).parents[2]
SCHEMA = webapp_schema()["spec"]["properties"]

BASE: dict[str, Any] = {
    **SPEC,
    "replicas": 0,
    "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
}
ROUTES: list[dict[str, Any]] = [
    {
        "hostnames": ["shop.example.com", "*.example.org"],
        "parentRefs": [{**GATEWAY, "sectionName": "https", "port": 443}, {"name": "inside"}],
        "rules": [
            {
                "path": {"type": "PathPrefix", "value": "/api"},
                "method": "GET",
                "headers": [{"name": "X-A", "type": "Exact", "value": "1"}, {"name": "X-B", "value": "2"}],
                "timeouts": {"request": "10s", "backendRequest": "2s"},
                "port": "admin",
            },
            {},
        ],
    },
    {"name": "api", "parentRefs": [GATEWAY]},
]
INGRESS: dict[str, Any] = {
    "className": "nginx",
    "annotations": {"example.com/size": "8m", "example.com/other": "x"},
    "hosts": [
        {"host": "shop.example.com", "paths": [{"path": "/", "port": "http"}, {"path": "/a", "pathType": "Exact"}]},
        {"host": "*.example.org"},
    ],
    "tls": [{"hosts": ["shop.example.com", "*.example.org"], "secretName": "tls"}, {"secretName": "other"}],
}
KINDS = ("httproute", "ingress")


def specs(field: str, value: Any) -> Iterator[dict[str, Any]]:
    """Yield specs that differ from a field's value in one place."""
    yield {**BASE, field: value}
    for mutation in mutations(SCHEMA[field], [value]):
        yield {**BASE, field: mutation.spec}


def exposed(scene: Scene, webapp: str) -> dict[str, Any]:
    """Return the HTTPRoutes and Ingresses of a WebApp by name, with its name masked."""
    found = {
        f"{kind}/{child['metadata']['name']}": masked(child)
        for kind in KINDS
        for child in scene.list(kind, f"coxswain.dev/webapp={webapp}")
    }
    renamed: dict[str, Any] = json.loads(json.dumps(found).replace(webapp, "NAME"))
    return renamed


def wait_until_exposed(scene: Scene, wanted: Mapping[str, Any], what: str) -> None:
    eventually(lambda: exposed(scene, "evolved") == wanted, what)


def is_valid(scene: Scene, name: str, spec: Mapping[str, Any]) -> bool:
    """Create a WebApp; return whether the schema accepts it."""
    answer = scene.send("POST", "webapp", thing=manifest(name, spec))
    if answer.status_code == 422:
        return False
    answer.raise_for_status()
    return True


def observed(scene: Scene, webapp: str) -> Mapping[str, Any]:
    """Wait until the operator has applied the current generation of a WebApp; return it."""

    def check() -> Mapping[str, Any] | None:
        found = scene.get("webapp", webapp)
        done = found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
        retried = any("a write failed" in each.get("message", "") for each in found["status"].get("children", []))
        return found if done and not retried else None

    return eventually(check, f"{webapp} is observed")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("field", "value"), [("routes", ROUTES), ("ingress", INGRESS)])
def test_a_walk_through_the_schema(scene: Scene, field: str, value: Any) -> None:
    """The API accepts each valid spec, and a changed WebApp gets the same objects as a new one."""
    tried, refused = 0, 0
    scene.apply("evolved", BASE)
    for number, spec in enumerate(specs(field, value)):
        fresh = f"fresh-{number}"
        if not is_valid(scene, fresh, spec):
            refused += 1
            continue
        # An apply that empties a map is refused, because the API server turns it into null.
        change = [{"op": "replace", "path": "/spec", "value": spec}]
        scene.send("PATCH", "webapp", "/evolved", change, "json-patch+json").raise_for_status()
        told = [
            f"{json.dumps(spec[field])}: {child}"
            for webapp in ("evolved", fresh)
            for child in observed(scene, webapp)["status"]["children"]
            if "message" in child and "waits for Gateway" not in child["message"] and "address" not in child["message"]
        ]
        assert not told, "\n".join(told)
        wanted = exposed(scene, fresh)
        assert wanted or not spec[field], "nothing was created"
        wait_until_exposed(scene, wanted, f"as new: {json.dumps(spec[field])}")
        scene.send("DELETE", "webapp", f"/{fresh}").raise_for_status()
        tried += 1
    print(f"{field}: {tried} specs accepted, {refused} refused")
    assert tried > 40
    mark = scene.cluster.audit()
    # A last conflict may still cause reads.
    assert not [request for request in scene.settled(mark) if not request.startswith("get ")], (
        "nothing is left to write"
    )


WEB = {**SPEC, "routes": [{**ROUTES[0], "rules": [{}]}], "ingress": INGRESS}


def ready(scene: Scene, spec: Mapping[str, Any] = WEB) -> dict[str, Any]:
    """Apply a WebApp, let the controllers accept its HTTPRoute and Ingress, and wait until it is Ready."""
    scene.apply(spec=spec)
    for kind, field in (("httproute", "routes"), ("ingress", "ingress")):
        if field in spec:
            there(scene, kind)
    if "routes" in spec:
        report(scene)
    if "ingress" in spec:
        assign(scene)
    return scene.ready()


CHANGES: list[tuple[str, str, Any]] = [
    ("httproute", "/spec/hostnames", ["else.example.com"]),
    ("httproute", "/spec/hostnames", None),
    ("httproute", "/spec/parentRefs", [{"name": "other"}]),
    ("httproute", "/spec/rules/0/backendRefs/0/port", 99),
    ("httproute", "/spec/rules/0/backendRefs/0/weight", 2),
    ("httproute", "/spec/rules/0/timeouts", {"request": "1s"}),
    ("ingress", "/spec/rules/0/host", "else.example.com"),
    ("ingress", "/spec/rules/0/http/paths/0/backend/service/name", "else"),
    ("ingress", "/spec/tls", None),
    ("ingress", "/spec/ingressClassName", "else"),
    ("ingress", "/metadata/annotations/example.com~1size", "9m"),
    ("ingress", "/metadata/ownerReferences", None),
    ("httproute", "/metadata/ownerReferences", None),
    ("httproute", "/metadata/labels/coxswain.dev~1webapp", "other"),
]


def wait_until_as(scene: Scene, before: Mapping[str, Any], what: str) -> None:
    eventually(lambda: all(masked(scene.get(kind)) == before[kind] for kind in before), what)


def test_drift_is_corrected_and_foreign_fields_stay(scene: Scene) -> None:
    ready(scene)
    for kind in KINDS:
        scene.kubectl("annotate", kind, "web", "example.com/theirs=1")
    before = {kind: masked(scene.get(kind)) for kind in KINDS}
    for kind, path, value in CHANGES:
        operation = {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}
        scene.json_patch(kind, operation)
        wait_until_as(scene, before, f"{kind} {path} is corrected")
    report(scene)
    scene.ready()
    for kind in KINDS:
        scene.kubectl("delete", kind, "web")
    eventually(lambda: all(scene.find(kind) for kind in KINDS), "both are created again")


def test_the_cause_of_a_refusal_is_reported(scene: Scene) -> None:
    ready(scene)
    report(scene, accepted="False", reason="NotAllowedByListeners")
    message = scene.not_ready("NotAllowedByListeners")["message"]
    assert message.startswith("HTTPRoute web: Gateway infra/public, listener https does not accept the route")
    assert scene.get("webapp")["status"]["url"] == "https://shop.example.com", "the Ingress' URL"
    report(scene)
    scene.ready()
    scene.patch_status("ingress", {"loadBalancer": {"ingress": None}}, "web")
    assert "kubectl get ingressclasses nginx" in scene.not_ready("NoAddress")["message"]


def test_the_move_from_an_ingress_to_a_route(scene: Scene) -> None:
    """The steps of docs/webapp.md: both exist for a time, and the Service stays unchanged."""
    old = {"hosts": [{"host": "old.example.com"}]}
    new = [{"hostnames": ["new.example.com"], "parentRefs": [GATEWAY]}]
    inside = "http://web.test.svc:8080".replace("test", scene.namespace)
    assert ready(scene, {**SPEC, "ingress": old})["status"]["urls"] == ["http://old.example.com", inside]
    service = scene.child("service")["metadata"]["uid"]
    both = ready(scene, {**SPEC, "ingress": old, "routes": new})["status"]
    assert both["urls"] == ["http://new.example.com", "http://old.example.com", inside]
    assert both["url"] == "http://new.example.com"
    assert ready(scene, {**SPEC, "routes": new})["status"]["urls"] == ["http://new.example.com", inside]
    eventually(lambda: not scene.names("ingress"), "the Ingress is gone")
    assert scene.child("service")["metadata"]["uid"] == service
    assert scene.apply_ready()["status"]["url"] == inside
    eventually(lambda: not scene.names("httproute"), "the HTTPRoute is gone")


def test_routes_go_with_the_ports(scene: Scene) -> None:
    ready(scene)
    scene.apply_ready(spec={name: value for name, value in SPEC.items() if name != "ports"})
    eventually(lambda: not any(scene.names(kind) for kind in (*KINDS, "service")), "all three are gone")


def test_a_taken_name_of_a_route_is_freed_by_the_other_webapp(scene: Scene) -> None:
    """Route api of web and WebApp web-api need the same HTTPRoute: the release needs no resync."""
    scene.apply("web-api", {**SPEC, "routes": [{"parentRefs": [GATEWAY]}]})
    there(scene, "httproute", "web-api")
    scene.apply(spec={**SPEC, "routes": [{"name": "api", "parentRefs": [GATEWAY]}]})
    scene.not_ready("NameTaken")
    scene.apply("web-api", SPEC)
    eventually(lambda: scene.names("httproute") == ["web-api"], "it belongs to the other WebApp now")


def test_an_existing_route_is_adopted(scene: Scene) -> None:
    scene.create(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "web", "annotations": {"coxswain.dev/adopt": "web"}},
            "spec": {"parentRefs": [{"name": "theirs"}], "hostnames": ["theirs.example.com"]},
        }
    )
    before = scene.get("httproute")["metadata"]["uid"]
    ready(scene)
    after = scene.get("httproute")
    assert after["metadata"]["uid"] == before
    assert after["spec"]["hostnames"] == ROUTES[0]["hostnames"]
