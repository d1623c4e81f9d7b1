"""What of a child can't be changed in place: the API server refuses the change, or keeps the old value in silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from coxswain.webapp.policy import within
from coxswain.webapp.spec import Manifest

HEADLESS = "None"
"""The clusterIP of a Service without one."""


class Remedy(Enum):
    """How a child comes to be as desired, if not in place."""

    REPLACE = "replace"
    """It is deleted and made anew: nobody misses it meanwhile."""
    REPLACE_AROUND_PODS = "replace around pods"
    """So is it, but its pods stay, and the new one adopts them."""
    BY_HAND = "by hand"
    """Its going would be felt, so a person decides when."""


@dataclass(frozen=True)
class Obstacle:
    """A desired field that a live object can't take."""

    field: str
    """As a person writes it: spec.selector."""
    remedy: Remedy
    alone: bool = False
    """Whether all else can be changed."""

    def is_left_alone(self, fields: Sequence[str]) -> bool:
        """Tell whether it is among fields that aren't to be taken back now."""
        return any(within(field, self.field) for field in fields)


def obstacle(wanted: Manifest, live: Mapping[str, Any], *, adopting: bool = False) -> Obstacle | None:
    """Return what stands in the way of making a live object as `wanted`, which is in the form of projections.

    `adopting` tells that the object is not a child yet.
    """
    if wanted["kind"] == "ConfigMap":
        return _config_map(wanted, live, adopting=adopting)
    if wanted["kind"] == "Deployment":
        return _deployment(wanted, live, adopting=adopting)
    if wanted["kind"] == "Service" and _is_headless(wanted) != _is_headless(live):
        # Left out, the server keeps `None` in silence; and the other way round it refuses.
        return Obstacle("spec.clusterIP", Remedy.BY_HAND, alone=True)
    return None


def in_place(wanted: Manifest, live: Mapping[str, Any]) -> Manifest:
    """Return a manifest without what stands in the way of the rest: a Service goes on serving as it is."""
    if wanted["kind"] != "Service" or _is_headless(wanted) == _is_headless(live):
        return wanted
    return {**wanted, "spec": {key: value for key, value in wanted["spec"].items() if key != "clusterIP"}}


def command(kind: str, name: str, namespace: str) -> str:
    """Return the command that makes way for a child; the pods of a Deployment stay."""
    pods_stay = " --cascade=orphan" if kind == "Deployment" else ""
    return f"kubectl delete {kind.lower()} {name}{pods_stay} -n {namespace}"


def _config_map(wanted: Manifest, live: Mapping[str, Any], *, adopting: bool) -> Obstacle | None:
    """Another content under a name that is made of the content: someone else made it."""
    if not live.get("immutable"):
        return None
    data = live.get("data", {})
    if all(data.get(key) == value for key, value in wanted["data"].items()):
        return None
    # Pods read it when they start, and wait for it.
    return Obstacle("data", Remedy.BY_HAND if adopting else Remedy.REPLACE)


def _deployment(wanted: Manifest, live: Mapping[str, Any], *, adopting: bool) -> Obstacle | None:
    spec, template = live.get("spec", {}), live.get("spec", {}).get("template", {})
    if wanted["spec"]["selector"] != spec.get("selector"):
        field = "spec.selector"
    elif adopting and not _names(wanted["spec"]["template"]) & _names(template):
        # Containers merge by name: their pods would have both.
        field = "spec.template.spec.containers"
    else:
        return None
    labels = template.get("metadata", {}).get("labels", {})
    kept = _selects(wanted, labels) and _all_of_one_template(live)
    return Obstacle(field, Remedy.REPLACE_AROUND_PODS if kept else Remedy.BY_HAND)


def _selects(wanted: Manifest, labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted["spec"]["selector"]["matchLabels"].items())


def _all_of_one_template(live: Mapping[str, Any]) -> bool:
    """Tell whether all pods have the labels of the present template, by which a new Deployment finds them."""
    status = live.get("status", {})
    observed = status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
    return bool(observed and status.get("updatedReplicas", 0) == status.get("replicas", 0))


def _names(template: Mapping[str, Any]) -> set[str]:
    return {container.get("name", "") for container in template.get("spec", {}).get("containers", [])}


def _is_headless(service: Mapping[str, Any]) -> bool:
    return bool(service.get("spec", {}).get("clusterIP") == HEADLESS)
