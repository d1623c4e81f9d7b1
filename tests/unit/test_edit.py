"""Edits of a manifest by path: a set value is found, a removed value leaves no trace, and the rest stays."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.edit import contains, in_order_of, owned_part, value_at, with_value, without
from coxswain.kernel.objects.field_paths import Path, at
from unit.objects import fields_of
from unit.ownership import leaves
from unit.planning import APP, CONTAINERS, DEPLOYMENT, ENV_A, IMAGE, REPLICAS

PLACES = sorted({path[:length] for path in leaves(DEPLOYMENT) for length in range(1, len(path) + 1) if path[-1] != "."})


@given(st.sampled_from(PLACES))
def test_what_is_set_again_changes_nothing(path: Path) -> None:
    assert with_value(DEPLOYMENT, path, value_at(DEPLOYMENT, path)) == DEPLOYMENT


@given(st.sampled_from(PLACES))
def test_what_is_removed_is_not_there_and_can_be_set_again(path: Path) -> None:
    left = without(DEPLOYMENT, path)
    assert value_at(left, path) is None
    made = with_value(left, path, value_at(DEPLOYMENT, path))
    assert value_at(made, path) == value_at(DEPLOYMENT, path)


@given(st.sampled_from(PLACES))
def test_we_own_all_of_what_we_alone_have_applied(path: Path) -> None:
    fields = at(fields_of(DEPLOYMENT), path)
    if fields is not None and path != ("f:metadata",):  # metadata also has the name
        assert owned_part(value_at(DEPLOYMENT, path), fields) == value_at(DEPLOYMENT, path)


@pytest.mark.parametrize(
    ("path", "value"),
    [(REPLICAS, 1), (IMAGE, "registry.example/web:1"), ((*ENV_A, "f:value"), "1"), ((*APP, "f:none", "f:none"), None)],
)
def test_a_value(path: Path, value: Any) -> None:
    assert value_at(DEPLOYMENT, path) == value


def test_what_is_emptied_goes_as_well() -> None:
    assert without({"a": {"b": {"c": 1}}, "d": 2}, ("f:a", "f:b", "f:c")) == {"d": 2}
    assert without({"a": 1}, ("f:b",)) == {"a": 1}


def test_the_way_to_a_place_is_made() -> None:
    made = with_value({}, (*CONTAINERS, 'k:{"name":"app"}', "f:args"), ["serve"])
    assert made == {"spec": {"template": {"spec": {"containers": [{"name": "app", "args": ["serve"]}]}}}}
    assert with_value({}, ("f:finalizers", 'v:"a"'), "a") == {"finalizers": ["a"]}


def test_the_part_that_is_owned() -> None:
    live = {"a": 1, "b": {"c": 2, "d": 3}, "e": [{"name": "x", "v": 1, "w": 2}, {"name": "y"}], "f": ["p", "q"]}
    fields = {
        "f:b": {".": {}, "f:c": {}, "f:gone": {}},
        "f:e": {'k:{"name":"x"}': {".": {}, "f:v": {}}},
        "f:f": {'v:"q"': {}},
    }
    assert owned_part(live, fields) == {"b": {"c": 2}, "e": [{"name": "x", "v": 1}], "f": ["q"]}
    assert owned_part({"c": 2}, {}) == {"c": 2}, "an atomic part is owned as a whole"
    assert owned_part({"c": 2}, {".": {}}) == {}


@pytest.mark.parametrize(
    ("value", "part", "contained"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ([1, 2], [1], False),
        ([1], [1, 2], False),
        (1, 2, False),
    ],
)
def test_only_maps_may_have_more_than_the_part(value: Any, part: Any, contained: bool) -> None:
    assert contains(value, part) is contained


def test_items_without_a_counterpart_come_last() -> None:
    names = [{"name": name} for name in "abc"]
    elements = [f'k:{{"name":"{name}"}}' for name in "abc"]
    assert in_order_of([names[2], names[1]], names, elements) == [names[2], names[1], names[0]]
