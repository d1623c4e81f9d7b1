"""The memory of one parent: in one place, bounded, deleted with the parent.

A restart needs none of it: the cluster is the source of truth.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from coxswain.kernel.api.events import RecentEvents
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.reconciling.memory.attempts import Attempt
from coxswain.kernel.reconciling.memory.backoff import Backoff
from coxswain.kernel.reconciling.memory.drift_ledger import DriftLedger
from coxswain.kernel.reconciling.memory.last_applied import LastApplied
from coxswain.kernel.reconciling.memory.replacement import Deletion
from coxswain.kernel.reconciling.memory.unwatched import NOTHING_UNWATCHED, Unwatched
from coxswain.kernel.reconciling.memory.write_wars import DeletionBrake, WriteWars
from coxswain.kernel.reconciling.memory.writes import NOTHING_WRITTEN, PlannedApply, Writes
from coxswain.kernel.status.status_memory import StatusMemory
from coxswain.settings import WriteWarSettings


@dataclass
class ChildMemory:
    """Memory of one child."""

    wars: WriteWars
    deletions: DeletionBrake
    attempt: Attempt | None = None
    """The last write without effect."""
    failures: int = 0
    """Failed reconciles in a row."""
    backoff: Backoff | None = None
    last_applied: LastApplied | None = None
    deletion: Deletion | None = None
    """A replacement in progress."""
    create_unanswered: bool = False
    """Whether a CREATE was sent without an answer."""
    planned: PlannedApply | None = None
    """An apply without an answer yet."""
    writes: Writes = NOTHING_WRITTEN
    """Writes without a report."""
    unwatched: Unwatched = NOTHING_UNWATCHED
    existed: bool = False
    """Whether the parent had the child at some time."""

    @property
    def deleted_by_others(self) -> bool:
        """Whether a missing child existed before, and the operator has not deleted it."""
        return self.existed and self.deletion is None


@dataclass
class RemovalMemory:
    """Memory of the children to be removed."""

    failures: dict[str, int] = field(default_factory=dict)
    """Failed deletions in a row, by kind/name."""
    backoffs: dict[str, Backoff] = field(default_factory=dict)
    """By kind/name. They outlast a spec that needs the child now and then: it may change as often as the child."""
    deleted: set[str] = field(default_factory=set)
    """UIDs of deleted children: the answer of a DELETE has no resourceVersion, so the store still holds them."""
    reported_from: dict[str, float] = field(default_factory=dict)
    """The monotonic time from which a deletion that finalizers delay is reported, by the uid of the child."""

    def report_due(self, since: float, now: float) -> float | None:
        """Return the seconds until the next report; only those due after `since` count. None without one.

        Pass the time at which the reconcile began. What came due during the reconcile is due at once.
        """
        return min((max(0.0, due - now) for due in self.reported_from.values() if due > since), default=None)


@dataclass(frozen=True)
class Warnings:
    """The Warning Events about one object, as last read."""

    subject: str
    """The uid of the object."""
    found: tuple[ReportedEvent, ...]
    at: float
    """Monotonic time of the read."""
    awaited: bool
    """Whether the Events are still to come."""


@dataclass(frozen=True)
class Recalled:
    """The object whose recorded state runs, as read once: recorded states do not change."""

    uid: str
    content: bytes
    """The object as compressed JSON: with many parents in this state, it must stay small."""


class Memory:
    """Memory of one parent."""

    def __init__(self, uid: str, settings: WriteWarSettings) -> None:
        """Begin with nothing; `uid` is the one of the parent."""
        self.uid = uid
        self._settings = settings
        self._children: dict[str, ChildMemory] = {}
        self.removal = RemovalMemory()
        self.status = StatusMemory()
        self.status_wars = WriteWars(settings)
        """Write wars over the status."""
        self.written_status: str | None = None
        """Fingerprint of the last status written by this process."""
        self.drift = DriftLedger()
        self.events = RecentEvents()
        self.warnings: Warnings | None = None
        """The last read Events that explain the health of a child."""
        self.recalled: Recalled | None = None
        """The recorded state that runs instead of the present one."""
        self.verified = False
        """Whether a GET confirmed the parent in the store, or this process was the first to work on it."""
        self.records_verified = False
        """Whether a GET confirmed the records that decide which state runs. This process writes all later ones."""
        self.doubted_since: int | None = None
        """The newest resourceVersion of the parents at the last gap of a watch: an older parent may be stale."""
        self.gaps = 0
        """Number of gaps of watches: a read that began before the last one may not end the doubt."""
        self.namespace_terminating_until = 0.0
        """Monotonic time until which nothing is written after the refusal of a create in a terminating namespace."""

    def child(self, child: str) -> ChildMemory:
        """Return the memory of a child, given as kind/name."""
        new = ChildMemory(WriteWars(self._settings), DeletionBrake(self._settings))
        return self._children.setdefault(child, new)

    def unreported(self) -> dict[str, Writes]:
        """Return the writes without a report, by kind/name."""
        return {child: memory.writes for child, memory in self._children.items() if memory.writes != NOTHING_WRITTEN}

    def reported(self) -> None:
        """Forget the writes after their report."""
        for memory in self._children.values():
            memory.writes = NOTHING_WRITTEN

    def retain(self, children: Collection[str]) -> None:
        """Forget all children but these, each given as kind/name."""
        self._children = {child: memory for child, memory in self._children.items() if child in children}

    def resynced(self, now: float) -> None:
        """Make the next reconcile repeat writes without effect, deletions and reads of taken names; forget quiet wars.

        The admission policy behind a write without effect may be gone, and no watch reports that.
        """
        self.namespace_terminating_until = 0.0
        self.status.without_effect = None
        self.removal.deleted.clear()
        self.status_wars.forget_quiet(now)
        self.events.forget_old(now)
        for memory in self._children.values():
            memory.wars.forget_quiet(now)
            memory.deletions.forget_quiet(now)
            memory.unwatched = replace(memory.unwatched, until=now)
            memory.attempt = None

    def suspension_ends(self, since: float, now: float) -> float | None:
        """Return the seconds until the next suspension ends; only those in progress at `since` count, or None.

        A delayed creation does not count: its `Wait` has the end.
        """
        wars = [self.status_wars, *(memory.wars for memory in self._children.values())]
        ends = [war.suspension_ends(since, now) for war in wars]
        return min((end for end in ends if end is not None), default=None)

    def contested(self, now: float) -> int:
        """Return the number of fields with suspended enforcement."""
        children = [brake for memory in self._children.values() for brake in (memory.wars, memory.deletions)]
        return sum([each.contested(now) for each in (self.status_wars, *children) if each])


class Memories:
    """The memory of each parent. Not thread-safe: the main loop owns it."""

    def __init__(self, settings: WriteWarSettings) -> None:
        self._settings = settings
        self._of_key: dict[Key, Memory] = {}

    def __len__(self) -> int:
        return len(self._of_key)

    def of(self, key: Key, uid: str) -> Memory:
        """Return the memory of the parent with this uid. The memory of an earlier parent with its name is dropped."""
        memory = self._of_key.get(key)
        if memory is None or memory.uid != uid:
            memory = self._of_key[key] = Memory(uid, self._settings)
        return memory

    def forget(self, key: Key) -> None:
        """Forget a parent that is gone."""
        self._of_key.pop(key, None)

    def forget_namespaces(self, covers: Callable[[str], bool]) -> None:
        """Forget the parents of some namespaces."""
        for key in [key for key in self._of_key if covers(key.namespace)]:
            del self._of_key[key]

    def clear(self) -> None:
        """Forget all parents: history ran backwards, so nothing remembered needs to be true."""
        self._of_key.clear()

    def resynced(self, now: float) -> None:
        """Forget writes without effect, so that a resync tries them again."""
        for memory in self._of_key.values():
            memory.resynced(now)

    def contested(self, now: float) -> int:
        """Return the number of fields with suspended enforcement, of all parents."""
        return sum(memory.contested(now) for memory in self._of_key.values())

    def doubt(self, newest: int) -> None:
        """Doubt each parent with a version not newer than `newest`, because of a gap in a watch."""
        for memory in self._of_key.values():
            memory.gaps += 1
            if memory.verified:
                memory.doubted_since = newest
