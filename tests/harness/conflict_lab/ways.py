"""The write methods: each turns the last read object and the wanted change into one request. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from conflict_lab.subject import TEMPLATE, Subject, Thing, version

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML


class Workload(StrEnum):
    """The target of the writers' changes."""

    SHARED = "one shared field"
    """All of them add to one counter."""
    OWN = "an entry each"
    """Each adds to the number in its own entry of one list."""


@dataclass(frozen=True)
class Change:
    """The wish of one writer: increase its number, or the shared one, by `add`."""

    workload: Workload
    writer: str
    add: int = 1
    subject: Subject = TEMPLATE

    def old(self, seen: Thing) -> int:
        """Return the number in the last read object; a missing entry counts as 0."""
        if self.workload is Workload.SHARED:
            return self.subject.counter(seen)
        return self.subject.entries(seen).get(self.writer, 0)

    def new(self, seen: Thing) -> int:
        """Return the wanted number."""
        return self.old(seen) + self.add


@dataclass(frozen=True)
class Request:
    """A request to the API server, without the address and the writer's name."""

    content_type: str
    body: Any
    method: str = "PATCH"
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Way:
    """One write method."""

    name: str
    title: str
    family: str
    guarded: bool
    """Whether the request carries a precondition, so that the server can refuse it."""
    request: Callable[[Thing, Change], Request]
    reads_own: bool = True
    """Whether a writer reads the object before a write to its own entry; it always reads before a shared field."""

    def reads(self, workload: Workload) -> bool:
        """Return whether each attempt begins with a GET; otherwise a writer uses the response to its last write."""
        return workload is Workload.SHARED or self.reads_own


def _edited(seen: Thing, change: Change) -> dict[str, Any]:
    if change.workload is Workload.SHARED:
        return change.subject.with_counter(seen, change.new(seen))
    return change.subject.with_entry(seen, change.writer, change.new(seen))


def _put_version(seen: Thing, change: Change) -> Request:
    return Request(JSON, _edited(seen, change), method="PUT")


def _put(seen: Thing, change: Change) -> Request:
    edited = _edited(seen, change)
    del edited["metadata"]["resourceVersion"]
    return Request(JSON, edited, method="PUT")


def _counter_pointer(change: Change) -> str:
    return "/" + "/".join(change.subject.counter_path)


def _operations(seen: Thing, change: Change) -> list[dict[str, Any]]:
    value, entries = str(change.new(seen)), change.subject.list_pointer
    if change.workload is Workload.SHARED:
        return [{"op": "replace", "path": _counter_pointer(change), "value": value}]
    at = change.subject.index(seen, change.writer)
    if at is None:
        return [{"op": "add", "path": f"{entries}/-", "value": {"name": change.writer, "value": value}}]
    return [{"op": "replace", "path": f"{entries}/{at}/value", "value": value}]


def _json_patch(seen: Thing, change: Change) -> Request:
    return Request(JSON_PATCH, _operations(seen, change))


def _json_patch_version(seen: Thing, change: Change) -> Request:
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": version(seen)}
    return Request(JSON_PATCH, [test, *_operations(seen, change)])


def _json_patch_value(seen: Thing, change: Change) -> Request:
    old = str(change.old(seen))
    at = change.subject.index(seen, change.writer)
    tests: list[dict[str, Any]] = []
    if change.workload is Workload.SHARED:
        tests = [{"op": "test", "path": _counter_pointer(change), "value": old}]
    elif at is not None:
        entry = {"name": change.writer, "value": old}
        tests = [{"op": "test", "path": f"{change.subject.list_pointer}/{at}", "value": entry}]
    return Request(JSON_PATCH, [*tests, *_operations(seen, change)])


def _merge_patch(seen: Thing, change: Change) -> Request:
    if change.workload is Workload.SHARED:
        return Request(MERGE_PATCH, change.subject.count(change.new(seen)))
    return Request(MERGE_PATCH, change.subject.whole_list(_edited(seen, change)))


def _versioned(request: Request, seen: Thing) -> Request:
    metadata = {**request.body.get("metadata", {}), "resourceVersion": version(seen)}
    return Request(request.content_type, {**request.body, "metadata": metadata}, query=request.query)


def _merge_patch_version(seen: Thing, change: Change) -> Request:
    return _versioned(_merge_patch(seen, change), seen)


def _keyed(seen: Thing, change: Change) -> dict[str, Any]:
    """Return only the change, with the names on its path; the name identifies an entry."""
    if change.workload is Workload.SHARED:
        return change.subject.count(change.new(seen))
    return change.subject.keyed({"name": change.writer, "value": str(change.new(seen))})


def _strategic_merge_patch(seen: Thing, change: Change) -> Request:
    return Request(STRATEGIC_MERGE_PATCH, _keyed(seen, change))


def _apply(seen: Thing, change: Change) -> Request:
    return Request(APPLY, _named(change.subject, seen["metadata"]["name"], _keyed(seen, change)))


def first_entry(subject: Subject, name: str) -> Request:
    """Return the apply that creates the list with one entry, which no writer changes."""
    return Request(APPLY, _named(subject, name, subject.keyed({"name": "FIRST", "value": "0"})))


def first_count(subject: Subject, name: str) -> Request:
    """Return the apply that creates and owns the counter."""
    return Request(APPLY, _named(subject, name, subject.count(0)))


def _named(subject: Subject, name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    return {**subject.type, **part, "metadata": {**part.get("metadata", {}), "name": name}}


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
"""All methods; the first is the baseline of comparisons."""


def accepted(subject: Subject) -> tuple[Way, ...]:
    """Return the ways that the API server has for a subject."""
    return tuple(way for way in WAYS if way.name not in subject.refused)


def named(name: str) -> Way:
    """Return the method with this name."""
    return next(way for way in WAYS if way.name == name)
