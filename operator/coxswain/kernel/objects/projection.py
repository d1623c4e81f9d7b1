"""Projections: small immutable copies of objects, with the parts that comparison and status need.

Of managedFields they hold our Apply entry and the fields that others own. The workload says what is kept of each kind.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from coxswain.kernel.objects.field_paths import Entry, Fields
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.kernel.objects.manifests import Manifest

_METADATA = ("generation", "labels", "annotations", "ownerReferences")


class Named(Protocol):
    """The identity of a parent."""

    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def uid(self) -> str:
        """Its uid."""


@dataclass(frozen=True)
class Controller:
    """The owner reference with `controller: true`."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class Projection:
    """An object as it was at one resourceVersion."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    version: int
    """The resourceVersion: those of one resource compare as integers
    (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions)."""
    going: bool
    """Whether it has a deletionTimestamp."""
    content: Mapping[str, Any]
    """kind, and the compared and reported parts of metadata, spec and status; never to be changed."""
    controller: Controller | None = None
    label: str | None = None
    """The parent that its label names."""
    owned: Fields | None = None
    """The fields that our Apply entry owns; None without such an entry."""
    others: tuple[Entry, ...] = ()
    """The entries of other managers, without those for the status."""
    adopter: str | None = None
    """The parent that may adopt it, or might once, by its annotation."""
    parents: frozenset[str] = frozenset()
    """Names of the parents in its namespace that it concerns: by label, controller reference or target."""
    namesake: str | None = None
    """The parent that would have a child of this kind and name."""

    @property
    def generation(self) -> int:
        """The generation, which grows with each change of the spec; 0 for kinds without one."""
        return int(self.content.get("metadata", {}).get("generation", 0))

    def is_child_of(self, parent: Named) -> bool:
        """Tell whether it is a child of this parent, rather than a foreign object.

        Either its controller reference has the parent's uid, or it has no controller but our Apply entry: the reference
        was stripped, or the object was orphaned.
        """
        if self.controller is None:
            return self.owned is not None and self.label in (None, parent.name)
        return self.controller.uid == parent.uid

    def is_adoptable_by(self, parent: Named) -> bool:
        """Tell whether this parent may make it its child: never an object with a controller."""
        return self.controller is None and not self.is_child_of(parent) and self.adopter == parent.name


@dataclass(frozen=True)
class Rules:
    """The parts of a kind's objects that are kept."""

    content: Callable[[Mapping[str, Any]], Manifest]
    """The content of a projection, from an object without nulls."""
    reads: tuple[str, ...] | None = None
    """The parts of an object that `content` looks at; None for all."""
    trim: Callable[[Mapping[str, Any], Fields | None], Mapping[str, Any]] = lambda raw, _: raw
    """Bounds an object, given the fields that our Apply entry owns."""
    namesake: Callable[[str], str] | None = None
    """The name of the parent whose child would have a name."""
    targets: Callable[[Manifest], Iterable[str]] | None = None
    """Names of the parents that an object of others refers to in its content; its labels mean nothing then."""


