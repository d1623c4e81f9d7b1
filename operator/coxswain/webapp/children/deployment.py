"""The Deployment."""

from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.container import container, files_volume
from coxswain.webapp.children.serviceaccount import service_account_name
from coxswain.webapp.identity import REPLICAS_ANNOTATION, labels, metadata, selector
from coxswain.webapp.scaling import Scaling
from coxswain.webapp.spec import Manifest, WebApp

DEFAULT_MAX_SURGE = "25%"
DEFAULT_MAX_UNAVAILABLE = 0


def deployment(webapp: WebApp, scaling: Scaling | None = None) -> Manifest:
    """Return the Deployment, with the replicas that `scaling` says: by default those of the spec."""
    scaling = scaling or Scaling(webapp.replicas)
    note = {} if scaling.note is None else {REPLICAS_ANNOTATION: scaling.note}
    rollout = webapp.spec.get("rollout", {})
    limits = {name: rollout.get(name) for name in ("progressDeadlineSeconds", "revisionHistoryLimit")}
    annotations = webapp.spec.get("annotations")
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(webapp, annotations=note),
        "spec": {
            **({} if scaling.replicas is None else {"replicas": scaling.replicas}),
            **{name: limit for name, limit in limits.items() if limit is not None},
            "strategy": _strategy(webapp),
            "selector": {"matchLabels": selector(webapp.name)},
            "template": {
                "metadata": {"labels": labels(webapp), **({"annotations": dict(annotations)} if annotations else {})},
                "spec": _pod(webapp),
            },
        },
    }


def _strategy(webapp: WebApp) -> Manifest:
    rollout = webapp.spec.get("rollout", {})
    if rollout.get("strategy") == "Recreate":
        return {"type": "Recreate"}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxSurge": rollout.get("maxSurge", DEFAULT_MAX_SURGE),
            "maxUnavailable": rollout.get("maxUnavailable", DEFAULT_MAX_UNAVAILABLE),
        },
    }


def _pod(webapp: WebApp) -> Manifest:
    spec = webapp.spec
    account = spec.get("serviceAccount", {})
    volume = files_volume(webapp)
    # What Pod Security `restricted` asks of a pod; the container's part is in container.py.
    # https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    security = {"runAsNonRoot": True, "runAsUser": spec.get("runAsUser"), "seccompProfile": {"type": "RuntimeDefault"}}
    pod = without_empty(
        {
            "serviceAccountName": service_account_name(webapp),
            "automountServiceAccountToken": account.get("automountServiceAccountToken", False),
            "securityContext": security,
            "imagePullSecrets": spec.get("imagePullSecrets"),
            "terminationGracePeriodSeconds": spec.get("terminationGracePeriodSeconds"),
            "tolerations": spec.get("tolerations"),
            "topologySpreadConstraints": _spread(webapp),
            "priorityClassName": spec.get("priorityClassName"),
            "volumes": [volume] if volume else None,
        }
    )
    node_selector = spec.get("nodeSelector")
    return {
        **pod,
        **({"nodeSelector": dict(node_selector)} if node_selector else {}),
        "containers": [container(webapp)],
    }


def _spread(webapp: WebApp) -> list[Manifest]:
    """Spread over nodes unless the spec says otherwise; each revision by itself, or a rollout would skew its end."""
    default = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "matchLabelKeys": ["pod-template-hash"],
    }
    counted = {"labelSelector": {"matchLabels": selector(webapp.name)}}
    constraints = webapp.spec.get("topologySpreadConstraints")
    return [{**constraint, **counted} for constraint in ([default] if constraints is None else constraints)]
