"""spec.ingress and spec.routes with a real controller and a real proxy, Contour and Envoy: requests and reports.

docs/webapp.md lists the versions, and the problems without a report by Contour.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.contour import CLASS, GATEWAY, INGRESS_ADDRESS, Contour, ask
from gateway.traffic import PORTS, Load, serves
from integration.scene import Scene, eventually

SPEC: dict[str, Any] = {
    "image": "registry.example/web:v1",
    "runAsUser": 1000,
    "ports": [{"name": "http", "containerPort": PORTS[0]}, {"name": "admin", "containerPort": PORTS[1]}],
}


def host(scene: Scene, name: str = "web") -> str:
    """Return an unused host of the Gateway's domain."""
    return f"{name}-{scene.namespace}.example.com"


def route(*hosts: str, parent: Mapping[str, Any] = GATEWAY, **more: Any) -> dict[str, Any]:
    return {"hostnames": list(hosts), "parentRefs": [dict(parent)], **more}


def exposed(scene: Scene, **more: Any) -> dict[str, Any]:
    """Return a spec with a route and an Ingress."""
    ingress = {"className": CLASS, "hosts": [{"host": host(scene, "ingress")}]}
    return {**SPEC, "routes": [route(host(scene))], "ingress": ingress, **more}


def test_requests_arrive_by_the_route_and_by_the_ingress(scene: Scene) -> None:
    status = scene.apply_ready(spec=exposed(scene))["status"]
    by_route, by_ingress = f"http://{host(scene)}", f"http://{host(scene, 'ingress')}"
    assert status["urls"][:2] == [by_route, by_ingress]
    assert status["url"] == by_route
    serves(by_route, "web")
    serves(by_ingress, "web")
    assert scene.get("ingress")["status"]["loadBalancer"]["ingress"][0]["ip"] == INGRESS_ADDRESS
    assert ask(f"http://{host(scene, 'unknown')}")[0] == 404
    assert ask("http://unknown.example.org")[0] == 404


def test_the_url_of_a_listener_with_tls_is_reached(scene: Scene, contour: Contour) -> None:
    status = scene.apply_ready(
        spec={**SPEC, "routes": [route(host(scene), parent={**GATEWAY, "sectionName": "https"})]}
    )
    url = status["status"]["url"]
    assert url == f"https://{host(scene)}"
    serves(url, "web", contour.ca_file)
    assert ask(f"http://{host(scene)}")[0] == 404


def port(answer: tuple[int, str]) -> int:
    """Return the port of the answering pod."""
    status, text = answer
    assert status == 200, answer
    return int(text.split()[2])


def test_each_rule_leads_where_the_spec_says(scene: Scene) -> None:
    """Requests to the URLs of the status succeed, also with a path; requests without a matching rule fail."""
    rules: list[dict[str, Any]] = [
        {"path": {"type": "PathPrefix", "value": "/v1"}, "timeouts": {"request": "10s", "backendRequest": "2s"}},
        {
            "path": {"type": "Exact", "value": "/admin"},
            "method": "POST",
            "headers": [{"name": "X-Stage", "value": "beta"}],
            "port": "admin",
        },
    ]
    paths = [{"path": "/only", "pathType": "Exact"}, {"path": "/more", "port": "admin"}]
    ingress = {"className": CLASS, "hosts": [{"host": host(scene, "ingress"), "paths": paths}]}
    spec = exposed(scene, routes=[route(host(scene), rules=rules)], ingress=ingress)
    public = scene.apply_ready(spec=spec)["status"]["urls"][:2]
    assert public == [f"http://{host(scene)}/v1", f"http://{host(scene, 'ingress')}/only"]
    for url in public:
        serves(url, "web")
    beta = {"X-Stage": "beta"}
    url = f"http://{host(scene)}"
    assert ask(f"{url}/v1/more")[0] == 200
    assert port(ask(f"{url}/admin", "POST", beta)) == PORTS[1]
    assert [ask(f"{url}/admin", "POST")[0], ask(f"{url}/admin", headers=beta)[0], ask(url)[0]] == [404, 404, 404]
    url = f"http://{host(scene, 'ingress')}"
    assert port(ask(f"{url}/more/and/more")) == PORTS[1]
    assert [ask(f"{url}/only/more")[0], ask(url)[0]] == [404, 404]


