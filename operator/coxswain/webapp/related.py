"""Kinds that are read, whoever made the objects: for diagnosis, and because they concern the same pods."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import Projection, Rules, only
from coxswain.kernel.workload import RelatedType, World
from coxswain.webapp.autoscalers import projected_autoscaler, targeted
from coxswain.webapp.budgets import concerned, projected_budget
from coxswain.webapp.children.deployment_health import REPLICA_FAILURE
from coxswain.webapp.diagnosis.pods import REVISION, TEMPLATE_HASH, projected_pod
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER, POD, POD_DISRUPTION_BUDGET, REPLICA_SET


def _replica_set(raw: Mapping[str, Any]) -> Manifest:
    kept = {"labels": (TEMPLATE_HASH,), "annotations": (REVISION,)}
    metadata = {key: only(raw["metadata"].get(key, {}), names) for key, names in kept.items()}
    failure = only(condition(raw, REPLICA_FAILURE), ("type", "status", "message"))
    return {"metadata": metadata, **({"status": {"conditions": [failure]}} if failure else {})}


def replica_sets_of(deployment: Projection, world: World) -> list[Mapping[str, Any]]:
    """Return the ReplicaSets of a Deployment."""
    owned = [(each.controller, each.content) for each in world.related(REPLICA_SET)]
    return [content for controller, content in owned if controller is not None and controller.uid == deployment.uid]


def pods_by_name(world: World) -> dict[str, Projection]:
    """Return the pods of a WebApp without a deletionTimestamp."""
    return {pod.name: pod for pod in world.related(POD) if not pod.terminating}


TYPES = (
    RelatedType(REPLICA_SET, Rules(_replica_set, reads=("metadata", "status"))),
    RelatedType(POD, Rules(projected_pod, reads=("metadata", "status"))),
    RelatedType(POD_DISRUPTION_BUDGET, Rules(projected_budget, targets=concerned)),
    RelatedType(HORIZONTAL_POD_AUTOSCALER, Rules(projected_autoscaler, targets=targeted), decisive=True),
)
