"""Compares the records of restarts in the pod template with the objects in `spec.restartOn`.

Decision 34 of the operator defines the records. A changed format would restart the pods of all users once.
"""

import hashlib
import json
from collections.abc import Iterator

from model_cluster.objects import Object, place
from simulation.judge import Gap, Objects

RECORDS = "coxswain.dev/restart-on"
RESTART = "restart"
_DATA = ("f:data", "f:binaryData", "f:stringData")
_KINDS = {"secrets": ("secrets", "Secret"), "configMaps": ("configmaps", "ConfigMap")}
"""Resource and kind by field of the spec."""


def restart_gaps(webapp: Object, deployment: Object, objects: Objects) -> Iterator[Gap]:
    """Yield a gap for each record that does not belong to the present data. Pods are ready meanwhile."""
    if "secrets" not in objects:
        return  # without --watch-metadata nothing is seen
    found, name = records(deployment), place(webapp)[1]
    for plural, kind, what in named_objects(webapp):
        recorded = found.pop(f"{kind}/{what}", None)
        thing = objects[plural].get((place(webapp)[0], what))
        wanted = recorded or "" if thing is None else fingerprint(thing)
        if recorded != wanted:
            yield Gap("deployments", name, f"{RESTART} {plural}/{what}", wanted, str(recorded), harmless=True)
    if found:
        yield Gap("deployments", name, f"{RESTART} records", "none", str(found), harmless=True)


def named_objects(webapp: Object) -> Iterator[tuple[str, str, str]]:
    """Yield resource, kind and name of each object in `spec.restartOn`."""
    wanted = webapp["spec"].get("restartOn") or {}
    for field, (plural, kind) in _KINDS.items():
        for name in wanted.get(field, ()):
            yield plural, kind, name


def records(deployment: Object) -> dict[str, str]:
    """Return the records of a Deployment's pod template by kind and name."""
    annotations = deployment["spec"]["template"].get("metadata", {}).get("annotations") or {}
    return {
        place_: value
        for place_, _, value in (part.partition("=") for part in annotations.get(RECORDS, "").split(",") if part)
    }


def fingerprint(thing: Object) -> str:
    """Return the record of an object: a hash of its uid and of the entries of managedFields that own data."""
    entries = [
        (entry.get("manager", ""), entry.get("operation", ""), entry.get("time", ""), owned)
        for entry in thing["metadata"].get("managedFields") or ()
        if (owned := {name: fields for name, fields in entry["fieldsV1"].items() if name in _DATA})
    ]
    ordered = sorted(entries, key=lambda entry: entry[:3])
    digest = hashlib.sha256(json.dumps(ordered, sort_keys=True).encode()).hexdigest()[:16]
    return hashlib.sha256(f"{thing['metadata']['uid']} {digest}".encode()).hexdigest()[:16]
