"""The Service in front of the pods."""

from coxswain.webapp.canonical import without_empty
from coxswain.webapp.identity import metadata, selector
from coxswain.webapp.immutable import HEADLESS
from coxswain.webapp.spec import IntOrString, Manifest, Port, ServicePort, WebApp


def service(webapp: WebApp) -> Manifest | None:
    """Return the Service, or None where no port is named."""
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
    """Return the Service's ports: those of the spec, by default one for each port of the container."""
    container_ports = webapp.spec.get("ports", [])
    wanted = webapp.spec.get("service", {}).get("ports", [])
    if not container_ports:
        return []
    return [_given(port) for port in wanted] or [_derived(port) for port in container_ports]


def url(webapp: WebApp) -> str | None:
    """Return where the first TCP port of the Service answers inside the cluster.

    A headless Service's name is that of the pods, so there it is the port that they listen on.
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
    """Return the number of the port that a Service's port leads to."""
    target: IntOrString = port["targetPort"]
    named = {known["name"]: known["containerPort"] for known in webapp.spec.get("ports", [])}
    return named[target] if isinstance(target, str) else target


def _given(port: ServicePort) -> Manifest:
    # Said even where the server would default it: left out, the server would keep the old one.
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
