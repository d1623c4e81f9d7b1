"""The ports of the pods that the Service leads to while a rollout renames them.

A Service port finds its target by name in each pod, so a port may change its number without a failed request. If it
changes its name, the old pods lack the new name, or have it for another port: meanwhile the Service uses the number.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Path, element_of, owns
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import World
from coxswain.webapp.children.deployment_health import is_of_one_template
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from coxswain.webapp.spec import WebApp


def reachable(webapp: WebApp, world: World, ports: Sequence[Manifest]) -> list[Manifest]:
    """Return the Service's ports, each with the number of its target while pods have different names for it."""
    live, deployment = world.live(SERVICE, webapp.name), world.live(DEPLOYMENT, webapp.name)
    if live is None or not live.is_child_of(webapp):
        return list(ports)
    if deployment is not None and not deployment.is_child_of(webapp):
        return list(ports)
    # Old pods may run without a Deployment: deleted as an orphan, or to create it again around them.
    content = {} if deployment is None else deployment.content
    pod = content.get("spec", {}).get("template", {}).get("spec", {})
    template = _numbers([*pod.get("initContainers", []), *pod.get("containers", [])])
    wanted = _numbers([webapp.spec, *webapp.spec.get("sidecars", [])])
    present = {_key(port): port.get("targetPort") for port in live.content.get("spec", {}).get("ports", [])}
    rolled_out = deployment is not None and is_of_one_template(content)

    def target(port: Manifest) -> Any:
        name = port["targetPort"]
        former, number = present.get(_key(port), name), wanted.get(name)
        if former == name or number is None or (rolled_out and template.get(name) == number):
            return name
        if isinstance(former, int):
            # A number of another manager is drift, not the one that was set at the beginning of the rollout.
            return number if former == number and owns(live.owned or {}, _place(port)) else name
        # If the old pods do not listen on the number, the name leads to the new pods alone.
        return number if template.get(former, number) == number else name

    return [{**port, "targetPort": target(port)} for port in ports]


def _numbers(containers: Iterable[Any]) -> dict[Any, int]:
    """Return the number of each named port."""
    return {
        port["name"]: port["containerPort"]
        for container in containers
        for port in container.get("ports", [])
        if "name" in port and "containerPort" in port
    }


def _key(port: Manifest) -> tuple[Any, str]:
    return port.get("port"), port.get("protocol", "TCP")


def _place(port: Manifest) -> Path:
    return ("f:spec", "f:ports", element_of(port, ['k:{"port":0,"protocol":""}']), "f:targetPort")
