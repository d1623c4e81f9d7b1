"""Masks the fields of an object that differ between runs with the same result."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fault_engine.evidence import Evidence
from fault_engine.objects import Object
from fault_engine.workload import Workload

ANY = "*"

Ignored = Mapping[int, Sequence[tuple[str, ...]]]
"""Masked paths by their length."""

MASKS: dict[tuple[str, ...], str] = {
    ("metadata", "uid"): "unique for each object",
    ("metadata", "resourceVersion"): "counts all writes in the cluster",
    ("metadata", "generation"): "counts edits that were reverted; observedGeneration is compared as current or behind",
    ("metadata", "creationTimestamp"): "a time",
    ("metadata", "deletionTimestamp"): "a time; deletionGracePeriodSeconds still shows the deletion",
    ("metadata", "managedFields", ANY, "time"): "a time",
    ("metadata", "managedFields", "kube-controller-manager Update of status apps/v1"): (
        "the written counts depend on the order in which pods start and end"
    ),
    (
        "metadata",
        "managedFields",
        "kube-controller-manager Update apps/v1",
    ): "the recorded revisions include edits that were reverted",
    ("metadata", "annotations", "deployment.kubernetes.io/revision"): "counts edits that were reverted",
    ("metadata", "annotations", "deployment.kubernetes.io/revision-history"): "includes edits that were reverted",
    ("status", "conditions", ANY, "lastTransitionTime"): "a time",
    ("status", "conditions", ANY, "lastUpdateTime"): "a time",
    ("status", "drift"): (
        "the faults determine the corrections in the ledger; and a killed process loses the entries that it has not "
        "written yet"
    ),
    ("spec", "clusterIP"): "allocated by the server",
    ("spec", "clusterIPs"): "allocated by the server",
    ("spec", "healthCheckNodePort"): "allocated by the server",
    ("spec", "ports", ANY, "nodePort"): "allocated by the server",
}
"""Fields that are not compared: the path in any object (`*` is any key or index), and the reason."""

_OWN = {"serviceaccounts": {"default"}, "configmaps": {"kube-root-ca.crt"}}
"""Objects that Kubernetes creates in each namespace, at any time."""

_PROGRESSED = re.compile(r'^(ReplicaSet )"[^"]+" (has successfully progressed)')
_NOT_COMPARED = ("pods", "events")
"""Pods are compared as a list, Events not at all."""


def masks(workload: Workload) -> Mapping[tuple[str, ...], str]:
    """Return all masks for a workload."""
    entry = f"{workload.manager} Apply of status {workload.parent.api_version}"
    ledger = ("metadata", "managedFields", entry, "fieldsV1", "f:status", "f:drift")
    return {**MASKS, ledger: "the ledger, see above", **workload.masks}


def end_state(evidence: Evidence) -> dict[str, Any]:
    """Return the final objects in comparable form: `plural/name` to the masked object, and the pods as a list."""
    names = Names(evidence)
    ignored: dict[int, list[tuple[str, ...]]] = {}
    for path in masks(evidence.workload):
        ignored.setdefault(len(path), []).append(path)
    state: dict[str, Any] = {
        f"{resource}/{thing['metadata']['name']}": masked(thing, names, ignored)
        for resource in evidence.workload.resources
        if resource not in _NOT_COMPARED
        for thing in evidence.end.get(resource, ())
        if thing["metadata"]["name"] not in _OWN.get(resource, ())
    }
    pods = sorted(_pod(thing) for thing in evidence.end.get("pods", ()))
    return {**state, "pods": pods}


def masked(thing: Object, names: "Names", ignored: Ignored) -> Any:
    """Return a masked object: conditions and managers by name, observed generations by their distance."""
    shown = {key: value for key, value in thing.items() if key not in ("apiVersion", "kind")}
    metadata = dict(shown.get("metadata", {}))
    if "managedFields" in metadata:
        metadata["managedFields"] = dict(_managers(metadata["managedFields"]))
    shown["metadata"] = metadata
    if "conditions" in shown.get("status", {}):
        conditions = {found["type"]: found for found in shown["status"]["conditions"]}
        shown["status"] = {**shown["status"], "conditions": conditions}
    return _masked(shown, (), _Masking(names, ignored, metadata.get("generation")))


def _managers(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for entry in entries:
        of = f" of {entry['subresource']}" if entry.get("subresource") else ""
        yield f"{entry.get('manager')} {entry.get('operation')}{of} {entry.get('apiVersion')}", entry


@dataclass(frozen=True)
class _Masking:
    names: "Names"
    ignored: Ignored
    generation: int | None

    def ignores(self, path: tuple[str, ...]) -> bool:
        return any(
            all(part in (ANY, key) for part, key in zip(mask, path, strict=True))
            for mask in self.ignored.get(len(path), ())
        )


def _masked(value: Any, path: tuple[str, ...], masking: _Masking) -> Any:
    if isinstance(value, Mapping):
        return {
            masking.names.mask(key): _masked(part, (*path, key), masking)
            for key, part in value.items()
            if not masking.ignores((*path, key))
        }
    if isinstance(value, list):
        return [_masked(part, (*path, str(place)), masking) for place, part in enumerate(value)]
    if isinstance(value, str):
        # The last ReplicaSet that progressed may be that of a reverted change, if its pods were fast.
        return masking.names.mask(_PROGRESSED.sub(r"\1\2", value))
    if path and path[-1] == "observedGeneration" and masking.generation is not None:
        return "current" if value == masking.generation else f"behind by {masking.generation - value}"
    return value


def _pod(pod: Object) -> str:
    owners = [reference["name"] for reference in pod["metadata"].get("ownerReferences", [])]
    going = ", being deleted" if "deletionTimestamp" in pod["metadata"] else ""
    return f"a pod of {', '.join(owners) or 'nobody'}: {pod.get('status', {}).get('phase')}{going}"


class Names:
    """Replaces uids by their objects, and the namespace's name by a word, so that two runs compare equal."""

    def __init__(self, evidence: Evidence) -> None:
        self._words: dict[str, str] = {evidence.namespace: "<namespace>"}
        for change in evidence.changes:
            self._words[change.uid] = f"<former uid of {change.resource}/{change.name}>"
        for resource, things in evidence.end.items():
            for thing in things:
                metadata = thing["metadata"]
                self._words[metadata["uid"]] = f"<uid of {resource}/{metadata['name']}>"
        words = "|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w<-])(?:{words})(?![\w>-])")

    def mask(self, text: str) -> str:
        return self._pattern.sub(lambda found: self._words[found.group()], text)
