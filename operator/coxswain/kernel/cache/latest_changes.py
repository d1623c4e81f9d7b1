"""The order of a backlog: after a takeover or an outage, the parents with the latest changes come first.

Nobody has reconciled these changes yet, while most other parents need nothing.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Parent = TypeVar("Parent", bound=Hashable)


class LatestChanges(Generic[Parent]):
    """The resourceVersion of the latest change of each parent.

    Versions of several kinds are compared, which Kubernetes does not define. So they decide about the order only.
    """

    def __init__(self) -> None:
        self._versions: dict[Parent, int] = {}

    def record(self, parent: Parent, version: int) -> None:
        """Record a change of a parent or of one of its objects."""
        self._versions[parent] = max(version, self._versions.get(parent, 0))

    def forget(self, parent: Parent) -> None:
        """Forget a parent that is gone with all of its objects."""
        self._versions.pop(parent, None)

    def clear(self) -> None:
        """Forget all parents."""
        self._versions.clear()

    def latest_first(self, parents: Iterable[Parent]) -> list[Parent]:
        """Return parents sorted by their latest changes, the latest first."""
        return sorted(parents, key=lambda parent: self._versions.get(parent, 0), reverse=True)
