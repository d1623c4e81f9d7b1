"""The data that an operator had received at any moment, from responses and watch lines."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fault_engine.history import History, Line, Request
from fault_engine.objects import Object
from fault_engine.workload import Workload

FORGET = ("operator started", "etcd lost")
"""Marks that discard all received data: a new process, or a loss of etcd. Later data come from the restored state."""


@dataclass(frozen=True)
class Step:
    """A moment at which the operator received or sent something, or the test acted on it."""

    at: float
    mark: str = ""
    sent: Request | None = None
    """A request, at the moment of its arrival."""
    answered: Request | None = None
    """A finished request, with or without a response."""
    line: Line | None = None


def steps(history: History) -> list[Step]:
    """Return a history in the order of time."""
    found = [Step(mark.at, mark=mark.what) for mark in history.marks]
    found += [Step(line.at, line=line) for line in history.lines]
    for request in history.requests:
        found.append(Step(request.at, sent=request))
        if request.verb != "watch":
            found.append(Step(request.at if request.ended is None else request.ended, answered=request))
    return sorted(found, key=lambda step: step.at)


class Knowledge:
    """The newest received version of each object, by resourceVersion.

    For one namespace only, because other namespaces may have objects with the same names.
    """

    def __init__(self, history: History, namespace: str, workload: Workload) -> None:
        self._workload = workload
        self._history = history
        self._namespace = namespace
        self._objects: dict[str, dict[str, tuple[int, Object | None]]] = defaultdict(dict)
        self._children: dict[tuple[str, str], dict[str, Object]] = defaultdict(dict)
        self._listing: dict[tuple[str, str, str], tuple[int, set[str]]] = {}
        self._generations: dict[str, int] = {}
        self._heard: set[tuple[str, str]] = set()
        """The received pairs of resource and parent; an empty name stands for all parents."""

    def take(self, step: Step) -> bool:
        """Process a step; tell whether it contained data."""
        if step.mark in FORGET:
            self._objects.clear()
            self._children.clear()
            self._listing.clear()
            self._generations.clear()
            self._heard.clear()
            return True
        if step.line is not None:
            return self._take_line(step.line)
        if step.answered is not None:
            return self._take_answer(step.answered)
        return False

    def generation(self, uid: str) -> int | None:
        """Return the highest received generation of an object; None if none was received."""
        return self._generations.get(uid)

    def parents(self) -> list[Object]:
        """Return the existing parents."""
        things = self._objects[self._workload.parent.plural]
        return [thing for _version, thing in things.values() if thing is not None]

    def children(self, resource: str, parent: str) -> list[Object] | None:
        """Return the existing objects of a resource with the label of a parent; None if they are unknown."""
        if not self._heard & {(resource, parent), (resource, "")}:
            return None
        return list(self._children[resource, parent].values())

    def _take_line(self, line: Line) -> bool:
        if line.type not in ("ADDED", "MODIFIED", "DELETED") or not _is_object(line.object):
            return False
        if _is_partial(line.object) and line.type != "DELETED":
            return False
        self._keep(self._history.request(line.request).resource, line.object, there=line.type != "DELETED")
        return True

    def _take_answer(self, request: Request) -> bool:
        answer = request.answer
        if request.status is None or not 200 <= request.status < 300 or not isinstance(answer, Mapping):
            return False
        if request.verb == "list" and request.namespace in ("", self._namespace):
            return self._take_list(request, answer)
        if request.verb not in ("get", "create", "update", "patch") or not _is_object(answer) or _is_partial(answer):
            return False
        self._keep(request.resource.split("/")[0], answer, there=True)
        return True

    def _take_list(self, request: Request, answer: Mapping[str, Any]) -> bool:
        """Process a page of a LIST. After the last page, remove the objects that match the query but are on no page."""
        items = [item for item in answer.get("items") or [] if _is_object(item)]
        if not _is_partial(answer):
            for item in items:
                self._keep(request.resource, item, there=True)
        metadata = answer.get("metadata", {})
        key = (request.resource, request.agent, request.query.get("labelSelector", ""))
        if "continue" not in request.query:
            self._listing[key] = (int(metadata.get("resourceVersion") or 0), set())
        version, names = self._listing.get(key, (0, set()))
        names |= {item["metadata"]["name"] for item in items}
        if not metadata.get("continue") and "fieldSelector" not in request.query:
            self._heard.add((request.resource, ""))
            for name, (known, _thing) in list(self._objects[request.resource].items()):
                if name not in names and known <= version:
                    self._put(request.resource, name, known, None)
        return True

    def _keep(self, resource: str, thing: Object, *, there: bool) -> None:
        metadata = thing["metadata"]
        if metadata.get("namespace", self._namespace) != self._namespace:
            return
        version = int(metadata["resourceVersion"])
        uid, generation = metadata["uid"], metadata.get("generation", 0)
        self._heard.add((resource, self._label(thing)))
        self._generations[uid] = max(generation, self._generations.get(uid, 0))
        known, _thing = self._objects[resource].get(metadata["name"], (0, None))
        if version > known or (version == known and not there):
            self._put(resource, metadata["name"], version, thing if there else None)

    def _put(self, resource: str, name: str, version: int, thing: Object | None) -> None:
        _version, before = self._objects[resource].get(name, (0, None))
        if before is not None:
            self._children[resource, self._label(before)].pop(name, None)
        self._objects[resource][name] = (version, thing)
        if thing is not None:
            self._children[resource, self._label(thing)][name] = thing

    def _label(self, thing: Object) -> str:
        return str(thing["metadata"].get("labels", {}).get(self._workload.label, ""))


def _is_partial(answer: Mapping[str, Any]) -> bool:
    """Tell whether a response contains only metadata."""
    return str(answer.get("kind", "")).startswith("PartialObjectMetadata")


def _is_object(thing: Any) -> bool:
    if not isinstance(thing, Mapping) or not isinstance(thing.get("metadata"), Mapping):
        return False
    return all(thing["metadata"].get(key) for key in ("name", "uid", "resourceVersion"))
