"""The HTTPRoutes of Gateway API: one for each entry of `routes`.

Lists of an HTTPRoute are atomic, so the manifest contains every default of the API
(https://gateway-api.sigs.k8s.io/reference/spec/#httproute).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Rules, whole
from coxswain.kernel.objects.quote import abridged, quoted
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.children.service_manifest import tcp_port
from coxswain.webapp.identity import metadata
from coxswain.webapp.kinds import HTTP_ROUTE, SERVICE
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.routing import ParentReference, Route, RouteRule

_GATEWAY = {"group": HTTP_ROUTE.group, "kind": "Gateway"}
_EVERY_PATH = {"type": "PathPrefix", "value": "/"}
_CONDITIONS = ("Accepted", "ResolvedRefs")
_PARTIALLY_INVALID = "PartiallyInvalid"
"""This condition of the API is present only while the Gateway does not apply some rules, beside Accepted=True."""

_PROBLEMS = {
    "Accepted": "does not accept the route",
    "ResolvedRefs": "cannot resolve the references of the route",
    _PARTIALLY_INVALID: "does not apply all rules of the route",
}


def http_routes(webapp: WebApp) -> list[Manifest]:
    """Return the HTTPRoutes."""
    return [_http_route(webapp, route) for route in webapp.spec.get("routes", [])]


def route_name(webapp: WebApp, route: Route) -> str:
    """Return the name of a route's HTTPRoute."""
    return f"{webapp.name}-{route['name']}" if "name" in route else webapp.name


def _http_route(webapp: WebApp, route: Route) -> Manifest:
    hostnames = list(route.get("hostnames", []))
    return {
        "apiVersion": HTTP_ROUTE.api_version,
        "kind": HTTP_ROUTE.kind,
        "metadata": metadata(webapp, name=route_name(webapp, route)),
        "spec": {
            "parentRefs": [{**_GATEWAY, **parent} for parent in route["parentRefs"]],
            **({"hostnames": hostnames} if hostnames else {}),
            "rules": [_rule(webapp, rule) for rule in route.get("rules") or [{}]],
        },
    }


def _rule(webapp: WebApp, rule: RouteRule) -> Manifest:
    match: Manifest = {"path": {**_EVERY_PATH, **rule.get("path", {})}}
    if rule.get("headers"):
        match["headers"] = [{"type": "Exact", **header} for header in rule["headers"]]
    if "method" in rule:
        match["method"] = rule["method"]
    backend = {
        "group": SERVICE.group,
        "kind": SERVICE.kind,
        "name": webapp.name,
        "port": tcp_port(webapp, rule.get("port"))["port"],
        "weight": 1,
    }
    timeouts = rule.get("timeouts")
    return {"matches": [match], "backendRefs": [backend], **({"timeouts": dict(timeouts)} if timeouts else {})}


def route_health(live: Projection) -> Health:
    """Return the health of an HTTPRoute: each of its Gateways must accept all of it and resolve its references."""
    found = [_health_at(parent, live) for parent in live.content.get("spec", {}).get("parentRefs", [])]
    return max(found, key=lambda health: health.level, default=HEALTHY)


def _health_at(parent: ParentReference, live: Projection) -> Health:
    """Return the health at one Gateway. Entries of former controllers may be left beside that of the present one.

    An entry that equals another parent is about that one: Gateways in two namespaces may have the same name.
    """
    others = [_identity(each) for each in live.content["spec"]["parentRefs"] if _identity(each) != _identity(parent)]
    healths = [
        _health_of(parent, entry, live)
        for entry in live.content.get("status", {}).get("parents", [])
        if _is_same(parent, entry.get("parentRef", {})) and _identity(entry.get("parentRef", {})) not in others
    ]
    unreported = _pending(parent, "has not reported on the route", live)
    return min(healths, key=lambda health: health.level, default=unreported)


