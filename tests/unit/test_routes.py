"""HTTPRoutes, the Ingress, and the URLs of a WebApp."""

from typing import Any

import pytest

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.status.health import HEALTHY, Child, Health, Level
from coxswain.kernel.workload import ChildReport, Observations
from coxswain.webapp import kinds
from coxswain.webapp.children.httproute import http_routes, route_health
from coxswain.webapp.children.ingress import ingress, ingress_health
from coxswain.webapp.kinds import HTTP_ROUTE, SERVICE
from coxswain.webapp.urls import LIMIT, urls
from rendered import desired, observations, observed_as
from unit.objects import observed_child, webapp

PORTS = [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}]
GATEWAY = {"name": "public", "namespace": "infra"}
OTHER = {"name": "inside"}


def routed(*routes: dict[str, Any], **spec: Any) -> list[Manifest]:
    """Return the specs of the HTTPRoutes."""
    app = webapp(**{"ports": PORTS, "routes": [{"parentRefs": [GATEWAY], **route} for route in routes], **spec})
    return [manifest["spec"] for manifest in http_routes(app)]


def test_neither_without_the_fields() -> None:
    assert [each["kind"] for each in desired(webapp(ports=PORTS))] == ["ServiceAccount", "Service", "Deployment"]
    assert http_routes(webapp(ports=PORTS, routes=[])) == []


def test_the_shortest_route_has_every_default_of_the_api() -> None:
    [spec] = routed({})
    assert spec == {
        "parentRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", **GATEWAY}],
        "rules": [
            {
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                "backendRefs": [{"group": "", "kind": "Service", "name": "web", "port": 8080, "weight": 1}],
            }
        ],
    }
    assert routed({"rules": [], "hostnames": []}) == [spec]


def test_a_rule_leads_to_the_service_port_with_its_name() -> None:
    udp = {"name": "dns", "port": 53, "protocol": "UDP"}
    service = {
        "ports": [udp, {"name": "web", "port": 80, "protocol": "TCP"}, {"name": "adm", "port": 81, "protocol": "TCP"}]
    }
    [spec] = routed({"rules": [{}, {"port": "adm"}]}, service=service)
    assert [rule["backendRefs"][0]["port"] for rule in spec["rules"]] == [80, 81]
    made = ingress(webapp(ports=PORTS, service=service, ingress={"hosts": [{"host": "a.b"}]}))
    assert made is not None
    assert made["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"] == {
        "name": "web",
        "port": {"name": "web"},
    }


def test_ingress_annotations_are_its_own() -> None:
    app = webapp(
        ports=PORTS, annotations={"a": "1", "b": "1"}, ingress={"hosts": [{"host": "a.b"}], "annotations": {"a": "2"}}
    )
    annotated = {each["kind"]: each["metadata"]["annotations"] for each in desired(app)}
    assert annotated["Ingress"] == {"a": "2", "b": "1"}
    assert annotated["Service"] == {"a": "1", "b": "1"}


# The health of an HTTPRoute.


def says(parent: dict[str, Any], accepted: str = "True", resolved: str = "True", **more: Any) -> dict[str, Any]:
    """Return the report of a Gateway's controller."""
    generation = more.pop("observed", 2)
    conditions = [
        {"type": kind, "status": status, "observedGeneration": generation, **more}
        for kind, status in (("Accepted", accepted), ("ResolvedRefs", resolved))
    ]
    return {"parentRef": parent, "controllerName": "example.com/gateway", "conditions": conditions}


def health(*reported: dict[str, Any], parents: list[dict[str, Any]] | None = None) -> Health:
    """Return the health of an HTTPRoute with two Gateways."""
    spec = {"parentRefs": [GATEWAY, OTHER] if parents is None else parents}
    status = {"parents": list(reported)} if reported else {}
    return route_health(observed_as(HTTP_ROUTE, {"metadata": {"generation": 2}, "spec": spec, "status": status}))


