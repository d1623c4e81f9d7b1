"""Names, labels and owner references: how children are named, found and owned."""

from collections.abc import Mapping

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.spec import GROUP, KIND, VERSION, WebApp

WEBAPP_LABEL = f"{GROUP}/webapp"
"""On every child and pod: the WebApp's name. Selector of the Deployment and filter of the watches; never changed."""

REPLICAS_ANNOTATION = f"{GROUP}/replicas"
"""On a Deployment: whose its replicas are while they aren't `spec.replicas`."""

ADOPT_ANNOTATION = f"{GROUP}/adopt"
"""On a foreign object that bears a child's name: the WebApp that may have it; whoever owns the object says so."""

MANAGED_BY = "coxswain"


def standard_labels(name: str) -> dict[str, str]:
    """Labels of ours on every child and pod of the WebApp `name`."""
    return {
        WEBAPP_LABEL: name,
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }


def labels(webapp: WebApp) -> dict[str, str]:
    """Labels of a child: the user's and ours."""
    return {**webapp.spec.get("labels", {}), **standard_labels(webapp.name)}


def selector(name: str) -> dict[str, str]:
    """What selects the pods of the WebApp `name`; immutable in a Deployment, so never derived from the spec."""
    return {WEBAPP_LABEL: name}


def owner_reference(webapp: WebApp) -> Manifest:
    """The controller reference of a child: the garbage collector deletes the child after its WebApp.

    `blockOwnerDeletion` is not set: a child that is slow to go holds up nobody.
    """
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "name": webapp.name,
        "uid": webapp.uid,
        "controller": True,
    }


def metadata(webapp: WebApp, *, name: str | None = None, annotations: Mapping[str, str] | None = None) -> Manifest:
    """Metadata of a child, named after the WebApp unless `name` says otherwise."""
    merged = {**webapp.spec.get("annotations", {}), **(annotations or {})}
    return {
        "name": name or webapp.name,
        "namespace": webapp.namespace,
        "labels": labels(webapp),
        **({"annotations": merged} if merged else {}),
        "ownerReferences": [owner_reference(webapp)],
    }
