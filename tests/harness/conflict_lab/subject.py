"""The objects of the lab. Each has a shared counter, and a list with an entry for each writer.

One is a PodTemplate: a built-in kind with a list with merge keys, and without a controller. The other is the status of
a custom resource, written through its subresource.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

COUNTER = "counter"

Thing = Mapping[str, Any]


@dataclass(frozen=True)
class Subject(ABC):
    """One kind of object, and the places of the counter and of the list in it."""

    api_version: str
    kind: str
    collection: str
    """The path of its collection, with a placeholder for the namespace."""
    counter_path: tuple[str, ...]
    list_pointer: str
    """The list, as a JSON pointer."""
    subresource: str = ""
    """Follows the name of the object in the path of each write."""
    refused: frozenset[str] = frozenset()
    """The names of the ways that the API server refuses for this kind."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the content of a new object, without the counter."""

    @abstractmethod
    def list_in(self, thing: Thing) -> list[dict[str, str]]:
        """Return the list of entries."""

    @abstractmethod
    def whole_list(self, thing: Thing) -> dict[str, Any]:
        """Return the part of an object with the list, as a Merge Patch must send it."""

    @abstractmethod
    def keyed(self, entry: Mapping[str, str]) -> dict[str, Any]:
        """Return the part of an object with one entry, found by its merge keys."""

    @property
    def type(self) -> dict[str, str]:
        """The type, as a manifest has it."""
        return {"apiVersion": self.api_version, "kind": self.kind}

    def manifest(self, name: str) -> dict[str, Any]:
        """Return a new object. It has no counter: the first applier owns it."""
        return {**self.type, "metadata": {"name": name}, **self.content()}

    def count(self, value: int) -> dict[str, Any]:
        """Return the part of an object with the counter alone."""
        part: dict[str, Any] = {self.counter_path[-1]: str(value)}
        for key in reversed(self.counter_path[:-1]):
            part = {key: part}
        return part

    def counter(self, thing: Thing) -> int:
        """Return the value of the shared counter."""
        found: Any = thing
        for key in self.counter_path:
            found = found.get(key, {})
        return int(found or 0)

    def entries(self, thing: Thing) -> dict[str, int]:
        """Return the list: the number of each writer that has an entry."""
        return {item["name"]: int(item["value"]) for item in self.list_in(thing)}

    def index(self, thing: Thing, writer: str) -> int | None:
        """Return the place of a writer's entry in the list."""
        names = [item["name"] for item in self.list_in(thing)]
        return names.index(writer) if writer in names else None

    def with_counter(self, thing: Thing, value: int) -> dict[str, Any]:
        """Return the object with another counter."""
        edited = copy.deepcopy(dict(thing))
        parent = edited
        for key in self.counter_path[:-1]:
            parent = parent.setdefault(key, {})
        parent[self.counter_path[-1]] = str(value)
        return edited

    def with_entry(self, thing: Thing, writer: str, value: int) -> dict[str, Any]:
        """Return the object with another number in a writer's entry, or with that entry at the end of the list."""
        edited = copy.deepcopy(dict(thing))
        at = self.index(edited, writer)
        if at is None:
            self.list_in(edited).append({"name": writer, "value": str(value)})
        else:
            self.list_in(edited)[at]["value"] = str(value)
        return edited


def version(thing: Thing) -> str:
    """Return the resourceVersion."""
    found: str = thing["metadata"]["resourceVersion"]
    return found


class PodTemplate(Subject):
    """The counter is an annotation. The list is `env` of a container."""

    CONTAINER = "app"

    def content(self) -> dict[str, Any]:
        """Return a container with one entry, so that the list exists."""
        container = {"name": self.CONTAINER, "image": "app", "env": [{"name": "FIRST", "value": "0"}]}
        return {"template": {"spec": {"containers": [container]}}}

    def list_in(self, thing: Thing) -> list[dict[str, str]]:
        """Return `env`."""
        found: list[dict[str, str]] = thing["template"]["spec"]["containers"][0]["env"]
        return found

    def whole_list(self, thing: Thing) -> dict[str, Any]:
        """Return the list of containers: a Merge Patch replaces the outermost list."""
        return {"template": {"spec": {"containers": thing["template"]["spec"]["containers"]}}}

    def keyed(self, entry: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry in its container."""
        return {"template": {"spec": {"containers": [{"name": self.CONTAINER, "env": [entry]}]}}}


class Status(Subject):
    """The counter and the list are fields of the status."""

    def content(self) -> dict[str, Any]:
        """Return a spec; the API server drops the status of a new object."""
        return {"spec": {}}

    def list_in(self, thing: Thing) -> list[dict[str, str]]:
        """Return the entries, as conditions are kept: a list with the merge key `name`."""
        found: list[dict[str, str]] = thing["status"]["entries"]
        return found

    def whole_list(self, thing: Thing) -> dict[str, Any]:
        """Return the list."""
        return {"status": {"entries": thing["status"]["entries"]}}

    def keyed(self, entry: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry."""
        return {"status": {"entries": [entry]}}


TEMPLATE = PodTemplate(
    api_version="v1",
    kind="PodTemplate",
    collection="/api/v1/namespaces/{namespace}/podtemplates",
    counter_path=("metadata", "annotations", COUNTER),
    list_pointer="/template/spec/containers/0/env",
)
STATUS = Status(
    api_version="conflict-lab.example/v1",
    kind="Target",
    collection="/apis/conflict-lab.example/v1/namespaces/{namespace}/targets",
    counter_path=("status", COUNTER),
    list_pointer="/status/entries",
    subresource="/status",
    refused=frozenset({"strategic", "put"}),  # a custom resource cannot be updated unconditionally
)

_TEXT = {"type": "string"}
_ENTRY = {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "value": _TEXT}}
_ENTRIES = {"type": "array", "items": _ENTRY, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"wish": _TEXT}},
        "status": {"type": "object", "properties": {COUNTER: _TEXT, "entries": _ENTRIES}},
    },
}
CRD: Mapping[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "targets.conflict-lab.example"},
    "spec": {
        "group": "conflict-lab.example",
        "scope": "Namespaced",
        "names": {"plural": "targets", "singular": "target", "kind": "Target", "listKind": "TargetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": _SCHEMA},
            }
        ],
    },
}
"""The custom resource of the lab."""