def test_a_route_is_healthy_once_each_gateway_accepts_it() -> None:
    assert health(says(GATEWAY), says(OTHER)) == HEALTHY
    waiting = health(says(GATEWAY))
    assert (waiting.level, waiting.reason, waiting.stalled) == (Level.PROGRESSING, "NotAccepted", False)
    assert "Gateway inside: its controller has not reported" in waiting.message
    assert "kubectl describe gateways.gateway.networking.k8s.io inside -n shop" in waiting.message
    assert "kubectl describe gateways.gateway.networking.k8s.io public -n infra" in health(says(OTHER)).message
    assert health().level is Level.PROGRESSING


@pytest.mark.parametrize(
    ("accepted", "resolved", "problem"),
    [("False", "True", "does not accept the route"), ("True", "False", "cannot resolve the references of the route")],
)
def test_the_cause_names_gateway_and_reason(accepted: str, resolved: str, problem: str) -> None:
    refusal = {"reason": "NotAllowedByListeners", "message": "namespace shop\nis not allowed"}
    found = health(says(OTHER), says(GATEWAY, accepted, resolved, **refusal))
    assert (found.level, found.reason, found.stalled) == (Level.DEGRADED, "NotAllowedByListeners", False)
    assert found.message.startswith(
        f"Gateway infra/public {problem} (NotAllowedByListeners). Its controller example.com/"
    )
    assert found.message.endswith("; message: namespace shop is not allowed")


def test_rules_that_are_not_applied_are_reported() -> None:
    """Contour 1.33.8 accepts a route and drops the rules that another HTTPRoute has; the condition is of the API."""
    partial = {
        "type": "PartiallyInvalid",
        "status": "True",
        "reason": "RuleMatchPartiallyConflict",
        "message": "Dropped",
    }

    def dropped(observed: int, status: str = "True") -> Health:
        accepted = says(GATEWAY)
        conditions = [*accepted["conditions"], {**partial, "status": status, "observedGeneration": observed}]
        return health({**accepted, "conditions": conditions}, parents=[GATEWAY])

    found = dropped(observed=2)
    assert (found.level, found.reason, found.stalled) == (Level.DEGRADED, "RuleMatchPartiallyConflict", False)
    assert found.message.startswith("Gateway infra/public does not apply all rules of the route")
    assert "that another HTTPRoute has as well" in found.message
    assert dropped(observed=1) == HEALTHY, "it is about an earlier generation"
    assert dropped(observed=2, status="False") == HEALTHY


def test_an_unresolved_backend_is_named() -> None:
    refusal = {"reason": "BackendNotFound", "message": 'service "web" not found'}
    status = {"parents": [says(GATEWAY, "True", "False", **refusal)]}
    spec = {"parentRefs": [GATEWAY], "rules": [{"backendRefs": [{"name": "web"}]}, {"backendRefs": [{"name": "web"}]}]}
    found = route_health(observed_as(HTTP_ROUTE, {"metadata": {"generation": 2}, "spec": spec, "status": status}))
    assert found.reason == "BackendNotFound"
    assert "Check the ports of the Service: kubectl get service web -n shop; message" in found.message


def test_a_refusal_comes_before_a_wait() -> None:
    assert health(says(OTHER, "False", reason="NoMatchingParent")).reason == "NoMatchingParent"


def test_what_was_said_of_an_earlier_generation_does_not_count() -> None:
    assert "has not processed the last change" in health(says(GATEWAY, observed=1), says(OTHER)).message
    assert "has not processed the last change" in health({**says(GATEWAY), "conditions": []}, says(OTHER)).message
    assert health(says(GATEWAY, "False", observed=1), says(OTHER)).level is Level.PROGRESSING


def test_the_entry_of_a_former_controller_does_not_count() -> None:
    assert health(says(GATEWAY, "False"), says(GATEWAY), says(OTHER)) == HEALTHY


