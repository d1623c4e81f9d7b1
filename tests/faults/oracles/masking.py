"""An object without what differs from run to run although the runs did the same."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faults.evidence import Evidence, Object

ANY = "*"

MASKS: dict[tuple[str, ...], str] = {
    ("metadata", "uid"): "each object has its own",
    ("metadata", "resourceVersion"): "counts all writes in the cluster",
    ("metadata", "generation"): "an edit and its undoing count; observedGeneration is compared as current or behind",
    ("metadata", "creationTimestamp"): "a time",
    ("metadata", "deletionTimestamp"): "a time; that the object is being deleted shows in deletionGracePeriodSeconds",
    ("metadata", "managedFields", ANY, "time"): "a time",
    ("metadata", "managedFields", "kube-controller-manager Update of status apps/v1"): (
        "which counts it has written hangs on the order in which pods come and go"
    ),
    (
        "metadata",
        "managedFields",
        "kube-controller-manager Update apps/v1",
    ): "which revisions it has noted: an edit and its undoing count",
    ("metadata", "annotations", "deployment.kubernetes.io/revision"): "an edit and its undoing count",
    ("metadata", "annotations", "deployment.kubernetes.io/revision-history"): "an edit and its undoing count",
    ("status", "conditions", ANY, "lastTransitionTime"): "a time",
    ("status", "conditions", ANY, "lastUpdateTime"): "a time",
    ("status", "drift"): (
        "the ledger tells what was put back, which hangs on the faults; and a process that is killed takes what it has "
        "not told yet with it"
    ),
    (
        "metadata",
        "managedFields",
        "coxswain Apply of status coxswain.dev/v1",
        "fieldsV1",
        "f:status",
        "f:drift",
    ): "the ledger, as above",
    ("spec", "clusterIP"): "allotted by the server",
    ("spec", "clusterIPs"): "allotted by the server",
    ("spec", "ports", ANY, "nodePort"): "allotted by the server",
}
"""What is not compared, as the path in any object (`*` is any key or place), and why. All else is."""

_OWN = {"serviceaccounts": {"default"}, "configmaps": {"kube-root-ca.crt"}}
"""Objects that Kubernetes makes in each namespace when it gets to it."""

_PROGRESSED = re.compile(r'^(ReplicaSet )"[^"]+" (has successfully progressed)')
_COMPARED = ("webapps", "serviceaccounts", "configmaps", "services", "deployments", "replicasets")


def end_state(evidence: Evidence) -> dict[str, Any]:
    """Return the end of a run in a comparable form: `plural/name` to the masked object, and the pods as a list."""
    names = Names(evidence)
    state: dict[str, Any] = {
        f"{resource}/{thing['metadata']['name']}": masked(thing, names)
        for resource in _COMPARED
        for thing in evidence.end.get(resource, ())
        if thing["metadata"]["name"] not in _OWN.get(resource, ())
    }
    pods = sorted(_pod(thing) for thing in evidence.end.get("pods", ()))
    return {**state, "pods": pods}


def masked(thing: Object, names: "Names") -> Any:
    """Return an object masked: conditions and managers by name, generations by how far they are behind."""
    shown = {key: value for key, value in thing.items() if key not in ("apiVersion", "kind")}
    metadata = dict(shown.get("metadata", {}))
    if "managedFields" in metadata:
        metadata["managedFields"] = dict(_managers(metadata["managedFields"]))
    shown["metadata"] = metadata
    if "conditions" in shown.get("status", {}):
        conditions = {found["type"]: found for found in shown["status"]["conditions"]}
        shown["status"] = {**shown["status"], "conditions": conditions}
    return _masked(shown, (), names, metadata.get("generation"))


def _managers(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for entry in entries:
        of = f" of {entry['subresource']}" if entry.get("subresource") else ""
        yield f"{entry.get('manager')} {entry.get('operation')}{of} {entry.get('apiVersion')}", entry


def _masked(value: Any, path: tuple[str, ...], names: "Names", generation: int | None) -> Any:
    if isinstance(value, Mapping):
        return {
            names.mask(key): _masked(part, (*path, key), names, generation)
            for key, part in value.items()
            if not _is_masked((*path, key))
        }
    if isinstance(value, list):
        return [_masked(part, (*path, str(place)), names, generation) for place, part in enumerate(value)]
    if isinstance(value, str):
        # Which ReplicaSet has got on last: the one of a change that was undone may have, if its pods were quick.
        return names.mask(_PROGRESSED.sub(r"\1\2", value))
    if path and path[-1] == "observedGeneration" and generation is not None:
        return "current" if value == generation else f"behind by {generation - value}"
    return value


def _is_masked(path: tuple[str, ...]) -> bool:
    return any(
        len(path) == len(mask) and all(part in (ANY, key) for part, key in zip(mask, path, strict=True))
        for mask in MASKS
    )


def _pod(pod: Object) -> str:
    owners = [reference["name"] for reference in pod["metadata"].get("ownerReferences", [])]
    going = ", being deleted" if "deletionTimestamp" in pod["metadata"] else ""
    return f"a pod of {', '.join(owners) or 'nobody'}: {pod.get('status', {}).get('phase')}{going}"


class Names:
    """Says the same of both runs: uids by whose they are, and the namespace's name by a word."""

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
