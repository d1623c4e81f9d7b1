"""The Deployment."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Rules, whole
from coxswain.kernel.status.health import Health
from coxswain.kernel.workload import ChildType, Desired, Explanation, World
from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.container import container, files_volume
from coxswain.webapp.children.deployment_health import deployment_health
from coxswain.webapp.children.serviceaccount import service_account_name
from coxswain.webapp.identity import REPLICAS_ANNOTATION, labels, metadata, selector
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, POD, REPLICA_SET, SERVICE_ACCOUNT
from coxswain.webapp.pods import diagnosis, explained
from coxswain.webapp.replicas import REPLICAS, Scaling, scaling_of, way_to_scale
from coxswain.webapp.spec import WebApp

_STATUS = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")

DEFAULT_MAX_SURGE = "25%"
DEFAULT_MAX_UNAVAILABLE = 0


def deployment(webapp: WebApp, scaling: Scaling | None = None) -> Manifest:
    """Return the Deployment. `scaling` sets its replicas, by default those of the spec."""
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
    # Pod fields required by Pod Security `restricted`. container.py has the container fields.
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
    """Return the spread constraints. The default spreads each revision over nodes, so old pods do not skew new ones."""
    default = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "matchLabelKeys": ["pod-template-hash"],
    }
    counted = {"labelSelector": {"matchLabels": selector(webapp.name)}}
    constraints = webapp.spec.get("topologySpreadConstraints")
    return [{**constraint, **counted} for constraint in ([default] if constraints is None else constraints)]


def _desired(webapp: WebApp, world: World) -> Desired:
    scaling = scaling_of(webapp, world)
    return Desired(deployment(webapp, scaling), enforced=("spec.replicas",) if scaling.comes_back else ())


def _obstacle(wanted: Manifest, live: Mapping[str, Any], adopting: bool) -> Obstacle | None:
    spec, template = live.get("spec", {}), live.get("spec", {}).get("template", {})
    if wanted["spec"]["selector"] != spec.get("selector"):
        field = "spec.selector"
    elif adopting and not _names(wanted["spec"]["template"]) & _names(template):
        # Containers merge by name, so the pods would run both containers.
        field = "spec.template.spec.containers"
    else:
        return None
    labels = template.get("metadata", {}).get("labels", {})
    kept = _selects(wanted, labels) and _all_of_one_template(live)
    return Obstacle(field, Remedy.REPLACE_AROUND_PODS if kept else Remedy.BY_HAND)


def _selects(wanted: Manifest, labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted["spec"]["selector"]["matchLabels"].items())


def _all_of_one_template(live: Mapping[str, Any]) -> bool:
    """Tell whether all pods have the labels of the current template, so a new Deployment adopts all of them."""
    status = live.get("status", {})
    observed = status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
    return bool(observed and status.get("updatedReplicas", 0) == status.get("replicas", 0))


def _names(template: Mapping[str, Any]) -> set[str]:
    return {container.get("name", "") for container in template.get("spec", {}).get("containers", [])}


def _explain(_: WebApp, live: Projection, health: Health, world: World, now: datetime) -> Explanation:
    """Add the diagnosis of the pods to the health of the Deployment."""
    replica_sets = [
        replica_set.content
        for replica_set in world.related(REPLICA_SET)
        if replica_set.controller is not None and replica_set.controller.uid == live.uid
    ]
    pods = [pod.content for pod in world.related(POD) if not pod.terminating]
    result = diagnosis(live.content, replica_sets, pods, now)
    return Explanation(explained(health, live.content, result), result.again)


def _advice(webapp: WebApp, fields: Sequence[str]) -> str:
    return way_to_scale(webapp) if "spec.replicas" in fields else ""


def _projected(raw: Mapping[str, Any]) -> Manifest:
    content = whole(DEPLOYMENT, *_STATUS)(raw)
    return {**content, "status": {**content["status"], "conditions": raw.get("status", {}).get("conditions", [])}}


TYPE = ChildType(
    DEPLOYMENT,
    _desired,
    rules=Rules(_projected, namesake=str),
    health=deployment_health,
    explain=_explain,
    obstacle=_obstacle,
    identity=("spec.selector",),
    notes=(REPLICAS_ANNOTATION,),
    kept=(REPLICAS,),
    needs=(SERVICE_ACCOUNT, CONFIG_MAP),
    advice=_advice,
)
