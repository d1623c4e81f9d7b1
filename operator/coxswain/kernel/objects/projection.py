"""Objects as observed: small immutable projections of what the API server sent.

They hold what comparison and status need and nothing else: of a ConfigMap hashes instead of its data, of managedFields
our Apply entry and who else owns fields, and of a pod its template hash, phase, conditions and container states.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.objects.field_paths import Entry, Fields
from coxswain.kernel.objects.kinds import (
    CHILDREN,
    CONFIG_MAP,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    POD,
    REPLICA_SET,
    WEBAPP,
    Kind,
)
from coxswain.webapp.children.configmap import CONFIG_HASH
from coxswain.webapp.identity import ADOPT_ANNOTATION, WEBAPP_LABEL
from coxswain.webapp.pods import REVISION, TEMPLATE_HASH
from coxswain.webapp.spec import GROUP, KIND, Manifest, WebApp

FIELD_MANAGER = "coxswain"

REPLICAS_MANAGER = "coxswain-replicas"
"""Holds a Deployment's replicas at the live count while they go over to an autoscaler."""

_MANY_KEYS = 1024

_COUNTS = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_METADATA = ("generation", "labels", "annotations", "ownerReferences")
_CONDITION = ("type", "status", "reason", "message")
_CONTAINERS = ("initContainerStatuses", "containerStatuses")
_TARGET = ("apiVersion", "kind", "name")
_PARTS = {
    POD: ("metadata", "status"),
    REPLICA_SET: ("metadata",),
    HORIZONTAL_POD_AUTOSCALER: ("metadata", "spec"),
}
"""What is read at all of kinds that others write."""
_UNREADY = ("image", "started", "restartCount", "state", "lastState")


@dataclass(frozen=True)
class Controller:
    """The owner reference that says `controller: true`."""

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
    """kind, and of metadata, spec and status what is compared or told; never to be changed."""
    controller: Controller | None = None
    label: str | None = None
    """The WebApp that its label names."""
    owned: Fields | None = None
    """The fields that our Apply entry owns; None without such an entry."""
    others: tuple[Entry, ...] = ()
    """The entries of other managers, those for the status apart."""

    @property
    def webapps(self) -> set[str]:
        """Names of the WebApps (in its namespace) that its label and controller reference name, or that it is.

        A HorizontalPodAutoscaler names the one whose Deployment it targets.
        """
        if self.kind is WEBAPP:
            return {self.name}
        if self.kind is HORIZONTAL_POD_AUTOSCALER:
            return _targeted(self.content["scaleTargetRef"])
        names = {self.label} if self.label else set()
        if self.controller is not None and self.controller.kind == KIND:
            names.add(self.controller.name)
        return names

    @property
    def namesake(self) -> str | None:
        """The name of the WebApp that would have a child of this kind and name, if it is of a child's kind."""
        if self.kind is CONFIG_MAP:
            return CONFIG_HASH.sub("", self.name)
        return self.name if self.kind in CHILDREN else None

    @property
    def generation(self) -> int:
        """What grows with each change of the spec; 0 for kinds that have none."""
        return int(self.content.get("metadata", {}).get("generation", 0))

    def is_child_of(self, webapp: WebApp) -> bool:
        """Tell whether it is a child of this WebApp, rather than a foreign object.

        It is if its controller reference has the WebApp's uid, or if it has no controller while our Apply entry is
        there: the reference was stripped, or it was orphaned.
        """
        if self.controller is None:
            return self.owned is not None and self.label in (None, webapp.name)
        return self.controller.uid == webapp.uid

    def names_adopter(self, webapp: WebApp) -> bool:
        """Tell whether its annotation says that this WebApp may adopt it, or might when it did."""
        return bool(self.content["metadata"].get("annotations", {}).get(ADOPT_ANNOTATION) == webapp.name)

    def is_adoptable_by(self, webapp: WebApp) -> bool:
        """Tell whether it is a foreign object that this WebApp may make its child: never one that has a controller."""
        return self.controller is None and not self.is_child_of(webapp) and self.names_adopter(webapp)


def observe(kind: Kind, raw: Mapping[str, Any]) -> Projection:
    """Return the projection of an object.

    Raises:
        KeyError, ValueError: it is no object of the API.
    """
    managed = raw["metadata"].get("managedFields") or []
    raw = _present({**raw, "metadata": {**raw["metadata"], "managedFields": None}}, _PARTS.get(kind))
    metadata = raw["metadata"]
    owned, others = _managed(managed) if kind in CHILDREN else (None, ())
    theirs = kind is HORIZONTAL_POD_AUTOSCALER
    if owned is None and _is_foreign(kind, metadata):
        content, others = _identity(kind, metadata), ()
    else:
        content = _content(kind, _bounded(raw, owned) if kind is CONFIG_MAP else raw)
    return Projection(
        kind=kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        version=int(metadata["resourceVersion"]),
        going="deletionTimestamp" in metadata,
        content=content,
        controller=None if theirs else _controller(metadata),
        label=None if theirs else metadata.get("labels", {}).get(WEBAPP_LABEL),
        owned=owned,
        others=others,
    )


def comparable(manifest: Mapping[str, Any]) -> Manifest:
    """Return a manifest with hashes in the place of a ConfigMap's data and binaryData, as projections have them."""
    if manifest.get("kind") != CONFIG_MAP.kind:
        return dict(manifest)
    hashed = {
        field: {key: _hash(value) for key, value in (manifest.get(field) or {}).items()}
        for field in ("data", "binaryData")
        if field == "data" or field in manifest
    }
    return {**manifest, **hashed}


