"""Revisions: the specs that a WebApp has had, and how their rollouts turned out. Everything is read from the cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from coxswain.kernel.conflicts.own_annotations import own_annotation
from coxswain.kernel.objects.projection import Named, Projection
from coxswain.kernel.workload import World
from coxswain.webapp.identity import (
    CHANGE_CAUSE_ANNOTATION,
    FAILED_ANNOTATION,
    INHERITED_CAUSE_ANNOTATION,
    READY_AT_ANNOTATION,
    READY_REVISION_ANNOTATION,
)
from coxswain.webapp.kinds import CONTROLLER_REVISION
from coxswain.webapp.spec import WebApp

DEFAULT_LIMIT = 10
"""Number of kept revisions besides the current one, as for the ReplicaSets of a Deployment."""


def revision_name(webapp: WebApp) -> str:
    """Return the name of the revision of a WebApp's spec."""
    return f"{webapp.name}-{webapp.spec_hash}"


@dataclass(frozen=True)
class Revision:
    """A recorded spec."""

    observed: Projection

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.observed.name

    @property
    def number(self) -> int:
        """The number: the newest spec has the highest one."""
        return int(self.observed.content.get("revision", 0))

    @property
    def ready_at(self) -> str | None:
        """The time at which it was first Ready."""
        return self.note(READY_AT_ANNOTATION)

    @property
    def was_ready(self) -> bool:
        """Whether it was Ready with its present number, so since the spec became this one."""
        return self.note(READY_REVISION_ANNOTATION) == str(self.number)

    @property
    def failed(self) -> str | None:
        """The cause, if its rollout failed."""
        return self.note(FAILED_ANNOTATION)

    @property
    def is_target(self) -> bool:
        """Whether a rollback may go back to it: it was Ready, and has not failed since."""
        return self.ready_at is not None and self.failed is None

    @property
    def seen_cause(self) -> str | None:
        """The change cause that the WebApp had, whether it is that of this revision or of an earlier one."""
        return self.note(CHANGE_CAUSE_ANNOTATION) or self.note(INHERITED_CAUSE_ANNOTATION)

    @property
    def config(self) -> str | None:
        """The hash of `config` and `files`; None without them."""
        found: str | None = self.observed.content.get("data", {}).get("config")
        return found

    @property
    def account(self) -> str | None:
        """The existing ServiceAccount of its pods; None if they use the WebApp's own."""
        found: str | None = self.observed.content.get("data", {}).get("account")
        return found

    @property
    def replicas(self) -> int | None:
        """`spec.replicas` in the recorded spec."""
        found: int | None = self.observed.content.get("data", {}).get("replicas")
        return found

    def note(self, annotation: str) -> str | None:
        """Return the value of an annotation, unless another manager has set it."""
        return own_annotation(self.observed, annotation)


def revisions_of(webapp: Named, observed: Sequence[Projection]) -> list[Revision]:
    """Return the revisions of a WebApp, the newest first."""
    found = [Revision(each) for each in observed if each.is_child_of(webapp) and not each.terminating]
    return sorted(found, key=lambda each: each.number, reverse=True)


def recorded(webapp: WebApp, world: World) -> list[Revision]:
    """Return the revisions in the cache, the newest first."""
    return revisions_of(webapp, world.related(CONTROLLER_REVISION))


def kept(webapp: WebApp, world: World) -> list[Revision]:
    """Return the revisions that stay: the current one, and `rollout.revisionHistoryLimit` older ones.

    The target of a rollback stays until the current one is Ready.
    """
    limit = webapp.written.get("rollout", {}).get("revisionHistoryLimit", DEFAULT_LIMIT)
    name, found = revision_name(webapp), recorded(webapp, world)
    current = [each for each in found if each.name == name]
    older = [each for each in found if each.name != name]
    ready = [] if any(each.was_ready for each in current) else [each for each in older if each.is_target][:1]
    return current + older[:limit] + [each for each in ready if each not in older[:limit]]
