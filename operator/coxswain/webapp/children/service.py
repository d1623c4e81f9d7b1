"""The Service in front of the pods."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.field_paths import Fields, Path, at, distinct_elements, element_of
from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Level
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.deployment_health import deployment_health
from coxswain.webapp.identity import metadata, selector
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from coxswain.webapp.spec import IntOrString, Port, ServicePort, WebApp

HEADLESS = "None"
"""clusterIP of a headless Service."""

_PORTS = ("f:spec", "f:ports")


def service(webapp: WebApp) -> Manifest | None:
    """Return the Service, or None without ports."""
    ports = service_ports(webapp)
    if not ports:
        return None
    wanted = webapp.spec.get("service", {})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(webapp, annotations=wanted.get("annotations")),
        "spec": {
            "type": "ClusterIP",
            **({"clusterIP": HEADLESS} if wanted.get("headless") else {}),
            "selector": selector(webapp.name),
            "sessionAffinity": wanted.get("sessionAffinity", "None"),
            "ports": ports,
        },
    }


def service_ports(webapp: WebApp) -> list[Manifest]:
    """Return the Service's ports, by default one for each port of the container."""
    container_ports = webapp.spec.get("ports", [])
    wanted = webapp.spec.get("service", {}).get("ports", [])
    if not container_ports:
        return []
    return [_given(port) for port in wanted] or [_derived(port) for port in container_ports]


def url(webapp: WebApp) -> str | None:
    """Return the URL of the Service's first TCP port inside the cluster.

    The name of a headless Service resolves to the pods, so the URL then has the port of the container.
    """
    port = next((port for port in service_ports(webapp) if port["protocol"] == "TCP"), None)
    if port is None:
        return None
    secure = port["port"] in (443, 8443) or port.get("appProtocol") == "https"
    scheme, usual = ("https", 443) if secure else ("http", 80)
    answering = _target(webapp, port) if webapp.spec.get("service", {}).get("headless") else port["port"]
    number = "" if answering == usual else f":{answering}"
    return f"{scheme}://{webapp.name}.{webapp.namespace}.svc{number}"


def _target(webapp: WebApp, port: Manifest) -> int:
    """Return the container port number of a Service port."""
    target: IntOrString = port["targetPort"]
    named = {known["name"]: known["containerPort"] for known in webapp.spec.get("ports", [])}
    return named[target] if isinstance(target, str) else target


def _given(port: ServicePort) -> Manifest:
    # Always set targetPort: if an apply omits it, the API server keeps the old value instead of the default.
    target = {"targetPort": port.get("targetPort", port["port"])}
    return without_empty({"protocol": "TCP", **port, **target})


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


def _desired(webapp: WebApp, _: World) -> Desired | None:
    manifest = service(webapp)
    return None if manifest is None else Desired(manifest)


def _is_headless(service: Mapping[str, Any]) -> bool:
    return bool(service.get("spec", {}).get("clusterIP") == HEADLESS)


def _obstacle(wanted: Manifest, live: Mapping[str, Any], _: bool) -> Obstacle | None:
    """Return clusterIP as an obstacle: the API server silently keeps `None`, and rejects a change to `None`."""
    if _is_headless(wanted) == _is_headless(live):
        return None
    return Obstacle("spec.clusterIP", Remedy.BY_HAND, alone=True)


def _in_place(wanted: Manifest, live: Mapping[str, Any]) -> Manifest:
    """Return a Service without clusterIP if that cannot be changed, so the other fields are still applied."""
    if _is_headless(wanted) == _is_headless(live):
        return wanted
    return {**wanted, "spec": {key: value for key, value in wanted["spec"].items() if key != "clusterIP"}}


def _adoptable_when(webapp: WebApp, live: Projection, world: World) -> str | None:
    """Return the condition for the adoption of the Service, as a clause: its new pods must be available."""
    deployment = world.live(DEPLOYMENT, webapp.name)
    if deployment is None or not deployment.is_child_of(webapp):
        return f"Deployment {webapp.name} belongs to the WebApp"
    content = deployment.content
    if condition(content, "Available").get("status") != "True":
        return f"Deployment {webapp.name} is available"
    selector = live.content.get("spec", {}).get("selector", {})
    labels = content.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    if selector and selector.items() <= labels.items() and deployment_health(content).level is not Level.HEALTHY:
        # The selector already matches the new pods, but old pods may lack the new ports: wait for the rollout.
        return f"Deployment {webapp.name} is rolled out"
    return None


def _former(wanted: Manifest, live: Mapping[str, Any], entries: Sequence[Fields]) -> Sequence[Path]:
    return _undesired_ports(wanted, live, distinct_elements([at(fields, _PORTS) or {} for fields in entries]))


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
    obstacle=_obstacle,
    in_place=_in_place,
    identity=("spec.selector",),
    removal=Removal.AT_ONCE,
    adoptable_when=_adoptable_when,
    former=_former,
)
