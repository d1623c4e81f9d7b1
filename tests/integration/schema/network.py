"""Invalid spec.routes and spec.ingress, and the expected messages."""

from typing import Any

from integration.schema.case import PORTS, Json, Refused, refused

GATEWAY = {"name": "public"}
UDP = [{"name": "dns", "containerPort": 53, "protocol": "UDP"}]
SERVED = {"ports": [{"name": "web", "port": 80, "targetPort": "http"}]}
NOT_A_PATH = ("//", "/a/./b", "/a/../b", "/a/..", "/a/.", "/a%2Fb", "/a%2fb")


def routed(field: str, says: str, *routes: Json, **spec: Any) -> Refused:
    """Return a refusal of routes; each has a Gateway."""
    made = [{"parentRefs": [GATEWAY], **route} for route in routes]
    return refused(field, says, **{"ports": PORTS, "routes": made, **spec})


def ruled(field: str, says: str, rule: Json, **spec: Any) -> Refused:
    """Return a refusal of a route's rule."""
    at = f"routes[0].rules[0].{field}" if field else "routes"
    return routed(at, says, {"rules": [rule]}, **spec)


def exposed(field: str, says: str, **ingress: Any) -> Refused:
    """Return a refusal of an Ingress."""
    spec = {"ports": PORTS, **ingress.pop("spec", {})}
    at = f"ingress.{field}" if field else "ingress"
    return refused(at, says, ingress={"hosts": [{"host": "a.example.com"}], **ingress}, **spec)


def at_path(says: str, **path: Any) -> Refused:
    """Return a refusal of an Ingress' path."""
    return exposed("hosts[0].paths[0].path", says, hosts=[{"host": "a.b", "paths": [path]}])


ALIAS = {"type": "ExternalName", "externalName": "old.example.com"}

ROUTES = [
    routed("service.type", "must not be ExternalName beside spec.routes or spec.ingress", {}, service=ALIAS),
    refused(
        "service.type",
        "must not be ExternalName beside spec.routes or spec.ingress",
        ports=PORTS,
        service=ALIAS,
        ingress={"hosts": [{"host": "a.example.com"}]},
    ),
    *(routed("routes", "spec.routes needs a TCP port", {}, ports=ports) for ports in ([], UDP)),
    routed(
        "routes",
        "spec.routes needs a TCP port",
        {},
        service={"ports": [{"name": "dns", "port": 53, "targetPort": 53, "protocol": "UDP"}]},
    ),
    ruled("", "the port of a rule must be the name of a TCP port", {"port": "admin"}),
    ruled("", "the port of a rule must be the name of a TCP port", {"port": "dns"}, ports=[*PORTS, *UDP]),
    ruled("", "the port of a rule must be the name of a TCP port", {"port": "http"}, service=SERVED),
    routed("routes", "each name may stand only once", {}, {}),
    routed("routes", "each name may stand only once", {"name": "a"}, {"name": "a"}, {}),
    routed("routes[0].name", "should match", {"name": "A"}),
    routed("routes[0].name", "should match", {"name": "a.b"}),
    routed("routes[0].hostnames[0]", "should match", {"hostnames": ["*"]}),
    routed("routes[0].hostnames[0]", "should match", {"hostnames": ["a.*.b"]}),
    routed("routes[0].hostnames[0]", "must be a DNS name", {"hostnames": ["192.0.2.1"]}),
    routed("routes[0].hostnames", "duplicate entries for", {"hostnames": ["a.b", "a.b"]}),
    routed("routes[0].parentRefs", "at least 1 items", {"parentRefs": []}),
    routed("routes[0].parentRefs", "two references to one Gateway", {"parentRefs": [GATEWAY, GATEWAY]}),
    routed(
        "routes[0].parentRefs",
        "two references to one Gateway",
        {"parentRefs": [GATEWAY, {**GATEWAY, "sectionName": "https"}]},
    ),
    routed(
        "routes[0].parentRefs",
        "two references to one Gateway",
        {"parentRefs": [{**GATEWAY, "sectionName": "https", "port": port} for port in (80, 443)]},
    ),
    routed("routes[0].parentRefs[0].port", "greater than or equal to 1", {"parentRefs": [{**GATEWAY, "port": 0}]}),
    *(ruled("path.value", "must not contain", {"path": {"value": path}}) for path in NOT_A_PATH),
    *(ruled("path.value", "must begin with '/'", {"path": {"value": path}}) for path in ("a", "/a b", "/a#b", "/%zz")),
    ruled("path.type", "supported values", {"path": {"type": "Prefix", "value": "/"}}),
    ruled("method", "supported values", {"method": "get"}),
    ruled("headers", "duplicate entries", {"headers": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
    ruled("headers[0].type", "supported values", {"headers": [{"name": "A", "value": "1", "type": "Regex"}]}),
    ruled("headers[0].name", "should match", {"headers": [{"name": "A B", "value": "1"}]}),
    ruled("headers[0].value", "at least 1 chars", {"headers": [{"name": "A", "value": ""}]}),
    ruled("timeouts.request", "should match", {"timeouts": {"request": "1.5s"}}),
    ruled("timeouts.request", "should match", {"timeouts": {"request": "10"}}),
    ruled(
        "timeouts.backendRequest",
        "must not be longer than request",
        {"timeouts": {"request": "1s", "backendRequest": "2s"}},
    ),
]

LEGACY_CLASS = {"kubernetes.io/ingress.class": "other"}

INGRESS = [
    exposed("", "spec.ingress needs a TCP port", spec={"ports": []}),
    exposed("", "spec.ingress needs a TCP port", spec={"ports": UDP}),
    exposed("", "the port of a path must be", hosts=[{"host": "a.b", "paths": [{"path": "/", "port": "admin"}]}]),
    exposed("hosts", "at least 1 items", hosts=[]),
    exposed("hosts", "duplicate entries", hosts=[{"host": "a.b"}, {"host": "a.b"}]),
    exposed("hosts[0].host", "should match", hosts=[{"host": "*"}]),
    exposed("hosts[0].host", "must be a DNS name", hosts=[{"host": "192.0.2.1"}]),
    *(at_path("must not contain", path=path) for path in NOT_A_PATH),
    at_path("should match", path="a"),
    at_path("should match", path="a", pathType="ImplementationSpecific"),
    exposed(
        "hosts[0].paths[0].pathType",
        "supported values",
        hosts=[{"host": "a.b", "paths": [{"path": "/", "pathType": "PathPrefix"}]}],
    ),
    exposed("className", "should match", className="Nginx"),
    exposed(
        "className",
        "must equal the annotation kubernetes.io/ingress.class in ingress.annotations",
        className="nginx",
        annotations=LEGACY_CLASS,
    ),
    exposed(
        "className",
        "must equal the annotation kubernetes.io/ingress.class in spec.annotations",
        className="nginx",
        spec={"annotations": LEGACY_CLASS},
    ),
    exposed("tls[0].hosts", "duplicate entries for", tls=[{"hosts": ["a.b", "a.b"]}]),
    exposed("tls[0].secretName", "should match", tls=[{"secretName": "A"}]),
    exposed("annotations", "are reserved", annotations={"coxswain.dev/a": "b"}),
    exposed("annotations", "at most 120000 bytes together", annotations={f"a{n}": "b" * 16384 for n in range(8)}),
    exposed("annotations", "kubectl.kubernetes.io/restartedAt", annotations={"deployment.kubernetes.io/a": "b"}),
    exposed("annotations", "keys must be qualified names", annotations={"a b": "c"}),
]
