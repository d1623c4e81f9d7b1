"""Recorded decisions count only if the operator has set them, or nobody can tell any more."""

from typing import Any

import pytest

from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.conflicts.own_annotations import own_annotation
from coxswain.kernel.objects.field_paths import Fields
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.identity import SERVICE_TYPE_ANNOTATION
from coxswain.webapp.kinds import SERVICE
from rendered import observe

NOTE = SERVICE_TYPE_ANNOTATION


def service(entries: list[dict[str, Any]]) -> Projection:
    """Return a Service with the annotation and these entries in managedFields."""
    owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "w", "controller": True}
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1", "ownerReferences": [owner]}
    return observe(
        SERVICE, {"metadata": {**metadata, "annotations": {NOTE: "1"}, "managedFields": entries}, "spec": {}}
    )


OWNERS: dict[str, tuple[list[str], bool]] = {
    "ours": (["coxswain"], True),
    "nobody's, after managedFields were cleared": ([], True),
    "of the API server's entry, after they were cleared": ([BEFORE_FIRST_APPLY], True),
    "of a user": (["kubectl-annotate"], False),
    "of a user, and older than the first apply": ([BEFORE_FIRST_APPLY, "kubectl-annotate"], False),
}


@pytest.mark.parametrize("owners", OWNERS)
def test_an_annotation_counts_unless_somebody_else_owns_it(owners: str) -> None:
    names, counts = OWNERS[owners]
    fields: Fields = {"f:metadata": {"f:annotations": {f"f:{NOTE}": {}}}}
    entries = [
        {"manager": name, "operation": "Apply" if name == "coxswain" else "Update", "fieldsV1": fields}
        for name in names
    ]
    assert own_annotation(service(entries), NOTE) == ("1" if counts else None)


def test_an_annotation_that_nobody_owns_beside_our_entry_does_not_count() -> None:
    assert (
        own_annotation(service([{"manager": "coxswain", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]), NOTE)
        is None
    )


def test_an_annotation_that_is_not_set_is_none() -> None:
    assert own_annotation(service([]), "example.com/other") is None
