"""The Service in front of the pods, or an alias for another host."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.field_paths import Fields, Path, at, distinct_elements, element_of
from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import Projection, Rules, whole
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.children import deployment_adoption
from coxswain.webapp.children.deployment_health import deployment_health
from coxswain.webapp.children.service_kept import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    HEADLESS,
    LOAD_BALANCER,
    kept_of,
    type_of,
)
from coxswain.webapp.children.service_manifest import service
from coxswain.webapp.children.service_targets import reachable
from coxswain.webapp.children.service_urls import load_balancer_addresses
from coxswain.webapp.identity import SERVICE_TYPE_ANNOTATION
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from coxswain.webapp.spec import WebApp

_SPEC = ("f:spec",)
_PORTS = (*_SPEC, "f:ports")
_OF_OTHER_TYPES = ("clusterIP", "externalTrafficPolicy", "loadBalancerClass", "loadBalancerSourceRanges")
"""Fields that a headless Service cannot have, besides its clusterIP."""

_REPLACE_ADVICE = "To let the operator recreate it at a new address, set spec.service.replace: Allowed"


def _desired(webapp: WebApp, world: World) -> Desired | None:
    manifest = service(webapp, kept_of(webapp, world))
    if manifest is None:
        return None
    if "selector" in manifest["spec"]:
        spec = manifest["spec"]
        manifest = {**manifest, "spec": {**spec, "ports": reachable(webapp, world, spec["ports"])}}
    return Desired(manifest, replaceable=webapp.spec.get("service", {}).get("replace") == "Allowed")


def _health(live: Projection) -> Health:
    """Return the health: a load balancer without an address is reported, but the pods serve inside the cluster.

    kstatus judges it in the same way.
    """
    if type_of(live.content) != LOAD_BALANCER or load_balancer_addresses(live.content):
        return HEALTHY
    describe = f"kubectl describe service {live.name} -n {live.namespace}"
    advice = f"If none comes, check spec.service.loadBalancerClass and the Events: {describe}"
    message = f"waiting for an address of the load balancer. The pods serve inside the cluster meanwhile. {advice}"
    return Health(Level.PROGRESSING, "WaitingForAddress", message, non_blocking=True)


def _obstacle(wanted: Manifest, live: Mapping[str, Any], _: bool) -> Obstacle | None:
    """Return the immutable field. An ExternalName Service has none of them, so it can become any other and back.

    The API server silently keeps clusterIP `None`, and rejects a change to `None`, or another loadBalancerClass.
    """
    ours, theirs = type_of(wanted), type_of(live)
    if EXTERNAL_NAME in (ours, theirs):
        return None
    if (ours == HEADLESS) != (theirs == HEADLESS):
        return _immutable("spec.clusterIP")
    name = wanted["spec"].get("loadBalancerClass")
    if ours == theirs == LOAD_BALANCER and name not in (None, live["spec"].get("loadBalancerClass")):
        return _immutable("spec.loadBalancerClass")
    return None


def _immutable(field: str) -> Obstacle:
    return Obstacle(field, Remedy.BY_HAND, others_mutable=True, advice=_REPLACE_ADVICE)


def _in_place(wanted: Manifest, live: Mapping[str, Any]) -> Manifest:
    """Return a Service without the fields that cannot be changed, so the others are still applied."""
    obstacle = _obstacle(wanted, live, False)
    if obstacle is None:
        return wanted
    spec = wanted["spec"]
    if obstacle.field == "spec.loadBalancerClass":
        # If an apply omits the class, it is rejected as well.
        name = live["spec"].get("loadBalancerClass")
        rest = {key: value for key, value in spec.items() if key != "loadBalancerClass"}
        return {**wanted, "spec": {**rest, **({"loadBalancerClass": name} if name else {})}}
    ports = [{key: value for key, value in port.items() if key != "nodePort"} for port in spec["ports"]]
    kept = {key: value for key, value in spec.items() if key not in _OF_OTHER_TYPES}
    return {**wanted, "spec": {**kept, "type": CLUSTER_IP, "ports": ports}}


def _adoptable_when(webapp: WebApp, live: Projection, world: World) -> str | None:
    """Return the condition for the adoption of the Service, as a clause: its new pods must be available."""
    deployment = world.live(DEPLOYMENT, webapp.name)
    if deployment is None or not deployment.is_child_of(webapp):
        needed = f"Deployment {webapp.name} belongs to the WebApp"
        if deployment is None or not deployment.is_adoptable_by(webapp):
            return needed
        return deployment_adoption.adoptable_when(webapp, deployment, world) or needed
    content = deployment.content
    if condition(content, "Available").get("status") != "True":
        return f"Deployment {webapp.name} is available"
    selector = live.content.get("spec", {}).get("selector", {})
    labels = content.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    matches = selector and selector.items() <= labels.items()
    if (matches or deployment.adopter == webapp.name) and deployment_health(content).level is not Level.HEALTHY:
        # Old pods may lack our label, or the new ports: wait for the rollout.
        return f"Deployment {webapp.name} is rolled out"
    return None


def _former(wanted: Manifest, live: Mapping[str, Any], entries: Sequence[Fields]) -> Sequence[Path]:
    """Return the undesired ports, and what belongs to another type: an alias has no selector, other types no alias."""
    ports = _undesired_ports(wanted, live, distinct_elements([at(fields, _PORTS) or {} for fields in entries]))
    names = ("selector", "externalName")
    return (
        *ports,
        *((*_SPEC, f"f:{name}") for name in names if name in live.get("spec", {}) and name not in wanted["spec"]),
    )


def _undesired_ports(wanted: Mapping[str, Any], live: Mapping[str, Any], known: Sequence[str]) -> tuple[Path, ...]:
    """Return the undesired ports of a live Service, to remove them at its adoption.

    They would lead to the new pods, which may not listen on them. The API server rejects a port without a name next to
    another port (422 'spec.ports[0].name: Required value').

    Args:
        wanted: the desired Service.
        live: the live one.
        known: the managedFields elements of its ports.
    """
    spelled = known or ['k:{"port":0,"protocol":""}']
    ours = [element_of(port, spelled) for port in wanted.get("spec", {}).get("ports", [])]
    present = [element_of(port, spelled) for port in live.get("spec", {}).get("ports", [])]
    return tuple((*_PORTS, element) for element in present if element not in ours)


TYPE = ChildType(
    SERVICE,
    _desired,
    rules=Rules(whole(SERVICE, "loadBalancer"), namesake=str),
    health=_health,
    obstacle=_obstacle,
    in_place=_in_place,
    identity=("spec.selector",),
    notes=(SERVICE_TYPE_ANNOTATION,),
    removal=Removal.AT_ONCE,
    adoptable_when=_adoptable_when,
    former=_former,
)
