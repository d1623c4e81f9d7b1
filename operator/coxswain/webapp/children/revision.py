"""The ControllerRevision with the spec of a WebApp: one for each spec that the WebApp has had.

Only the current one has a desired state. The others stay as they are, until they are too many. The cache keeps hashes
of the data.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import Projection, Rules, only
from coxswain.kernel.status.conditions import worst
from coxswain.kernel.status.health import Child
from coxswain.kernel.workload import ChildType, Desired, History, Removal, World
from coxswain.webapp.children.deployment_health import DEADLINE_EXCEEDED
from coxswain.webapp.children.serviceaccount import existing_account
from coxswain.webapp.content import content_hash, data, recorded_fields, spec_hash
from coxswain.webapp.data_changes import referenced
from coxswain.webapp.diagnosis.pods import newest_pods
from coxswain.webapp.identity import (
    CHANGE_CAUSE_ANNOTATION,
    CHANGED_AT_ANNOTATION,
    CHANGED_BY_ANNOTATION,
    FAILED_ANNOTATION,
    INHERITED_CAUSE_ANNOTATION,
    READY_AT_ANNOTATION,
    READY_REVISION_ANNOTATION,
    RENDER_ANNOTATION,
    owner_reference,
    standard_labels,
)
from coxswain.webapp.kinds import CONTROLLER_REVISION, DEPLOYMENT
from coxswain.webapp.related import pods_by_name, replica_sets_of
from coxswain.webapp.releases.render import is_known, newest, usable
from coxswain.webapp.releases.render_choice import render_of
from coxswain.webapp.releases.revisions import Revision, kept, recorded, revision_name
from coxswain.webapp.releases.rollback import current_revision, restored, rollback_target, rolls_back
from coxswain.webapp.spec import Change, Rollback, WebApp
from coxswain.webapp.times import after, moment

_HASH = re.compile(r"-[0-9a-f]{10}$")
"""Suffix of a revision's name, after the WebApp's name."""

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_UNKNOWN = "unknown"
_SOON = timedelta(minutes=1)
_LEAST_DEADLINE = timedelta(seconds=1)
"""The least `rollout.progressDeadlineSeconds`. An attempt began at least so long before it missed its deadline."""

_NOTES = (
    CHANGE_CAUSE_ANNOTATION,
    INHERITED_CAUSE_ANNOTATION,
    CHANGED_BY_ANNOTATION,
    CHANGED_AT_ANNOTATION,
    RENDER_ANNOTATION,
    READY_AT_ANNOTATION,
    READY_REVISION_ANNOTATION,
    FAILED_ANNOTATION,
)


def revision(webapp: WebApp, number: int, replicas: int | None, notes: Mapping[str, str]) -> Manifest:
    """Return the ControllerRevision of a spec.

    Args:
        webapp: the WebApp.
        number: the number of the revision.
        replicas: `spec.replicas` when the spec was recorded. The data of a ControllerRevision is immutable.
        notes: its annotations.
    """
    spec = recorded_fields(webapp.written)
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": CONTROLLER_REVISION.api_version,
        "kind": CONTROLLER_REVISION.kind,
        "metadata": {
            "name": revision_name(webapp),
            "namespace": webapp.namespace,
            "labels": standard_labels(webapp.name),
            "annotations": dict(notes),
            "ownerReferences": [owner_reference(webapp)],
        },
        "revision": number,
        "data": {"spec": spec},
    }


def _desired(webapp: WebApp, world: World) -> Desired | None:
    if webapp.paused:
        return None
    name, found = revision_name(webapp), recorded(webapp, world)
    live = next((each for each in found if each.name == name), None)
    newest = max((each.number for each in found if each is not live), default=0)
    replicas = webapp.written.get("replicas") if live is None else live.replicas
    if live is None or live.number <= newest:
        # A new spec, or an earlier one that came back. After a restore of etcd two may have the same number.
        inherited = found[0].seen_cause if found else None
        webapp = replace(webapp, change=_present_change(webapp, found[0] if found else None, world))
        notes = {**_changed(webapp, inherited), **_outcome(webapp, live, newest + 1, world)}
        return Desired(revision(webapp, newest + 1, replicas, notes))
    notes = {**_unchanged(webapp, live), **_outcome(webapp, live, live.number, world)}
    return Desired(revision(webapp, live.number, replicas, notes))


def _present_change(webapp: WebApp, newest: Revision | None, world: World) -> Change:
    """Return the change to the present spec.

    Kubernetes records no time and no manager of a change that only removes fields. The latest recorded change is then
    that of the revision before, and a failure after that change is none of the present spec. Its times are in seconds,
    so a second change soon after the first one may have the same time.
    """
    before = newest.note(CHANGED_AT_ANNOTATION) if newest is not None else None
    at = moment(webapp.change.at)
    soon = at is not None and world.now - at < _SOON
    if before is None or webapp.change.at > before or soon:
        return webapp.change
    return replace(webapp.change, by=_UNKNOWN, at=world.now.strftime(_TIME_FORMAT))


def _changed(webapp: WebApp, inherited: str | None, current: Revision | None = None) -> dict[str, str]:
    """Return the annotations about the change to the present spec.

    Args:
        webapp: the WebApp.
        inherited: its change cause at the time of the previous revision. It does not explain this change.
        current: the revision of the spec, if it is recorded.
    """
    is_new = webapp.change.cause != inherited
    notes = {
        CHANGE_CAUSE_ANNOTATION if is_new else INHERITED_CAUSE_ANNOTATION: webapp.change.cause,
        CHANGED_BY_ANNOTATION: webapp.change.by,
        CHANGED_AT_ANNOTATION: webapp.change.at,
        RENDER_ANNOTATION: render_of(webapp, current),
    }
    return {name: value for name, value in notes.items() if value}


def _unchanged(webapp: WebApp, live: Revision) -> dict[str, str]:
    """Return the annotations about the change as recorded. A later change of metadata or replicas is none of them.

    The cause follows the WebApp, as in a Deployment: users annotate after the change. Unlike there, a later change does
    not repeat it.
    """
    recorded_change = {name: live.note(name) for name in (CHANGED_BY_ANNOTATION, CHANGED_AT_ANNOTATION)}
    changed = _changed(webapp, live.note(INHERITED_CAUSE_ANNOTATION), live)
    return {**changed, **{name: value for name, value in recorded_change.items() if value}}


def _outcome(webapp: WebApp, live: Revision | None, number: int, world: World) -> dict[str, str]:
    """Return the annotations about the outcome of the rollout. A success replaces a failure, but not the reverse."""
    same = live if live is not None and live.number == number else None
    ready_at = None if live is None else live.ready_at
    was_ready, failed = same is not None and same.was_ready, None if same is None else same.failed
    if webapp.rollback is None and world.children and not was_ready and _is_tried(webapp, same, world):
        was_ready, failed = worst(world.children) is None, failed or _failure(world.children)
    if was_ready:
        ready_at = ready_at or world.now.strftime(_TIME_FORMAT)
        return {READY_AT_ANNOTATION: ready_at, READY_REVISION_ANNOTATION: str(number)}
    notes = {READY_AT_ANNOTATION: ready_at, FAILED_ANNOTATION: failed}
    return {name: value for name, value in notes.items() if value is not None}


def _is_tried(webapp: WebApp, same: Revision | None, world: World) -> bool:
    """Tell whether the state of the children says something about the revision.

    Without a pod nothing is tried. A failure may be older than the spec: the Deployment reports it, and its pods stay,
    until its pod template changes.
    """
    live = world.live(DEPLOYMENT, webapp.name)
    if live is None or live.content.get("spec", {}).get("replicas", 1) == 0:
        return False
    if worst(world.children) is None:
        return True
    changed = moment(same.note(CHANGED_AT_ANNOTATION) if same is not None else webapp.change.at)
    tried = _last_try(live, world)
    return changed is None or tried is None or tried >= changed


def _last_try(live: Projection, world: World) -> datetime | None:
    """Return the time of the last attempt to roll out: before the missed deadline, or of the newest pod.

    The API server sets the time of a pod, as that of the change of the spec. The Deployment controller has its own
    clock, and leaves its condition as it is while a former revision starts again in an existing ReplicaSet.
    """
    progress = condition(live.content, "Progressing")
    if progress.get("reason") == DEADLINE_EXCEEDED:
        return after(moment(progress.get("lastUpdateTime")), -_LEAST_DEADLINE)
    pods = [pod.content for pod in pods_by_name(world).values()]
    newest = newest_pods(live.content, replica_sets_of(live, world), pods)
    created = [moment(pod["metadata"].get("creationTimestamp")) for pod in newest]
    return max((time for time in created if time is not None), default=None)


def _failure(children: Sequence[Child]) -> str | None:
    failed = next((child for child in children if child.health.failed), None)
    return None if failed is None else f"{failed.health.reason}: {failed.kind} {failed.name}: {failed.health.message}"


def _projected(raw: Mapping[str, Any]) -> Manifest:
    metadata, spec = raw["metadata"], raw.get("data", {}).get("spec", {})
    return {
        "kind": CONTROLLER_REVISION.kind,
        "metadata": {
            "labels": only(metadata.get("labels", {}), standard_labels("")),
            "annotations": only(metadata.get("annotations", {}), _NOTES),
            "ownerReferences": metadata.get("ownerReferences", []),
        },
        "revision": raw.get("revision", 0),
        "data": _digest(spec),
    }


def _digest(spec: Mapping[str, Any]) -> Manifest:
    """Return the data of a revision as the cache keeps it."""
    config = {"config": content_hash(spec)} if data(spec) else {}
    name = existing_account(spec)
    account = {} if name is None else {"account": name}
    return {"hash": spec_hash(spec), **config, **account, **only(spec, ("replicas",))}


def _comparable(manifest: Manifest) -> Manifest:
    return {**manifest, "data": _digest(manifest["data"]["spec"])}


def _obstacle(wanted: Manifest, live: Mapping[str, Any], _: bool) -> Obstacle | None:
    return None if wanted["data"] == live.get("data") else Obstacle("data", Remedy.REPLACE)


def _retained(webapp: WebApp, world: World) -> list[str]:
    return [each.name for each in kept(webapp, world)]


def _deciding_record(webapp: WebApp) -> str | None:
    return revision_name(webapp) if rolls_back(webapp) else None


def _recalled(webapp: WebApp, world: World) -> Projection | None:
    found = rollback_target(webapp, recorded(webapp, world))
    return None if found is None else found.observed


def _running(webapp: WebApp, world: World, content: Manifest | None) -> WebApp:
    current = current_revision(webapp, world)
    if content is None or current is None or current.failed is None:
        return replace(webapp, render=render_of(webapp, current))
    rollback = Rollback(webapp.written, current.number, current.failed, content["revision"])
    recorded_render = usable(content["metadata"].get("annotations", {}).get(RENDER_ANNOTATION))
    # A failed revision of an unknown version was judged by a newer operator, and its pods have gone already. Otherwise
    # the pods change anyway, so an unknown version must not keep those of the failed revision.
    is_in_force = not is_known(render_of(webapp, current))
    keeps = (is_known(recorded_render) or is_in_force) and not webapp.asks_for_newest_render
    render = recorded_render if keeps else newest()
    return replace(webapp, spec=restored(content["data"]["spec"], webapp.written), rollback=rollback, render=render)


TYPE = ChildType(
    CONTROLLER_REVISION,
    _desired,
    rules=Rules(_projected, reads=("metadata", "revision", "data"), namesake=lambda name: _HASH.sub("", name)),
    comparable=_comparable,
    obstacle=_obstacle,
    identity=("revision", "data"),
    notes=_NOTES,
    removal=Removal.AT_ONCE,
    retained=_retained,
    history=History(_deciding_record, _recalled, _running, referenced=lambda webapp: referenced(webapp.spec)),
)
