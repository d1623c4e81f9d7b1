"""The health of one child."""

from dataclasses import dataclass, replace
from enum import IntEnum

from coxswain.kernel.objects.quote import MESSAGE_LIMIT, abridged, reason

OPERATOR = "coxswain"
"""The name of the operator in messages."""

UNNAMED = "Failed"
"""The reason if others give one that is no word."""


class Level(IntEnum):
    """How a child is, the best first: the worst child decides what the WebApp's status says."""

    HEALTHY = 0
    PROGRESSING = 1
    TERMINATING = 2
    MISSING = 3
    DEGRADED = 4
    FOREIGN = 5

    @property
    def text(self) -> str:
        """The level as the status spells it."""
        return self.name.capitalize()


@dataclass(frozen=True)
class Health:
    """The health of one child: why, in a CamelCase word and in a sentence; whether nothing more is tried."""

    level: Level
    reason: str = "Ready"
    message: str = ""
    stalled: bool = False
    unobserved: bool = False
    """The Deployment controller has not looked at the present spec yet: its word comes in a moment."""
    uncounted: bool = False
    """The Deployment controller has not counted a pod of the present spec yet."""
    retried: bool = False
    """A write failed, and the next attempt in a moment most often succeeds: nobody needs to hear of it before that."""
    for_pods: bool = False
    """Pods are what is missing: why, they may tell."""

    def __post_init__(self) -> None:
        """Make texts of others valid: a webhook's reason may be a sentence, a message may hold anything."""
        said = reason(self.reason, UNNAMED)
        message = self.message
        if said != self.reason and self.reason not in message:
            message = f"{message} ({self.reason})" if message else self.reason
        object.__setattr__(self, "reason", said)
        object.__setattr__(self, "message", abridged(message, MESSAGE_LIMIT))


@dataclass(frozen=True)
class Child:
    """A child that the WebApp should have, and its health."""

    kind: str
    name: str
    health: Health


DIFFERS = "Differs"
DELETED_AGAIN = f"deleted as often as {OPERATOR} creates it"

HEALTHY = Health(Level.HEALTHY)
MISSING = Health(Level.MISSING, "Missing", "is not there yet")
TERMINATING = Health(Level.TERMINATING, "Terminating", "is being deleted and will be made anew")


def differs(fields: str) -> Health:
    """Return the health of a child that is not as desired and isn't written now."""
    return Health(Level.DEGRADED, DIFFERS, f"is not as the spec says: {fields}")


def held(state: Health, fields: str) -> Health:
    """Return the health of a child that is as it was applied but for fields that the cluster's admission changes."""
    if not fields or state.level is not Level.HEALTHY:
        return state
    return replace(state, message=f"an admission policy of the cluster holds {fields} at another value")


def name_taken(owner: str | None, adopt: str = "", *, annotation: str = "") -> Health:
    """Return the health of a child whose name a foreign object bears; `owner` is that object's controller.

    `adopt` is the command that allows its adoption, if that helps; `annotation` allows it already, but in vain.
    """
    whose = f"that {owner} controls" if owner else "that is not this WebApp's"
    message = f"the name is taken by an object {whose}; rename the WebApp, or delete that object"
    if adopt:
        message += f", or let it be adopted: {adopt}"
    elif annotation:
        message += f"; {annotation} doesn't help while it has a controller"
    return Health(Level.FOREIGN, "NameTaken", message, stalled=True)


def adopted_later(needed: str) -> Health:
    """Return the health of a child whose name an object bears that may be adopted, but not before something."""
    return Health(Level.PROGRESSING, "HeldBack", f"is adopted when {needed}")


def immutable(field: str, command: str) -> Health:
    """Return the health of a child that is not as desired since it would have to be made anew."""
    message = f"{field} can't be changed in place; to have it made anew, when that suits: {command}"
    return Health(Level.DEGRADED, "Immutable", message, stalled=True)


def replaced(field: str) -> Health:
    """Return the health of a child that was deleted to be made anew."""
    message = f"is made anew, since {field} can't be changed in place"
    return Health(Level.TERMINATING, "Replaced", message)


def rejected(message: str) -> Health:
    """Return the health of a child that the API server refuses to store as it is."""
    return Health(Level.DEGRADED, "Rejected", message, stalled=True)


def denied(message: str) -> Health:
    """Return the health of a child whose write an admission policy or webhook of the cluster denies."""
    return Health(Level.DEGRADED, "AdmissionDenied", f"{message}; coxswain retries the write with backoff")


def halted(fields: str, unknown: str = "") -> Health:
    """Return the health of a child that isn't written, as the policy of a field that another manager holds is Halt.

    `unknown` is a sentence about policies that only count as Halt.
    """
    message = f"nothing is written to it while another manager holds {fields}: the policy of its conflicts is Halt"
    return Health(Level.DEGRADED, "Halted", message + (f"; {unknown}" if unknown else ""), stalled=True)


def contested(fields: str) -> Health:
    """Return the health of a child of which others set fields again and again, after these were taken back."""
    message = f"is left as it is for a while: another manager sets again and again what coxswain takes back: {fields}"
    return Health(Level.DEGRADED, "Contested", message)


def left_absent() -> Health:
    """Return the health of a child that someone deletes again and again."""
    message = f"is not created for a while: it is {DELETED_AGAIN}; find out who deletes it"
    return Health(Level.MISSING, "Contested", message)


def not_written(reason: str, message: str) -> Health:
    """Return the health of a child whose write failed and is tried again."""
    return Health(Level.DEGRADED, reason, f"{message}; coxswain retries the write with backoff")


def retried(*, there: bool) -> Health:
    """Return the health of a child whose write failed in a way that often passes; it may be there as it was before."""
    level = Level.PROGRESSING if there else Level.MISSING
    return Health(level, "Retrying", "a write failed; coxswain retries it", retried=True)


def not_removed(message: str) -> Health:
    """Return the health of a child that is no longer wanted and whose deletion failed."""
    message = f"is no longer wanted, and its deletion failed: {message}; coxswain retries it with backoff"
    return Health(Level.DEGRADED, "NotRemoved", message)


def not_listed(message: str) -> Health:
    """Return the health of a child that the operator can't see."""
    return Health(Level.DEGRADED, "NotListed", message)


def held_back(needed: str, *, there: bool) -> Health:
    """Return the health of a child that waits for another one; it may be there, as it was before."""
    return Health(Level.PROGRESSING if there else Level.MISSING, "HeldBack", f"waits for the {needed}")