def only(load: Load, version: str) -> Callable[[], bool]:
    return lambda: load.versions() == {version}


def test_a_rollout_and_edits_fail_no_request(scene: Scene, workload: Path, tmp_path: Path) -> None:
    scene.apply_ready(spec=exposed(scene, replicas=3))
    urls = [f"http://{host(scene)}", f"http://{host(scene, 'ingress')}"]
    for url in urls:
        serves(url, "web")
    by_route, by_ingress = (Load(workload, url, tmp_path / f"load-{number}") for number, url in enumerate(urls))
    began = time.monotonic()
    with by_route, by_ingress:
        assert (by_route.versions(), by_ingress.versions()) == ({"v1"}, {"v1"})
        scene.patch("webapp", {"spec": {"image": "registry.example/web:v2"}})
        scene.ready()
        eventually(only(by_route, "v2"), "only v2 answers by the route")
        eventually(only(by_ingress, "v2"), "only v2 answers by the Ingress")
        rules = [{"path": {"type": "Exact", "value": "/new"}}, {"timeouts": {"request": "9s"}}]
        routes = [route(host(scene), host(scene, "new"), rules=rules)]
        hosts = [{"host": host(scene, "ingress")}, {"host": host(scene, "new-ingress")}]
        scene.apply_ready(spec=exposed(scene, replicas=3, image="registry.example/web:v2", routes=routes))
        serves(f"http://{host(scene, 'new')}/new", "web")
        scene.patch("webapp", {"spec": {"replicas": 5, "ingress": {"className": CLASS, "hosts": hosts}}})
        scene.ready()
        serves(f"http://{host(scene, 'new-ingress')}", "web")
        scene.patch("webapp", {"spec": {"replicas": 2}})
        scene.ready()
        gone = 6.0  # more than the preStop sleep: the containers of the removed pods have ended
        until = time.monotonic() + gone
        eventually(lambda: time.monotonic() > until, "the old containers have ended", pause=0.5)
    for way, load in (("route", by_route), ("Ingress", by_ingress)):
        report = load.report.unharmed()
        assert report.versions == {"v1", "v2"}
        assert report.requests > 500
        took = time.monotonic() - began
        print(f"{way}: {report.requests} requests in {took:.0f} s, 0 failed, {report.resent} sent again")


def test_without_the_sleep_before_the_end_requests_fail(scene: Scene, workload: Path, tmp_path: Path) -> None:
    """Counterexample to the zeros above: without a preStop sleep, containers end before Envoy drops their endpoints."""
    spec = exposed(scene, replicas=8, terminationGracePeriodSeconds=1)
    scene.apply_ready(spec=spec)
    serves(f"http://{host(scene)}", "web")
    with Load(workload, f"http://{host(scene)}", tmp_path / "load") as load:
        scene.apply_ready(spec={**spec, "image": "registry.example/web:v2"})
        eventually(only(load, "v2"), "only v2 answers")
        scene.patch("webapp", {"spec": {"replicas": 1}})  # most endpoints end at the same time
        scene.ready()
    print(f"{load.report.requests} requests, {load.report.failed} failed: {dict(load.report.kinds)}")
    assert load.report.failed > 0
    assert set(load.report.kinds) == {"answer: status 503"}


@dataclass(frozen=True)
class Cause:
    """Fields of a WebApp rejected or ignored by a controller; its report; accepted fields."""

    fields: Callable[[Scene], dict[str, Any]]
    reason: str
    message: tuple[str, ...]
    correction: Callable[[Scene], dict[str, Any]]


