"""The data delivered to a replica, and the resources whose objects it knows completely."""

from collections.abc import Callable, Sequence

from model_cluster.cluster import Cluster
from model_cluster.objects import Object, Place, place, version
from simulation.network import Sent
from simulation.watcher import Scope, Watches


class Delivered:
    """The data delivered to a replica: the newest version of each object, from watches, lists and responses."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[Place, Object]] = {}
        self.listeners: list[Callable[[str, Place], None]] = []
        """Called with resource, namespace and name of each delivered change."""

    def tell(self, plural: str, where: Place) -> None:
        """Call the listeners."""
        for listener in self.listeners:
            listener(plural, where)

    def take(self, plural: str, thing: Object, *, gone: bool = False) -> None:
        """Record an object."""
        known = self.objects.setdefault(plural, {})
        where = place(thing)
        before = known.get(where)
        if before is not None and version(before) >= version(thing):
            return
        if gone:
            known.pop(where, None)
        else:
            known[where] = thing
        self.tell(plural, where)

    def forget(self) -> None:
        """Forget everything, after a restart or a reset of the history."""
        self.objects.clear()


class Coverage:
    """The scopes that the present process of a replica has watched and listed."""

    def __init__(
        self, cluster: Cluster, watches: Watches, delivered: Delivered, *, resources: Sequence[str], scoped: bool
    ) -> None:
        """Begin without a process.

        Args:
            cluster: the cluster.
            watches: the watches of the replica.
            delivered: the data delivered to it.
            resources: the resources without which the operator does not know a parent completely.
            scoped: whether each namespace has watches of its own.
        """
        self._resources = resources
        self._cluster, self._watches, self._delivered, self._scoped = cluster, watches, delivered, scoped
        self.last_start = -1e9
        """The last start of a watch."""
        self.last_number = 0
        """The number of the last request that arrived."""
        self._started = 0.0
        """The start of this process."""
        self._watched: set[Scope] = set()
        """Scopes with a watch that has started in this process."""
        self._listed: set[Scope] = set()
        """Scopes listed by this process."""
        self._unlisted: dict[Scope, int] = {}
        """Scopes whose watch has started over, and the number of the last request before that."""
        self._unlisted_at: dict[Scope, float] = {}
        self._lists: dict[Scope, tuple[int, set[Place]]] = {}
        """The lists in progress: the number of the first request, and the objects so far."""

    def begin(self) -> None:
        """Forget the former process."""
        self._started = self._cluster.clock()
        for known in (self._unlisted, self._unlisted_at, self._listed, self._watched):
            known.clear()

    def take_list(self, sent: Sent) -> None:
        """Take a page of a list. The last page removes the objects that the list lacks."""
        scope = (sent.collection, sent.namespace)
        if scope not in self._watched:
            return  # the operator asked why the watch does not open, and ignores the result
        items = sent.answer["items"] or ()
        for item in items:
            self._delivered.take(sent.collection, item)
        first, present = self._lists.setdefault(scope, (sent.number, set()))
        if "continue" not in sent.query:
            first, present = self._lists[scope] = (sent.number, set())
        present |= {place(item) for item in items}
        if sent.answer["metadata"].get("continue"):
            return
        del self._lists[scope]
        listed_at = int(sent.answer["metadata"]["resourceVersion"])
        known = self._delivered.objects.get(sent.collection, {})
        for where, thing in list(known.items()):
            inside = sent.namespace in (None, where[0])
            if inside and where not in present and version(thing) <= listed_at:
                del known[where]
                self._delivered.tell(sent.collection, where)
        self._listed.add(scope)
        if scope in self._unlisted and first > self._unlisted[scope]:
            del self._unlisted[scope], self._unlisted_at[scope]

    def start_over(self, scope: Scope) -> None:
        """Note the start of a watch, which needs a list afterwards."""
        self._watched.add(scope)
        self.last_start = self._cluster.clock()
        self._unlisted[scope] = self.last_number
        self._unlisted_at.setdefault(scope, self._cluster.clock())

    def _scope(self, plural: str, namespace: str) -> Scope:
        return plural, namespace if self._scoped else None

    def covers(self, plural: str, namespace: str) -> bool:
        """Return whether the watch of a resource is live and its list is complete."""
        return self._watches.live(plural, namespace) and self._scope(plural, namespace) not in self._unlisted

    def uncovered_since(self, plural: str, namespace: str) -> float:
        """Return since when a resource is not covered, at least since this process started.

        It lacks a live watch, or the list after the watch's start.
        """
        scope = self._scope(plural, namespace)
        if self._watches.live(plural, namespace):
            return self._unlisted_at.get(scope, self._cluster.clock())
        connection = self._watches.connection(plural, namespace)
        heard = self._watches.ended_at.get(scope, 0.0) if connection is None else connection.heard
        return max(heard, self._started)

    def is_complete(self, where: Place, concerns: Callable[[Object, Place], bool]) -> bool:
        """Return whether it covers all resources and knows the current state of a parent's objects.

        A later list has no news for it then.
        """
        for plural, objects in self._cluster.objects.items():
            if plural not in self._resources:
                continue
            if self._scope(plural, where[0]) not in self._listed or not self._watches.live(plural, where[0]):
                return False
            told = self._delivered.objects.get(plural, {})
            for each in {*objects, *told}:
                thing = objects.get(each) or told[each]
                if concerns(thing, where) and objects.get(each) != told.get(each):
                    return False
        return True
