"""Kinds that are only read: ReplicaSets and pods for diagnosis, autoscalers for the replicas."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Rules, only
from coxswain.kernel.workload import RelatedType
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, POD, REPLICA_SET
from coxswain.webapp.pods import REVISION, TEMPLATE_HASH, projected_pod

_TARGET = ("apiVersion", "kind", "name")


def _replica_set(raw: Mapping[str, Any]) -> Manifest:
    kept = {"labels": (TEMPLATE_HASH,), "annotations": (REVISION,)}
    return {"metadata": {key: only(raw["metadata"].get(key, {}), names) for key, names in kept.items()}}


def _autoscaler(raw: Mapping[str, Any]) -> Manifest:
    return {"scaleTargetRef": only(raw.get("spec", {}).get("scaleTargetRef", {}), _TARGET)}


def _targeted(content: Manifest) -> list[str]:
    """Return the name of the Deployment targeted by an autoscaler. The WebApp has the same name."""
    reference = content["scaleTargetRef"]
    group = reference.get("apiVersion", "").partition("/")[0]
    is_deployment = (group, reference.get("kind")) == (DEPLOYMENT.group, DEPLOYMENT.kind)
    return [reference.get("name", "")] if is_deployment else []


TYPES = (
    RelatedType(REPLICA_SET, Rules(_replica_set, reads=("metadata",))),
    RelatedType(POD, Rules(projected_pod, reads=("metadata", "status"))),
    RelatedType(
        HORIZONTAL_POD_AUTOSCALER, Rules(_autoscaler, reads=("metadata", "spec"), targets=_targeted), decisive=True
    ),
)
