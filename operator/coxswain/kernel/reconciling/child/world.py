"""The cache as seen from one parent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import child_key
from coxswain.kernel.objects.projection import Named, Projection
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.status.health import Child
from coxswain.kernel.workload import Predecessor, Reference


@dataclass(frozen=True)
class CacheView:
    """A view of the cache and of the memory of one parent."""

    store: Store
    coverage: Coverage
    parent: Named
    memory: Memory
    now: datetime
    """The time at which the reconcile began."""
    children: Sequence[Child] = ()
    """The children of this reconcile, with the causes of their health, once they are known."""

    @property
    def key(self) -> Key:
        """The key of the parent."""
        return Key(self.parent.namespace, self.parent.name)

    def live(self, kind: Kind, name: str) -> Projection | None:
        """Return the object with the name of a child: from the store, or else as last read."""
        return self.watched(kind, name) or self.memory.child(child_key(kind.kind, name)).unwatched.observed

    def watched(self, kind: Kind, name: str) -> Projection | None:
        """Return the object with the name of a child if a watch reports it."""
        found = self.store.get(kind, Key(self.parent.namespace, name))
        return found if found is not None and found.is_watched else None

    def related(self, kind: Kind) -> Sequence[Projection]:
        """Return the related objects of a kind."""
        return self.store.objects_of(self.key, kind)

    def reference(self, kind: Kind, name: str) -> Reference:
        """Return an object of others to which the parent refers."""
        place = Key(self.parent.namespace, name)
        problem, seconds, watched = self.coverage.visibility(kind, self.parent.namespace)
        return Reference(
            self.store.get(kind, place),
            len(self.store.users(kind, place)),
            problem,
            self.now - timedelta(seconds=seconds),
            watched,
        )

    def is_doubtful(self, kind: Kind) -> bool:
        """Tell whether the cache may lack objects of a decisive kind."""
        return self.coverage.is_doubtful(kind, self.parent.namespace)

    def predecessor(self, kind: Kind, name: str) -> Predecessor | None:
        """Return the deleted predecessor of a child, until the child is created."""
        deletion = self.memory.child(child_key(kind.kind, name)).deletion
        return None if deletion is None else Predecessor(deletion.observed.content, deletion.manifest)

    def warnings_about(self, subject: Projection) -> Sequence[ReportedEvent]:
        """Return the Warning Events about an object as last read, the newest first."""
        read = self.memory.warnings
        return read.found if read is not None and read.subject == subject.uid else ()
