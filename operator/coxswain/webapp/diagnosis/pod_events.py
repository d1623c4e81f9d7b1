"""Refines the cause of pods that are being prepared, by their Events: only these report failed mounts and sandboxes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.webapp.diagnosis.cause import Cause, Rank
from coxswain.webapp.diagnosis.commands import describe_pods, pods_of
from coxswain.webapp.diagnosis.pod_start import claims, volume_advice
from coxswain.webapp.spec import WebApp

_PROBLEMS = {
    "FailedAttachVolume": "a volume cannot be attached to the node. Kubernetes retries",
    "FailedMount": "a volume cannot be mounted. The kubelet retries",
    "FailedMapVolume": "a volume cannot be mapped. The kubelet retries",
    "FailedCreatePodSandBox": "the sandbox with the network cannot be created. The kubelet retries",
    "NetworkNotReady": "the network of the node is not ready. The kubelet retries",
}
"""The reasons of the kubelet and of the attach-detach controller (pkg/kubelet/events/event.go of Kubernetes)."""

_SUMMARY = "Unable to attach or mount volumes"
"""Begin of an Event that follows after two minutes. It lists all volumes, and no cause."""
_VOLUME = re.compile(r'\bvolume "([^"]+)"')


def refined(cause: Cause, events: Sequence[ReportedEvent], webapp: WebApp, template: Mapping[str, Any]) -> Cause:
    """Return the cause of a pod that is being prepared, by the newest of its Events that reports one.

    Args:
        cause: the cause without Events.
        events: the Warning Events about the pod, the newest first.
        webapp: the WebApp.
        template: the pod's spec in the Deployment's template.
    """
    known = [event for event in events if event.reason in _PROBLEMS]
    found = next((event for event in known if not event.note.startswith(_SUMMARY)), next(iter(known), None))
    if found is None:
        return cause
    text = f"{_PROBLEMS[found.reason]}. {_advice(found, webapp, template)}"
    return Cause(Rank.NOT_PREPARED, found.reason, text, found.note)


def _advice(event: ReportedEvent, webapp: WebApp, template: Mapping[str, Any]) -> str:
    """Return the next step: a command about the object of the volume, or else about the pods."""
    see = f"See: {describe_pods(pods_of(webapp))}"
    if event.reason == "NetworkNotReady":
        return f"Check the network plugin of the node. {see}"
    if event.reason == "FailedCreatePodSandBox":
        runtime = " and spec.runtimeClassName" if "runtimeClassName" in template else ""
        return f"Check the network plugin of the node{runtime}. {see}"
    named = _VOLUME.search(event.note)
    volumes: Sequence[Mapping[str, Any]] = template.get("volumes", [])
    volume = next((each for each in volumes if named and each["name"] == named[1]), {})
    reference = _reference(volume)
    if reference is not None:
        kind, name = reference
        return f"Create it and its keys, or correct spec.volumes: kubectl describe {kind} {name} -n {webapp.namespace}"
    if claims(template) and not volume:
        # A note names the volume of a claim by its PersistentVolume.
        see = f"See: kubectl describe pvc {' '.join(claims(template))} -n {webapp.namespace}"
    return ". ".join([*volume_advice(template), see])


def _reference(volume: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the resource and the name of the object in a volume."""
    if "secret" in volume:
        return "secret", str(volume["secret"].get("secretName", ""))
    if "configMap" in volume:
        return "configmap", str(volume["configMap"].get("name", ""))
    return None
