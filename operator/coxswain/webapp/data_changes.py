"""Secrets and ConfigMaps in `spec.restartOn`: when their data was last changed, read from managedFields.

The operator never asks for the data: watches and LISTs of these kinds request PartialObjectMetadata.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Rules
from coxswain.kernel.workload import ReferencedType
from coxswain.webapp.kinds import REFERENCED_CONFIG_MAP, SECRET

FIELDS = {"secrets": SECRET, "configMaps": REFERENCED_CONFIG_MAP}
"""The kinds of `spec.restartOn`, by field."""

_DATA = ("f:data", "f:binaryData", "f:stringData")
_DIGEST_LENGTH = 16


def projected_metadata(raw: Mapping[str, Any]) -> Manifest:
    """Return the cached fields of a Secret or ConfigMap. Labels and annotations are not among them.

    The annotation of `kubectl apply` with the last applied configuration contains the data of a Secret.
    """
    return {"created": raw["metadata"].get("creationTimestamp", "")}


def last_change(entries: Sequence[Mapping[str, Any]]) -> Manifest:
    """Return a digest of the entries of managedFields that own data, and the time of the latest one.

    An entry has the time at which its manager last changed one of its fields. The keys of the data are part of the
    digest: a key that another manager removes changes no time.
    """
    owning = [
        (
            str(entry.get("manager") or ""),
            str(entry.get("operation") or ""),
            str(entry.get("time") or ""),
            {name: entry["fieldsV1"][name] for name in _DATA if name in entry["fieldsV1"]},
        )
        for entry in entries
        if any(name in (entry.get("fieldsV1") or {}) for name in _DATA)
    ]
    text = json.dumps(sorted(owning, key=lambda entry: entry[:3]), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
    return {"digest": digest, "changed": max((time for _, _, time, _ in owning), default="")}


def _names(field: str) -> Callable[[Manifest], Iterable[str]]:
    def names(content: Manifest) -> Iterable[str]:
        found: Iterable[str] = content.get("spec", {}).get("restartOn", {}).get(field, ())
        return found

    return names


def referenced(spec: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Return kind and name of the objects in the `restartOn` of a spec."""
    return ((each.kind.kind, name) for each in TYPES for name in each.names({"spec": spec}))


# Nobody becomes a user of an object by its label or owner: parents refer to it.
_RULES = Rules(projected_metadata, reads=("metadata",), targets=lambda _: (), managed=last_change)
TYPES = tuple(ReferencedType(kind, _RULES, _names(field)) for field, kind in FIELDS.items())
