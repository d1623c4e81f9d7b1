"""Health of one child, with the reason and the message for the status.

A message states the problem, the action of the operator and the options of the user. It is one line without a period at
its end, where a command or a quotation may stand.
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.manifests import child_key
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import MESSAGE_LIMIT, abridged, enumerated, reason

UNNAMED = "Failed"
"""Replaces an external reason of more than one word."""


class Level(IntEnum):
    """Health levels, the best first. The worst child decides the conditions of its parent."""

    HEALTHY = 0
    PROGRESSING = 1
    TERMINATING = 2
    MISSING = 3
    DEGRADED = 4
    FOREIGN = 5

    @property
    def text(self) -> str:
        """The level in the spelling of the status."""
        return self.name.capitalize()


@dataclass(frozen=True)
class Health:
    """Level, reason and message of a child. `stalled`: no write is retried until something changes."""

    level: Level
    reason: str = "Ready"
    message: str = ""
    stalled: bool = False
    unobserved: bool = False
    """The Deployment controller has not observed the current generation yet."""
    uncounted: bool = False
    """The Deployment controller has not counted a pod of the current generation yet."""
    retried: bool = False
    """A write failed and will probably succeed soon: the status waits for the next attempt."""
    explainable: bool = False
    """Other objects, or the time since the cause, may explain it, so `ChildType.explain` is asked."""
    failed: bool = False
    """A rollout has failed: it is past its deadline, or its cause cannot resolve by retrying."""
    non_blocking: bool = False
    """The application serves without it, so Ready does not wait for it."""

    def __post_init__(self) -> None:
        """Make external texts valid: the reason of a webhook may be a sentence, a message may contain anything."""
        valid = reason(self.reason, UNNAMED)
        message = self.message
        if valid != self.reason and self.reason not in message:
            message = f"{message} ({self.reason})" if message else self.reason
        object.__setattr__(self, "reason", valid)
        object.__setattr__(self, "message", abridged(message, MESSAGE_LIMIT))


@dataclass(frozen=True)
class Child:
    """A desired child and its health."""

    kind: str
    name: str
    health: Health

    @property
    def key(self) -> str:
        """The key of the child among the children of its parent."""
        return child_key(self.kind, self.name)


DIFFERS = "Differs"
DELETED_AGAIN = "deleted each time the operator creates it"

SUSPENDED = "Enforcement is suspended: the operator tries again later."
FIELD_ADVICE = "Stop the other manager from setting the field, or choose Yield in spec.conflicts"
HALTED = "The operator writes nothing to the object until the conflict ends"
HALTED_ADVICE = f"{HALTED}. Stop the other manager from setting the field, or choose Enforce or Yield in spec.conflicts"
YIELDED = "The operator does not write the field"
YIELDED_ADVICE = f"{YIELDED}. To enforce the spec, choose Enforce in spec.conflicts"

ABSENCE_ADVICE = (
    "Find the client that deletes it in the audit log of the API server. Some controllers also report it in Events"
)

_FINALIZERS_NAMED = 3
_COLLECTOR = (
    ("foregroundDeletion", "deletes its dependents and waits for their end"),
    ("orphan", "removes the owner references of its dependents"),
)
"""Finalizers of the garbage collector, and its task before each is removed."""

HEALTHY = Health(Level.HEALTHY)
MISSING = Health(Level.MISSING, "Missing", "does not exist yet")


def terminating(live: Projection, commands: Commands, *, paused: bool = False) -> Health:
    """Return the health of a child with a deletionTimestamp; `paused` tells whether its parent is paused."""
    later = "when spec.paused is no longer true" if paused else "afterwards"
    message = f"is being deleted. The operator recreates it {later}"
    return with_finalizers(Health(Level.TERMINATING, "Terminating", message), live, commands)


def with_finalizers(state: Health, live: Projection, commands: Commands) -> Health:
    """Return the health of a child that is being deleted, with the finalizers that delay its end."""
    if not live.finalizers:
        return state
    tasks = [f"the garbage collector {task} (finalizer {name})" for name, task in _COLLECTOR if name in live.finalizers]
    others = [each for each in live.finalizers if each not in dict(_COLLECTOR)]
    step = f"find the dependents that remain: {commands.finalizers}"
    if others:
        tasks.append(f"others must remove these finalizers: {enumerated(others, _FINALIZERS_NAMED)}")
        step = f"find out what their controllers wait for: {commands.describe(live.kind.kind, live.name)}"
    message = f"{state.message}. Before its end, {', and '.join(tasks)}. If it stays, {step}"
    return replace(state, message=message)


def differs(fields: str, commands: Commands) -> Health:
    """Return the health of a child with drift under a paused parent."""
    action = "The operator corrects this when spec.paused is no longer true"
    message = f"differs from the spec: {fields}. {action}. Set it to false: {commands.edit}"
    return Health(Level.DEGRADED, DIFFERS, message)


def changed_by_admission(state: Health, fields: str, commands: Commands) -> Health:
    """Return the health of a child after an apply; an admission policy or webhook changed `fields`."""
    if not fields or state.level is not Level.HEALTHY:
        return state
    problem = f"an admission policy or webhook changes {fields} on each write"
    advice = f"Change the policy, or set the same values in the spec: {commands.edit}"
    return replace(state, message=f"{problem}. The operator accepts the values. {advice}")


def name_taken(owner: str | None, command: str, *, annotation: str = "") -> Health:
    """Return the health of a child if a foreign object has its name.

    Args:
        owner: the controller of that object, if it has one.
        command: allows the adoption, or shows the object if it has a controller and so cannot be adopted.
        annotation: the annotation that allows an adoption, if it is set but has no effect.
    """
    whose = f"controlled by {owner}" if owner else "of somebody else"
    message = f"the name is taken by an object {whose}. The operator does not change it."
    message += " Choose another name, or delete that object"
    if owner is None:
        message += f", or allow its adoption: {command}"
    else:
        message += f". {annotation} has no effect while the object has a controller" if annotation else ""
        message += f". Inspect the object: {command}"
    return Health(Level.FOREIGN, "NameTaken", message, stalled=True)


def adopted_later(needed: str) -> Health:
    """Return the health of a child that waits for its adoption; `needed` states the condition as a clause."""
    return Health(Level.PROGRESSING, "HeldBack", f"exists and will be adopted when {needed}")


def immutable(field: str, command: str, advice: str = "") -> Health:
    """Return the health of a child with drift in an immutable field.

    Args:
        field: the field.
        command: deletes the child.
        advice: a sentence about another way.
    """
    problem = f"{field} cannot be changed in place. " + (f"{advice}. " if advice else "")
    message = f"{problem}The operator recreates the child after you delete it: {command}"
    return Health(Level.DEGRADED, "Immutable", message, stalled=True)


def replaced(field: str) -> Health:
    """Return the health of a child during its replacement."""
    message = f"is being recreated, because {field} cannot be changed in place"
    return Health(Level.TERMINATING, "Replaced", message)


def rejected(message: str, commands: Commands, *, there: bool) -> Health:
    """Return the health of a child with a manifest rejected as invalid by the API server.

    `there` tells whether the child exists: then the rejected value may be of another field manager.
    """
    problem = f"rejected by the API server: {_clause(message)}. The operator retries after a change"
    advice = "Correct what another manager has set in the object, or the spec" if there else "Correct the spec"
    return Health(Level.DEGRADED, "Rejected", f"{problem}. {advice}: {commands.edit}", stalled=True)


def denied(message: str, commands: Commands) -> Health:
    """Return the health of a child after an admission policy or webhook denied a write."""
    problem, advice = f"denied by admission: {_clause(message)}", f"Correct the policy or the spec: {commands.edit}"
    return Health(Level.DEGRADED, "AdmissionDenied", f"{problem}. The operator retries with backoff. {advice}")


def halted(fields: str, commands: Commands, unknown: str = "") -> Health:
    """Return the health of a child with a conflict under policy Halt.

    `unknown` is a sentence about unknown policies, which count as Halt.
    """
    message = f"another field manager owns {fields}, and the policy is Halt"
    advice = f"{HALTED}. {unknown}" if unknown else HALTED_ADVICE
    return Health(Level.DEGRADED, "Halted", f"{message}. {advice}: {commands.edit}", stalled=True)


def contested(fields: str, commands: Commands, *, two_operators: bool) -> Health:
    """Return the health of a child in a write war over `fields`.

    `two_operators` tells whether the other manager is a second operator: the policy Yield has no effect on it.
    """
    message = f"another field manager keeps overwriting {fields}. {SUSPENDED}"
    advice = f"Probable cause: {commands.two_operators}" if two_operators else f"{FIELD_ADVICE}: {commands.edit}"
    return Health(Level.DEGRADED, "Contested", f"{message} {advice}")


def left_absent(events: str) -> Health:
    """Return the health of a child if another client deletes it after each creation.

    `events` is the command that lists the Events about the child.
    """
    message = f"is {DELETED_AGAIN}. The operator creates it again later. {ABSENCE_ADVICE}: {events}"
    return Health(Level.MISSING, "Contested", message)


def not_written(reason: str, message: str, advice: str = "") -> Health:
    """Return the health of a child after a failed write; `advice` is the next step of the user."""
    message = f"write failed: {_clause(message)}. The operator retries with backoff{_sentence(advice)}"
    return Health(Level.DEGRADED, reason, message)


def retried(*, there: bool) -> Health:
    """Return the health of a child after a transient write error; `there` tells whether the child exists."""
    level = Level.PROGRESSING if there else Level.MISSING
    return Health(level, "Retrying", "a write failed. The operator retries it with backoff", retried=True)


def not_removed(message: str, advice: str = "") -> Health:
    """Return the health of an undesired child after a failed deletion; `advice` is the next step of the user."""
    problem = f"the spec no longer needs it, but its deletion failed: {_clause(message)}"
    return Health(Level.DEGRADED, "NotRemoved", f"{problem}. The operator retries with backoff{_sentence(advice)}")


def not_needed(live: Projection, commands: Commands) -> Health:
    """Return the health of an undesired child with a deletionTimestamp."""
    message = "the spec no longer needs it, and it is being deleted. It stays in effect until its end"
    return with_finalizers(Health(Level.TERMINATING, "Terminating", message), live, commands)


def removed_later(commands: Commands) -> Health:
    """Return the health of an undesired child under a paused parent."""
    action = "The operator deletes it when spec.paused is no longer true"
    message = f"the spec no longer needs it. {action}. Set it to false: {commands.edit}"
    return Health(Level.DEGRADED, DIFFERS, message)


def not_listed(message: str) -> Health:
    """Return the health of a child if its kind cannot be listed, or a record cannot be read."""
    return Health(Level.DEGRADED, "NotListed", message)


def not_served(api_version: str, advice: str, commands: Commands) -> Health:
    """Return the health of a child of an optional kind that the API server does not serve.

    `advice` states the user's options, the last of them a change of the spec.
    """
    problem = f"the cluster does not serve {api_version}. The operator creates it as soon as the cluster does"
    return Health(Level.DEGRADED, "APIMissing", f"{problem}. {advice}: {commands.edit}", stalled=True)


def held_back(needed: str, *, there: bool) -> Health:
    """Return the health of a child while it waits for `needed`; `there` tells whether the child exists."""
    return Health(Level.PROGRESSING if there else Level.MISSING, "HeldBack", f"waits for {needed}")


def _sentence(text: str) -> str:
    return f". {text}" if text else ""


def _clause(message: str) -> str:
    """Return a message of the API server without the period at its end."""
    return message.removesuffix(".")
