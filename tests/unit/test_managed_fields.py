"""Edits of managedFields: we alone own reassigned fields, and a release removes only our fields from other entries."""

import copy
from typing import Any

from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY, patch, reassigned, released
from coxswain.kernel.objects.field_paths import owns

EXEC = ("f:spec", "f:probe", "f:exec")
HTTP = ("f:spec", "f:probe", "f:httpGet")
LABEL = ("f:metadata", "f:labels", "f:team")
NOW = "2026-01-01T00:00:00Z"


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields, **more}


OURS = entry(
    "coxswain",
    {"f:spec": {"f:probe": {"f:httpGet": {"f:port": {}}}}, "f:metadata": {"f:labels": {"f:team": {}}}},
    "Apply",
)
THEIRS = entry("kubectl-edit", {"f:spec": {"f:probe": {"f:exec": {".": {}, "f:command": {}}}, "f:other": {}}})
STATUS = entry("kube-controller-manager", {"f:status": {}, "f:spec": {"f:probe": {}}}, subresource="status")


def fields(entries: list[Any], manager: str) -> Any:
    return next((found["fieldsV1"] for found in entries if found["manager"] == manager), None)


def taken(entries: list[Any], *paths: Any) -> list[Any]:
    before = copy.deepcopy(entries)
    made = reassigned(entries, paths, "coxswain", api_version="v1", now=NOW)
    assert entries == before, "the input is not modified"
    return list(made)


def test_a_reassigned_field_is_ours_alone_and_the_rest_stays() -> None:
    made = taken([OURS, THEIRS, STATUS], EXEC)
    assert owns(fields(made, "coxswain"), (*EXEC, "f:command"))
    assert owns(fields(made, "coxswain"), (*HTTP, "f:port"))
    assert fields(made, "kubectl-edit") == {"f:spec": {"f:other": {}}}
    assert STATUS in made


def test_a_manager_without_fields_is_removed() -> None:
    theirs = entry("kubectl-edit", {"f:spec": {"f:probe": {"f:exec": {}}}})
    assert [found["manager"] for found in taken([OURS, theirs], EXEC)] == ["coxswain"]


def test_without_an_entry_of_ours_one_is_made() -> None:
    *_, made = taken([THEIRS], EXEC)
    assert (made["manager"], made["operation"], made["apiVersion"], made["time"]) == ("coxswain", "Apply", "v1", NOW)
    assert made["fieldsType"] == "FieldsV1"
    assert owns(made["fieldsV1"], EXEC)


def test_our_name_with_another_operation_is_another_manager() -> None:
    namesake = entry("coxswain", {"f:spec": {"f:probe": {"f:exec": {}}}})
    made = taken([namesake, OURS], EXEC)
    assert [found["operation"] for found in made] == ["Apply"]


def test_taken_from_several_at_once() -> None:
    another = entry("helm", {"f:spec": {"f:probe": {"f:exec": {"f:env": {}}}, "f:more": {}}})
    made = taken([OURS, THEIRS, another], EXEC, ("f:spec", "f:more"))
    ours = fields(made, "coxswain")
    assert ours["f:spec"]["f:probe"]["f:exec"] == {".": {}, "f:command": {}, "f:env": {}}
    assert owns(ours, ("f:spec", "f:more"))
    assert fields(made, "helm") is None


def test_a_release_keeps_fields_that_are_not_ours() -> None:
    old = entry(
        BEFORE_FIRST_APPLY,
        {
            "f:metadata": {"f:labels": {".": {}, "f:team": {}, "f:theirs": {}}},
            "f:spec": {"f:probe": {"f:httpGet": {"f:port": {}}}},
        },
    )
    entries = [OURS, old, THEIRS, STATUS]
    made = list(released(entries, lambda manager, _: manager == BEFORE_FIRST_APPLY, "coxswain"))
    assert fields(made, BEFORE_FIRST_APPLY) == {"f:metadata": {"f:labels": {".": {}, "f:theirs": {}}}}
    assert [found for found in made if found["manager"] != BEFORE_FIRST_APPLY] == [OURS, THEIRS, STATUS]
    assert released(made, lambda manager, _: manager == BEFORE_FIRST_APPLY, "coxswain") == made


def test_an_entry_of_nothing_but_ours_goes_and_others_are_not_asked_for() -> None:
    old = entry(BEFORE_FIRST_APPLY, {"f:metadata": {"f:labels": {"f:team": {}}}})
    same = entry("helm", {"f:metadata": {"f:labels": {"f:team": {}}}})
    made = released([OURS, old, same], lambda manager, _: manager == BEFORE_FIRST_APPLY, "coxswain")
    assert made == [OURS, same]


def test_a_manager_is_known_by_its_operation_too() -> None:
    helm = [entry("helm", {"f:metadata": {"f:labels": {"f:team": {}}}}, operation) for operation in ("Update", "Apply")]
    made = released([OURS, *helm], lambda manager, operation: (manager, operation) == ("helm", "Update"), "coxswain")
    assert made == [OURS, helm[1]]


def test_the_patch_is_refused_when_the_object_has_changed() -> None:
    version, fields = patch([OURS], "77")
    assert version == {"op": "replace", "path": "/metadata/resourceVersion", "value": "77"}
    assert fields == {"op": "replace", "path": "/metadata/managedFields", "value": [OURS]}


def test_of_a_released_entry_of_the_status_the_status_stays() -> None:
    shared = entry(
        "helm", {"f:status": {}, "f:metadata": {"f:labels": {"f:team": {}, "f:theirs": {}}}}, subresource="status"
    )
    made = released([OURS, shared], lambda manager, _: manager == "helm", "coxswain")
    assert made == [OURS, {**shared, "fieldsV1": {"f:status": {}, "f:metadata": {"f:labels": {"f:theirs": {}}}}}]


def test_an_apply_to_the_status_is_not_ours() -> None:
    theirs = entry("coxswain", {"f:metadata": {"f:labels": {"f:team": {}}}}, "Apply", subresource="status")
    assert taken([theirs, OURS], LABEL) == [OURS]
    assert released([theirs, OURS], lambda *_: False, "coxswain") == [theirs, OURS]
