"""Ownership of the Deployment's replicas: by `spec.replicas`, or by a HorizontalPodAutoscaler.

The autoscaler is that of `spec.autoscaling`, or one of the user. A change of ownership does not change the count. An
annotation of the Deployment records the owner, so a restart of the operator changes nothing.
"""

import re
from dataclasses import dataclass, replace

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.own_annotations import own_annotation
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.field_paths import owns
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.workload import Observations, World
from coxswain.webapp.autoscalers import decided, of_others, scales_deployment
from coxswain.webapp.diagnosis.commands import edit
from coxswain.webapp.identity import REPLICAS_ANNOTATION
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from coxswain.webapp.spec import WebApp

AUTOSCALED = "autoscaled"
"""Annotation value while a HorizontalPodAutoscaler of the user owns the field."""

BY_SPEC = "autoscaled-by-spec"
"""Annotation value while the HorizontalPodAutoscaler of `spec.autoscaling` owns the field."""

DEFAULT_REPLICAS = 1
"""`spec.replicas` while `spec.autoscaling` is set: the API server fills in the default, and refuses other values."""

REPLICAS = ("f:spec", "f:replicas")
_ANNOTATIONS = ("f:metadata", "f:annotations")
_NOTE = (*_ANNOTATIONS, f"f:{REPLICAS_ANNOTATION}")
_KEPT = re.compile(r"kept=(0|[1-9][0-9]{0,9}),spec=(0|[1-9][0-9]{0,9})", re.ASCII)
_MOST = 2**31 - 1
_AUTOSCALED = (AUTOSCALED, BY_SPEC)


@dataclass(frozen=True)
class Scaling:
    """The replicas and the annotation in the Deployment's manifest."""

    replicas: int | None
    """The count. None omits the field, so others own it."""
    note: str | None = None
    """The value of `REPLICAS_ANNOTATION`. None omits the annotation."""
    comes_back: bool = False
    """Whether the operator takes the field back from an autoscaler. Its managedFields entry remains and must not
    count as a conflict."""


@dataclass(frozen=True)
class Kept:
    """The last count of a removed HorizontalPodAutoscaler. It stays until `spec.replicas` changes."""

    replicas: int
    spec: int
    """`spec.replicas` at the removal."""

    @property
    def note(self) -> str:
        """The annotation value."""
        return f"kept={self.replicas},spec={self.spec}"


def scaling(
    wanted: int, live: int | None, note: str | None, *, autoscaled: bool = False, by_spec: bool = False, least: int = 1
) -> Scaling:
    """Return the desired replicas and annotation.

    Args:
        wanted: `spec.replicas`.
        live: the live count, or None without a Deployment.
        note: the live annotation value.
        autoscaled: whether a HorizontalPodAutoscaler of the user targets the Deployment.
        by_spec: whether `spec.autoscaling` is set, or its HorizontalPodAutoscaler still exists.
        least: `spec.autoscaling.minReplicas`.
    """
    if live is None:
        # Without a count the API server would default a new Deployment to one pod.
        return Scaling(least if by_spec else wanted)
    if by_spec:
        # An autoscaler never starts a Deployment of 0 pods. spec.replicas no longer stops it.
        stopped = live == 0 and note not in _AUTOSCALED
        return Scaling(least) if stopped else Scaling(None, BY_SPEC)
    if autoscaled:
        return Scaling(None, AUTOSCALED)
    kept = _kept(wanted, live, note)
    if kept is None or kept.spec != wanted or kept.replicas == wanted:
        return Scaling(wanted)
    return Scaling(kept.replicas, kept.note)


def _kept(wanted: int, live: int, note: str | None) -> Kept | None:
    """Return the count that stays after the removal of an autoscaler."""
    if note == AUTOSCALED or (note == BY_SPEC and wanted == DEFAULT_REPLICAS):
        return Kept(live, wanted)
    # After BY_SPEC another value means that the same change of the spec removed autoscaling and set replicas.
    return kept_of(note)


def kept_of(note: str | None) -> Kept | None:
    """Return the count in an annotation value, or None if the value has none or is invalid."""
    match = _KEPT.fullmatch(note or "")
    if match is None:
        return None
    kept = Kept(int(match[1]), int(match[2]))
    return kept if max(kept.replicas, kept.spec) <= _MOST else None


