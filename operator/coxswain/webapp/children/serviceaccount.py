"""The ServiceAccount of the pods."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.identity import metadata
from coxswain.webapp.kinds import SERVICE_ACCOUNT
from coxswain.webapp.releases.revisions import kept
from coxswain.webapp.spec import WebApp


def service_account(webapp: WebApp) -> Manifest | None:
    """Return the ServiceAccount, or None if the WebApp uses an existing one."""
    account = webapp.spec.get("serviceAccount", {})
    if not account.get("create", True):
        return None
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(webapp, annotations=account.get("annotations")),
        "automountServiceAccountToken": False,
    }


def service_account_name(webapp: WebApp) -> str:
    """Return the name of the pods' ServiceAccount.

    The Deployment always sets it: if an apply omits it, the API server keeps the old value.
    """
    return existing_account(webapp.spec) or webapp.name


def existing_account(spec: Mapping[str, Any]) -> str | None:
    """Return the name of the existing ServiceAccount that a spec uses; None if the WebApp has its own."""
    account = spec.get("serviceAccount", {})
    return None if account.get("create", True) else account.get("name", "default")


def _desired(webapp: WebApp, _: World) -> Desired | None:
    manifest = service_account(webapp)
    return None if manifest is None else Desired(manifest)


def _retained(webapp: WebApp, world: World) -> list[str]:
    """Return the names that the pods use, and those of kept revisions: pods of their ReplicaSets need them to start.

    With `create: false` the name may be that of the WebApp.
    """
    return [service_account_name(webapp), *(each.account or webapp.name for each in kept(webapp, world))]


TYPE = ChildType(SERVICE_ACCOUNT, _desired, removal=Removal.WHEN_UNUSED, retained=_retained)
