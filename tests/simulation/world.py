"""The world of one run: the cluster, the operator, everybody else, and what each of them did when."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from simulation.chance import Chance
from simulation.cluster import Cluster, Object, Place, path, place, version
from simulation.controllers import Controllers
from simulation.judge import concerns
from simulation.network import ModelTransport, Sent
from simulation.subject import Subject, settings
from simulation.trace import Trace
from simulation.watcher import Scope, Watches
from simulation.weather import Weather


@dataclass(frozen=True)
class Conditions:
    """How a run is set up, beside its steps."""

    namespaces: tuple[str, ...] = ("a", "b")
    scoped: bool = False
    """Whether the operator serves the namespaces one by one."""
    slowest: float = 0.05
    """Seconds that a usual answer takes at most."""
    defer: float = 0.0
    """Probability that the step of a task is deferred."""
    page_size: int = 500
    requests_in_flight: int = 32
    resync_interval: float = 600.0

    def settings(self) -> Mapping[str, Any]:
        """Return what concerns the operator's settings."""
        return {
            "namespaces": self.namespaces if self.scoped else (),
            "page_size": self.page_size,
            "requests_in_flight": self.requests_in_flight,
            "resync_interval": self.resync_interval,
        }


class Delivered:
    """What the operator was told so far: the newest of each object, from watches, lists and answers."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[Place, Object]] = {}
        self.tell: Callable[[str, Place], None] = lambda _, __: None

    def take(self, plural: str, thing: Object, *, gone: bool = False) -> None:
        """Take an object."""
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
        """Forget everything: another process, or another history."""
        self.objects.clear()


class World:
    """Everything."""

    def __init__(self, seed: int, conditions: Conditions, trace: Trace) -> None:
        loop = asyncio.get_running_loop()
        self.conditions = conditions
        self.chance = Chance(str(seed))
        self.trace = trace
        self.clock = loop.time
        self.cluster = Cluster(loop.time, self.chance, trace)
        self.weather = Weather()
        self.delivered = Delivered()
        self.occurred: Counter[str] = Counter()
        """How often each action came about."""
        self.on_sent: list[Callable[[Sent], Exception | None]] = []
        self.on_turned_away: list[Callable[[], Exception | None]] = []
        self.on_answered: list[Callable[[Sent], None]] = []
        made = settings(conditions.settings())
        self.watches = Watches(
            self.cluster,
            self.weather,
            self.chance,
            made.scopes,
            slowest=conditions.slowest * 4,
            server_timeout=made.watch.server_timeout,
            inactivity_timeout=made.watch.inactivity_timeout,
            handed_over=self._handed_over,
        )
        self.subject = Subject(made, self._new_transport, self.watches.run, self.cluster.now)
        self.unswept: dict[Scope, int] = {}
        """Scopes whose watch has started over, and the number of the last request before that."""
        self._unswept_at: dict[Scope, float] = {}
        self._started = 0.0
        """When this process was started."""
        self.watches.started_over = self._started_over
        for namespace in conditions.namespaces:
            self.make_namespace(namespace)
        self.cluster.listeners.append(self._note_made)
        self.controllers = Controllers(self.cluster, self.chance, slowest=conditions.slowest)
        self.touched: dict[tuple[str, str, str, str], float] = {}
        """When somebody other than the operator last wrote a field of a child: resource, namespace, name, field."""
        self.asked: dict[tuple[str, str, str], float] = {}
        """When a user last changed a part of a WebApp's spec."""
        self.changes: deque[tuple[float, str, str]] = deque(maxlen=1000)
        """What users changed lately: time, namespace, name."""
        self.backup: Any = None
        self.refused: dict[tuple[str, str, str, str], float] = {}
        """When an object was refused as invalid: resource, namespace, name, uid; "" for one to be created."""
        self.turned_away: deque[tuple[float, str]] = deque(maxlen=1000)
        """Whose requests met a trouble lately: when, and the name of the object."""
        self.made: dict[str, float] = {}
        """When each WebApp was created, by uid."""
        self.watched: set[Scope] = set()
        """Scopes whose watch has started in this process."""
        self.swept: set[Scope] = set()
        """Scopes that this process has listed."""
        self.last_step = 0.0
        self.restored = -1e9
        """When history went back last."""
        self.restored_version = 0
        self.quiet_since = 0.0
        self.memory: dict[str, Any] = {}
        """Of reactive actors."""
        self.on_violation: Callable[[Any], None] = lambda _: None

    def make_namespace(self, name: str) -> None:
        """Create a namespace."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.cluster.request("admin", "POST", "/api/v1/namespaces", body)

    def _new_transport(self) -> ModelTransport:
        self.delivered.forget()
        self.unswept.clear()
        self._unswept_at.clear()
        self._started = self.clock()
        transport = ModelTransport(
            self.cluster,
            self.weather,
            self.chance,
            slowest=self.conditions.slowest,
            reached=self._reached,
            answered=self._answered,
        )
        self.swept.clear()
        self.watched.clear()
        transport.turned_away = self._turned_away
        return transport

    def _note_made(self, plural: str, change: str, thing: Object) -> None:
        if plural == "webapps" and change == "ADDED":
            self.made[thing["metadata"]["uid"]] = self.clock()
            self.asked |= {(*place(thing), part): self.clock() for part in ("image", "replicas", "ports", "config")}

    def _turned_away(self, kind: str, plural: str, where: Place) -> None:
        self.turned_away.append((self.clock(), where[1]))
        if kind == "reads paused":
            self.memory.setdefault("reads refused", {})[where] = self.clock()
        if kind == "invalid":
            thing = self.cluster.get(plural, where)
            self.refused[plural, *where, "" if thing is None else thing["metadata"]["uid"]] = self.clock()
        for tell in self.on_turned_away:
            if violated := tell():
                self.on_violation(violated)

    def _handed_over(self, kind: Kind, change: str, thing: Object) -> None:
        self.delivered.take(kind.plural, thing, gone=change == "DELETED")

    def _reached(self, sent: Sent) -> None:
        self.memory["last number"] = sent.number
        # Not to be raised in the task of the operator, which takes it for an error of its own.
        for tell in self.on_sent:
            if violated := tell(sent):
                self.on_violation(violated)

    def _answered(self, sent: Sent) -> None:
        if sent.status < 300 and sent.plural in self.cluster.objects:
            if sent.method == "GET" and sent.name is None:
                self._listed(sent)
            elif isinstance(sent.answer, dict) and "metadata" in sent.answer and sent.method != "DELETE":
                self.delivered.take(sent.plural, sent.answer)
        for tell in self.on_answered:
            tell(sent)

    def _listed(self, sent: Sent) -> None:
        scope = (sent.plural, sent.namespace)
        if scope not in self.watched:
            return  # it asked why the watch does not open, and takes nothing in
        for item in sent.answer["items"]:
            self.delivered.take(sent.plural, item)
        lists: dict[Scope, tuple[int, set[Place]]] = self.memory.setdefault("lists", {})
        first, present = lists.setdefault(scope, (sent.number, set()))
        if "continue" not in sent.query:
            first, present = lists[scope] = (sent.number, set())
        present |= {place(item) for item in sent.answer["items"]}
        if sent.answer["metadata"].get("continue"):
            return
        del lists[scope]
        listed_at = int(sent.answer["metadata"]["resourceVersion"])
        known = self.delivered.objects.get(sent.plural, {})
        for where, thing in list(known.items()):
            inside = sent.namespace in (None, where[0])
            if inside and where not in present and version(thing) <= listed_at:
                del known[where]
                self.delivered.tell(sent.plural, where)
        self.swept.add(scope)
        if scope in self.unswept and first > self.unswept[scope]:
            del self.unswept[scope], self._unswept_at[scope]

    def _started_over(self, scope: Scope) -> None:
        self.watched.add(scope)
        self.memory["last start"] = self.clock()
        self.unswept[scope] = self.memory.get("last number", 0)
        self._unswept_at.setdefault(scope, self.clock())

    def covered(self, plural: str, namespace: str) -> bool:
        """Tell whether the operator's watch of a resource lives, and what was before it was listed."""
        scope = (plural, namespace if self.conditions.scoped else None)
        return self.watches.live(plural, namespace) and scope not in self.unswept

    def uncovered_since(self, plural: str, namespace: str) -> float:
        """Return since when a resource is not covered: there is no live watch, or the list after its start is due."""
        scope = (plural, namespace if self.conditions.scoped else None)
        if self.watches.live(plural, namespace):
            return self._unswept_at.get(scope, self.clock())
        connection = self.watches.connection(plural, namespace)
        heard = self.watches.ended_at.get(scope, 0.0) if connection is None else connection.heard
        return max(heard, self._started, self.restored)

    def told_all(self, where: Place) -> bool:
        """Tell whether the operator lists and watches all, and was told of the present state of a WebApp's objects.

        A list that is still to come brings nothing new for it then.
        """
        for plural, objects in self.cluster.objects.items():
            scope = (plural, where[0] if self.conditions.scoped else None)
            if scope not in self.swept or not self.watches.live(plural, where[0]):
                return False
            told = self.delivered.objects.get(plural, {})
            for each in {*objects, *told}:
                thing = objects.get(each) or told[each]
                if concerns(thing, where) and objects.get(each) != told.get(each):
                    return False
        return True

    def is_undone(self, plural: str, where: Place) -> bool:
        """Tell whether a restore took back what the operator was told of an object after the backup.

        No event tells of it. If new writes overtake the versions that were seen, no version tells either, and the
        next resync is the first to find it.
        """
        told = self.delivered.objects.get(plural, {}).get(where)
        lately = self.clock() - self.restored < 1.1 * self.conditions.resync_interval + 60
        return (
            lately
            and told is not None
            and version(told) > self.restored_version
            and told != self.cluster.get(plural, where)
        )

    def webapps(self) -> list[Object]:
        """Return the WebApps that are not about to go."""
        found = self.cluster.objects["webapps"].values()
        return [webapp for webapp in found if "deletionTimestamp" not in webapp["metadata"]]

    def patch(self, who: str, plural: str, where: Place, body: Any, content_type: str, **query: str) -> bool:
        """Patch an object as somebody; tell whether that changed something."""
        before = self.cluster.api.version
        self.cluster.request(
            who, "PATCH", path(plural, *where), body, query={"fieldManager": who, **query}, content_type=content_type
        )
        return bool(self.cluster.api.version != before)