def _accepted(scene: Scene) -> dict[str, Any]:
    return {"routes": [route(host(scene))]}


def _ingress(name: str | None) -> Callable[[Scene], dict[str, Any]]:
    named = {} if name is None else {"className": name}
    return lambda scene: {"ingress": {**named, "hosts": [{"host": host(scene)}]}}


CAUSES = {
    "a Gateway that does not exist": Cause(
        lambda scene: {"routes": [route(host(scene), parent={"name": "missing"})]},
        "NotAccepted",
        (
            "HTTPRoute web: waits for Gateway missing: its controller has not",
            "kubectl describe gateways.gateway.networking.k8s.io missing -n ",
        ),
        _accepted,
    ),
    "a host that no listener has": Cause(
        lambda _: {"routes": [route("web.example.org")]},
        "NoMatchingListenerHostname",
        ("Gateway gateways/public does not accept the route", "No intersecting hostnames"),
        _accepted,
    ),
    "a listener that does not exist": Cause(
        lambda scene: {"routes": [route(host(scene), parent={**GATEWAY, "sectionName": "other"})]},
        "NoMatchingParent",
        ("Gateway gateways/public, listener other does not accept the route", "No listeners match"),
        _accepted,
    ),
    "an Ingress without a class": Cause(
        _ingress(None),
        "NoAddress",
        ("Ingress web: has no class and no address", "Set spec.ingress.className"),
        _ingress(CLASS),
    ),
    "an Ingress of a class without a controller": Cause(
        _ingress("nginx"),
        "NoAddress",
        ("Ingress web: no controller has assigned an address", "kubectl get ingressclasses nginx"),
        _ingress(CLASS),
    ),
}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
def test_the_status_names_the_cause(scene: Scene, cause: Cause) -> None:
    scene.apply(spec={**SPEC, **cause.fields(scene)})
    scene.not_ready(cause.reason)
    eventually(lambda: scene.get("webapp")["status"]["readyReplicas"] == 1, "the pod is ready")
    message = scene.not_ready(cause.reason)["message"]
    assert [part for part in cause.message if part not in message] == [], message
    assert scene.get("webapp")["status"]["url"] == f"http://web.{scene.namespace}.svc:{PORTS[0]}"
    assert ask(f"http://{host(scene)}")[0] == 404
    scene.apply_ready(spec={**SPEC, **cause.correction(scene)})
    assert scene.get("webapp")["status"]["url"] == f"http://{host(scene)}"
    serves(f"http://{host(scene)}", "web")


def test_a_backend_that_is_not_there_is_named(scene: Scene) -> None:
    """Paused, the operator does not create the Service again."""
    scene.apply_ready(spec=exposed(scene))
    scene.patch("webapp", {"spec": {"paused": True}})
    scene.kubectl("delete", "service", "web")

    def check() -> dict[str, Any] | None:
        children = scene.get("webapp")["status"]["children"]
        return next(
            (one for one in children if one["kind"] == "HTTPRoute" and "BackendNotFound" in one.get("message", "")),
            None,
        )

    found = eventually(check, "the route reports its backend")
    assert found["health"] == "Degraded"
    assert "cannot resolve the references of the route" in found["message"]
    assert "kubectl get service web" in found["message"]
    assert f"http://{host(scene)}" not in scene.get("webapp")["status"]["urls"]
    scene.patch("webapp", {"spec": {"paused": False}})
    scene.ready()
    serves(f"http://{host(scene)}", "web")


