"""The Gateway API on the throwaway cluster, and simulated status reports of Gateway and Ingress controllers."""

from typing import Any

from cluster import ControlPlane
from cluster.gateway_api import CRD, httproute_crd
from integration.scene import Scene, eventually

GATEWAY = {"name": "public", "namespace": "infra"}
PATIENCE_SECONDS = 75.0
"""More than two intervals of discovery."""


def install(cluster: ControlPlane) -> None:
    """Install the CRD of HTTPRoutes."""
    cluster.kubectl("apply", "--server-side", "--filename", str(httproute_crd()))
    cluster.wait_for_crds()


def uninstall(cluster: ControlPlane) -> None:
    """Delete it, and all HTTPRoutes with it."""
    cluster.kubectl("delete", "crd", CRD, "--ignore-not-found", "--timeout=75s")


def report(scene: Scene, name: str = "web", accepted: str = "True", reason: str = "Accepted") -> None:
    """Report on the current generation of an HTTPRoute like the controllers of its Gateways."""
    route = scene.get("httproute", name)
    parents = [
        {
            "parentRef": parent,
            "controllerName": "example.com/gateway",
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "reason": why,
                    "message": "",
                    "observedGeneration": route["metadata"]["generation"],
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for kind, status, why in (("Accepted", accepted, reason), ("ResolvedRefs", "True", "ResolvedRefs"))
            ],
        }
        for parent in route["spec"]["parentRefs"]
    ]
    scene.patch_status("httproute", {"parents": parents}, name)


def assign(scene: Scene, name: str = "web") -> None:
    """Assign an address to an Ingress like its controller."""
    scene.patch_status("ingress", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}, name)


def there(scene: Scene, kind: str, name: str = "web", timeout: float = PATIENCE_SECONDS) -> dict[str, Any]:
    """Wait until an object exists; return it."""
    return eventually(lambda: scene.find(kind, name), f"there is a {kind} {name}", timeout)
