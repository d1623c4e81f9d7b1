"""Whose a Deployment's replicas are, as the store knows it, and what must be done before they are left to another.

An apply that leaves out a field which its manager alone owns removes it, and the server would fill in one replica.
"""

from typing import Any

from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.objects.field_paths import owns
from coxswain.kernel.objects.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.identity import REPLICAS_ANNOTATION
from coxswain.webapp.scaling import AUTOSCALED, Scaling, scaling
from coxswain.webapp.spec import Manifest, WebApp

_REPLICAS = ("f:spec", "f:replicas")
_ANNOTATIONS = ("f:metadata", "f:annotations")
_NOTE = (*_ANNOTATIONS, f"f:{REPLICAS_ANNOTATION}")


def scaled(
    manifest: Manifest,
    webapp: WebApp,
    live: Projection | None,
    store: Store,
    *,
    unknown: bool = False,
) -> Manifest:
    """Return a child's manifest, of those that are `desired`, with the replicas that it should name as the Deployment.

    `live` is the very object that the manifest will be compared with: an autoscaler may scale it at any time. With
    `unknown` the store may lack the autoscalers of the namespace.
    """
    if manifest["kind"] != DEPLOYMENT.kind:
        return manifest
    ours = live if live is not None and (live.is_child_of(webapp) or live.is_adoptable_by(webapp)) else None
    if ours is None:
        said = Scaling(webapp.replicas)
    elif unknown and (_note(ours) == AUTOSCALED or not owns(ours.owned or {}, _REPLICAS)):
        # An autoscaler may have the field, and whose it is now must not depend on what the watch has missed. If it is
        # ours without that note, nobody else has changed it since, and a new spec.replicas is followed.
        said = Scaling(_count(ours) if owns(ours.owned or {}, _REPLICAS) else None, _note(ours))
    else:
        autoscalers = store.objects_of(Key(webapp.namespace, webapp.name), HORIZONTAL_POD_AUTOSCALER)
        autoscaled = bool(autoscalers) and not unknown
        said = scaling(webapp.replicas, _count(ours), _note(ours), autoscaled=autoscaled)
    return manifest if said == Scaling(webapp.replicas) else deployment(webapp, said)


def count_to_keep(manifest: Manifest, observed: Projection) -> int | None:
    """Return the live count if applying the manifest would lose it: it names none, and nobody but us owns one."""
    if observed.kind is not DEPLOYMENT or "replicas" in manifest["spec"] or observed.owned is None:
        return None
    ours = owns(observed.owned, _REPLICAS)
    theirs = any(owns(entry.fields, _REPLICAS) for entry in observed.others)
    return _count(observed) if ours and not theirs else None


def comes_back(field: str, manifest: Manifest, observed: Projection) -> bool:
    """Tell whether a field is the replicas that an autoscaler leaves behind: its entry stays in managedFields."""
    return field == "spec.replicas" and "replicas" in manifest["spec"] and _note(observed) is not None


def said(manifest: Manifest) -> tuple[Any, Any]:
    """Return the replicas and the note in a manifest."""
    note = manifest["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
    return manifest.get("spec", {}).get("replicas"), note


def notes(difference: Difference) -> tuple[str | None, str | None] | None:
    """Return which note was wanted and which was found, if a difference is about nothing but that."""
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
    """Return what we noted; what someone else wrote there, or over it, is no note of ours."""
    if live.owned is None or not owns(live.owned, _NOTE):
        return None
    note: str | None = live.content["metadata"].get("annotations", {}).get(REPLICAS_ANNOTATION)
    return note
