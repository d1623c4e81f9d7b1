"""Changes of a WebApp, made as the user."""

from typing import Any

from kubectl_coxswain.gitops import owner_of
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.last_applied import last_applied
from kubectl_coxswain.names import WEBAPP

RESOURCE = f"{WEBAPP.plural}.{WEBAPP.group}"
_CAUSE = "kubernetes.io/change-cause"


def replaced_spec(webapp: Json, spec: Json, cause: str) -> list[dict[str, Any]]:
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
    """Return a note about a GitOps tool that sets changes back."""
    owner = owner_of(webapp)
    return (
        [] if owner is None else [f"{owner} applies this WebApp and may set the change back: change it in git as well"]
    )
