"""API kinds and their URL paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A namespaced kind."""

    group: str
    version: str
    kind: str
    plural: str
    label_selector: str = ""
    """A label selector for LIST and WATCH requests."""

    def __str__(self) -> str:
        return self.kind

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_path(self) -> str:
        """The URL path of its API group and version, also used for discovery."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the URL path of a collection, an object or a subresource.

        Args:
            namespace: None for the collection of all namespaces.
            name: None for the collection.
            subresource: for example `status`.
        """
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
    """Kinds written by the operator."""
    related: tuple[Kind, ...] = ()
    """Read-only kinds."""
    decisive: tuple[Kind, ...] = ()
    """Related kinds needed to compute the desired state; parents report it if the cache of one may be incomplete."""

    @property
    def watched(self) -> tuple[Kind, ...]:
        """All kinds with a LIST and a WATCH."""
        return (self.parent, *self.children, *self.related)

    def of(self, manifest: Mapping[str, Any]) -> Kind:
        """Return the kind of a child's manifest."""
        wanted = manifest["apiVersion"], manifest["kind"]
        return next(kind for kind in self.children if (kind.api_version, kind.kind) == wanted)
