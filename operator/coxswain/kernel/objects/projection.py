"""Projections: small immutable copies of objects, limited to the fields needed for comparison and status.

A projection of a child also contains our Apply entry and the entries of other managers from managedFields. The workload
defines the content of each kind.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from coxswain.kernel.objects.field_paths import Fields, ManagedFieldsEntry
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.kernel.objects.manifests import Manifest

_METADATA = ("generation", "labels", "annotations", "ownerReferences")


class Named(Protocol):
    """The identity of a parent."""

    @property
    def namespace(self) -> str:
        """The parent's namespace."""

    @property
    def name(self) -> str:
        """The parent's name."""

    @property
    def uid(self) -> str:
        """The parent's uid."""


LEVELS_LIMIT = 100
"""Levels of nesting. Deeper objects are refused: pickle, comparisons and copies recurse, and Python limits that. An
object of Kubernetes has about 20 levels, but the API server accepts 10000 in raw JSON.
"""
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)
"""Exceptions of the projector for an object with unexpected structure."""
FINALIZERS_KEPT = 16
"""Anyone who may change an object can add finalizers, so that they must not fill the memory."""


@dataclass(frozen=True)
class Controller:
    """The controller owner reference, with `controller: true`."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class Projection:
    """An object as observed at one resourceVersion."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    version: int
    """The resourceVersion. Versions of one resource compare as integers
    (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
    """
    terminating: bool
    """Whether it has a deletionTimestamp."""
    content: Mapping[str, Any]
    """The kind, and the compared and reported parts of metadata, spec and status. Must not be mutated."""
    controller: Controller | None = None
    label: str | None = None
    """The name of the parent in its label."""
    owned: Fields | None = None
    """The fields owned by our Apply entry; None without such an entry."""
    others: tuple[ManagedFieldsEntry, ...] = ()
    """The entries of other managers. Those for the status subresource lack the status itself."""
    adopter: str | None = None
    """The parent named by the adopt annotation. It may adopt the object, or has adopted it."""
    parents: frozenset[str] = frozenset()
    """Names of the related parents in its namespace, by label, controller reference or target."""
    namesakes: tuple[str, ...] = ()
    """The names of the parents whose child might have this kind and name."""
    referenced: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of the objects of others to which this parent refers."""
    finalizers: tuple[str, ...] = ()
    """The first finalizers that delay the end of a terminating object, at most `FINALIZERS_KEPT`; otherwise empty."""

    @property
    def generation(self) -> int:
        """metadata.generation, increased with each change of the spec; 0 for kinds without one."""
        return int(self.content.get("metadata", {}).get("generation", 0))

    @property
    def is_watched(self) -> bool:
        """Whether a watch reports it: all of its kind, or it has our label. Other objects are read by name."""
        return not self.kind.label_selector or self.label is not None

    def is_child_of(self, parent: Named) -> bool:
        """Report whether it is a child of this parent.

        The controller reference must have the parent's uid. Without a controller, for example after the reference was
        removed or the object was orphaned, it needs our Apply entry and no other parent's label.
        """
        if self.controller is None:
            return self.owned is not None and self.label in (None, parent.name)
        return self.controller.uid == parent.uid

    def is_adoptable_by(self, parent: Named) -> bool:
        """Report whether this parent may adopt it. An object with a controller is never adopted."""
        return self.controller is None and not self.is_child_of(parent) and self.adopter == parent.name


@dataclass(frozen=True)
class Rules:
    """The rules to project objects of one kind."""

    content: Callable[[Mapping[str, Any]], Manifest]
    """Returns the content of a projection. The argument is an object without nulls."""
    reads: tuple[str, ...] | None = None
    """The top-level fields needed by `content`; None for all."""
    trim: Callable[[Mapping[str, Any], Fields | None], Mapping[str, Any]] = lambda raw, _: raw
    """Limits the size of an object. The second argument is the field set of our Apply entry."""
    namesake: Callable[[str], str | tuple[str, ...]] | None = None
    """Maps the name of a child to the name of its parent, or to several possible ones."""
    targets: Callable[[Manifest], Iterable[str]] | None = None
    """Returns the names of the parents that the content targets. If set, only children have labels and owners."""
    managed: Callable[[Sequence[Mapping[str, Any]]], Manifest] = lambda _: {}
    """Returns a further part of the content, from the entries of managedFields."""
    referenced: Callable[[Manifest], Iterable[tuple[str, str]]] = lambda _: ()
    """Returns kind and name of the objects of others to which the content of a parent refers."""
    foreign: Callable[[Mapping[str, Any]], Manifest] = lambda _: {}
    """Returns the content of an object with a child's kind that is neither a child nor adoptable."""


