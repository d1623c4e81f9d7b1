"""Who says how many replicas the Deployment has: the WebApp, or a HorizontalPodAutoscaler that someone made for it.

The field changes hands without the count changing. What there is to remember of that is noted in an annotation on the
Deployment itself, so that a restart changes nothing.
"""

import re
from dataclasses import dataclass

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.field_paths import owns
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.workload import Observations, World
from coxswain.webapp.identity import REPLICAS_ANNOTATION
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from coxswain.webapp.spec import WebApp

AUTOSCALED = "autoscaled"
"""The note while a HorizontalPodAutoscaler has the field."""

REPLICAS = ("f:spec", "f:replicas")
_ANNOTATIONS = ("f:metadata", "f:annotations")
_NOTE = (*_ANNOTATIONS, f"f:{REPLICAS_ANNOTATION}")
_KEPT = re.compile(r"kept=(0|[1-9][0-9]{0,9}),spec=(0|[1-9][0-9]{0,9})", re.ASCII)
_MOST = 2**31 - 1


@dataclass(frozen=True)
class Scaling:
    """What the Deployment's manifest says of replicas."""

    replicas: int | None
    """The count; None leaves it to others."""
    note: str | None = None
    """The value of `REPLICAS_ANNOTATION`; None for no annotation."""
    comes_back: bool = False
    """Whether an autoscaler leaves the field behind: its entry stays in managedFields, and is no reason to yield."""

    @property
    def autoscaled(self) -> bool:
        """Whether the field is left to a HorizontalPodAutoscaler."""
        return self.note == AUTOSCALED


@dataclass(frozen=True)
class Kept:
    """A count that was left behind by a HorizontalPodAutoscaler, and stays until `spec.replicas` is changed."""

    replicas: int
    spec: int
    """`spec.replicas` of that time."""

    @property
    def note(self) -> str:
        """How it is noted."""
        return f"kept={self.replicas},spec={self.spec}"


def scaling(wanted: int, live: int | None, note: str | None, *, autoscaled: bool) -> Scaling:
    """Return what the manifest should say.

    `wanted` is `spec.replicas`, `live` the count of the Deployment as it is (None if there is none), `note` what it
    has noted, and `autoscaled` tells whether a HorizontalPodAutoscaler targets it.
    """
    if live is None:
        # Without a count of ours a new Deployment would begin with one pod.
        return Scaling(wanted)
    if autoscaled:
        return Scaling(None, AUTOSCALED)
    kept = Kept(live, wanted) if note == AUTOSCALED else kept_of(note)
    if kept is None or kept.spec != wanted or kept.replicas == wanted:
        return Scaling(wanted)
    return Scaling(kept.replicas, kept.note)


def kept_of(note: str | None) -> Kept | None:
    """Return the count that a note tells of, or None if it tells of none, or in no form of ours."""
    found = _KEPT.fullmatch(note or "")
    if found is None:
        return None
    kept = Kept(int(found[1]), int(found[2]))
    return kept if max(kept.replicas, kept.spec) <= _MOST else None


def scaling_of(webapp: WebApp, world: World) -> Scaling:
    """Return what the manifest of a WebApp's Deployment should say now."""
    live = world.live(DEPLOYMENT, webapp.name)
    ours = live if live is not None and (live.is_child_of(webapp) or live.is_adoptable_by(webapp)) else None
    if ours is None:
        return _succeeding(webapp, world) if live is None else Scaling(webapp.replicas)
    note, count = _note(ours), _count(ours)
    doubtful, owned = world.is_doubtful(HORIZONTAL_POD_AUTOSCALER), owns(ours.owned or {}, REPLICAS)
    if doubtful and (note == AUTOSCALED or not owned):
        # An autoscaler may have the field, and the owner must not depend on events that a watch has missed. If the
        # field is ours without that note, nobody else has changed it since, and a new spec.replicas is followed.
        wanted = Scaling(count if owned else None, note)
    else:
        autoscaled = bool(world.related(HORIZONTAL_POD_AUTOSCALER)) and not doubtful
        wanted = scaling(webapp.replicas, count, note, autoscaled=autoscaled)
    return Scaling(wanted.replicas, wanted.note, comes_back=wanted.replicas is not None and note is not None)


def events(webapp: WebApp, found: Observations) -> list[EventRecord]:
    """Report that the replicas went over to an autoscaler, or came back from it."""
    notes = [_notes(difference) for report in found.children for difference in report.corrected]
    wanted, before = next((each for each in notes if each is not None), (None, None))
    gone = f"no HorizontalPodAutoscaler targets Deployment {webapp.name} any more"
    kept = kept_of(wanted)
    if wanted == AUTOSCALED:
        note = f"a HorizontalPodAutoscaler targets Deployment {webapp.name}: its replicas are left to that"
        return [EventRecord("Autoscaled", "Scale", note)]
    if kept is not None:
        note = f"{gone}: it keeps {kept.replicas} replicas until spec.replicas, {kept.spec}, is changed"
        return [EventRecord("ReplicasKept", "Scale", note + way_to_scale(webapp))]
    if before == AUTOSCALED:
        return [EventRecord("ReplicasKept", "Scale", f"{gone}: it has as many replicas as the spec says")]
    return []


def way_to_scale(webapp: WebApp) -> str:
    """Return the end of a sentence: the command that scales a WebApp."""
    return f"; to scale it: kubectl scale webapp {webapp.name} --namespace {webapp.namespace} --replicas=N"


def _succeeding(webapp: WebApp, world: World) -> Scaling:
    """Return the scaling of a new Deployment; one that replaces another keeps its replicas, as its pods still run."""
    predecessor = world.predecessor(DEPLOYMENT, webapp.name)
    if predecessor is None:
        return Scaling(webapp.replicas)
    before = predecessor.desired
    note = before["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
    if note is None and "replicas" in before["spec"]:
        return Scaling(webapp.replicas)
    count = before["spec"].get("replicas", predecessor.live.get("spec", {}).get("replicas", 1))
    # Without count and note it was unknown whether an autoscaler has the field: that is found out later.
    return Scaling(count, note or AUTOSCALED)


def _notes(difference: Difference) -> tuple[str | None, str | None] | None:
    """Return the desired and the live note, if a difference is about nothing but that."""
    if difference.path == _NOTE:
        return difference.wanted, difference.found
    if difference.path == _ANNOTATIONS and (difference.wanted or {}).keys() <= {REPLICAS_ANNOTATION}:
        # Where nobody owned an annotation, or nobody is to, they differ as a whole.
        wanted, found = ((each or {}).get(REPLICAS_ANNOTATION) for each in (difference.wanted, difference.found))
        return None if wanted == found else (wanted, found)
    return None


def _count(live: Projection) -> int:
    count: int = live.content.get("spec", {}).get("replicas", 1)
    return count


def _note(live: Projection) -> str | None:
    """Return our note; a value that someone else wrote there, or over it, is none."""
    if live.owned is None or not owns(live.owned, _NOTE):
        return None
    note: str | None = live.content["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
    return note
