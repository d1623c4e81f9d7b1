"""Kinds of objects, and their addresses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A namespaced kind of the API."""

    group: str
    version: str
    kind: str
    plural: str
    label_selector: str = ""
    """What filters its objects on the server, in LIST and WATCH alike."""

    def __str__(self) -> str:
        return self.kind

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_path(self) -> str:
        """Where discovery describes the kind's group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the address of the collection (of one namespace), an object, or its subresource."""
        parts = [self.group_path]
        parts += [f"namespaces/{namespace}"] if namespace is not None else []
        parts += [self.plural]
        parts += [part for part in (name, subresource) if part is not None]
        return "/".join(parts)


EVENT = Kind("events.k8s.io", "v1", "Event", "events")


@dataclass(frozen=True)
class Kinds:
    """The kinds of one workload."""

    parent: Kind
    """The custom resource."""
    children: tuple[Kind, ...]
    """Kinds that are written."""
    related: tuple[Kind, ...] = ()
    """Kinds that are only read."""
    decisive: tuple[Kind, ...] = ()
    """Related kinds that the desired state depends on: while one may be unknown, the parents must learn that."""

    @property
    def watched(self) -> tuple[Kind, ...]:
        """All kinds, as they are listed and watched."""
        return (self.parent, *self.children, *self.related)

    def of(self, manifest: Mapping[str, Any]) -> Kind:
        """Return the kind of a child's manifest."""
        wanted = manifest["apiVersion"], manifest["kind"]
        return next(kind for kind in self.children if (kind.api_version, kind.kind) == wanted)
