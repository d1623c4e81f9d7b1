"""The Deployment."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest, child_key
from coxswain.kernel.objects.projection import Rules, whole
from coxswain.kernel.workload import ChildType, Desired, World
from coxswain.webapp.children.deployment_adoption import (
    adoptable_when,
    enforced,
    former,
    is_named,
    pod_labels,
    replaced_container,
    selector_of,
)
from coxswain.webapp.children.deployment_explanation import explain
from coxswain.webapp.children.deployment_health import deployment_health, is_of_one_template
from coxswain.webapp.children.pod import template
from coxswain.webapp.identity import REPLICAS_ANNOTATION, RESTART_ANNOTATION, WEBAPP_LABEL, metadata, selector
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, NETWORK_POLICY, SERVICE_ACCOUNT
from coxswain.webapp.references import config_maps_of
from coxswain.webapp.releases.render_choice import unknown_render
from coxswain.webapp.releases.rollback import way_to_undo
from coxswain.webapp.replicas import REPLICAS, Scaling, scaling_of, way_to_scale
from coxswain.webapp.restarts import Restart, restart_of
from coxswain.webapp.spec import WebApp

_STATUS = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")

UNDOER = "kubectl"
"""The field manager of `kubectl rollout undo`. Other commands have names of their own, such as kubectl-edit."""


def deployment(
    webapp: WebApp,
    scaling: Scaling | None = None,
    selected: Mapping[str, str] | None = None,
    restart: Restart | None = None,
) -> Manifest:
    """Return the Deployment.

    Args:
        webapp: the WebApp.
        scaling: its replicas, by default those of the spec.
        selected: the labels of its selector, by default ours.
        restart: the recorded changes of the objects in `spec.restartOn`.
    """
    scaling, selected = scaling or Scaling(webapp.replicas), selected or selector(webapp.name)
    note = {} if scaling.note is None else {REPLICAS_ANNOTATION: scaling.note}
    rollout = webapp.spec.get("rollout", {})
    limits = {name: rollout.get(name) for name in ("progressDeadlineSeconds", "revisionHistoryLimit")}
    # The API server does not store 0.
    limits["minReadySeconds"] = rollout.get("minReadySeconds") or None
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(webapp, annotations=note),
        "spec": {
            **({} if scaling.replicas is None else {"replicas": scaling.replicas}),
            **{name: limit for name, limit in limits.items() if limit is not None},
            "strategy": _strategy(webapp),
            "selector": {"matchLabels": dict(selected)},
            "template": template(
                webapp,
                pod_labels(webapp, selected),
                {} if restart is None else {RESTART_ANNOTATION: restart.annotation},
            ),
        },
    }


def _strategy(webapp: WebApp) -> Manifest:
    rollout = webapp.spec.get("rollout", {})
    if rollout.get("strategy") == "Recreate":
        return {"type": "Recreate"}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxSurge": rollout.get("maxSurge", webapp.defaults.max_surge),
            "maxUnavailable": rollout.get("maxUnavailable", webapp.defaults.max_unavailable),
        },
    }


def _desired(webapp: WebApp, world: World) -> Desired:
    scaling, restart = scaling_of(webapp, world), restart_of(webapp, world)
    manifest = deployment(webapp, scaling, selector_of(webapp, world), restart)
    replicas = ("spec.replicas",) if scaling.comes_back else ()
    return Desired(
        manifest,
        enforced=replicas + enforced(webapp, manifest, world.live(DEPLOYMENT, webapp.name)),
        frozen=unknown_render(webapp),
        until=None if restart is None else restart.at,
    )


def _obstacle(wanted: Manifest, live: Mapping[str, Any], adopting: bool) -> Obstacle | None:
    spec, live_template = live.get("spec", {}), live.get("spec", {}).get("template", {})
    if wanted["spec"]["selector"] != spec.get("selector"):
        field = "spec.selector"
    elif adopting and not is_named(live) and replaced_container(wanted, live) is None:
        # Containers merge by name, so the pods would run ours besides the old one.
        field = "spec.template.spec.containers"
    else:
        return None
    labels = live_template.get("metadata", {}).get("labels", {})
    kept = _selects(wanted, labels) and is_of_one_template(live)
    return Obstacle(field, Remedy.REPLACE_AROUND_PODS if kept else Remedy.BY_HAND)


def _goes_without(live: Mapping[str, Any]) -> Collection[Kind]:
    """Return the NetworkPolicy if pods run: they run without it already, and a change of them may be urgent."""
    return (NETWORK_POLICY,) if live.get("status", {}).get("replicas") else ()


def _uses(live: Mapping[str, Any]) -> Collection[str]:
    """Return the ConfigMaps and the ServiceAccount of the pods: another manager may have chosen them (Yield)."""
    pod = live.get("spec", {}).get("template", {}).get("spec", {})
    config_maps = [child_key(CONFIG_MAP.kind, name) for name in config_maps_of(pod)]
    return [*config_maps, child_key(SERVICE_ACCOUNT.kind, pod.get("serviceAccountName", ""))]


def _selects(wanted: Manifest, labels: Mapping[str, str]) -> bool:
    """Tell whether a new Deployment, which has our selector, would adopt pods with these labels."""
    return bool(labels.get(WEBAPP_LABEL) == wanted["metadata"]["labels"][WEBAPP_LABEL])


def _advice(webapp: WebApp, fields: Sequence[str], managers: Collection[str]) -> str:
    if any(field.startswith("spec.template.") for field in fields) and UNDOER in managers:
        return way_to_undo(webapp)
    return way_to_scale(webapp) if "spec.replicas" in fields else ""


def _projected(raw: Mapping[str, Any]) -> Manifest:
    content = whole(DEPLOYMENT, *_STATUS)(raw)
    return {**content, "status": {**content["status"], "conditions": raw.get("status", {}).get("conditions", [])}}


TYPE = ChildType(
    DEPLOYMENT,
    _desired,
    rules=Rules(_projected, namesake=str),
    health=lambda live: deployment_health(live.content),
    explain=explain,
    obstacle=_obstacle,
    identity=("spec.selector",),
    notes=(REPLICAS_ANNOTATION,),
    kept=(REPLICAS,),
    # A pod that starts before its NetworkPolicy has the network to itself.
    needs=(SERVICE_ACCOUNT, CONFIG_MAP, NETWORK_POLICY),
    goes_without=_goes_without,
    uses=_uses,
    advice=_advice,
    adoptable_when=adoptable_when,
    former=former,
)