class Projector:
    """Projects the objects of one workload."""

    def __init__(self, kinds: Kinds, rules: Mapping[Kind, Rules], *, label: str, manager: str) -> None:
        """Project objects of these kinds.

        Args:
            kinds: the kinds of the workload.
            rules: the parts that are kept of each kind.
            label: the label with the name of the parent.
            manager: our field manager.
        """
        self.kinds = kinds
        self.manager = manager
        self.keeper = f"{manager}-replicas"
        """The field manager that holds a live value while another manager takes the field over."""
        self.adopt_annotation = f"{kinds.parent.group}/adopt"
        self._rules = rules
        self._label = label

    def observe(self, kind: Kind, raw: Mapping[str, Any]) -> Projection:
        """Return the projection of an object.

        Raises:
            KeyError, ValueError: it is no object of the API.
        """
        rules, is_child = self._rules[kind], kind in self.kinds.children
        managed = raw["metadata"].get("managedFields") or []
        raw = _present({**raw, "metadata": {**raw["metadata"], "managedFields": None}}, rules.reads)
        metadata = raw["metadata"]
        owned, others = self._managed(managed) if is_child else (None, ())
        controller = None if rules.targets else self._controller(metadata)
        label = None if rules.targets else metadata.get("labels", {}).get(self._label)
        adopter = metadata.get("annotations", {}).get(self.adopt_annotation) if is_child else None
        if is_child and self._is_foreign(owned, controller, adopter):
            # It is never compared. Anyone may give it our label, so it must not take memory.
            content, others = self._identity(kind, metadata), ()
        else:
            content = rules.content(rules.trim(raw, owned))
        return Projection(
            kind=kind,
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            uid=metadata["uid"],
            version=int(metadata["resourceVersion"]),
            going="deletionTimestamp" in metadata,
            content=content,
            controller=controller,
            label=label,
            owned=owned,
            others=others,
            adopter=adopter,
            parents=self._parents(kind, metadata["name"], content, label, controller),
            namesake=rules.namesake(metadata["name"]) if rules.namesake else None,
        )

    def _parents(
        self, kind: Kind, name: str, content: Manifest, label: str | None, controller: Controller | None
    ) -> frozenset[str]:
        targets = self._rules[kind].targets
        if kind is self.kinds.parent:
            return frozenset((name,))
        if targets is not None:
            return frozenset(targets(content))
        names = {label} if label else set()
        if controller is not None and controller.kind == self.kinds.parent.kind:
            names.add(controller.name)
        return frozenset(names)

    @staticmethod
    def _is_foreign(owned: Fields | None, controller: Controller | None, adopter: str | None) -> bool:
        """Tell whether an object can be no parent's child, and may not be adopted either."""
        return owned is None and controller is None and adopter is None

    def _identity(self, kind: Kind, metadata: Mapping[str, Any]) -> Manifest:
        labels = only(metadata.get("labels", {}), (self._label,))
        return {"kind": kind.kind, "metadata": {"labels": labels, **only(metadata, ("generation",))}}

    def _controller(self, metadata: Mapping[str, Any]) -> Controller | None:
        parent = self.kinds.parent
        for reference in metadata.get("ownerReferences", []):
            if reference.get("controller"):
                group, kind = reference.get("apiVersion", "").partition("/")[0], reference.get("kind", "")
                # A kind of another group with the same name is foreign.
                kind = kind if kind != parent.kind or group == parent.group else f"{kind}.{group}"
                return Controller(kind, reference.get("name", ""), reference.get("uid", ""))
        return None

    def _managed(self, entries: list[Mapping[str, Any]]) -> tuple[Fields | None, tuple[Entry, ...]]:
        owned = None
        others = []
        for entry in entries:
            if entry.get("subresource") == "status":
                continue
            if (entry.get("manager"), entry.get("operation")) == (self.manager, "Apply"):
                owned = entry.get("fieldsV1") or {}
            else:
                manager, operation = (str(entry.get(name) or "") for name in ("manager", "operation"))
                others.append(Entry(manager, entry.get("fieldsV1") or {}, operation))
        return owned, tuple(others)


def whole(kind: Kind, *status: str) -> Callable[[Mapping[str, Any]], Manifest]:
    """Return a rule that keeps all but the status, of which only these fields."""

    def content(raw: Mapping[str, Any]) -> Manifest:
        metadata = only(raw["metadata"], _METADATA)
        rest = {key: value for key, value in raw.items() if key not in ("apiVersion", "kind", "metadata", "status")}
        kept: Manifest = {"kind": kind.kind, "metadata": metadata, **rest}
        return {**kept, "status": only(raw.get("status", {}), status)} if status else kept

    return content


def with_status(kind: Kind) -> Callable[[Mapping[str, Any]], Manifest]:
    """Return a rule that keeps all, the status included: that of a parent."""
    return lambda raw: {**whole(kind)(raw), "status": raw.get("status", {})}


def only(mapping: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the part of a mapping with these names."""
    return {name: mapping[name] for name in names if name in mapping}


def _present(value: Any, names: tuple[str, ...] | None = None) -> Any:
    """Return a copy without nulls, which Go writes for an empty time, list or map; of a map only these names."""
    if isinstance(value, Mapping):
        kept = value if names is None else names
        return {key: _present(item) for key, item in value.items() if item is not None and key in kept}
    if isinstance(value, list):
        return [_present(item) for item in value if item is not None]
    return value