def _health_of(parent: ParentReference, entry: Mapping[str, Any], live: Projection) -> Health:
    conditions = {each.get("type"): each for each in entry.get("conditions", [])}
    for name in _CONDITIONS:
        condition = conditions.get(name, {})
        if condition.get("observedGeneration", live.generation) < live.generation or condition.get("status") is None:
            return _pending(parent, "has not processed the last change", live)
        if condition["status"] != "True":
            return _refused(parent, condition, entry, live)
    partial = conditions.get(_PARTIALLY_INVALID, {})
    if partial.get("status") == "True" and partial.get("observedGeneration", live.generation) >= live.generation:
        return _refused(parent, partial, entry, live)
    return HEALTHY


def _refused(
    parent: ParentReference, condition: Mapping[str, Any], entry: Mapping[str, Any], live: Projection
) -> Health:
    reason = str(condition.get("reason") or "NotAccepted")
    text = (
        f"{_shown(parent)} {_PROBLEMS[condition['type']]} ({reason}). Its controller {entry.get('controllerName', '')} "
        f"tries again when something changes. Check {_step(parent, condition['type'], live)}"
    )
    quotation = abridged(str(condition.get("message") or ""))
    return Health(Level.DEGRADED, reason, quoted(text, quotation))


def _step(parent: ParentReference, condition: str, live: Projection) -> str:
    if condition == "ResolvedRefs":
        rules = live.content.get("spec", {}).get("rules", [])
        services = sorted({str(each.get("name")) for rule in rules for each in rule.get("backendRefs", [])})
        return f"the ports of the Service: kubectl get service {' '.join(services)} -n {live.namespace}"
    if condition == _PARTIALLY_INVALID:
        describe = f"kubectl describe httproute {live.name} -n {live.namespace}"
        return f"spec.routes for hosts and paths that another HTTPRoute has as well: {describe}"
    return f"parentRefs and hostnames in spec.routes, and the listeners: {_describe_gateway(parent, live)}"


def _pending(parent: ParentReference, problem: str, live: Projection) -> Health:
    command = _describe_gateway(parent, live)
    message = f"waits for {_shown(parent)}: its controller {problem}. If this lasts, check the Gateway: {command}"
    return Health(Level.PROGRESSING, "NotAccepted", message)


def _describe_gateway(parent: ParentReference, live: Projection) -> str:
    """Return the command that shows a Gateway with its listeners and Events. Istio has a kind of the same name."""
    resource = f"gateways.{HTTP_ROUTE.group}"
    return f"kubectl describe {resource} {parent['name']} -n {parent.get('namespace', live.namespace)}"


def _identity(parent: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(parent.get(field) for field in ("namespace", "name", "sectionName", "port"))


def _is_same(parent: Mapping[str, Any], reported: Mapping[str, Any]) -> bool:
    """Tell whether a status entry is about a parent. Some controllers add the namespace that the spec leaves out."""
    named = ("name", "sectionName", "port")
    namespaces = {each["namespace"] for each in (parent, reported) if "namespace" in each}
    return len(namespaces) < 2 and all(parent.get(field) == reported.get(field) for field in named)


def _shown(parent: ParentReference) -> str:
    name = f"{parent['namespace']}/{parent['name']}" if "namespace" in parent else parent["name"]
    listener = f", listener {parent['sectionName']}" if "sectionName" in parent else ""
    return f"Gateway {name}{listener}"


def _desired(webapp: WebApp, _: World) -> Sequence[Desired]:
    return [Desired(manifest) for manifest in http_routes(webapp)]


def _possible_owners(name: str) -> tuple[str, ...]:
    """Return the names of the WebApps that an HTTPRoute's name may come from: 'a-b' is of a-b, or route b of a."""
    parts = name.split("-")
    return tuple("-".join(parts[:count]) for count in range(len(parts), 0, -1))


TYPE = ChildType(
    HTTP_ROUTE,
    _desired,
    rules=Rules(whole(HTTP_ROUTE, "parents"), namesake=_possible_owners),
    health=route_health,
    needs=(SERVICE,),
    removal=Removal.AT_ONCE,
    optional="Install the Gateway API CRDs, or remove spec.routes",
)
