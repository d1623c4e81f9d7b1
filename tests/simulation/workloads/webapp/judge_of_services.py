"""Compares the Service of a WebApp with its spec."""

from collections.abc import Iterator

from model_cluster.objects import Object, place
from simulation.judge import Gap, Objects, different, is_unusable

SERVICES = "services"
HEADLESS, ALIAS = "Headless", "ExternalName"
TYPE_NOTE = "coxswain.dev/service-type"
_KEPT = ("NodePort", "LoadBalancer", HEADLESS)
"""The types that an adopted Service keeps while the spec is silent."""


def service_gaps(webapp: Object, objects: Objects, selector: dict[str, str], common: list[Gap]) -> Iterator[Gap]:
    """Yield the gaps of the Service: those common to all children, then type, ports and selector.

    Args:
        webapp: the WebApp.
        objects: all objects.
        selector: the wanted selector.
        common: its gaps that are common to all children.
    """
    yield from common
    live, name = objects[SERVICES].get(place(webapp)), place(webapp)[1]
    if live is None or is_unusable(common):
        return
    wanted, spec = wanted_type(webapp, live), live["spec"]
    if wanted != type_of(live):
        yield Gap(SERVICES, name, "type", wanted, type_of(live), reads_first=True)
    if wanted == ALIAS:
        alias = {"externalName": webapp["spec"]["service"]["externalName"], "selector": None}
        yield from different(SERVICES, name, "alias", alias, spec)
    elif wanted == type_of(live) and "externalTrafficPolicy" in webapp["spec"].get("service", {}):
        policy = {"externalTrafficPolicy": webapp["spec"]["service"]["externalTrafficPolicy"]}
        yield from different(SERVICES, name, "traffic", policy, spec)
    ports = {port.get("name", ""): port["port"] for port in spec.get("ports") or ()}
    yield from different(SERVICES, name, "port", service_ports(webapp), ports, reads_first=True)
    if wanted != ALIAS:
        yield from different(SERVICES, name, "selector", selector, spec.get("selector") or {})


def has_service(webapp: Object) -> bool:
    """Tell whether a WebApp has a Service: for its ports, or as an alias."""
    return bool(service_ports(webapp)) or is_alias(webapp)


def is_alias(webapp: Object) -> bool:
    """Tell whether the Service is an alias for another host."""
    return bool(webapp["spec"].get("service", {}).get("type") == ALIAS)


def service_ports(webapp: Object) -> dict[str, int]:
    """Return the ports of the Service by name."""
    container = webapp["spec"].get("ports", [])
    given = webapp["spec"].get("service", {}).get("ports", [])
    if is_alias(webapp):
        return {port["name"]: port["port"] for port in given}
    if not container:
        return {}
    return {port["name"]: port["port"] for port in given} or {port["name"]: port["containerPort"] for port in container}


def type_of(service: Object) -> str:
    """Return the type of a Service, `Headless` for one without an address."""
    spec = service["spec"]
    kind = spec.get("type", "ClusterIP")
    return HEADLESS if kind == "ClusterIP" and spec.get("clusterIP") == "None" else kind


def wanted_type(webapp: Object, live: Object) -> str:
    """Return the wanted type: that of the spec, or else the one that the Service had at its adoption."""
    service = webapp["spec"].get("service", {})
    if service.get("headless"):
        return HEADLESS
    noted = (live["metadata"].get("annotations") or {}).get(TYPE_NOTE)
    if "type" in service or noted not in _KEPT or (noted == HEADLESS and "headless" in service):
        return str(service.get("type", "ClusterIP"))
    return str(noted)


def may_be_replaced(webapp: Object) -> bool:
    """Tell whether the operator may delete the Service: it is not wanted, or the spec gives leave."""
    return not has_service(webapp) or webapp["spec"].get("service", {}).get("replace") == "Allowed"
