"""An invariant of restarts: the records of an object change only with its data, and a missing one keeps its record."""

from model_cluster.objects import Object, place
from simulation.bounds import Violated
from simulation.workloads.webapp.judge_of_restarts import records
from simulation.world import World

CAUSE = "a restart has a cause"
HAPPENINGS = ("restart after changed data", "restart after a recreated object", "label changed without a restart")
_PLURALS = {"Secret": "secrets", "ConfigMap": "configmaps"}

_Key = tuple[str, str, str]
"""Resource, namespace and name."""


class Restarts:
    """Compares the number of different records of each object with the number of different data."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._data: dict[_Key, tuple[str, object]] = {}
        """Uid and data of each object, also of a deleted one."""
        self._versions: dict[_Key, int] = {}
        self._values: dict[_Key, set[str]] = {}
        self._recreated: set[_Key] = set()
        """The objects whose last change was a new uid."""
        self._known: dict[str, dict[str, str]] = {}
        """The last records of each Deployment by uid."""
        self._reloads = 0
        if world.conditions.metadata:
            world.cluster.listeners.append(self._changed)

    def _changed(self, plural: str, change: str, thing: Object) -> None:
        if plural == "deployments" and change != "DELETED":
            self._compare(thing)
        elif plural in self._world.conditions.metadata and change != "DELETED":
            self._note(plural, thing)

    def _note(self, plural: str, thing: Object) -> None:
        key = (plural, *place(thing))
        now, before = (thing["metadata"]["uid"], thing.get("data")), self._data.get(key)
        if now == before:
            self._world.happened["label changed without a restart"] += bool(self._values.get(key))
            return
        self._data[key] = now
        self._versions[key] = self._versions.get(key, 0) + 1
        (self._recreated.add if before and before[0] != now[0] else self._recreated.discard)(key)

    def _compare(self, deployment: Object) -> None:
        if self._reloads != self._world.cluster.reloads:
            self._reloads = self._world.cluster.reloads
            self._known.clear()
        found, uid = records(deployment), deployment["metadata"]["uid"]
        known, self._known[uid] = self._known.get(uid, {}), found
        for kind_and_name, value in found.items():
            before = known.get(kind_and_name)
            if before and not value:
                self._world.on_violation(Violated(CAUSE, f"{kind_and_name} has lost its record"))
            if not value or before == value:
                continue
            kind, _, name = kind_and_name.partition("/")
            key = (_PLURALS[kind], place(deployment)[0], name)
            values = self._values.setdefault(key, set())
            values.add(value)
            if len(values) > self._versions.get(key, 0):
                why = f"{'/'.join(key)} has had {self._versions.get(key, 0)} different data, but {len(values)} records"
                self._world.on_violation(Violated(CAUSE, why))
            if before:
                cause = "a recreated object" if key in self._recreated else "changed data"
                self._world.happened[f"restart after {cause}"] += 1
