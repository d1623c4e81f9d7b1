"""What a Service keeps of its live object although the spec does not set it.

An adopted Service keeps its type: clients may use its address. An annotation of the Service records the type, so a
restart of the operator changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.own_annotations import own_annotation
from coxswain.kernel.objects.field_paths import owns
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.workload import World
from coxswain.webapp.identity import SERVICE_TYPE_ANNOTATION
from coxswain.webapp.kinds import SERVICE
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.service import Service

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
HEADLESS = "Headless"
"""A ClusterIP Service without an address. For Kubernetes it is no type of its own."""

NO_ADDRESS = "None"
"""clusterIP of a headless Service."""

_KEPT = (NODE_PORT, LOAD_BALANCER, HEADLESS)
_CLASS = ("f:spec", "f:loadBalancerClass")
_FAMILY = ("f:spec", "f:ipFamilyPolicy")
_TYPE = ("f:spec", "f:type")


@dataclass(frozen=True)
class Kept:
    """The parts of a live Service that stay while the spec does not set them."""

    type: str | None = None
    """The type of an adopted Service; None for ClusterIP."""
    load_balancer_class: str | None = None
    """A class of ours. The API server rejects its removal."""
    single_stack: bool = False
    """Whether the operator has set ipFamilyPolicy. The API server keeps a removed one, so the default is set."""


def kept_of(webapp: WebApp, world: World) -> Kept:
    """Return what the Service of a WebApp keeps, given the cache."""
    live = world.live(SERVICE, webapp.name)
    if live is None:
        return Kept()
    if live.is_adoptable_by(webapp) or _is_half_adopted(live, webapp):
        kind = type_of(live.content)
        return Kept(kind if kind in _KEPT else None)
    if not live.is_child_of(webapp):
        return Kept()
    owned, spec = live.owned or {}, live.content.get("spec", {})
    return Kept(
        _note(live),
        spec.get("loadBalancerClass") if owns(owned, _CLASS) else None,
        single_stack=owns(owned, _FAMILY),
    )


def _is_half_adopted(live: Projection, webapp: WebApp) -> bool:
    """Return whether the first write of an adoption has happened: it takes over ports, and the second one applies."""
    return live.controller is None and live.adopter == webapp.name and not owns(live.owned or {}, _TYPE)


def type_of(service: Mapping[str, Any]) -> str:
    """Return the type of a Service; `Headless` for one without an address."""
    spec = service.get("spec", {})
    kind = str(spec.get("type", CLUSTER_IP))
    return HEADLESS if kind == CLUSTER_IP and spec.get("clusterIP") == NO_ADDRESS else kind


def desired_type(wanted: Service, kept: Kept) -> str:
    """Return the desired type: that of the spec, or else the kept one."""
    if wanted.get("headless"):
        return HEADLESS
    if "type" in wanted or (kept.type == HEADLESS and "headless" in wanted):
        return wanted.get("type", CLUSTER_IP)
    return kept.type or CLUSTER_IP


def _note(live: Projection) -> str | None:
    """Return the recorded type, if it is one that a Service keeps."""
    note = own_annotation(live, SERVICE_TYPE_ANNOTATION)
    return note if note in _KEPT else None
