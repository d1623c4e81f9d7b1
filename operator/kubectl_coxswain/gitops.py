"""GitOps tools that own the spec of a WebApp: they would revert a user's change. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.objects.quote import clean

_ARGO_CD, _FLUX = "Argo CD", "Flux"


@dataclass(frozen=True)
class Owner:
    """A tool applying the WebApp."""

    tool: str
    source: str
    """The application or the object of the tool; empty if unknown."""

    def __str__(self) -> str:
        return f"{self.tool} ({self.source})" if self.source else self.tool


_MANAGERS = {
    "argocd-controller": _ARGO_CD,
    "argocd-application-controller": _ARGO_CD,
    "kustomize-controller": _FLUX,
    "helm-controller": _FLUX,
}
"""Field managers of the tools."""


def owner_of(webapp: Mapping[str, Any]) -> Owner | None:
    """Return the GitOps tool owning the spec; None if there is none.

    The label app.kubernetes.io/instance does not count, although Argo CD can track objects by it: Helm charts have it.
    """
    metadata = webapp["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    tracked = annotations.get("argocd.argoproj.io/tracking-id") or labels.get("argocd.argoproj.io/instance")
    if tracked:
        return Owner(_ARGO_CD, f"application {clean(tracked.partition(':')[0])}")
    for prefix, kind in (("kustomize", "Kustomization"), ("helm", "HelmRelease")):
        name = labels.get(f"{prefix}.toolkit.fluxcd.io/name")
        if name:
            namespace = labels.get(f"{prefix}.toolkit.fluxcd.io/namespace", "")
            return Owner(_FLUX, clean(f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"))
    for entry in metadata.get("managedFields") or []:
        tool = _MANAGERS.get(str(entry.get("manager")))
        if tool is not None and "f:spec" in (entry.get("fieldsV1") or {}):
            return Owner(tool, f"field manager {entry['manager']}")
    return None
