"""API kinds and their URL paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from coxswain.kernel.objects.grants import Grant

_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True)
class Kind:
    """A namespaced kind."""

    group: str
    version: str
    kind: str
    plural: str
    label_selector: str = ""
    """A label selector for LIST and WATCH requests."""
    field_selector: str = ""
    """A field selector for LIST and WATCH requests."""
    metadata_only: bool = False
    """Whether LIST and WATCH request PartialObjectMetadata: the API server then sends neither spec nor data."""
    grant: Grant | None = field(default=None, compare=False)
    """The manifests with the permissions on it in one namespace, for messages; None if the usual ones have them."""

    def __hash__(self) -> int:
        # Kinds are keys of many tables, and hardly two of them have the same plural.
        return hash(self.plural)

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

    @property
    def collection(self) -> str:
        """Its plural for messages and metrics. A kind may be watched twice: its children, and metadata of all."""
        return f"{self.plural} (metadata)" if self.metadata_only else self.plural

    def accept(self, *, watching: bool) -> str:
        """Return the Accept header of a WATCH or a LIST.

        The header of a metadata-only kind has no alternative, so the API server never sends whole objects.
        """
        if not self.metadata_only:
            return _JSON
        return _METADATA if watching else _METADATA_LIST

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


class UnknownKind(ValueError):
    """The settings name a kind that the workload does not know."""


@dataclass(frozen=True)
class Kinds:
    """The kinds of one workload."""

    parent: Kind
    """The custom resource."""
    children: tuple[Kind, ...]
    """Kinds written by the operator."""
    related: tuple[Kind, ...] = ()
    """Kinds of objects that decide or explain something, whoever made them. A kind of children may be one of them."""
    decisive: tuple[Kind, ...] = ()
    """Related kinds that the desired state depends on.

    While the cache of one may be incomplete, `World.is_doubtful` says so; the parents are requeued when that changes.
    """
    optional: tuple[Kind, ...] = ()
    """Children and related kinds that the API server may lack, or that the operator may not be allowed to list."""
    records: tuple[Kind, ...] = ()
    """Children that record states of their parent: there are many of them, and they are rarely read."""
    referenced: tuple[Kind, ...] = ()
    """Kinds of objects of others to which parents refer. They are watched only on demand, and by metadata only."""

    def with_referenced(self, plurals: Sequence[str]) -> "Kinds":
        """Return these kinds with some of `referenced` among the watched ones.

        Raises:
            UnknownKind: a plural is none of them.
        """
        known = {kind.plural: kind for kind in self.referenced}
        unknown = [plural for plural in plurals if plural not in known]
        if unknown:
            raise UnknownKind(f"metadata of {unknown[0]!r} cannot be watched: choose of {', '.join(known) or 'none'}")
        chosen = tuple(known[plural] for plural in dict.fromkeys(plurals))
        return replace(self, related=(*self.related, *chosen), optional=(*self.optional, *chosen))

    @cached_property
    def watched(self) -> tuple[Kind, ...]:
        """All kinds with a LIST and a WATCH, while the API server serves them."""
        return tuple(dict.fromkeys((self.parent, *self.children, *self.related)))

    def of(self, manifest: Mapping[str, Any]) -> Kind:
        """Return the kind of a child's manifest."""
        wanted = manifest["apiVersion"], manifest["kind"]
        return next(kind for kind in self.children if (kind.api_version, kind.kind) == wanted)
