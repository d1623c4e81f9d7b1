"""What became of one child, as a reconcile tells of it."""

from dataclasses import dataclass

from coxswain.control.scaling import notes
from coxswain.kube.compare import Difference
from coxswain.kube.conflicts import Held
from coxswain.kube.errors import RequestFailed
from coxswain.kube.observed import Observed
from coxswain.webapp.health import Child


@dataclass(frozen=True)
class Correction:
    """A difference that was put right, and who had made it, as far as managedFields tell."""

    difference: Difference
    manager: str | None
    ours: bool = False
    """Whether we own what was found: then nobody has changed it since, and the desired value is new."""
    was_there: bool = True
    """Whether the child was as the WebApp says before: else what isn't there may never have been."""

    @property
    def is_foreign(self) -> bool:
        """Whether someone else had made it, rather than we by what is desired now; the note on replicas is our own."""
        difference = self.difference
        changed = difference.wanted not in (None, difference.found) and not self.ours
        removed = difference.found is None and self.was_there and notes(difference) is None
        return (changed or bool(difference.rivals)) and (self.manager is not None or removed)


@dataclass(frozen=True)
class Result:
    """What became of one child."""

    child: Child
    live: Observed | None = None
    """The child as it is now, if it is there and the WebApp's."""
    created: bool = False
    adopted: bool = False
    replaced: bool = False
    """It was deleted to be made anew, or was made anew after that."""
    corrections: tuple[Correction, ...] = ()
    left: tuple[Held, ...] = ()
    """What others hold, and keep for now."""
    failed: RequestFailed | None = None
    """The request that failed for it."""
    looked: bool = True
    """Whether its name was looked up in this reconcile if that was due."""

    @property
    def retry(self) -> bool:
        """Whether a request failed that may succeed later."""
        return self.failed is not None and not self.child.health.stalled
