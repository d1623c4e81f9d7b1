"""Names, labels, annotations and owner references of children."""

from collections.abc import Mapping

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.spec import GROUP, KIND, VERSION, WebApp

WEBAPP_LABEL = f"{GROUP}/webapp"
"""Label of every child and pod: the WebApp's name. The Deployment selects by it, and watches filter by it."""

REPLICAS_ANNOTATION = f"{GROUP}/replicas"
"""Annotation of a Deployment: the owner of its replicas while they differ from `spec.replicas`."""

ADOPT_ANNOTATION = f"{GROUP}/adopt"
"""Annotation of a foreign object with a child's name: the WebApp that may adopt it. Set by the object's owner."""

MANAGED_BY = "coxswain"


def standard_labels(name: str) -> dict[str, str]:
    """Return the operator's labels of every child and pod of the WebApp `name`."""
    return {
        WEBAPP_LABEL: name,
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }


def labels(webapp: WebApp) -> dict[str, str]:
    """Return the labels of a child: those of the spec and of the operator."""
    return {**webapp.spec.get("labels", {}), **standard_labels(webapp.name)}


def selector(name: str) -> dict[str, str]:
    """Return the pod selector of the WebApp `name`. It is immutable in a Deployment, so the spec cannot change it."""
    return {WEBAPP_LABEL: name}


def owner_reference(webapp: WebApp) -> Manifest:
    """Return the controller reference of a child: the garbage collector deletes the child after its WebApp.

    `blockOwnerDeletion` is not set, so a slow deletion of a child does not block the deletion of the WebApp.
    """
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "name": webapp.name,
        "uid": webapp.uid,
        "controller": True,
    }


def metadata(webapp: WebApp, *, name: str | None = None, annotations: Mapping[str, str] | None = None) -> Manifest:
    """Return the metadata of a child. The default name is the WebApp's name."""
    merged = {**webapp.spec.get("annotations", {}), **(annotations or {})}
    return {
        "name": name or webapp.name,
        "namespace": webapp.namespace,
        "labels": labels(webapp),
        **({"annotations": merged} if merged else {}),
        "ownerReferences": [owner_reference(webapp)],
    }
