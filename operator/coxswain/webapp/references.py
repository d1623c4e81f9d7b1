"""The Secrets and ConfigMaps that the pods of a WebApp use, and whether they may be missing."""

from collections.abc import Iterator, Mapping, Sequence
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
    found = [reference.get("optional", False) for reference in _references(webapp, kind, name)]
    return bool(found) and all(found)


def _references(webapp: WebApp, kind: str, name: str) -> Iterator[Mapping[str, Any]]:
    for source in _sources(webapp.spec):
        for field in source.keys() & _KINDS.keys():
            reference = source[field]
            if (_KINDS[field], reference.get("secretName", reference.get("name"))) == (kind, name):
                yield reference


def _sources(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    containers: Sequence[Mapping[str, Any]] = [spec, *spec.get("initContainers", []), *spec.get("sidecars", [])]
    for container in containers:
        yield from (variable.get("valueFrom", {}) for variable in container.get("env", []))
        yield from container.get("envFrom", [])
    for volume in spec.get("volumes", []):
        yield volume
        yield from volume.get("projected", {}).get("sources", [])
