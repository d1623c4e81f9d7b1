"""Learn from the answers of reads and writes: in the cache, or in the memory of the child if no watch reports it."""

from collections.abc import Callable

from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.conflicts.write_plan import Plan
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.decide import Target, plan_for
from coxswain.kernel.reconciling.memory.attempts import Attempt
from coxswain.kernel.reconciling.memory.last_applied import LastApplied
from coxswain.kernel.reconciling.memory.unwatched import NOTHING_UNWATCHED, Unwatched
from coxswain.kernel.workload import P


class Answers:
    """Answers of the API server about children."""

    def __init__(self, store: Store, *, name_interval: float, clock: Callable[[], float]) -> None:
        """Learn into a cache.

        Args:
            store: the cache.
            name_interval: seconds between two reads of an unlabelled object with a child's name.
            clock: returns monotonic seconds.
        """
        self._store = store
        self._name_interval = name_interval
        self._clock = clock

    def learn(self, target: Target[P], answer: Projection, before: Projection | None) -> Plan:
        """Remember the result of a write in the memory of the child. Return the plan for the stored object.

        `before` is the object before the write; None for a creation.
        """
        after = plan_for(target, answer)
        if after.differences or (before is not None and answer.version == before.version):
            # Something between the request and the stored object changed it: an admission policy, which would again.
            target.memory.attempt = Attempt.of(after.manifest, answer, None, target.child_type.notes)
        target.memory.last_applied = LastApplied.of(target.manifest, after, answer)
        return after

    def removed_at(self, target: Target[P]) -> int:
        """Return the resourceVersion of the last known removal of a child; 0 without one."""
        name = target.manifest["metadata"]["name"]
        return self._store.removed_at(target.child_type.kind, Key(target.parent.namespace, name))

    def take_read(self, target: Target[P], found: Projection, removed_at: int) -> None:
        """Take in an object after a GET: from now on the watch reports it, or else the next read.

        `removed_at` is the removal that was known before the GET.

        Raises:
            HistoryReset: a watched object is older than this removal, so a restore of etcd has reverted it. An object
                without our label left the watch at its removal, or was absent from a later LIST.
        """
        if not found.is_watched:
            self.take_unwatched(target, found)
            return
        if found.version < removed_at:
            raise HistoryReset(
                f"{found.kind} {found.namespace}/{found.name} was removed at {removed_at}, and is at {found.version}"
            )
        target.memory.unwatched = NOTHING_UNWATCHED
        self._store.observe(found)

    def take_write(self, target: Target[P], answer: Projection, sent_for: Projection | None) -> None:
        """Take in the answer of a write; `sent_for` is the object before it, None for a creation.

        Raises:
            HistoryReset: the answer is older than the object that the write was sent for.
        """
        if not answer.is_watched:
            self.take_unwatched(target, answer)
            return
        target.memory.unwatched = NOTHING_UNWATCHED
        self._store.answer(answer, sent_for)

    def take_unwatched(self, target: Target[P], found: Projection) -> None:
        """Remember an object that no watch reports, until its next read."""
        target.memory.unwatched = Unwatched.read(found, target.parent.generation, self._clock(), self._name_interval)

    def postpone_read(self, target: Target[P]) -> None:
        """Let an object be read again after the interval: this time the read has failed."""
        memory, until = target.memory, self._clock() + self._name_interval
        memory.unwatched = memory.unwatched.postponed(target.parent.generation, until)
