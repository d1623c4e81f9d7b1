"""The URLs of the Service."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.children.service_kept import EXTERNAL_NAME, HEADLESS, LOAD_BALANCER, type_of
from coxswain.webapp.children.service_manifest import given, service_ports
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.container import IntOrString


def service_urls(webapp: WebApp, live: Mapping[str, Any]) -> list[str]:
    """Return the URLs of the first TCP port, the most public one first.

    Args:
        webapp: the WebApp.
        live: the live Service.
    """
    wanted = webapp.spec.get("service", {})
    kind = type_of(live)
    inside = f"{webapp.name}.{webapp.namespace}.svc"
    if kind == EXTERNAL_NAME:
        ports = [given(port) for port in wanted.get("ports", [])]
        hosts = [wanted.get("externalName", ""), inside]
    else:
        ports = service_ports(webapp)
        hosts = [*(load_balancer_addresses(live) if kind == LOAD_BALANCER else []), inside]
    port = next((port for port in ports if port["protocol"] == "TCP"), None)
    if port is None:
        return []
    # The name of a headless Service resolves to the pods, so the URL has the port of the container.
    number = _target(webapp, port) if kind == HEADLESS else port["port"]
    return [_url(host, port, number) for host in hosts if host]


def load_balancer_addresses(live: Mapping[str, Any]) -> list[str]:
    """Return the host names and IP addresses of the load balancer of a live Service."""
    found: Sequence[Mapping[str, Any]] = live.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    addresses = [str(each.get("hostname") or each.get("ip") or "") for each in found]
    return [f"[{address}]" if ":" in address else address for address in addresses if address]


def _url(host: str, port: Manifest, number: int) -> str:
    secure = port["port"] in (443, 8443) or port.get("appProtocol") == "https"
    scheme, usual = ("https", 443) if secure else ("http", 80)
    return f"{scheme}://{host}" + ("" if number == usual else f":{number}")


def _target(webapp: WebApp, port: Manifest) -> int:
    """Return the container port number of a Service port."""
    target: IntOrString = port["targetPort"]
    named = {known["name"]: known["containerPort"] for known in webapp.spec.get("ports", [])}
    return target if isinstance(target, int) else named[target]
