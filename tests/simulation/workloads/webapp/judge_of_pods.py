"""Compares the volumes and the containers beside the main one with the spec."""

from collections.abc import Iterator

from model_cluster.objects import Object, place
from simulation.judge import Gap


def pod_gaps(webapp: Object, deployment: Object) -> Iterator[Gap]:
    """Yield a gap if a Deployment has other volumes, sidecars or init containers. Sidecars are init containers, too."""
    wanted, pod = webapp["spec"], deployment["spec"]["template"]["spec"]
    beside = [*wanted.get("sidecars", ()), *wanted.get("initContainers", ())]
    for what, expected, live in (
        ("containers", {each["name"]: each["image"] for each in beside}, _images(pod)),
        ("volumes", sorted(each["name"] for each in wanted.get("volumes", ())), _names(pod)),
    ):
        if expected != live:
            yield Gap("deployments", place(webapp)[1], what, str(expected), str(live))


def _images(pod: Object) -> dict[str, str]:
    return {each["name"]: each.get("image", "") for each in pod.get("initContainers") or ()}


def _names(pod: Object) -> list[str]:
    return sorted(each["name"] for each in pod.get("volumes") or ())
