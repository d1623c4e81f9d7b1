"""The WebApp as a workload of the kernel."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Projector, Rules, only, whole, with_status
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.urgency import Pace
from coxswain.kernel.workload import Observations
from coxswain.webapp import replicas, status
from coxswain.webapp.children import TYPES, configmap
from coxswain.webapp.identity import MANAGED_BY, WEBAPP_LABEL, standard_labels
from coxswain.webapp.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    KINDS,
    POD,
    REPLICA_SET,
    SERVICE,
    SERVICE_ACCOUNT,
    WEBAPP,
)
from coxswain.webapp.pods import REVISION, TEMPLATE_HASH, projected_pod
from coxswain.webapp.spec import GROUP, WebApp

_DEPLOYMENT_STATUS = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_TARGET = ("apiVersion", "kind", "name")


def _own_name(name: str) -> str:
    return name


def _deployment(raw: Mapping[str, Any]) -> Manifest:
    content = whole(DEPLOYMENT, *_DEPLOYMENT_STATUS)(raw)
    return {**content, "status": {**content["status"], "conditions": raw.get("status", {}).get("conditions", [])}}


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


RULES: Mapping[Kind, Rules] = {
    WEBAPP: Rules(with_status(WEBAPP)),
    SERVICE_ACCOUNT: Rules(whole(SERVICE_ACCOUNT), namesake=_own_name),
    CONFIG_MAP: configmap.RULES,
    SERVICE: Rules(whole(SERVICE), namesake=_own_name),
    DEPLOYMENT: Rules(_deployment, namesake=_own_name),
    REPLICA_SET: Rules(_replica_set, reads=("metadata",)),
    POD: Rules(projected_pod, reads=("metadata", "status")),
    HORIZONTAL_POD_AUTOSCALER: Rules(_autoscaler, reads=("metadata", "spec"), targets=_targeted),
}


class WebAppWorkload:
    """The WebApp as a workload of the kernel."""

    name = f"{GROUP}/operator"
    projector = Projector(KINDS, RULES, label=WEBAPP_LABEL, manager=MANAGED_BY)
    labels = tuple(standard_labels(""))
    children = TYPES
    status_rules = status.RULES

    def parse(self, observed: Projection) -> WebApp:
        """Return the WebApp of a cached object."""
        return WebApp(
            namespace=observed.namespace,
            name=observed.name,
            uid=observed.uid,
            generation=observed.generation,
            spec=observed.content["spec"],
        )

    def status(self, parent: WebApp, found: Observations, previous: Status, now: str) -> Status:
        """Return the status of a WebApp."""
        return status.status(parent, found, previous, now)

    def pace(self, parent: WebApp, found: Observations) -> Pace:
        """Return the facts for the urgency of the status."""
        return status.pace(parent, found)

    def events(self, parent: WebApp, found: Observations, previous: Status, present: Status) -> list[EventRecord]:
        """Return the Events of a WebApp about scaling and Pod Security."""
        if parent.paused:
            return []
        return [*replicas.events(parent, found), *status.security_events(previous, present)]


WORKLOAD = WebAppWorkload()