class Projector:
    """Creates the projections of one workload's objects."""

    def __init__(self, kinds: Kinds, rules: Mapping[Kind, Rules], *, label: str, manager: str) -> None:
        """Project objects of these kinds.

        Args:
            kinds: the kinds of the workload.
            rules: the projection rules of each kind.
            label: the label with the name of the parent.
            manager: our field manager.
        """
        self.kinds = kinds
        self.manager = manager
        self.keeper = f"{manager}-replicas"
        """The field manager for a live value while the field is transferred to another manager."""
        self.adopt_annotation = f"{kinds.parent.group}/adopt"
        self._rules = rules
        self._label = label

    def with_referenced(self, plurals: Sequence[str]) -> "Projector":
        """Return a projector whose watched kinds include some of `Kinds.referenced`.

        Raises:
            UnknownKind: a plural is none of them.
        """
        return Projector(self.kinds.with_referenced(plurals), self._rules, label=self._label, manager=self.manager)

    def observe(self, kind: Kind, raw: Mapping[str, Any]) -> Projection:
        """Return the projection of an object.

        Raises:
            UNREADABLE: `raw` is not a valid API object, or has more than `LEVELS_LIMIT` levels.
        """
        _require_few_levels(raw)
        rules, is_child = self._rules[kind], kind in self.kinds.children
        managed = raw["metadata"].get("managedFields") or []
        raw = _without_nulls({**raw, "metadata": {**raw["metadata"], "managedFields": None}}, rules.reads)
        metadata = raw["metadata"]
        owned, others = self._field_owners(managed) if is_child else (None, ())
        linked = is_child or rules.targets is None
        terminating = "deletionTimestamp" in metadata
        controller = self._controller(metadata) if linked else None
        label = metadata.get("labels", {}).get(self._label) if linked else None
        adopter = metadata.get("annotations", {}).get(self.adopt_annotation) if is_child else None
        if is_child and self._is_foreign(owned, controller, adopter):
            # Foreign objects are never compared. Anyone can set our label, so they must not fill the memory.
            content, others = {**self._identity(kind, metadata), **rules.foreign(raw)}, ()
        else:
            content = {**rules.content(rules.trim(raw, owned)), **rules.managed(managed)}
        return Projection(
            kind=kind,
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            uid=metadata["uid"],
            version=int(metadata["resourceVersion"]),
            terminating=terminating,
            content=content,
            controller=controller,
            label=label,
            owned=owned,
            others=others,
            adopter=adopter,
            parents=self._parents(kind, metadata["name"], content, label, controller),
            namesakes=_names(rules.namesake(metadata["name"])) if rules.namesake else (),
            referenced=frozenset(rules.referenced(content)),
            finalizers=tuple(metadata.get("finalizers", ())[:FINALIZERS_KEPT]) if terminating else (),
        )

    def _parents(
        self, kind: Kind, name: str, content: Manifest, label: str | None, controller: Controller | None
    ) -> frozenset[str]:
        targets = self._rules[kind].targets
        if kind is self.kinds.parent:
            return frozenset((name,))
        names = set(targets(content)) if targets is not None else set()
        if label:
            names.add(label)
        if controller is not None and controller.kind == self.kinds.parent.kind:
            names.add(controller.name)
        return frozenset(names)

    def _is_foreign(self, owned: Fields | None, controller: Controller | None, adopter: str | None) -> bool:
        """Report whether an object is neither a child of a parent nor adoptable."""
        controlled = controller is not None and controller.kind == self.kinds.parent.kind
        return owned is None and not controlled and adopter is None

    def _identity(self, kind: Kind, metadata: Mapping[str, Any]) -> Manifest:
        labels = only(metadata.get("labels", {}), (self._label,))
        return {"kind": kind.kind, "metadata": {"labels": labels, **only(metadata, ("generation",))}}

    def _controller(self, metadata: Mapping[str, Any]) -> Controller | None:
        parent = self.kinds.parent
        for reference in metadata.get("ownerReferences", []):
            if reference.get("controller"):
                group, kind = reference.get("apiVersion", "").partition("/")[0], reference.get("kind", "")
                # Another API group may have a kind with the same name.
                kind = kind if kind != parent.kind or group == parent.group else f"{kind}.{group}"
                return Controller(kind, reference.get("name", ""), reference.get("uid", ""))
        return None

    def _field_owners(self, entries: list[Mapping[str, Any]]) -> tuple[Fields | None, tuple[ManagedFieldsEntry, ...]]:
        owned = None
        others = []
        for entry in entries:
            fields = entry.get("fieldsV1") or {}
            if entry.get("subresource") == "status":
                # A write to the status can also set labels and annotations; of a Deployment, the latter.
                fields = {element: below for element, below in fields.items() if element != "f:status"}
                if not fields:
                    continue
            elif (entry.get("manager"), entry.get("operation")) == (self.manager, "Apply"):
                owned = fields
                continue
            manager, operation, version = (
                str(entry.get(name) or "") for name in ("manager", "operation", "apiVersion")
            )
            others.append(ManagedFieldsEntry(manager, fields, operation, version))
        return owned, tuple(others)