def test_entries_are_those_of_the_same_listener() -> None:
    https = {**GATEWAY, "sectionName": "https"}
    assert health(says(GATEWAY), parents=[https]).level is Level.PROGRESSING
    assert "Gateway infra/public, listener https" in health(says(GATEWAY), parents=[https]).message
    assert health(says(https), parents=[https]) == HEALTHY
    assert health(says({**OTHER, "namespace": "shop"}), parents=[OTHER]) == HEALTHY, (
        "the entry has the default namespace added"
    )
    assert health(says({**GATEWAY, "namespace": "else"}), parents=[GATEWAY]).level is Level.PROGRESSING


@pytest.mark.parametrize("namespace", [{}, {"namespace": "shop"}])
def test_gateways_of_one_name_in_two_namespaces_are_told_apart(namespace: dict[str, str]) -> None:
    """A reference without a namespace means that of the route; some controllers add it to their entry."""
    near = {"name": "public"}
    both = [near, GATEWAY]
    assert health(says(GATEWAY), parents=both).level is Level.PROGRESSING, "the near one has not reported"
    refused = health(says(GATEWAY), says({**near, **namespace}, "False", reason="NoMatchingParent"), parents=both)
    assert (refused.level, refused.reason) == (Level.DEGRADED, "NoMatchingParent")
    assert health(says({**near, **namespace}), parents=both).level is Level.PROGRESSING, "the far one has not reported"
    assert health(says(GATEWAY), says({**near, **namespace}), parents=both) == HEALTHY


# The health of an Ingress.


def test_an_ingress_is_healthy_once_it_has_an_address() -> None:
    live: dict[str, Any] = {"spec": {"ingressClassName": "nginx"}, "status": {"loadBalancer": {}}}
    waiting = ingress_health(observed_as(kinds.INGRESS, live))
    assert (waiting.level, waiting.reason) == (Level.PROGRESSING, "NoAddress")
    assert "kubectl get ingressclasses nginx" in waiting.message
    without = ingress_health(observed_as(kinds.INGRESS, {"spec": {}})).message
    assert "created, or spec.ingress.className was removed. Set spec.ingress.className: kubectl get" in without
    live["status"]["loadBalancer"]["ingress"] = [{"ip": "192.0.2.1"}]
    assert ingress_health(observed_as(kinds.INGRESS, live)) == HEALTHY


# URLs.


def found(*unhealthy: str, **spec: Any) -> list[str]:
    """Return the URLs of a WebApp whose children are healthy except for some."""
    app = webapp(**{"ports": PORTS, **spec})
    children = [
        Child(
            each["kind"], each["metadata"]["name"], Health(Level.PROGRESSING) if each["kind"] in unhealthy else HEALTHY
        )
        for each in desired(app)
    ]
    live = observed_child(SERVICE)
    return urls(app, Observations([ChildReport(each, live if each.kind == "Service" else None) for each in children]))


INSIDE = "http://web.shop.svc:8080"
ROUTES = [
    {"parentRefs": [{**GATEWAY, "sectionName": "https-public"}], "hostnames": ["shop.example.com", "*.example.com"]},
    {"name": "api", "parentRefs": [OTHER], "hostnames": ["api.example.com"], "rules": [{"path": {"value": "/v1"}}]},
]
INGRESS = {
    "hosts": [{"host": "old.example.com"}, {"host": "*.example.org"}, {"host": "plain.example.net"}],
    "tls": [{"hosts": ["*.example.com"]}],
}


def test_the_most_public_url_comes_first() -> None:
    assert found() == [INSIDE]
    assert found(routes=ROUTES, ingress=INGRESS) == [
        "https://shop.example.com",
        "http://api.example.com/v1",
        "https://old.example.com",
        "http://plain.example.net",
        INSIDE,
    ]
    assert urls(webapp(), observations([])) == []


