"""The ways to write: from what a writer has seen and what it wants to change to one request. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from conflict_lab import template
from conflict_lab.template import Thing

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML

_COUNTER_PATH = f"/metadata/annotations/{template.COUNTER}"
_LIST_PATH = "/template/spec/containers/0/env"


class Workload(StrEnum):
    """What the writers change."""

    SHARED = "one shared field"
    """All of them add to one counter."""
    OWN = "an entry each"
    """Each adds to the number in its own entry of one list."""


@dataclass(frozen=True)
class Change:
    """What one writer wants: its number, or the shared one, to be `add` more than it has seen."""

    workload: Workload
    writer: str
    add: int = 1

    def old(self, seen: Thing) -> int:
        """Return the number that was seen; an entry that is not there yet counts 0."""
        if self.workload is Workload.SHARED:
            return template.counter(seen)
        return template.entries(seen).get(self.writer, 0)

    def new(self, seen: Thing) -> int:
        """Return the number that is wanted."""
        return self.old(seen) + self.add


@dataclass(frozen=True)
class Request:
    """What goes to the API server, but for the address and the writer's name."""

    content_type: str
    body: Any
    method: str = "PATCH"
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Way:
    """One way to write."""

    name: str
    title: str
    family: str
    guarded: bool
    """Whether the request says what it was decided on, so that the server can refuse it."""
    request: Callable[[Thing, Change], Request]
    reads_own: bool = True
    """Whether a writer has to look at the object before it writes its own entry; a shared field it always reads."""

    def reads(self, workload: Workload) -> bool:
        """Tell whether each attempt begins with a GET; else a writer goes by the answer to its last write."""
        return workload is Workload.SHARED or self.reads_own


def _edited(seen: Thing, change: Change) -> dict[str, Any]:
    if change.workload is Workload.SHARED:
        return template.with_counter(seen, change.new(seen))
    return template.with_entry(seen, change.writer, change.new(seen))


def _put_version(seen: Thing, change: Change) -> Request:
    return Request(JSON, _edited(seen, change), method="PUT")


def _put(seen: Thing, change: Change) -> Request:
    edited = _edited(seen, change)
    del edited["metadata"]["resourceVersion"]
    return Request(JSON, edited, method="PUT")


def _operations(seen: Thing, change: Change) -> list[dict[str, Any]]:
    value = str(change.new(seen))
    if change.workload is Workload.SHARED:
        return [{"op": "replace", "path": _COUNTER_PATH, "value": value}]
    at = template.index(seen, change.writer)
    if at is None:
        return [{"op": "add", "path": f"{_LIST_PATH}/-", "value": {"name": change.writer, "value": value}}]
    return [{"op": "replace", "path": f"{_LIST_PATH}/{at}/value", "value": value}]


def _json_patch(seen: Thing, change: Change) -> Request:
    return Request(JSON_PATCH, _operations(seen, change))


def _json_patch_version(seen: Thing, change: Change) -> Request:
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": template.version(seen)}
    return Request(JSON_PATCH, [test, *_operations(seen, change)])


def _json_patch_value(seen: Thing, change: Change) -> Request:
    old = str(change.old(seen))
    at = template.index(seen, change.writer)
    tests: list[dict[str, Any]] = []
    if change.workload is Workload.SHARED:
        tests = [{"op": "test", "path": _COUNTER_PATH, "value": old}]
    elif at is not None:
        tests = [{"op": "test", "path": f"{_LIST_PATH}/{at}", "value": {"name": change.writer, "value": old}}]
    return Request(JSON_PATCH, [*tests, *_operations(seen, change)])


def _annotations(seen: Thing, change: Change) -> dict[str, Any]:
    return {"metadata": {"annotations": {template.COUNTER: str(change.new(seen))}}}


def _merge_patch(seen: Thing, change: Change) -> Request:
    if change.workload is Workload.SHARED:
        return Request(MERGE_PATCH, _annotations(seen, change))
    return Request(MERGE_PATCH, {"template": {"spec": {"containers": template.containers(_edited(seen, change))}}})


def _versioned(request: Request, seen: Thing) -> Request:
    metadata = {**request.body.get("metadata", {}), "resourceVersion": template.version(seen)}
    return Request(request.content_type, {**request.body, "metadata": metadata}, query=request.query)


def _merge_patch_version(seen: Thing, change: Change) -> Request:
    return _versioned(_merge_patch(seen, change), seen)


def _keyed(seen: Thing, change: Change) -> dict[str, Any]:
    """Return only what changes, with the names that lead there; an entry is found by its name."""
    if change.workload is Workload.SHARED:
        return _annotations(seen, change)
    entry = {"name": change.writer, "value": str(change.new(seen))}
    return {"template": {"spec": {"containers": [{"name": template.CONTAINER, "env": [entry]}]}}}


def _strategic_merge_patch(seen: Thing, change: Change) -> Request:
    return Request(STRATEGIC_MERGE_PATCH, _keyed(seen, change))


def _apply(seen: Thing, change: Change) -> Request:
    keyed = _keyed(seen, change)
    metadata = {"name": seen["metadata"]["name"], **keyed.get("metadata", {})}
    return Request(APPLY, {"apiVersion": template.API_VERSION, "kind": template.KIND, **keyed, "metadata": metadata})


def first_count(name: str) -> Request:
    """Return the apply that makes the counter and takes it."""
    metadata = {"name": name, "annotations": {template.COUNTER: "0"}}
    return Request(APPLY, {"apiVersion": template.API_VERSION, "kind": template.KIND, "metadata": metadata})


def _apply_force(seen: Thing, change: Change) -> Request:
    return Request(APPLY, _apply(seen, change).body, query={"force": "true"})


def _apply_force_version(seen: Thing, change: Change) -> Request:
    return _versioned(_apply_force(seen, change), seen)


WAYS = (
    Way("put-version", "PUT with resourceVersion", "PUT", True, _put_version),
    Way("put", "PUT without", "PUT", False, _put),
    Way("json-patch", "JSON Patch", "JSON Patch", False, _json_patch, reads_own=False),
    Way("json-patch-version", "JSON Patch, `test` of resourceVersion", "JSON Patch", True, _json_patch_version),
    Way("json-patch-value", "JSON Patch, `test` of the old value", "JSON Patch", True, _json_patch_value, False),
    Way("merge-patch", "Merge Patch", "Merge Patch", False, _merge_patch),
    Way("merge-patch-version", "Merge Patch with resourceVersion", "Merge Patch", True, _merge_patch_version),
    Way("strategic", "Strategic Merge Patch", "Strategic Merge Patch", False, _strategic_merge_patch, False),
    Way("apply", "Apply", "Apply", True, _apply, reads_own=False),
    Way("apply-force", "Apply with force", "Apply", False, _apply_force, reads_own=False),
    Way("apply-force-version", "Apply with force and resourceVersion", "Apply", True, _apply_force_version),
)
"""All of them; the first is what the others are compared with."""


def named(name: str) -> Way:
    """Return the way of a name."""
    return next(way for way in WAYS if way.name == name)
