"""Compares the HTTPRoutes and the Ingress of a WebApp with its spec, and reads the reports of their controllers."""

from collections.abc import Iterator, Mapping
from typing import Any

from model_cluster.objects import Object, place
from simulation.judge import Gap, Objects, is_unusable

MANAGER = "coxswain"
ROUTES, INGRESSES = "httproutes", "ingresses"
ROUTED = {ROUTES: "routes", INGRESSES: "ingress"}
"""The kinds that lead requests to the Service, and the part of the spec that asks for each."""


def routes(webapp: Object) -> dict[str, Mapping[str, Any]]:
    """Return the wanted routes by the names of their HTTPRoutes."""
    name = place(webapp)[1]
    wanted = webapp["spec"].get("routes") or []
    return {f"{name}-{route['name']}" if "name" in route else name: route for route in wanted}


def routed_children(webapp: Object) -> set[tuple[str, str]]:
    """Return resource and name of each wanted HTTPRoute and Ingress."""
    found = {(ROUTES, name) for name in routes(webapp)}
    return found | ({(INGRESSES, place(webapp)[1])} if webapp["spec"].get("ingress") else set())


def unserved(webapp: Object, objects: Objects) -> Iterator[Gap]:
    """Yield a gap for each child of a kind that the API server does not serve."""
    for plural, name in sorted(routed_children(webapp)):
        if plural not in objects:
            yield Gap(plural, name, "existence", "there", "not served")


def route_gaps(webapp: Object, objects: Objects, name: str, common: list[Gap], port: int) -> Iterator[Gap]:
    """Yield the gaps of an HTTPRoute: those common to all children, then hosts, Gateways and the port of the Service.

    Args:
        webapp: the WebApp.
        objects: all objects.
        name: the name of the HTTPRoute.
        common: its gaps that are common to all children.
        port: the wanted port.
    """
    yield from common
    live = objects[ROUTES].get((place(webapp)[0], name))
    if live is None or is_unusable(common):
        return
    route, spec = routes(webapp)[name], live["spec"]
    gateways = [each["name"] for each in spec.get("parentRefs", ())]
    ports = [backend.get("port") for rule in spec.get("rules", ()) for backend in rule.get("backendRefs", ())]
    if route.get("hostnames") or _has_applied_hosts(live):
        yield from _different(ROUTES, name, "route hosts", list(route.get("hostnames", [])), spec.get("hostnames", []))
    yield from _different(ROUTES, name, "route gateways", [each["name"] for each in route["parentRefs"]], gateways)
    yield from _different(ROUTES, name, "backend port", [port] * len(route.get("rules") or [{}]), ports)


def _has_applied_hosts(live: Object) -> bool:
    """Return whether the operator owns the hosts of an HTTPRoute. Hosts that no WebApp wants may belong to others."""
    entries = live["metadata"].get("managedFields") or ()
    return any(
        entry["manager"] == MANAGER and "f:hostnames" in entry["fieldsV1"].get("f:spec", {}) for entry in entries
    )


def ingress_gaps(webapp: Object, objects: Objects, common: list[Gap]) -> Iterator[Gap]:
    """Yield the gaps of the Ingress: those common to all children, then hosts and class."""
    yield from common
    live = objects[INGRESSES].get(place(webapp))
    if live is None or is_unusable(common):
        return
    name, ingress, spec = place(webapp)[1], webapp["spec"]["ingress"], live["spec"]
    hosts = [rule.get("host") for rule in spec.get("rules", ())]
    yield from _different(INGRESSES, name, "ingress hosts", [each["host"] for each in ingress["hosts"]], hosts)
    if "className" in ingress:
        yield from _different(INGRESSES, name, "ingress class", ingress["className"], spec.get("ingressClassName"))


def unaccepted(webapp: Object, objects: Objects) -> str:
    """Return which HTTPRoute or Ingress its controllers do not serve; empty if they serve all."""
    namespace, name = place(webapp)
    for route in routes(webapp):
        live = objects.get(ROUTES, {}).get((namespace, route), {})
        for parent in live.get("spec", {}).get("parentRefs", ()):
            if not _is_accepted(live, parent):
                return f"Gateway {parent['name']} has not accepted HTTPRoute {route}"
    if webapp["spec"].get("ingress"):
        ingress = objects.get(INGRESSES, {}).get((namespace, name), {})
        if not ingress.get("status", {}).get("loadBalancer", {}).get("ingress"):
            return f"Ingress {name} has no address"
    return ""


def _is_accepted(live: Object, parent: Mapping[str, Any]) -> bool:
    """Return whether any controller accepts all of the present route for a Gateway."""
    generation = live["metadata"]["generation"]
    for entry in live.get("status", {}).get("parents", ()):
        reported = {
            each["type"]: each["status"] for each in entry["conditions"] if each["observedGeneration"] >= generation
        }
        accepted = reported.get("Accepted") == reported.get("ResolvedRefs") == "True"
        if entry["parentRef"] == parent and accepted and reported.get("PartiallyInvalid") != "True":
            return True
    return False


def _different(plural: str, name: str, what: str, wanted: object, live: object) -> Iterator[Gap]:
    if wanted != live:
        yield Gap(plural, name, what, str(wanted), str(live))