def test_a_url_that_does_not_work_yet_is_left_out() -> None:
    assert found("HTTPRoute", routes=ROUTES, ingress=INGRESS)[0] == "https://old.example.com"
    assert found("HTTPRoute", "Ingress", routes=ROUTES, ingress=INGRESS) == [INSIDE]


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ([], ""),
        ([{"method": "GET"}], ""),
        ([{"path": {"type": "Exact", "value": "/a"}}, {"path": {"type": "PathPrefix", "value": "/"}}], ""),
        ([{"path": {"type": "RegularExpression", "value": "/[a-z]"}}, {"path": {"value": "/b"}}], "/b"),
        ([{"path": {"type": "RegularExpression", "value": "/[a-z]"}}], None),
    ],
)
def test_the_path_of_a_url(rules: list[dict[str, Any]], path: str | None) -> None:
    route = {"parentRefs": [{**GATEWAY, "port": 443}], "hostnames": ["a.b"], "rules": rules}
    assert found(routes=[route])[0] == (INSIDE if path is None else f"https://a.b{path}")


@pytest.mark.parametrize(
    ("listeners", "url"),
    [
        ([{"port": 443}], "https://a.b"),
        ([{"port": 80}], "http://a.b"),
        ([{"port": 8443}], "https://a.b:8443"),
        ([{"port": 8080}], "http://a.b:8080"),
        ([{"sectionName": "https", "port": 9443}], "https://a.b:9443"),
        ([{"port": 8080}, {"port": 8443}], "https://a.b:8443"),
        ([{"port": 8443}, {"sectionName": "https"}], "https://a.b"),
        ([{"port": 8080}, {}], "http://a.b"),
    ],
)
def test_the_url_of_a_route_has_the_port_of_the_best_listener(listeners: list[dict[str, Any]], url: str) -> None:
    route = {"parentRefs": [{**GATEWAY, **listener} for listener in listeners], "hostnames": ["a.b"]}
    assert found(routes=[route])[0] == url


@pytest.mark.parametrize(
    ("paths", "url"),
    [
        ([{"path": "/shop"}], "http://a.b/shop"),
        ([{"path": "/v[0-9]", "pathType": "ImplementationSpecific"}, {"path": "/b"}], "http://a.b/b"),
        ([{"path": "/v[0-9]", "pathType": "ImplementationSpecific"}], INSIDE),
        ([{"path": "/", "pathType": "ImplementationSpecific"}], "http://a.b"),
    ],
)
def test_the_path_of_a_url_of_an_ingress(paths: list[dict[str, str]], url: str) -> None:
    assert found(ingress={"hosts": [{"host": "a.b", "paths": paths}]})[0] == url


def test_the_service_of_somebody_else_has_no_url() -> None:
    taken = Child("Service", "web", Health(Level.FOREIGN, "NameTaken"))
    assert urls(webapp(ports=PORTS), observations([taken])) == []


def test_an_ingress_refers_to_a_port_by_name_if_it_may() -> None:
    def backend(name: str) -> Any:
        service = {"ports": [{"name": name, "port": 80, "targetPort": "http"}]}
        (made,) = [
            each for each in desired(webapp(ports=PORTS, service=service, ingress=INGRESS)) if each["kind"] == "Ingress"
        ]
        return made["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]

    assert backend("public-endpoint") == {"name": "public-endpoint"}
    assert backend("public-endpoint1") == {"number": 80}, "more than 15 characters"
    assert backend("80") == {"number": 80}, "no letter"


def test_urls_are_few_and_each_stands_once() -> None:
    hosts = [{"host": f"h{number}.example.com"} for number in range(32)]
    names = [f"h{number}.example.com" for number in range(16)]
    routes = [{"parentRefs": [GATEWAY], "hostnames": names}]
    assert len(found(routes=routes, ingress={"hosts": hosts})) == 32 + 1
    many = [
        {"name": f"r{n}", "parentRefs": [GATEWAY], "hostnames": [f"{n}-{host}" for host in names]} for n in range(16)
    ]
    assert len(found(routes=many)) == LIMIT