def scaling_of(webapp: WebApp, world: World) -> Scaling:
    """Return the desired replicas and annotation of a WebApp's Deployment, given the cache."""
    live = world.live(DEPLOYMENT, webapp.name)
    ours = live if live is not None and (live.is_child_of(webapp) or live.is_adoptable_by(webapp)) else None
    if ours is not None:
        wanted = _continued(webapp, ours, world)
    else:
        wanted = _succeeding(webapp, world) if live is None else _initial(webapp)
    if _is_limited_to_one_pod(webapp):
        wanted = _limited(webapp, wanted, ours, world)
    return replace(wanted, comes_back=ours is not None and wanted.replicas is not None and _note(ours) is not None)


def _continued(webapp: WebApp, ours: Projection, world: World) -> Scaling:
    """Return the scaling of an existing Deployment."""
    note, count, by_spec = _note(ours), _count(ours), _is_by_spec(webapp, world)
    doubtful, owned = world.is_doubtful(HORIZONTAL_POD_AUTOSCALER), owns(ours.owned or {}, REPLICAS)
    if doubtful and not by_spec and (note in _AUTOSCALED or not owned):
        # The watch of autoscalers is unreliable at present, so an autoscaler may own the field: keep the owner. If the
        # operator owns the field without the annotation, no other client has changed it, so spec.replicas applies.
        return Scaling(count if owned else None, note)
    autoscaled = _is_scaled_by_others(webapp, world) and not doubtful
    return scaling(webapp.replicas, count, note, autoscaled=autoscaled, by_spec=by_spec, least=_min_replicas(webapp))


def _limited(webapp: WebApp, wanted: Scaling, ours: Projection | None, world: World) -> Scaling:
    """Return the scaling of a Deployment that is limited to one pod.

    The schema sees spec.replicas only: neither a count that is kept, nor the volumes that a rollback brings back.
    """
    count = wanted.replicas
    if ours is not None and wanted.note == BY_SPEC and not _is_scaled_by_others(webapp, world):
        if "autoscaling" not in webapp.spec:
            # A finalizer may hold the autoscaler. The count stays in the manifest, so that its changes are a write war.
            return Scaling(min(webapp.replicas, 1), BY_SPEC)
        # The pods change at once, but the autoscaler reduces their number later. Each decision of an autoscaler of the
        # user would be undone.
        count = _count(ours)
    if count is None or count <= 1:
        return wanted
    # The owner of the field stays recorded. A kept count ends.
    return Scaling(1, wanted.note if wanted.note in _AUTOSCALED else None)


def _is_limited_to_one_pod(webapp: WebApp) -> bool:
    """Tell whether the pods use a claim that serves one pod at a time."""
    claims = [volume.get("persistentVolumeClaim") for volume in webapp.spec.get("volumes", [])]
    return any(claim is not None and not claim.get("shared", False) for claim in claims)


def can_be_several(webapp: WebApp, world: World) -> bool:
    """Tell whether there can be more than one pod, now or after a decision of an autoscaler."""
    autoscaling = webapp.spec.get("autoscaling")
    if autoscaling is not None:
        return autoscaling["maxReplicas"] > 1
    scaled = scaling_of(webapp, world)
    return scaled.replicas is None or scaled.replicas > 1 or bool(of_others(webapp, world))


def events(webapp: WebApp, observations: Observations) -> list[EventRecord]:
    """Return an Event if the owner of the replicas has changed."""
    changed = [report for report in observations.children if not report.created]
    notes = [_notes(difference) for report in changed for difference in report.corrected]
    wanted, before = next((each for each in notes if each is not None), (None, None))
    gone = f"no HorizontalPodAutoscaler targets Deployment {webapp.name} any more. The operator"
    kept = kept_of(wanted)
    if wanted == BY_SPEC and webapp.generation == 1:
        # The spec has had it from the beginning, so nothing has changed.
        return []
    if wanted == BY_SPEC:
        note = f"spec.autoscaling is set. The operator leaves the replicas to HorizontalPodAutoscaler {webapp.name}"
        return [EventRecord("Autoscaled", "Scale", note)]
    if wanted == AUTOSCALED:
        note = f"a HorizontalPodAutoscaler targets Deployment {webapp.name}. The operator leaves the replicas to it"
        return [EventRecord("Autoscaled", "Scale", note)]
    if kept is not None:
        note = f"{gone} keeps {kept.replicas} replicas until spec.replicas ({kept.spec}) changes"
        annotate = f"kubectl annotate deployment {webapp.name} -n {webapp.namespace} {REPLICAS_ANNOTATION}-"
        return [EventRecord("ReplicasKept", "Scale", f"{note}. To apply {kept.spec} now: {annotate}")]
    if before in _AUTOSCALED:
        return [EventRecord("ReplicasKept", "Scale", f"{gone} applies spec.replicas again")]
    return []


