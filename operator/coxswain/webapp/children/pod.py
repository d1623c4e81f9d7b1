"""The pod template of the Deployment."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.container import container
from coxswain.webapp.children.init_containers import init_containers
from coxswain.webapp.children.serviceaccount import service_account_name
from coxswain.webapp.children.volumes import has_claims, volumes
from coxswain.webapp.identity import selector
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.pods import LabelSelector, PodAffinity, PodAffinityTerm

_AS_GIVEN = (
    "priorityClassName",
    "schedulerName",
    "runtimeClassName",
    "hostAliases",
    "dnsPolicy",
    "dnsConfig",
    "shareProcessNamespace",
)
"""Fields with the same name and form in spec and pod."""


def template(webapp: WebApp, labels: Mapping[str, str], notes: Mapping[str, str]) -> Manifest:
    """Return the pod template with these labels, and annotations besides those of the spec."""
    annotations = {**webapp.spec.get("annotations", {}), **notes}
    return {
        "metadata": {"labels": dict(labels), **({"annotations": annotations} if annotations else {})},
        "spec": _pod(webapp),
    }


def _pod(webapp: WebApp) -> Manifest:
    spec: Mapping[str, Any] = webapp.spec
    pod = without_empty(
        {
            "serviceAccountName": service_account_name(webapp),
            "automountServiceAccountToken": spec.get("serviceAccount", {}).get("automountServiceAccountToken", False),
            "securityContext": _security(webapp),
            "imagePullSecrets": spec.get("imagePullSecrets"),
            "terminationGracePeriodSeconds": spec.get("terminationGracePeriodSeconds"),
            "tolerations": spec.get("tolerations"),
            "topologySpreadConstraints": _spread(webapp),
            **{name: spec.get(name) for name in _AS_GIVEN},
            "affinity": _affinity(webapp),
            "initContainers": init_containers(webapp),
        }
    )
    # Empty values of these two are stored.
    rest = {"volumes": volumes(webapp), "nodeSelector": dict(spec.get("nodeSelector", {}))}
    return {**pod, **{name: value for name, value in rest.items() if value}, "containers": [container(webapp)]}


def _security(webapp: WebApp) -> Manifest:
    """Return the pod fields required by Pod Security `restricted`. container.py has the container fields.

    https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    """
    user = webapp.spec.get("runAsUser")
    # A new volume belongs to root, and the processes do not run as root: without a group they could not write to it.
    group = webapp.spec.get("fsGroup", user if has_claims(webapp) else None)
    return {
        "runAsNonRoot": True,
        "runAsUser": user,
        "fsGroup": group,
        # The default, Always, changes the owner of each file at each start.
        "fsGroupChangePolicy": None if group is None else "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _spread(webapp: WebApp) -> list[Manifest]:
    counted = {"labelSelector": {"matchLabels": selector(webapp.name)}}
    constraints = webapp.spec.get("topologySpreadConstraints", webapp.defaults.topology_spread)
    return [{**constraint, **counted} for constraint in constraints]


def _affinity(webapp: WebApp) -> Manifest:
    affinity = webapp.spec.get("affinity", {})
    return {
        "nodeAffinity": affinity.get("nodeAffinity"),
        "podAffinity": _near(webapp, affinity.get("podAffinity", {})),
        "podAntiAffinity": _near(webapp, affinity.get("podAntiAffinity", {})),
    }


def _near(webapp: WebApp, wanted: PodAffinity) -> Manifest:
    required = wanted.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    preferred = wanted.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [_term(webapp, term) for term in required],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": each["weight"], "podAffinityTerm": _term(webapp, each["podAffinityTerm"])} for each in preferred
        ],
    }


def _term(webapp: WebApp, term: PodAffinityTerm) -> Manifest:
    """Return a term. Its default selector is the pods of the WebApp: in Kubernetes it would select none."""
    term_selector, namespaces = term.get("labelSelector"), term.get("namespaceSelector")
    return {
        **term,
        "labelSelector": {"matchLabels": selector(webapp.name)} if term_selector is None else _selector(term_selector),
        "namespaceSelector": None if namespaces is None else _selector(namespaces),
    }


def _selector(wanted: LabelSelector) -> Manifest:
    """Return a selector as the API server stores it: without empty lists, but with empty labels."""
    expressions = [without_empty(each) for each in wanted.get("matchExpressions", [])]
    parts = {"matchLabels": dict(wanted.get("matchLabels", {})), "matchExpressions": expressions}
    return {name: part for name, part in parts.items() if part}
