"""The cluster: the model API server, the true state of its objects, and listeners for each change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from model_cluster.api_server import ApiServer, Response, Snapshot
from model_cluster.chance import Chance
from model_cluster.objects import Object, Place, place
from model_cluster.trace import Trace

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

_UNFOLLOWED = ("leases",)
"""Resources that are written often and that no one watches."""

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
JSON = "application/json"


class Listener(Protocol):
    """Receives changes of the true state."""

    def __call__(self, plural: str, change: str, thing: Object) -> None:
        """Handle a change: ADDED, MODIFIED or DELETED."""


@dataclass(frozen=True)
class Backup:
    """A backup of etcd, with the CustomResourceDefinitions in it."""

    snapshot: Snapshot
    unserved: frozenset[str]


def plural_of(address: str) -> str:
    """Return the resource in an address; "" if there is none."""
    parts = address.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return rest[0] if rest else ""


def place_of(address: str) -> tuple[str | None, str | None, str | None]:
    """Return the namespace, name and subresource of an address."""
    parts = address.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = None
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    return namespace, rest[1] if len(rest) > 1 else None, rest[2] if len(rest) > 2 else None


_BELOW = ("replicasets", "pods")
"""The resources of the Deployment controller."""


class Cluster:
    """The API server and the true state of its objects."""

    def __init__(
        self,
        clock: Callable[[], float],
        chance: Chance,
        trace: Trace,
        *,
        crds: Sequence[Path],
        resources: Sequence[str],
        restricted_agent: str,
    ) -> None:
        """Follow some resources of a new API server.

        Args:
            clock: returns virtual seconds.
            chance: provides the uids.
            trace: records each write.
            crds: YAML files with the CustomResourceDefinitions.
            resources: plural names of the followed resources.
            restricted_agent: the user agent of the operator, whose rights a script can remove.
        """
        self.clock = clock
        self.trace = trace
        self._uids = 0
        self._seed = chance.whole(0, 2**31, "uids")
        self.api = ApiServer(crds, now=self.now, new_uid=self._new_uid, restricted_agent=restricted_agent)
        # The Deployment controller needs them, even if the operator does not watch them.
        resources = tuple(dict.fromkeys((*resources, *(_BELOW if "deployments" in resources else ()))))
        self.kinds = {kind.plural: kind for kind in self.api.registry.kinds if kind.plural in resources}
        """The followed kinds by plural name."""
        self.resources = resources
        self.objects: dict[str, dict[Place, Object]] = {plural: {} for plural in resources}
        """By plural name; a resource that is not served is absent."""
        self.availability_changed: dict[str, float] = {}
        """The last time that the API server began or ceased to serve a resource."""
        self._since: dict[str, int] = dict.fromkeys(resources, self.api.version)
        self.listeners: list[Listener] = []
        self.reloads = 0
        """The number of changes of `objects` without events: resets of the history, and resources that came or went."""
        self.after_commit: list[Callable[[str], None]] = []
        """Called after each commit with the resource, or "" for any resource."""

    def now(self) -> datetime:
        """Return the virtual time of day."""
        return BEGINNING + timedelta(seconds=self.clock())

    def path(
        self, plural: str, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Return the path of a collection, an object or its subresource."""
        parts = [self.kinds[plural].group_path]
        parts += [f"namespaces/{namespace}"] if namespace is not None else []
        return "/".join([*parts, plural, *(part for part in (name, subresource) if part is not None)])

    def request(
        self,
        who: str,
        method: str,
        address: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        content_type: str = JSON,
        metadata_only: bool = False,
    ) -> Response:
        """Send a request, and notify the listeners of its changes; only the operator may lack rights."""
        before = self.api.version
        response = self.api.request(
            method,
            address,
            query=dict(query),
            body=body,
            content_type=content_type,
            user_agent=who,
            metadata_only=metadata_only,
        )
        if plural_of(address) in _UNFOLLOWED:
            return response
        if method != "GET":
            self.trace.add(f"{who}: {method} {address} -> {response.status}")
            if self.api.version != before:
                self.follow(plural_of(address))
        return response

    def follow(self, plural: str = "") -> None:
        """Process the new history of one resource, or of all."""
        for each in (plural,) if plural in self.kinds else tuple(self.objects):
            if each not in self.objects:
                continue
            events = self.api.watch_events(self.path(each), since=self._since[each])
            self._since[each] = self.api.version
            for event in events:
                self._take(each, event.type, event.object)
        for tell in self.after_commit:
            tell(plural)

    def collect_garbage(self) -> bool:
        """Run the garbage collector once; return whether it changed anything."""
        changed = self.api.collect_garbage() + self.api.empty_namespaces()
        if changed:
            self.follow()
        return bool(changed)

    def withdraw(self, plural: str) -> None:
        """Stop serving a custom resource without objects, as after the deletion of its CustomResourceDefinition."""
        self.api.unserved.add(plural)
        del self.objects[plural]
        self._note_availability(plural)
        self.trace.add(f"{plural} are not served any more")

    def serve(self, plural: str) -> None:
        """Serve a custom resource again."""
        self.api.unserved.discard(plural)
        self.objects[plural] = {}
        self._since[plural] = self.api.version
        self._note_availability(plural)
        self.trace.add(f"{plural} are served")

    def back_up(self) -> Backup:
        """Return a backup of etcd."""
        return Backup(self.api.snapshot(), frozenset(self.api.unserved))

    def restore(self, backup: Backup) -> None:
        """Restore a backup, and with it the CustomResourceDefinitions."""
        for plural in self.api.unserved ^ backup.unserved:
            self._note_availability(plural)
        self.api.restore(backup.snapshot)
        self.api.unserved = set(backup.unserved)
        self.api.undiscovered = set(backup.unserved)
        self.objects = {plural: {} for plural in self.resources if plural not in backup.unserved}
        self._rewritten()

    def _note_availability(self, plural: str) -> None:
        self.availability_changed[plural] = self.clock()
        self.reloads += 1

    def _rewritten(self) -> None:
        """Read everything again after a reset of the history."""
        self.reloads += 1
        for each in self.objects:
            self._since[each] = self.api.version
            listed = self.api.request(
                "GET", self.path(each), query={}, body=None, content_type=JSON, user_agent="simulation"
            )
            self.objects[each] = {place(found): found for found in listed.body["items"]}

    def compact(self, keep: int) -> None:
        """Compact all changes except the last `keep`."""
        self.follow()
        self.api.compact(max(0, self.api.version - keep))

    def get(self, plural: str, where: Place) -> Object | None:
        """Return the current state of an object."""
        return self.objects.get(plural, {}).get(where)

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
