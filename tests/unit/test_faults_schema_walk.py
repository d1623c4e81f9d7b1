"""The schema walk and the drift of the fault suite reach every field, and are the same in each run."""

from typing import Any

import pytest

from fault_engine.drift import another, edit, places
from faults.schema_walk import LEFT_OUT, Mutation, groups, leaves, mutations, sample, together, values, within
from faults.walk import CHILDREN, bases, differences, schema
from faults.workloads.webapp import WEBAPP

TEXT = {"type": "string", "maxLength": 5, "pattern": "^[a-z0-9]+$"}
ITEM = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "on": {"type": "boolean"}}}
SMALL: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": TEXT,
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
        "way": {"type": "string", "enum": ["up", "down"]},
        "items": {"type": "array", "items": ITEM},
        "labels": {"type": "object", "additionalProperties": TEXT},
    },
}
BASE: dict[str, Any] = {"name": "web", "count": 3, "items": [{"name": "a"}, {"name": "b"}], "labels": {"x": "1"}}


def tried(path: str) -> dict[str, Any]:
    return {found.what: found.spec for found in mutations(SMALL, [BASE]) if found.path == path}


@pytest.fixture(scope="module")
def walked() -> list[Mutation]:
    """All mutations of the base specs."""
    return mutations(schema(), bases())


def test_every_leaf_of_the_schema_is_reached(walked: list[Mutation]) -> None:
    reached = {mutation.path for mutation in walked}
    missed = set(leaves(schema())) - reached
    why = {leaf: next((place for place in LEFT_OUT if within(leaf, place)), None) for leaf in missed}
    assert set(why.values()) == set(LEFT_OUT), why


def test_each_mutation_differs_from_its_base_and_is_made_once(walked: list[Mutation]) -> None:
    specs = bases()
    assert all(mutation.spec not in specs for mutation in walked if mutation.what != "reversed")
    assert len({(mutation.path, mutation.what) for mutation in walked}) == len(walked)
    assert walked == mutations(schema(), specs), "each run makes the same mutations"


def test_a_number_goes_to_the_ends_of_its_range_and_beside() -> None:
    assert [spec["count"] for spec in tried(".count").values() if "count" in spec] == [0, 2, 4, 9]


def test_what_is_not_required_is_removed_and_what_is_missing_added() -> None:
    assert "count" not in tried(".count")["removed"]
    assert "removed" not in tried(".name")
    assert tried(".way") == {"added": {**BASE, "way": "up"}}


def test_a_list_is_grown_at_both_ends_cut_at_both_ends_emptied_and_reversed() -> None:
    names = {what: [item["name"] for item in spec["items"]] for what, spec in tried(".items[]").items()}
    assert names == {
        "emptied": [],
        "grown": ["a", "b", "b2"],
        "grown at the front": ["a2", "a", "b"],
        "shrunk": ["b"],
        "cut": ["a"],
        "reversed": ["b", "a"],
    }


def test_a_map_is_grown_and_emptied() -> None:
    found = {what: spec["labels"] for what, spec in tried(".labels{}").items()}
    assert found["emptied"] == {}
    assert found["grown"].keys() == {"x", "grown"}


@pytest.mark.parametrize("path", [".name", ".labels{}", ".items[].name"])
def test_texts_fit_the_schema(path: str) -> None:
    assert all(len(text) <= 5 and text.isalnum() for text in values(TEXT, "web", path) if text)
    assert "web" not in values(TEXT, "web", path)


def test_groups_hold_each_mutation_once_and_no_field_twice(walked: list[Mutation]) -> None:
    made = groups(walked, 4)
    assert sorted(str(mutation) for group in made for mutation in group) == sorted(str(mutation) for mutation in walked)
    assert all(len({mutation.field for mutation in group}) == len(group) <= 4 for group in made)
    assert all(len({mutation.base for mutation in group}) == 1 for group in made)


def test_a_group_makes_all_its_mutations() -> None:
    named = {str(mutation): mutation for mutation in mutations(SMALL, [BASE])}
    group = (named[".count removed"], named[".items[] reversed"], named[".way added"])
    expected = {"name": "web", "items": [{"name": "b"}, {"name": "a"}], "labels": {"x": "1"}, "way": "up"}
    assert together(group) == expected


def test_a_sample_has_what_is_required() -> None:
    assert sample(ITEM, "item").keys() == {"name"}


OWNED: dict[str, Any] = {
    "f:spec": {"f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}, "f:whole": {}}
}
THING: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "managedFields": [{"manager": "coxswain", "operation": "Apply", "fieldsV1": OWNED}],
    },
    "spec": {"list": [{"name": "other"}, {"name": "a", "value": "1"}], "whole": {"x": "y"}, "theirs": 1},
}


def test_the_places_of_a_child_are_those_that_the_operator_owns() -> None:
    found = {place.path: place for place in places(THING, WEBAPP)}
    assert found.keys() == {"spec.list[a].name", "spec.list[a].value", "spec.whole"}
    assert found["spec.list[a].value"].pointer == "/spec/list/1/value"
    assert "merge key" in found["spec.list[a].name"].skipped
    changed, removed = (edit("deployments", THING, found["spec.whole"], way) for way in ("replace", "remove"))
    assert changed.patch == [{"op": "replace", "path": "/spec/whole", "value": {"x": "yx"}}]
    assert removed.patch == [{"op": "remove", "path": "/spec/whole"}]


@pytest.mark.parametrize("value", [True, 1, "text", "500m", "25%", ["a"], [{"name": "a"}], {"a": "b"}, [], {}])
def test_another_value_is_another_one_of_the_same_type(value: Any) -> None:
    assert another("field", value) != value
    assert type(another("field", value)) is type(value)


def webapp(name: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-of-{name}", "generation": 1}
    return {"metadata": metadata, "status": {"observedGeneration": 1}}


def service(name: str, port: int) -> dict[str, Any]:
    owner = {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "name": name,
        "uid": f"uid-of-{name}",
        "controller": True,
    }
    return {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"ports": [port], "clusterIP": name}}


def state(first: int, second: int) -> dict[str, Any]:
    services = [service("evolved", first), service("fresh", second)]
    webapps = [webapp("evolved"), webapp("fresh")]
    return {**{resource: [] for resource in CHILDREN}, "webapps": webapps, "services": services}


def test_the_children_of_two_webapps_are_compared_without_their_names() -> None:
    assert differences(state(80, 80), "evolved", "fresh") == []
    (found,) = differences(state(80, 81), "evolved", "fresh")
    assert found.startswith("services/<name>.spec")


def test_a_service_account_that_only_an_earlier_revision_uses_is_not_compared() -> None:
    def ended(account: str) -> dict[str, Any]:
        owner = service("evolved", 80)["metadata"]
        template = {"spec": {"serviceAccountName": account}}
        names = ("evolved", "fresh")
        both = [{"metadata": service(name, 80)["metadata"], "spec": {"template": template}} for name in names]
        return {**state(80, 80), "serviceaccounts": [{"metadata": owner}], "deployments": both}

    assert differences(ended("existing"), "evolved", "fresh") == []
    found = differences(ended("evolved"), "evolved", "fresh")
    assert any(each.startswith("serviceaccounts/<name>") for each in found)