def webapp_of(observed: Projection) -> WebApp:
    """Return the WebApp that was observed."""
    return WebApp(
        namespace=observed.namespace,
        name=observed.name,
        uid=observed.uid,
        generation=observed.content["metadata"].get("generation", 0),
        spec=observed.content["spec"],
    )


def _is_foreign(kind: Kind, metadata: Mapping[str, Any]) -> bool:
    """Tell whether an object without our Apply entry can be no WebApp's child and may not be adopted either.

    Nothing of it is compared. Anyone may give our label to large objects, so they must not take memory.
    """
    annotations = metadata.get("annotations") or {}
    return kind in CHILDREN and _controller(metadata) is None and ADOPT_ANNOTATION not in annotations


def _identity(kind: Kind, metadata: Mapping[str, Any]) -> Manifest:
    labels = _only(metadata.get("labels") or {}, (WEBAPP_LABEL,))
    return {"kind": kind.kind, "metadata": {"labels": labels, **_only(metadata, ("generation",))}}


def _bounded(config_map: Mapping[str, Any], owned: Fields | None) -> Mapping[str, Any]:
    """Return a ConfigMap with a bounded number of keys: of many those that we own.

    A WebApp has at most 320, while a hostile one of 1 MB has 100,000, whose hashes would take several MB.
    """
    cut = dict(config_map)
    for field in ("data", "binaryData"):
        entries = config_map.get(field) or {}
        if len(entries) > _MANY_KEYS:
            ours = (owned or {}).get(f"f:{field}") or {}
            kept = [key for key in entries if f"f:{key}" in ours][:_MANY_KEYS]
            cut[field] = {key: entries[key] for key in kept}
    return cut


def _present(value: Any, names: Collection[str] | None = None) -> Any:
    """Return a copy without nulls, which Go writes for an empty time, list or map; of a map only these names."""
    if isinstance(value, Mapping):
        kept = value if names is None else names
        return {key: _present(item) for key, item in value.items() if item is not None and key in kept}
    if isinstance(value, list):
        return [_present(item) for item in value if item is not None]
    return value


def _content(kind: Kind, raw: Mapping[str, Any]) -> Manifest:
    if kind is POD:
        return _pod(raw)
    if kind is REPLICA_SET:
        return _revision(raw)
    if kind is HORIZONTAL_POD_AUTOSCALER:
        return {"scaleTargetRef": _only(raw.get("spec", {}).get("scaleTargetRef", {}), _TARGET)}
    metadata = {key: raw["metadata"][key] for key in _METADATA if key in raw["metadata"]}
    rest = {key: value for key, value in raw.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    content = comparable({"kind": kind.kind, "metadata": metadata, **rest})
    status = raw.get("status", {})
    if kind is WEBAPP:
        content["status"] = status
    elif kind is DEPLOYMENT:
        counts = {key: status[key] for key in _COUNTS if key in status}
        content["status"] = {**counts, "conditions": status.get("conditions", [])}
    return content


def _targeted(reference: Mapping[str, str]) -> set[str]:
    """Return the name of the Deployment that is referred to: its WebApp has the same."""
    group = reference.get("apiVersion", "").partition("/")[0]
    return (
        {reference.get("name", "")} if (group, reference.get("kind")) == (DEPLOYMENT.group, DEPLOYMENT.kind) else set()
    )


def _revision(replica_set: Mapping[str, Any]) -> Manifest:
    metadata = replica_set["metadata"]
    kept = {"labels": (TEMPLATE_HASH,), "annotations": (REVISION,)}
    return {"metadata": {key: _only(metadata.get(key, {}), names) for key, names in kept.items()}}


def _pod(pod: Mapping[str, Any]) -> Manifest:
    """Return what is kept of a pod: of one that is ready next to nothing, since there may be thousands."""
    metadata, status = pod["metadata"], pod.get("status", {})
    containers = {key: [_container(found) for found in status.get(key, [])] for key in _CONTAINERS}
    return {
        "metadata": {
            **_only(metadata, ("name", "creationTimestamp")),
            "labels": _only(metadata.get("labels", {}), (TEMPLATE_HASH,)),
        },
        "status": {
            **_only(status, ("phase", "reason", "message")),
            "conditions": [
                _only(found, _CONDITION) for found in status.get("conditions", []) if found.get("status") != "True"
            ],
            **containers,
        },
    }


def _container(status: Mapping[str, Any]) -> Manifest:
    kept = _only(status, ("name", "ready"))
    return kept if status.get("ready") else {**kept, **_only(status, _UNREADY)}


def _only(mapping: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: mapping[name] for name in names if name in mapping}


def _controller(metadata: Mapping[str, Any]) -> Controller | None:
    for reference in metadata.get("ownerReferences", []):
        if reference.get("controller"):
            group, kind = reference.get("apiVersion", "").partition("/")[0], reference.get("kind", "")
            # A foreign kind that happens to be called WebApp is not ours to look at.
            kind = kind if kind != KIND or group == GROUP else f"{KIND}.{group}"
            return Controller(kind, reference.get("name", ""), reference.get("uid", ""))
    return None


def _managed(entries: list[Mapping[str, Any]]) -> tuple[Fields | None, tuple[Entry, ...]]:
    owned = None
    others = []
    for entry in entries:
        if entry.get("subresource") == "status":
            continue
        if (entry.get("manager"), entry.get("operation")) == (FIELD_MANAGER, "Apply"):
            owned = entry.get("fieldsV1") or {}
        else:
            manager, operation = (str(entry.get(name) or "") for name in ("manager", "operation"))
            others.append(Entry(manager, entry.get("fieldsV1") or {}, operation))
    return owned, tuple(others)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
