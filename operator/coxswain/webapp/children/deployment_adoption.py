"""Adoption of a Deployment that another tool has created, by a rolling update.

The selector of a Deployment is immutable. An adopted Deployment therefore keeps its selector, and the pods keep its
labels besides ours. All of it is derived from the live Deployment, so a restart of the operator changes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, Path, owns
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.workload import World
from coxswain.webapp.identity import ADOPT_ANNOTATION, CONTAINER, WEBAPP_LABEL, labels, selector
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from coxswain.webapp.spec import WebApp

_SELECTOR = ("f:spec", "f:selector")
_POD = ("f:spec", "f:template", "f:spec")
_CONTAINERS = ("containers", "initContainers")


def selector_of(webapp: WebApp, world: World) -> dict[str, str]:
    """Return the desired selector: that of an adopted Deployment if the pods can have its labels, or else ours."""
    live, ours = world.live(DEPLOYMENT, webapp.name), selector(webapp.name)
    if live is None or not _is_adopted(webapp, live):
        return ours
    found = live.content.get("spec", {}).get("selector", {})
    wanted = found.get("matchLabels", {})
    keepable = wanted.get(WEBAPP_LABEL, webapp.name) == webapp.name and "pod-template-hash" not in wanted
    return dict(wanted) if wanted and keepable and not found.get("matchExpressions") else ours


def pod_labels(webapp: WebApp, selected: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of the pods. Labels of the selector cannot be changed, so they win."""
    return {**labels(webapp), **selected}


def enforced(webapp: WebApp, manifest: Manifest, live: Projection | None) -> tuple[str, ...]:
    """Return the removed containers: no policy keeps them, because the pods would run both, or would be invalid.

    The desired containers that take their names are enforced as well, alone or as a new list.
    """
    if live is None or not live.is_adoptable_by(webapp):
        return ()
    removed = _removed(manifest, live.content)
    taken = [(other, name) for field, name in removed for other in _CONTAINERS if other != field]
    taken = [(other, name) for other, name in taken if name in _names(manifest, other)]
    items = [f"{field}[name={name}]" for field, name in (*removed, *taken)]
    lists = dict.fromkeys(field for field, _ in taken)
    return tuple(f"spec.template.spec.{place}" for place in (*items, *lists))


def replaced_container(wanted: Manifest, live: Mapping[str, Any]) -> str | None:
    """Return the name of the live container in whose place an adopted Deployment runs ours; None if there is none.

    Containers merge by name. Without a container of our name, the replaced one is the only one, or else the only one
    with our image, or else the only one with one of our ports. A container whose name goes to an init container is the
    replaced one only if there is no other.
    """
    ours = {container["name"]: container for container in _pod(wanted).get("containers", [])}
    theirs = [container for container in _pod(live).get("containers", []) if container.get("name") not in ours]
    if is_named(live) or not theirs:
        return None
    theirs = [each for each in theirs if each.get("name") not in _names(wanted, "initContainers")] or theirs
    app = ours[CONTAINER]
    for candidates in (
        theirs,
        [each for each in theirs if _repository(each.get("image", "")) == _repository(app["image"])],
        [each for each in theirs if _ports(each) & _ports(app)],
    ):
        if len(candidates) == 1:
            return str(candidates[0].get("name", ""))
    return None


def is_named(live: Mapping[str, Any]) -> bool:
    """Tell whether a live Deployment has a container of our name."""
    return any(container.get("name") == CONTAINER for container in _pod(live).get("containers", []))


def former(wanted: Manifest, live: Mapping[str, Any], _: Sequence[Fields]) -> Sequence[Path]:
    """Return the removed containers, and the volumes that they alone mount.

    A ConfigMap or Secret of the old tool may be deleted later, and pods with a volume from it could not start.
    """
    removed = _removed(wanted, live)
    pod, desired = _pod(live), {volume["name"] for volume in _pod(wanted).get("volumes", [])}
    everyone = [
        ((field, each.get("name")) in removed, _mounts(each)) for field in _CONTAINERS for each in pod.get(field, [])
    ]
    gone = {mount for is_removed, mounts in everyone if is_removed for mount in mounts}
    stay = {mount for is_removed, mounts in everyone if not is_removed for mount in mounts}
    present = {volume.get("name") for volume in pod.get("volumes", [])}
    volumes = sorted((gone & present) - stay - desired)
    return (
        *((*_POD, f"f:{field}", f'k:{{"name":"{name}"}}') for field, name in removed),
        *((*_POD, "f:volumes", f'k:{{"name":"{volume}"}}') for volume in volumes),
    )


def _removed(wanted: Manifest, live: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return list and name of each container that an adoption removes.

    It is the replaced one, and each one whose name a desired container has in the other list: names are unique over
    containers and init containers.
    """
    name = replaced_container(wanted, live)
    moved = [
        (field, each)
        for field, other in (_CONTAINERS, _CONTAINERS[::-1])
        for each in _names(live, field)
        if each in _names(wanted, other)
    ]
    return list(dict.fromkeys([*([] if name is None else [("containers", name)]), *moved]))


def adoptable_when(webapp: WebApp, live: Projection, world: World) -> str | None:
    """Return the condition for the adoption, as a clause: the Service must lead to the new pods as well."""
    service = world.live(SERVICE, webapp.name)
    before = live.content.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    wanted = pod_labels(webapp, selector_of(webapp, world))
    changed = sorted(key for key, value in wanted.items() if before.get(key, value) != value)
    if service is None or service.controller is not None or service.is_child_of(webapp) or not changed:
        return None
    place, why = f"{service.name} -n {service.namespace}", "because the WebApp changes labels of the pods"
    if not service.is_adoptable_by(webapp):
        # The cache has only the identity of a foreign object, so its selector is unknown.
        annotate = f"kubectl annotate service {place} {ADOPT_ANNOTATION}={webapp.name} --overwrite"
        return f"Service {service.name} may be adopted too, {why} ({', '.join(changed)}): {annotate}"
    selected: Mapping[str, str] = service.content.get("spec", {}).get("selector", {})
    lost = [key for key in changed if key in selected]
    if not lost or not selected.items() <= before.items():
        return None
    return f"the selector of Service {service.name} lacks {', '.join(lost)}, {why}: kubectl edit service {place}"


def _is_adopted(webapp: WebApp, live: Projection) -> bool:
    """Tell whether a Deployment is adopted, or about to be. The annotation may be removed later."""
    annotated = live.adopter == webapp.name or owns(live.owned or {}, _SELECTOR)
    return live.is_adoptable_by(webapp) or (live.is_child_of(webapp) and annotated)


def _pod(deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    pod: Mapping[str, Any] = deployment.get("spec", {}).get("template", {}).get("spec", {})
    return pod


def _names(deployment: Mapping[str, Any], field: str) -> list[str]:
    return [str(container.get("name", "")) for container in _pod(deployment).get(field, [])]


def _mounts(container: Mapping[str, Any]) -> set[str]:
    return {mount.get("name", "") for mount in container.get("volumeMounts", [])}


def _ports(container: Mapping[str, Any]) -> set[tuple[int, str]]:
    return {(port.get("containerPort", 0), port.get("protocol", "TCP")) for port in container.get("ports", [])}


def _repository(image: str) -> str:
    """Return an image reference without its tag and digest."""
    name = image.partition("@")[0]
    path, slash, last = name.rpartition("/")
    return path + slash + last.partition(":")[0]
