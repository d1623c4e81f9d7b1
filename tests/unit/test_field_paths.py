"""Operations on managedFields: removal of fields from an entry, addition of fields, and ownership."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.field_paths import (
    Fields,
    Path,
    at,
    element_of,
    is_key,
    matches,
    minus,
    minus_path,
    owns,
    plus,
    text,
)

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"z"'])
PATHS = st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple)


def _with_markers(fields: dict[str, Any], marked: bool) -> dict[str, Any]:
    below = {element: _with_markers(inside, marked) for element, inside in fields.items()}
    return {".": {}, **below} if below and marked else below


PLAIN: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.just({}), lambda inner: st.dictionaries(ELEMENTS, inner, max_size=3), max_leaves=8
)
FIELDS: st.SearchStrategy[dict[str, Any]] = st.builds(_with_markers, PLAIN, st.booleans()).filter(bool)


@given(FIELDS)
def test_fields_minus_themselves_are_empty(fields: Fields) -> None:
    assert minus(fields, fields) == {}
    assert minus(fields, {}) == fields


@pytest.mark.thorough
@given(FIELDS, FIELDS)
def test_removed_fields_are_not_owned(fields: Fields, taken: Fields) -> None:
    left = minus(fields, taken)
    assert minus(left, taken) == left
    for leaf in leaves(left):
        assert owns(fields, leaf)
    for leaf in leaves(taken):
        assert leaf not in leaves(left)


@pytest.mark.thorough
@given(FIELDS, FIELDS)
def test_fields_are_the_union_of_the_removed_and_the_rest(fields: Fields, taken: Fields) -> None:
    both = plus(minus(fields, taken), (), taken)
    assert all(owns(both, leaf) for leaf in leaves(fields))


@given(FIELDS, PATHS)
def test_a_removed_path_is_not_owned(fields: Fields, path: Path) -> None:
    left = minus_path(fields, path)
    assert at(left, path) is None
    assert minus_path(left, path) == left
    assert all(leaf[: len(path)] == path or leaf in leaves(left) for leaf in leaves(fields))


@given(FIELDS, PATHS, PLAIN)
def test_an_added_path_is_owned(fields: Fields, path: Path, held: Fields) -> None:
    more = plus(fields, path, held)
    assert owns(more, path)
    assert at(more, path) is not None
    assert all(owns(more, (*path, *leaf)) for leaf in leaves(held))
    assert all(owns(more, leaf) for leaf in leaves(fields))
    assert plus(more, path, held) == more


@given(FIELDS, PATHS)
def test_removing_an_added_path_restores_the_fields(fields: Fields, path: Path) -> None:
    without = minus_path(fields, path)
    again = leaves(minus_path(plus(without, path, {}), path))
    assert all(leaf in again or leaf == path[: len(leaf)] for leaf in leaves(without))
    assert all(leaf in leaves(without) for leaf in again)


def leaves(fields: Fields, path: Path = ()) -> list[Path]:
    """Return the paths without a path below them."""
    inside = [element for element in fields if element != "."]
    if not inside:
        return [path] if path else []
    return [leaf for element in inside for leaf in leaves(fields[element], (*path, element))]


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        (("f:spec",), True),
        (("f:spec", "f:image"), True),
        (("f:spec", "f:env"), True),
        (("f:spec", "f:env", 'k:{"name":"A"}'), True),
        (("f:spec", "f:env", 'k:{"name":"A"}', "f:value"), False),
        (("f:spec", "f:env", 'k:{"name":"B"}'), False),
        (("f:spec", "f:replicas"), False),
        (("f:metadata", "f:annotations"), True),
        (("f:metadata", "f:annotations", "f:team"), False),
    ],
)
def test_whose_a_place_is(path: Path, owned: bool) -> None:
    """Owning an item or a map does not mean owning its content."""
    fields = {
        "f:metadata": {"f:annotations": {}},
        "f:spec": {"f:image": {}, "f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}}}},
    }
    assert owns(fields, path) is owned


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("f:spec", "f:replicas"), "spec.replicas"),
        (("f:spec", "f:containers", 'k:{"name":"app"}', "f:image"), "spec.containers[name=app].image"),
        (("f:ports", 'k:{"port":80,"protocol":"TCP"}'), "ports[port=80,protocol=TCP]"),
        (("f:metadata", "f:labels", "f:team"), "metadata.labels.team"),
        (("f:metadata", "f:labels", "f:app.kubernetes.io/name"), "metadata.labels[app.kubernetes.io/name]"),
        (("f:metadata", "f:finalizers", 'v:"a/b"'), 'metadata.finalizers["a/b"]'),
    ],
)
def test_a_place_as_a_person_writes_it(path: Path, shown: str) -> None:
    assert text(path) == shown


def test_items_and_their_elements() -> None:
    item = {"port": 80, "protocol": "TCP", "name": "http"}
    element = element_of(item, ['k:{"port":1,"protocol":"UDP"}'])
    assert element == 'k:{"port":80,"protocol":"TCP"}'
    assert matches(element, item)
    assert not matches(element, {**item, "port": 81})
    assert element_of("z", ['v:"a"']) == 'v:"z"'
    # As seen in managedFields of a real API server.
    mounted = element_of({"mountPath": "/größe 🎉 <&>"}, ['k:{"mountPath":"/"}'])
    assert mounted == r'k:{"mountPath":"/größe 🎉 \u003c\u0026\u003e"}'
    assert matches('v:"z"', "z")
    assert not matches("f:z", "z")
    assert is_key(element, ("f:port",))
    assert not is_key(element, ("f:name",))
    assert not is_key("f:port", ("f:port",))
