"""Names, labels, annotations and owner references of children."""

from collections.abc import Mapping

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.spec import GROUP, KIND, VERSION, WebApp

WEBAPP_LABEL = f"{GROUP}/webapp"
"""Label of every child and pod: the WebApp's name. The Deployment selects by it, and watches filter by it."""

REPLICAS_ANNOTATION = f"{GROUP}/replicas"
"""Annotation of a Deployment: the owner of its replicas while they differ from `spec.replicas`."""

RESTART_ANNOTATION = f"{GROUP}/restart-on"
"""Annotation of a pod template: the last change of data of each object in `spec.restartOn`."""

SERVICE_TYPE_ANNOTATION = f"{GROUP}/service-type"
"""Annotation of an adopted Service: its type, which it keeps until `spec.service` sets one."""

ADOPT_ANNOTATION = f"{GROUP}/adopt"
"""Annotation of a foreign object with a child's name: the WebApp that may adopt it. Set by the object's owner."""

CHANGE_CAUSE_ANNOTATION = "kubernetes.io/change-cause"
"""Annotation of a WebApp and of its revisions: why the spec was changed. `kubectl rollout` uses the same."""

INHERITED_CAUSE_ANNOTATION = f"{GROUP}/inherited-change-cause"
"""Annotation of a revision: the change cause of an earlier revision, which the WebApp still had."""

CHANGED_BY_ANNOTATION = f"{GROUP}/changed-by"
"""Annotation of a revision: the field manager that changed the spec last."""

CHANGED_AT_ANNOTATION = f"{GROUP}/changed-at"
"""Annotation of a revision: the time of that change."""

RENDER_ANNOTATION = f"{GROUP}/render"
"""Annotation of a revision: the version of the rules that rendered it. On a WebApp, `latest` asks for the newest."""

READY_AT_ANNOTATION = f"{GROUP}/ready-at"
"""Annotation of a revision: the time at which it was first Ready."""

READY_REVISION_ANNOTATION = f"{GROUP}/ready-revision"
"""Annotation of a revision: its number if it was Ready with it. A spec that comes back has to become Ready again."""

FAILED_ANNOTATION = f"{GROUP}/failed"
"""Annotation of a revision: why its rollout failed."""

MANAGED_BY = "coxswain"

CONTAINER = "app"
"""Name of the main container."""


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
