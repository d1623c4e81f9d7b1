"""The Service in front of the pods."""

from coxswain.webapp.canonical import without_empty
from coxswain.webapp.identity import metadata, selector
from coxswain.webapp.spec import Manifest, Port, ServicePort, WebApp


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
    """Return where the first TCP port of the Service answers inside the cluster."""
    port = next((port for port in service_ports(webapp) if port["protocol"] == "TCP"), None)
    if port is None:
        return None
    secure = port["port"] in (443, 8443) or port.get("appProtocol") == "https"
    scheme, usual = ("https", 443) if secure else ("http", 80)
    number = "" if port["port"] == usual else f":{port['port']}"
    return f"{scheme}://{webapp.name}.{webapp.namespace}.svc{number}"


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