def test_the_route_of_another_webapp_is_not_taken_away(make_scene: Callable[[], Scene]) -> None:
    """The older route keeps its rules. A route without any other rule is refused, one with other rules is reported."""
    first, second = make_scene(), make_scene()
    first.apply_ready("first", {**SPEC, "routes": [route(host(first))]})
    second.apply("second", {**SPEC, "routes": [route(host(first))]})
    assert "does not accept the route" in second.not_ready("RuleMatchConflict", "second")["message"]
    rules: list[dict[str, Any]] = [{}, {"path": {"value": "/second"}}]
    second.apply("second", {**SPEC, "routes": [route(host(first), rules=rules)]})
    assert "does not apply all rules" in second.not_ready("RuleMatchPartiallyConflict", "second")["message"]
    assert second.get("webapp", "second")["status"]["urls"] == [f"http://second.{second.namespace}.svc:{PORTS[0]}"]
    serves(f"http://{host(first)}", "first")
    serves(f"http://{host(first)}/second", "second")
    second.apply_ready("second", {**SPEC, "routes": [route(host(first), rules=rules[1:])]})
    assert second.get("webapp", "second")["status"]["url"] == f"http://{host(first)}/second"


def change_listener(cluster: ControlPlane, hostname: str) -> None:
    paths = (f"/spec/listeners/{number}/hostname" for number in range(2))
    patch = json.dumps([{"op": "replace", "path": path, "value": hostname} for path in paths])
    cluster.kubectl("patch", "gateway", GATEWAY["name"], "-n", GATEWAY["namespace"], "--type=json", "--patch", patch)


def test_a_changed_listener_is_noticed(scene: Scene, cluster: ControlPlane) -> None:
    scene.apply_ready(spec={**SPEC, "routes": [route(host(scene))]})
    change_listener(cluster, "*.example.net")
    try:
        scene.not_ready("NoMatchingListenerHostname")
    finally:
        change_listener(cluster, "*.example.com")
    scene.ready()
    serves(f"http://{host(scene)}", "web")


# The limits in docs/webapp.md: Contour does not report these problems.


def test_a_host_without_a_listener_beside_another_one_is_not_reported(scene: Scene) -> None:
    other = "web.example.org"
    status = scene.apply_ready(spec={**SPEC, "routes": [route(host(scene), other)]})["status"]
    assert status["urls"][:2] == [f"http://{host(scene)}", f"http://{other}"]
    serves(f"http://{host(scene)}", "web")
    assert ask(f"http://{other}")[0] == 404


def test_an_ingress_keeps_its_address_with_another_class_until_it_is_deleted(scene: Scene) -> None:
    url = f"http://{host(scene, 'ingress')}"
    spec = exposed(scene)
    scene.apply_ready(spec=spec)
    serves(url, "web")
    ingress = {"className": "nginx", "hosts": spec["ingress"]["hosts"]}
    assert url in scene.apply_ready(spec={**spec, "ingress": ingress})["status"]["urls"]
    eventually(lambda: ask(url)[0] == 404, "Contour no longer serves the Ingress")
    scene.kubectl("delete", "ingress", "web")
    scene.not_ready("NoAddress")
    assert url not in scene.get("webapp")["status"]["urls"]


def test_the_report_of_a_deleted_gateway_stays(scene: Scene, cluster: ControlPlane) -> None:
    url = f"http://{host(scene)}"
    scene.apply_ready(spec={**SPEC, "routes": [route(host(scene))]})
    serves(url, "web")
    named = ("gateway", GATEWAY["name"], "-n", GATEWAY["namespace"])
    gateway = json.loads(cluster.kubectl("get", *named, "-o", "json"))
    cluster.kubectl("delete", *named)
    try:
        eventually(lambda: not is_served(url), "Envoy no longer serves the host")
        assert scene.ready()["status"]["url"] == url
    finally:
        again = {**gateway, "metadata": GATEWAY, "status": None}
        cluster.kubectl("apply", "-f", "-", input=json.dumps(again))
    serves(url, "web")


def is_served(url: str) -> bool:
    """Tell whether Envoy has the host of a URL. It closes a listener without any host."""
    try:
        return ask(url)[0] == 200
    except OSError:
        return False