def whole(kind: Kind, *status: str) -> Callable[[Mapping[str, Any]], Manifest]:
    """Return a rule to keep the whole object, but only the named fields of its status."""

    def content(raw: Mapping[str, Any]) -> Manifest:
        metadata = only(raw["metadata"], _METADATA)
        rest = {key: value for key, value in raw.items() if key not in ("apiVersion", "kind", "metadata", "status")}
        projected: Manifest = {"kind": kind.kind, "metadata": metadata, **rest}
        return {**projected, "status": only(raw.get("status", {}), status)} if status else projected

    return content


def with_status(kind: Kind) -> Callable[[Mapping[str, Any]], Manifest]:
    """Return a rule to keep the whole object with its status, for parents."""
    return lambda raw: {**whole(kind)(raw), "status": raw.get("status", {})}


def _names(found: str | tuple[str, ...]) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else found


def only(mapping: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the entries of a mapping with these names."""
    return {name: mapping[name] for name in names if name in mapping}


def _require_few_levels(raw: Mapping[str, Any]) -> None:
    """Raise ValueError if an object has more than `LEVELS_LIMIT` levels.

    It visits level after level instead of recursing.
    """
    level: list[Any] = [raw]
    for _ in range(LEVELS_LIMIT):
        values = [value for node in level for value in (node.values() if isinstance(node, dict) else node)]
        level = [value for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise ValueError(f"it has more than {LEVELS_LIMIT} levels of nesting")


def _without_nulls(value: Any, names: tuple[str, ...] | None = None) -> Any:
    """Return a copy without nulls, limited to the top-level keys in `names`.

    Go marshals an empty time, list or map as null.
    """
    if isinstance(value, Mapping):
        kept = value if names is None else names
        return {key: _without_nulls(item) for key, item in value.items() if item is not None and key in kept}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value
