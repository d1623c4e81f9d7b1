"""Find a WebApp by its name, and suggest others if there is none."""

from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.names import WEBAPP
from kubectl_coxswain.problems import Forbidden, NotFound, NotServed, Problem

_SUGGESTED = 3
_LISTED = 8


def webapp_of(kubectl: Kubectl, name: str) -> Json:
    """Return a WebApp.

    Raises:
        Problem: there is none of this name; it names similar ones.
    """
    try:
        return kubectl.one(WEBAPP, name)
    except NotFound:
        raise _not_found(kubectl, name) from None
    except NotServed:
        raise _no_api() from None


def webapps_of(kubectl: Kubectl, *, everywhere: bool) -> list[Json]:
    """Return the WebApps of the namespace, or of all namespaces, by namespace and name.

    Raises:
        Problem: they cannot be listed.
    """
    try:
        found = kubectl.all_of(WEBAPP, everywhere=everywhere)
    except NotServed:
        raise _no_api() from None
    return sorted(found, key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"]))


def _no_api() -> NotServed:
    return NotServed(
        f"the cluster does not serve {WEBAPP.plural}.{WEBAPP.group}: Coxswain's CRD is not installed",
        "install it: kubectl apply --server-side -k crds (see docs/install.md), or choose another --context",
    )


def _not_found(kubectl: Kubectl, name: str) -> Problem:
    problem = f"WebApp {name} does not exist in namespace {kubectl.namespace}"
    try:
        names = [each["metadata"]["name"] for each in kubectl.all_of(WEBAPP)]
        elsewhere = _elsewhere(kubectl, name) if name not in names else []
    except Forbidden:
        return NotFound(problem, "check the name and the namespace (-n)")
    from difflib import get_close_matches  # noqa: PLC0415 - only after an error

    near = get_close_matches(name, names, _SUGGESTED, 0.6)
    if elsewhere:
        return NotFound(f"{problem}. It exists in namespace {', '.join(elsewhere)}", f"give -n {elsewhere[0]}")
    if near:
        return NotFound(
            f"{problem}. Did you mean {' or '.join(near)}?", f"kubectl coxswain status {near[0]} -n {kubectl.namespace}"
        )
    if names:
        more = ", ..." if len(names) > _LISTED else ""
        return NotFound(f"{problem}. There are: {', '.join(sorted(names)[:_LISTED])}{more}", "check the name")
    return NotFound(
        f"{problem}. The namespace has no WebApp", "list those of all namespaces: kubectl coxswain status -A"
    )


def _elsewhere(kubectl: Kubectl, name: str) -> list[str]:
    """Return other namespaces with a WebApp of this name, as far as the user may list them."""
    try:
        found = kubectl.all_of(WEBAPP, everywhere=True, fieldSelector=f"metadata.name={name}")
    except Problem:
        return []
    return sorted(each["metadata"]["namespace"] for each in found)[:_SUGGESTED]
