"""The ServiceAccount of the pods."""

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.identity import metadata
from coxswain.webapp.kinds import SERVICE_ACCOUNT
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
    account = webapp.spec.get("serviceAccount", {})
    return webapp.name if account.get("create", True) else account.get("name", "default")


def _desired(webapp: WebApp, _: World) -> Desired | None:
    manifest = service_account(webapp)
    return None if manifest is None else Desired(manifest)


def _retained(webapp: WebApp, _: World) -> list[str]:
    """Return the name that the pods use: with `create: false` it may be that of the WebApp."""
    return [service_account_name(webapp)]


TYPE = ChildType(SERVICE_ACCOUNT, _desired, removal=Removal.WHEN_UNUSED, retained=_retained)
