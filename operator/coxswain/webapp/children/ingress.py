"""The Ingress in front of the Service."""

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Rules, whole
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.service_manifest import tcp_port
from coxswain.webapp.identity import metadata
from coxswain.webapp.kinds import INGRESS, SERVICE
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.routing import IngressHost, IngressPath

_LONGEST_NAME = 15
_EVERY_PATH: IngressPath = {"path": "/", "pathType": "Prefix"}


def ingress(webapp: WebApp) -> Manifest | None:
    """Return the Ingress, or None without `ingress`."""
    wanted = webapp.spec.get("ingress")
    if wanted is None:
        return None
    return {
        "apiVersion": INGRESS.api_version,
        "kind": INGRESS.kind,
        "metadata": metadata(webapp, annotations=wanted.get("annotations")),
        "spec": without_empty(
            {
                "ingressClassName": wanted.get("className"),
                "rules": [_rule(webapp, host) for host in wanted["hosts"]],
                "tls": wanted.get("tls"),
            }
        ),
    }


def _rule(webapp: WebApp, host: IngressHost) -> Manifest:
    paths = [_path(webapp, path) for path in host.get("paths") or [_EVERY_PATH]]
    return {"host": host["host"], "http": {"paths": paths}}


def _path(webapp: WebApp, path: IngressPath) -> Manifest:
    return {
        "path": path["path"],
        "pathType": path.get("pathType", "Prefix"),
        "backend": {"service": {"name": webapp.name, "port": _port(tcp_port(webapp, path.get("port")))}},
    }


def _port(port: Manifest) -> Manifest:
    """Return the reference to a port of the Service, by its name if an Ingress may use it.

    With the name, the number may change without a change of the Ingress. The name of a port of a Service may be any
    label, but that in an Ingress has at most 15 characters, and a letter
    (https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-v1/).
    """
    name = str(port["name"])
    usable = len(name) <= _LONGEST_NAME and any(character.isalpha() for character in name) and "--" not in name
    return {"name": name} if usable else {"number": port["port"]}


def ingress_health(live: Projection) -> Health:
    """Return the health of an Ingress: a controller must have assigned an address."""
    if live.content.get("status", {}).get("loadBalancer", {}).get("ingress"):
        return HEALTHY
    name, classes = live.content.get("spec", {}).get("ingressClassName"), "kubectl get ingressclasses"
    if name is None:
        problem = "has no class and no address: the cluster had no default IngressClass when the Ingress was created"
        advice = f"or spec.ingress.className was removed. Set spec.ingress.className: {classes}"
        return Health(Level.PROGRESSING, "NoAddress", f"{problem}, {advice}")
    problem = "no controller has assigned an address. The operator does not read the IngressClass"
    advice = f"Check that it exists and that its controller runs: {classes} {name}"
    return Health(Level.PROGRESSING, "NoAddress", f"{problem}. {advice}")


def _desired(webapp: WebApp, _: World) -> Desired | None:
    manifest = ingress(webapp)
    return None if manifest is None else Desired(manifest)


TYPE = ChildType(
    INGRESS,
    _desired,
    rules=Rules(whole(INGRESS, "loadBalancer"), namesake=str),
    health=ingress_health,
    needs=(SERVICE,),
    removal=Removal.AT_ONCE,
    optional="Enable the API group networking.k8s.io/v1 in the API server, or remove spec.ingress",
)
