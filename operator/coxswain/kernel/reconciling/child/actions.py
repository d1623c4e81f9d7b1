"""Actions on one child, as returned by `decide`."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle
from coxswain.kernel.conflicts.write_plan import HeldField, Plan
from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Health


class Ends(Enum):
    """The event at the end of a wait."""

    CHILD_EVENT = "a watch event of the child, or of the object that has its name"
    NEXT_READ = "the next read of the object that has its name: no watch reports it"
    CHANGE_OR_RESYNC = "a change of the spec or of the child, or the next resync"
    DEPENDENCY_EVENT = "a watch event of the object that the child waits for"


@dataclass(frozen=True)
class Nothing:
    """Write nothing: the child is as desired, as far as policies and other managers allow."""

    live: Projection
    plan: Plan
    obstacle: Obstacle | None = None
    """The one immutable field with another desired value."""


@dataclass(frozen=True)
class Wait:
    """Write nothing for now."""

    health: Health
    until: Ends | float
    """The event at the end of the wait, or its time in monotonic seconds: then the parent is requeued."""
    left: tuple[HeldField, ...] = ()
    """Fields left to other managers."""


@dataclass(frozen=True)
class Read:
    """Read the object with the child's name: it lacks our label, so no watch reports its changes."""


@dataclass(frozen=True)
class Create:
    """Create the child."""

    manifest: Manifest
    vanished: bool = False
    """Whether this process had created it before: the parent may be gone as well, so it is read first."""


@dataclass(frozen=True)
class Release:
    """Remove our fields from the managedFields entries of former managers."""

    live: Projection
    plan: Plan


@dataclass(frozen=True)
class Keep:
    """Keep the live value of a field under a manager of its own, before an apply gives the field up."""

    live: Projection
    plan: Plan
    path: Path
    value: Any


@dataclass(frozen=True)
class TakeOwnership:
    """Move fields of other managers into our entry: the next apply then removes them."""

    live: Projection
    plan: Plan


@dataclass(frozen=True)
class Apply:
    """Apply the manifest of a plan."""

    live: Projection
    plan: Plan


@dataclass(frozen=True)
class Replace:
    """Delete the object and create it again, because a field is immutable."""

    live: Projection
    plan: Plan
    obstacle: Obstacle


Action = Nothing | Wait | Read | Create | Release | Keep | TakeOwnership | Apply | Replace
