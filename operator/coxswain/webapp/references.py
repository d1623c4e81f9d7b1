"""The Secrets and ConfigMaps that pods use, and whether they may be missing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from coxswain.webapp.kinds import REFERENCED_CONFIG_MAP, SECRET
from coxswain.webapp.spec import WebApp

_KINDS = {
    **dict.fromkeys(("secretKeyRef", "secretRef", "secret"), SECRET.kind),
    **dict.fromkeys(("configMapKeyRef", "configMapRef", "configMap"), REFERENCED_CONFIG_MAP.kind),
}
"""The kind of the object, by the field of an environment variable, `envFrom`, a volume or a projected source."""


def may_be_missing(webapp: WebApp, kind: str, name: str) -> bool:
    """Tell whether the pods use an object, and each of their references to it is optional."""
    spec: Mapping[str, Any] = webapp.spec
    containers = [spec, *spec.get("initContainers", []), *spec.get("sidecars", [])]
    found = [
        reference.get("optional", False)
        for of, named, reference in _references(containers, spec.get("volumes", []))
        if (of, named) == (kind, name)
    ]
    return bool(found) and all(found)


def config_maps_of(pod: Mapping[str, Any]) -> set[str]:
    """Return the names of the ConfigMaps in a pod spec."""
    containers = [*pod.get("initContainers", []), *pod.get("containers", [])]
    return {name for of, name, _ in _references(containers, pod.get("volumes", [])) if of == REFERENCED_CONFIG_MAP.kind}


def _references(
    containers: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield each reference with the kind and the name of its object."""
    for source in _sources(containers, volumes):
        for field in source.keys() & _KINDS.keys():
            reference = source[field]
            yield _KINDS[field], reference.get("secretName", reference.get("name", "")), reference


def _sources(
    containers: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    for container in containers:
        yield from (variable.get("valueFrom", {}) for variable in container.get("env", []))
        yield from container.get("envFrom", [])
    for volume in volumes:
        yield volume
        yield from volume.get("projected", {}).get("sources", [])
