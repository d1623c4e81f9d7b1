"""Changes of a WebApp, made as the user."""

from typing import Any

from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.gitops import owner_of
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.last_applied import last_applied
from kubectl_coxswain.names import WEBAPP
from kubectl_coxswain.problems import Conflict

RESOURCE = f"{WEBAPP.plural}.{WEBAPP.group}"
_CHANGED_BY_STATUS = {"resourceVersion", "managedFields"}
_CAUSE = "kubernetes.io/change-cause"
_ATTEMPTS = 5


def replace_spec(kubectl: Kubectl, webapp: Json, spec: Json, cause: str, *, dry_run: bool = False) -> Json:
    """Replace the spec of a WebApp as it was read. A status written since then is no obstacle.

    Raises:
        Conflict: anything else has changed, or the status changes all the time.
        Problem: the request failed.
    """
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    present, attempts = webapp, 0
    while True:
        patch, attempts = _patch(present, spec, cause), attempts + 1
        try:
            return kubectl.patch(RESOURCE, name, namespace, patch, kind="json", dry_run=dry_run)
        except Conflict:
            present = webapp_of(kubectl, name)
            if attempts == _ATTEMPTS or _without_status(present) != _without_status(webapp):
                raise


def _without_status(webapp: Json) -> Json:
    """Return a WebApp without the fields of status writes."""
    metadata = {key: value for key, value in webapp["metadata"].items() if key not in _CHANGED_BY_STATUS}
    return {"metadata": metadata, "spec": webapp["spec"]}


def _patch(webapp: Json, spec: Json, cause: str) -> list[dict[str, Any]]:
    """Return a JSON Patch that sets the whole spec of exactly this version of a WebApp.

    A JSON Patch replaces the spec: fields that the new one lacks are removed. The API server answers 409 if the object
    has another resourceVersion by then.
    """
    metadata, annotations = webapp["metadata"], {_CAUSE: cause, **last_applied(webapp, spec)}
    place = "/metadata/annotations"
    annotated: list[dict[str, Any]] = [{"op": "add", "path": place, "value": annotations}]
    if metadata.get("annotations"):
        annotated = [
            {"op": "add", "path": f"{place}/{name.replace('/', '~1')}", "value": value}
            for name, value in annotations.items()
        ]
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        *annotated,
        {"op": "replace", "path": "/spec", "value": spec},
    ]


def set_paused(kubectl: Kubectl, webapp: Json, *, paused: bool) -> Json:
    """Set spec.paused. Raises Problem."""
    metadata = webapp["metadata"]
    patch = {"spec": {"paused": paused}}
    return kubectl.patch(RESOURCE, metadata["name"], metadata["namespace"], patch, kind="merge")


def warning_of(webapp: Json) -> list[str]:
    """Return a note about a GitOps tool: it reverts changes."""
    owner = owner_of(webapp)
    return (
        [] if owner is None else [f"{owner} applies this WebApp and may set the change back: change it in git as well"]
    )
