"""The URLs of a WebApp, the most public one first."""

from collections.abc import Callable, Iterator

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.status.health import Level
from coxswain.kernel.workload import Observations
from coxswain.webapp.children.httproute import route_name
from coxswain.webapp.children.service_urls import service_urls
from coxswain.webapp.kinds import HTTP_ROUTE, INGRESS, SERVICE
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.routing import Ingress, IngressPath, ParentReference, Route

LIMIT = 64
"""Number of URLs in the status at most."""

_HTTPS_PORTS = (443, 8443)
_DEFAULT_PORTS = {"http": 80, "https": 443}


def urls(webapp: WebApp, observations: Observations) -> list[str]:
    """Return the URLs that work, as far as the children's status tells."""
    found = [url for source in SOURCES for url in source(webapp, observations)]
    return list(dict.fromkeys(found))[:LIMIT]


def _of_routes(webapp: WebApp, observations: Observations) -> Iterator[str]:
    """Yield the URLs of healthy HTTPRoutes. The WebApp does not know whether a listener has TLS, only its name."""
    for route in webapp.spec.get("routes", []):
        if not _is_healthy(observations, HTTP_ROUTE, route_name(webapp, route)):
            continue
        scheme, port = _listener(route)
        paths = [rule.get("path", {"value": "/"}) for rule in route.get("rules", [])]
        path = _path([None if each.get("type") == "RegularExpression" else each["value"] for each in paths])
        if path is not None:
            yield from (f"{scheme}://{host}{port}{path}" for host in route.get("hostnames", []) if _is_one(host))


def _of_ingress(webapp: WebApp, observations: Observations) -> Iterator[str]:
    """Yield the URLs of a healthy Ingress."""
    wanted = webapp.spec.get("ingress")
    if wanted is None or not _is_healthy(observations, INGRESS, webapp.name):
        return
    for each in wanted["hosts"]:
        host, paths = each["host"], each.get("paths", [])
        path = _path([None if _is_pattern(each) else each["path"] for each in paths])
        if _is_one(host) and path is not None:
            scheme = "https" if _has_certificate(wanted, host) else "http"
            yield f"{scheme}://{host}{path}"


def _of_service(webapp: WebApp, observations: Observations) -> Iterator[str]:
    """Yield the URLs of the Service: those of its load balancer, and that inside the cluster."""
    live = observations.live(SERVICE)
    if live is not None:
        yield from service_urls(webapp, live.content)


SOURCES: tuple[Callable[[WebApp, Observations], Iterator[str]], ...] = (_of_routes, _of_ingress, _of_service)
"""Sources of URLs, the most public one first."""


def _is_healthy(observations: Observations, kind: Kind, name: str) -> bool:
    return any(
        (report.child.kind, report.child.name) == (kind.kind, name) and report.child.health.level is Level.HEALTHY
        for report in observations.children
    )


def _listener(route: Route) -> tuple[str, str]:
    """Return scheme and port (":8443", or "" for the default one) of a listener: one with TLS if there is one."""
    return min(
        (_origin(parent) for parent in route["parentRefs"]), key=lambda origin: (origin[0] != "https", origin[1])
    )


def _origin(parent: ParentReference) -> tuple[str, str]:
    port = parent.get("port")
    secure = parent.get("sectionName", "").startswith("https") or port in _HTTPS_PORTS
    scheme = "https" if secure else "http"
    return scheme, "" if port in (None, _DEFAULT_PORTS[scheme]) else f":{port}"


def _has_certificate(ingress: Ingress, host: str) -> bool:
    names = (host, f"*.{host.partition('.')[2]}")
    return any(name in entry.get("hosts", []) for entry in ingress.get("tls", []) for name in names)


def _is_pattern(path: IngressPath) -> bool:
    """Tell whether a path may be a pattern. `/` matches itself with every controller, and `helm create` sets it so."""
    return path.get("pathType") == "ImplementationSpecific" and path["path"] != "/"


def _is_one(host: str) -> bool:
    return not host.startswith("*")


def _path(paths: list[str | None]) -> str | None:
    """Return the path of a URL: "" if every path leads to the application, else the first one.

    None stands for a pattern. Without any other path no URL is known.
    """
    if not paths or "/" in paths:
        return ""
    return next((path for path in paths if path is not None), None)
