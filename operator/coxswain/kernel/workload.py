"""The interface between kernel and workload.

The kernel reconciles any custom resource. A workload names the kinds, derives the desired children from a parent,
judges the health of live children, and computes the status. It is pure: the kernel reads, writes and remembers.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.immutable import Obstacle
from coxswain.kernel.conflicts.policy import Policies
from coxswain.kernel.objects.event_record import EventRecord, ReportedEvent
from coxswain.kernel.objects.field_paths import Fields, Path
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Named, Projection, Projector, Rules, whole, with_status
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.conflict_report import Conflict, Repair
from coxswain.kernel.status.health import HEALTHY, Child, Health
from coxswain.kernel.status.urgency import Pace, StatusRules


class Parent(Named, Protocol):
    """A custom resource as desired."""

    @property
    def generation(self) -> int:
        """Its generation."""

    @property
    def paused(self) -> bool:
        """Whether nothing but the status may be written."""

    @property
    def policies(self) -> Policies:
        """Its policies for fields of other managers."""


P = TypeVar("P", bound=Parent)


@dataclass(frozen=True)
class Predecessor:
    """A deleted object, to be created again."""

    live: Mapping[str, Any]
    """Its content."""
    desired: Manifest
    """Its desired state at that time."""


@dataclass(frozen=True)
class Reference:
    """An object of another owner, to which the spec of a parent refers."""

    observed: Projection | None
    """The object, if the cache has it."""
    users: int
    """Number of parents with a reference to it."""
    unseen: str | None = None
    """Why the cache may lack the object or its latest change; None if the cache is complete."""
    since: datetime | None = None
    """The time since which the cache is complete: an earlier change may be news. None if nothing was missed."""
    watched: bool = True
    """Whether the operator is set to watch its kind."""


class World(Protocol):
    """The cluster as seen from one parent: a view of the cache."""

    @property
    def now(self) -> datetime:
        """The present time, in UTC."""

    def live(self, kind: Kind, name: str) -> Projection | None:
        """Return the object with the name of a child, of any owner."""

    def related(self, kind: Kind) -> Sequence[Projection]:
        """Return the related objects of a kind."""

    def reference(self, kind: Kind, name: str) -> Reference:
        """Return an object of another owner, to which the spec of the parent refers."""

    def is_doubtful(self, kind: Kind) -> bool:
        """Tell whether the cache may lack objects of a decisive kind."""

    def predecessor(self, kind: Kind, name: str) -> Predecessor | None:
        """Return the deleted predecessor of a child, until the child is created."""

    @property
    def children(self) -> Sequence[Child]:
        """The children of this reconcile, with the causes of their health. Only kinds with a `History` see them."""

    def warnings_about(self, subject: Projection) -> Sequence[ReportedEvent]:
        """Return the Warning Events about an object as last read, the newest first; see `Explanation.subject`."""


@dataclass(frozen=True)
class Desired:
    """The desired state of one child."""

    manifest: Manifest
    enforced: tuple[str, ...] = ()
    """Fields enforced under every policy."""
    replaceable: bool = False
    """Whether the parent allows to delete and create the child again for an immutable field."""
    withheld: Health | None = None
    """Why the child must not be created for now. An existing one is applied all the same."""
    frozen: Health | None = None
    """Why an existing child must stay as it is. A missing one is created all the same."""
    until: datetime | None = None
    """The time at which this state may change without any event."""


class Removal(Enum):
    """The time of the deletion of an unwanted child."""

    NEVER = "never"
    AT_ONCE = "at once"
    WHEN_UNUSED = "when the children that need its kind are healthy: until then, pods may need it"


@dataclass(frozen=True)
class Explanation:
    """A health with its cause."""

    health: Health
    until: datetime | None = None
    """The time at which it may change without any event."""
    subject: Projection | None = None
    """An object with the cause in its Events. No watch reports them: the kernel reads them, rarely, and then asks for
    the explanation again."""


@dataclass(frozen=True)
class History(Generic[P]):
    """Marks a kind of child as records of its parent's states. An earlier state may run instead of the present one.

    These children are reconciled after all others, so they can record the result of a state.
    """

    deciding_record: Callable[[P], str | None]
    """The name of the record of the present state, if it may recall an earlier one; depends on the parent alone."""
    recalled: Callable[[P, World], Projection | None]
    """The record of the running state; None for the present state."""
    running: Callable[[P, World, Manifest | None], P]
    """The parent as it runs. Takes the recalled object as the API server stores it: the cache may keep less."""
    referenced: Callable[[P], Iterable[tuple[str, str]]] = lambda _: ()
    """Kind and name of the objects of others to which a parent refers as it runs."""


def _same(manifest: Manifest) -> Manifest:
    return manifest


@dataclass(frozen=True)
class ChildType(Generic[P]):
    """One kind of child."""

    kind: Kind
    desired: Callable[[P, World], Desired | Sequence[Desired] | None]
    """The desired state of the child, given the live object with its name; None if there should be none. The names of
    several children of one kind must depend on the parent alone."""
    rules: Rules | None = None
    """The cached parts of its objects; by default all but the status. The name is that of the parent."""
    health: Callable[[Projection], Health] = lambda _: HEALTHY
    """The health of a live child without differences."""
    explain: Callable[[P, Projection, Health, World, datetime], Explanation] | None = None
    """Finds the cause of a health in other objects."""
    comparable: Callable[[Manifest], Manifest] = _same
    """A manifest in the form of projections."""
    obstacle: Callable[[Manifest, Mapping[str, Any], bool], Obstacle | None] = lambda *_: None
    """The immutable field with another desired value; takes the comparable manifest, the live content, and whether the
    object is being adopted."""
    in_place: Callable[[Manifest, Mapping[str, Any]], Manifest] = lambda manifest, _: manifest
    """Returns the manifest without the immutable field that must not block the others: `Obstacle.others_mutable`."""
    identity: tuple[str, ...] = ()
    """Defining fields of the child, besides labels and owner reference: enforced under every policy."""
    notes: tuple[str, ...] = ()
    """Annotations in which the operator itself keeps a note: enforced under every policy, and never drift."""
    kept: tuple[Path, ...] = ()
    """Fields whose live value stays when the manifest begins to leave them out."""
    needs: tuple[Kind, ...] = ()
    """Children that must be usable before this one is written."""
    goes_without: Callable[[Mapping[str, Any]], Collection[Kind]] = lambda _: ()
    """The kinds in `needs` for which an existing child does not wait; takes its live content."""
    uses: Callable[[Mapping[str, Any]], Collection[str]] = lambda _: ()
    """Returns the children (kind/name) that stay, because the content of a live child names them."""
    is_usable: Callable[[Manifest, Mapping[str, Any]], bool] = lambda *_: True
    """Whether a live child serves its dependents, although it differs from its desired state."""
    removal: Removal = Removal.NEVER
    retained: Callable[[P, World], Collection[str]] = lambda *_: ()
    """Names of unwanted children that stay."""
    history: History[P] | None = None
    """Set if this kind records states of the parent."""
    adoptable_when: Callable[[P, Projection, World], str | None] = lambda *_: None
    """Why an object must not be adopted yet; None if it may be adopted now."""
    advice: Callable[[P, Sequence[str], Collection[str]], str] = lambda *_: ""
    """The last sentence of an Event about corrected drift: how the user makes the change in the spec instead. Takes the
    changed fields and their managers."""
    former: Callable[[Manifest, Mapping[str, Any], Sequence[Fields]], Sequence[Path]] = lambda *_: ()
    """Items to remove from an adopted object; takes the manifest, the live content and the entries of managedFields."""
    optional: str | None = None
    """The user's options if the API server does not serve the kind, for a message; None if it always serves it. The
    last one is a change of the spec: the message adds the command for it. The other children do not wait for an
    optional kind, not even if the operator may not list it."""

    def all_desired(self, parent: P, world: World) -> Sequence[Desired]:
        """Return the desired states of all children of this kind."""
        found = self.desired(parent, world)
        if found is None:
            return ()
        return (found,) if isinstance(found, Desired) else found


@dataclass(frozen=True)
class RelatedType:
    """One kind of objects to read, of any owner. Children may be of the same kind."""

    kind: Kind
    rules: Rules
    """The cached parts."""
    decisive: bool = False
    """Whether desired states depend on it."""


@dataclass(frozen=True)
class ReferencedType:
    """One kind of objects to which specs of parents refer. The cache has them only if the settings say so."""

    kind: Kind
    rules: Rules
    names: Callable[[Manifest], Iterable[str]]
    """Returns the names of the objects to which the content of a parent refers."""


def projector(
    parent: Kind,
    children: Sequence[ChildType[P]],
    related: Sequence[RelatedType] = (),
    referenced: Sequence[ReferencedType] = (),
    *,
    label: str,
    manager: str,
    managed: Callable[[Sequence[Mapping[str, Any]]], Manifest] = lambda _: {},
) -> Projector:
    """Return the projector of a workload.

    Args:
        parent: the custom resource.
        children: the kinds of children.
        related: the kinds of objects of any owner, only read.
        referenced: the kinds of objects of others to which parents refer, read on demand.
        label: the label with the name of the parent.
        manager: the field manager.
        managed: returns a further part of a parent's content, from the entries of its managedFields.
    """

    def referenced_by(content: Manifest) -> Iterable[tuple[str, str]]:
        return ((each.kind.kind, name) for each in referenced for name in each.names(content))

    rules = {parent: Rules(with_status(parent), referenced=referenced_by, managed=managed)}
    rules |= {child.kind: child.rules or Rules(whole(child.kind), namesake=str) for child in children}
    for each in related:
        read, child = each.rules, rules.get(each.kind)
        rules[each.kind] = replace(child, targets=read.targets, foreign=read.content) if child else read
    rules |= {each.kind: each.rules for each in referenced}
    kinds = Kinds(
        parent,
        tuple(child.kind for child in children),
        related=tuple(each.kind for each in related),
        decisive=tuple(each.kind for each in related if each.decisive),
        optional=tuple(child.kind for child in children if child.optional is not None),
        records=tuple(child.kind for child in children if child.history is not None),
        referenced=tuple(each.kind for each in referenced),
    )
    return Projector(kinds, rules, label=label, manager=manager)


@dataclass(frozen=True)
class ChildReport:
    """The state of one child after a reconcile."""

    child: Child
    live: Projection | None = None
    """The child, if it exists and belongs to the parent."""
    created: bool = False
    corrected: tuple[Difference, ...] = ()
    """Differences corrected by an apply."""


@dataclass(frozen=True)
class Observations:
    """The state of a parent's children after a reconcile."""

    children: Sequence[ChildReport]
    conflicts: Sequence[Conflict] = ()
    """Desired fields with another value of another manager."""
    repairs: Sequence[Repair] = ()
    """Corrected drift without a status report."""
    records: Sequence[Projection] = ()
    """The recorded states of the parent."""

    def live(self, kind: Kind) -> Projection | None:
        """Return the live child of a kind."""
        return next((report.live for report in self.children if report.child.kind == kind.kind and report.live), None)


class Workload(Protocol[P]):
    """A custom resource and its children."""

    @property
    def name(self) -> str:
        """Name of the controller in Events: a domain and a word, such as example.com/operator."""

    @property
    def projector(self) -> Projector:
        """Reads objects; knows the kinds, and our field manager."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that make an object a child: enforced under every policy."""

    @property
    def children(self) -> Sequence[ChildType[P]]:
        """The kinds of children, in write order."""

    @property
    def status_rules(self) -> StatusRules:
        """The parts of the status."""

    def parse(self, observed: Projection) -> P:
        """Return a parent as desired."""

    def status(self, parent: P, observations: Observations, previous: Status, now: str) -> Status:
        """Return the status of a parent; `now` is the time of day in the form of RFC 3339 with seconds."""

    def pace(self, parent: P, observations: Observations) -> Pace:
        """Return the inputs for the urgency of a status."""

    def events(self, parent: P, observations: Observations, previous: Status, present: Status) -> list[EventRecord]:
        """Return the Events of this workload, besides the Events of the kernel."""
