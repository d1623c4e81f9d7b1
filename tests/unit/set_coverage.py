"""A coverage set by the test, for a reconciler without watches."""

from coxswain.kernel.cache.coverage import Coverage, Visibility
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.workload import WORKLOAD

SEEN = Visibility(None, 1e9)
"""The store has had all objects of others for years."""


class SetCoverage(Coverage):
    """All kinds are listed and watched, except as the test says."""

    def __init__(self, seen: Visibility = SEEN) -> None:
        super().__init__(WORKLOAD.projector.kinds, [None], lambda: 0.0)
        self.doubtful = False
        self.not_listed: dict[str, str] = {}
        self.not_available: dict[Kind, str | None] = {}
        self.seen = seen

    def is_doubtful(self, kind: Kind, namespace: str) -> bool:  # noqa: ARG002
        return self.doubtful

    def unlisted(self, namespace: str) -> dict[str, str]:  # noqa: ARG002
        return self.not_listed

    def unavailable(self, namespace: str) -> dict[Kind, str | None]:  # noqa: ARG002
        return self.not_available

    def visibility(self, kind: Kind, namespace: str) -> Visibility:  # noqa: ARG002
        return self.seen
