"""The manifest of the Service."""

from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.service_kept import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    HEADLESS,
    LOAD_BALANCER,
    NO_ADDRESS,
    Kept,
    desired_type,
)
from coxswain.webapp.identity import SERVICE_TYPE_ANNOTATION, metadata, selector
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.container import Port
from coxswain.webapp.spec.service import Service, ServicePort

_COPIED = (
    "sessionAffinityConfig",
    "internalTrafficPolicy",
    "trafficDistribution",
    "publishNotReadyAddresses",
    "ipFamilyPolicy",
    "externalTrafficPolicy",
    "loadBalancerClass",
    "loadBalancerSourceRanges",
)
"""Fields copied from the spec. The schema allows each only beside a type that has it."""


def service(webapp: WebApp, kept: Kept | None = None) -> Manifest | None:
    """Return the Service, or None without ports, unless it is an alias (type ExternalName)."""
    wanted, kept = webapp.spec.get("service", {}), kept or Kept()
    kind = desired_type(wanted, kept)
    spec = _alias(wanted) if kind == EXTERNAL_NAME else _to_pods(webapp, wanted, kind, kept)
    if spec is None:
        return None
    # The note is needed only while the spec is silent.
    is_kept = kept.type == kind and "type" not in wanted and not wanted.get("headless")
    note = {SERVICE_TYPE_ANNOTATION: kind} if is_kept else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(webapp, annotations={**wanted.get("annotations", {}), **note}),
        "spec": spec,
    }


def service_ports(webapp: WebApp) -> list[Manifest]:
    """Return the Service's ports, by default one for each port of the container."""
    container_ports = webapp.spec.get("ports", [])
    wanted = webapp.spec.get("service", {}).get("ports", [])
    if not container_ports:
        return []
    return [given(port) for port in wanted] or [_derived(port) for port in container_ports]


def given(port: ServicePort) -> Manifest:
    """Return a port of `service.ports`."""
    # Always set targetPort: if an apply omits it, the API server keeps the old value instead of the default.
    target = {"targetPort": port.get("targetPort", port["port"])}
    return without_empty({"protocol": "TCP", **port, **target})


def _to_pods(webapp: WebApp, wanted: Service, kind: str, kept: Kept) -> Manifest | None:
    ports = service_ports(webapp)
    if not ports:
        return None
    return {
        "type": CLUSTER_IP if kind == HEADLESS else kind,
        **({"clusterIP": NO_ADDRESS} if kind == HEADLESS else {}),
        "selector": selector(webapp.name),
        "sessionAffinity": wanted.get("sessionAffinity", "None"),
        "ports": ports,
        **_inherited(kind, kept),
        **_copied(wanted),
    }


def _alias(wanted: Service) -> Manifest:
    """Return the spec of an ExternalName Service. It has no selector: its name leads elsewhere, not to the pods."""
    ports = [given(port) for port in wanted.get("ports", [])]
    return {"type": EXTERNAL_NAME, "externalName": wanted.get("externalName"), **({"ports": ports} if ports else {})}


def _inherited(kind: str, kept: Kept) -> dict[str, Any]:
    inherited: dict[str, Any] = {"ipFamilyPolicy": "SingleStack"} if kept.single_stack else {}
    if kind == LOAD_BALANCER and kept.load_balancer_class is not None:
        inherited["loadBalancerClass"] = kept.load_balancer_class
    return inherited


def _copied(wanted: Service) -> dict[str, Any]:
    copied = {name: value for name, value in wanted.items() if name in _COPIED}
    # The API server does not store False.
    return {name: value for name, value in copied.items() if value not in (False, [])}


def _derived(port: Port) -> Manifest:
    return without_empty(
        {
            "name": port["name"],
            "port": port["containerPort"],
            "targetPort": port["name"],
            "protocol": port.get("protocol", "TCP"),
            "appProtocol": port.get("appProtocol"),
        }
    )


def tcp_port(webapp: WebApp, name: str | None) -> Manifest:
    """Return the Service's TCP port with a name, or the first one."""
    ports = [port for port in service_ports(webapp) if port["protocol"] == "TCP"]
    return next(port for port in ports if name in (None, port["name"]))