def way_to_scale(webapp: WebApp) -> str:
    """Return a sentence with the command that scales a WebApp, to append to a message."""
    return f". To scale, set spec.replicas: {edit(webapp)}"


def _succeeding(webapp: WebApp, world: World) -> Scaling:
    """Return the scaling of a new Deployment. A replacement keeps the count, because the pods still run.

    Another process may have deleted the predecessor. Then an autoscaler knows the count.
    """
    predecessor = world.predecessor(DEPLOYMENT, webapp.name)
    if predecessor is None:
        count, owner = _decided(webapp, world), BY_SPEC if "autoscaling" in webapp.spec else AUTOSCALED
        # Without the annotation, spec.replicas would apply while autoscalers are unknown.
        return _initial(webapp) if count is None else Scaling(count, owner)
    before = predecessor.desired
    note = before["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
    if note is None and "replicas" in before["spec"]:
        return _initial(webapp)
    count = before["spec"].get("replicas", predecessor.live.get("spec", {}).get("replicas", 1))
    # Without count and annotation the owner of the field was unknown. A later reconcile decides it.
    return Scaling(count, note or AUTOSCALED)


def _decided(webapp: WebApp, world: World) -> int | None:
    """Return the last decision of the autoscaler that owns the replicas."""
    if webapp.replicas == 0 and "autoscaling" not in webapp.spec:
        # The autoscaler may be left over from a former Deployment. None scales a Deployment of 0 pods.
        return None
    own = world.live(HORIZONTAL_POD_AUTOSCALER, webapp.name) if "autoscaling" in webapp.spec else None
    mine = [] if own is None or not own.is_child_of(webapp) else [own]
    found = (decided(each) for each in (*mine, *of_others(webapp, world)) if scales_deployment(each))
    return next((each for each in found if each is not None), None)


def _initial(webapp: WebApp) -> Scaling:
    return scaling(webapp.replicas, None, None, by_spec="autoscaling" in webapp.spec, least=_min_replicas(webapp))


def _min_replicas(webapp: WebApp) -> int:
    autoscaling = webapp.spec.get("autoscaling")
    return 1 if autoscaling is None else autoscaling.get("minReplicas", 1)


def _is_by_spec(webapp: WebApp, world: World) -> bool:
    """Tell whether the autoscaler of the WebApp is wanted, or not deleted yet: until then it may change the count."""
    if "autoscaling" in webapp.spec:
        return True
    live = world.live(HORIZONTAL_POD_AUTOSCALER, webapp.name)
    return live is not None and live.is_child_of(webapp)


def _is_scaled_by_others(webapp: WebApp, world: World) -> bool:
    return any(scales_deployment(each) for each in of_others(webapp, world))


def _notes(difference: Difference) -> tuple[str | None, str | None] | None:
    """Return the desired and the live annotation value, if the difference is only in that annotation."""
    if difference.path == _NOTE:
        return difference.wanted, difference.found
    if difference.path == _ANNOTATIONS and (difference.wanted or {}).keys() <= {REPLICAS_ANNOTATION}:
        # If there is no other annotation on one side, `metadata.annotations` differs as a whole.
        wanted, live = ((each or {}).get(REPLICAS_ANNOTATION) for each in (difference.wanted, difference.found))
        return None if wanted == live else (wanted, live)
    return None


def _count(live: Projection) -> int:
    count: int = live.content.get("spec", {}).get("replicas", 1)
    return count


def _note(live: Projection) -> str | None:
    return own_annotation(live, REPLICAS_ANNOTATION)
