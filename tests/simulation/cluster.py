"""The cluster: the model API server, the truth about its objects, and those who are told of each change."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from simulation.chance import Chance
from simulation.model import ApiServer, Response
from simulation.trace import Trace

Object = Mapping[str, Any]
Place = tuple[str, str]
"""Namespace and name."""

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

PATHS: Mapping[str, str] = {
    "webapps": "/apis/coxswain.dev/v1",
    "serviceaccounts": "/api/v1",
    "configmaps": "/api/v1",
    "services": "/api/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "pods": "/api/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
}
"""Where each resource is served."""

CHILDREN = ("serviceaccounts", "configmaps", "services", "deployments")
KIND_OF = {
    "webapps": "WebApp",
    "serviceaccounts": "ServiceAccount",
    "configmaps": "ConfigMap",
    "services": "Service",
    "deployments": "Deployment",
}
PLURAL_OF = {kind: plural for plural, kind in KIND_OF.items()}

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
JSON = "application/json"


class Listener(Protocol):
    """Is told of changes of the truth."""

    def __call__(self, plural: str, change: str, thing: Object) -> None:
        """Take a change: ADDED, MODIFIED or DELETED."""


def path(plural: str, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
    """Return the address of a collection, an object or its subresource."""
    parts = [PATHS[plural]]
    parts += [f"namespaces/{namespace}"] if namespace is not None else []
    return "/".join([*parts, plural, *(part for part in (name, subresource) if part is not None)])


def plural_of(address: str) -> str:
    """Return the resource that an address is about; "" if none is."""
    parts = address.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return rest[0] if rest else ""


def place_of(address: str) -> tuple[str | None, str | None, str | None]:
    """Return namespace, name and subresource of an address."""
    parts = address.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = None
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    return namespace, rest[1] if len(rest) > 1 else None, rest[2] if len(rest) > 2 else None


def place(thing: Object) -> Place:
    """Return namespace and name of an object."""
    metadata = thing["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def version(thing: Object) -> int:
    """Return the resourceVersion."""
    return int(thing["metadata"]["resourceVersion"])


class Cluster:
    """The API server and what is true of it."""

    def __init__(self, clock: Callable[[], float], chance: Chance, trace: Trace) -> None:
        self.clock = clock
        self.trace = trace
        self._uids = 0
        self._seed = chance.whole(0, 2**31, "uids")
        self.api = ApiServer(now=self.now, new_uid=self._new_uid)
        self.objects: dict[str, dict[Place, Object]] = {plural: {} for plural in PATHS}
        self._since: dict[str, int] = dict.fromkeys(PATHS, self.api.version)
        self.listeners: list[Listener] = []
        self.resets = 0
        """How often the history was reset."""
        self.after_commit: list[Callable[[str], None]] = []
        """Called after each commit with the resource, or "" if it may be any."""

    def now(self) -> datetime:
        """Return the virtual time of day."""
        return BEGINNING + timedelta(seconds=self.clock())

    def request(
        self,
        who: str,
        method: str,
        address: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        content_type: str = JSON,
    ) -> Response:
        """Send a request, and tell everybody of its changes; only the operator may lack rights."""
        before = self.api.version
        response = self.api.request(
            method, address, query=dict(query), body=body, content_type=content_type, user_agent=who
        )
        if method != "GET":
            self.trace.add(f"{who}: {method} {address} -> {response.status}")
            if self.api.version != before:
                self.follow(plural_of(address))
        return response

    def follow(self, plural: str = "") -> None:
        """Follow the history of one resource, or of all."""
        for each in (plural,) if plural in PATHS else PATHS:
            events = self.api.watch_events(path(each), since=self._since[each])
            self._since[each] = self.api.version
            for event in events:
                self._take(each, event.type, event.object)
        for tell in self.after_commit:
            tell(plural)

    def collect_garbage(self) -> bool:
        """Let the garbage collector do its work once; tell whether it had some."""
        changed = self.api.collect_garbage() + self.api.empty_namespaces()
        if changed:
            self.follow()
        return bool(changed)

    def rewritten(self) -> None:
        """Read everything anew: the history was reset."""
        self.resets += 1
        for each in PATHS:
            self._since[each] = self.api.version
            listed = self.api.request(
                "GET", path(each), query={}, body=None, content_type=JSON, user_agent="simulation"
            )
            self.objects[each] = {place(found): found for found in listed.body["items"]}

    def compact(self, keep: int) -> None:
        """Forget all changes but the last ones."""
        self.follow()
        self.api.compact(max(0, self.api.version - keep))

    def get(self, plural: str, where: Place) -> Object | None:
        """Return an object as it is now."""
        return self.objects[plural].get(where)

    def _take(self, plural: str, change: str, thing: Object) -> None:
        if change == "DELETED":
            self.objects[plural].pop(place(thing), None)
        else:
            self.objects[plural][place(thing)] = thing
        for listener in self.listeners:
            listener(plural, change, thing)

    def _new_uid(self) -> str:
        self._uids += 1
        return str(UUID(int=(self._seed << 64) | self._uids))
