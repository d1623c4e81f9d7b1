"""PackedTable: a table of objects, most of them packed, that behaves like a dict of them."""

import dataclasses
import pickle
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.cache.packed_table import PackedTable
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from rendered import desired, observe
from unit.objects import observed_child, observed_webapp, webapp

PLACES = st.integers(0, 5)
STEPS = st.lists(st.tuples(st.sampled_from(["put", "get", "remove"]), PLACES), max_size=40)


def full() -> Projection:
    """Return an object with a value in every field."""
    managed = [
        {"manager": "coxswain", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:paused": {}}}},
    ]
    owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "uid-1", "controller": True}
    metadata = {
        "name": "web",
        "namespace": "shop",
        "uid": "child-1",
        "resourceVersion": "7",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"coxswain.dev/webapp": "web"},
        "ownerReferences": [owner],
        "managedFields": managed,
    }
    return observe(DEPLOYMENT, {"metadata": metadata, "spec": {"replicas": 2}, "status": {"replicas": 1}})


def test_an_object_is_equal_after_packing_and_unpacking() -> None:
    shelf = PackedTable[int](DEPLOYMENT, recent=1)
    observed = full()
    shelf.put(1, observed)
    shelf.put(2, observed_child())
    found = shelf.get(1)
    assert found is not observed
    assert found == observed
    assert found.kind is DEPLOYMENT


def test_recently_read_objects_stay_unpacked() -> None:
    shelf = PackedTable[int](DEPLOYMENT, recent=2)
    first, second = observed_child(version=1), observed_child(version=2)
    shelf.put(1, first)
    shelf.put(2, second)
    assert shelf.get(1) is first
    shelf.put(3, observed_child(version=3))
    assert shelf.get(1) is first
    found = shelf.get(2)
    assert found == second
    assert found is not second


def memory(value: Any) -> int:
    """Return the bytes of a value and of its contents."""
    inside = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return sys.getsizeof(value) + sum(map(memory, inside))


def test_a_packed_object_takes_a_fraction_of_the_memory() -> None:
    shelf = PackedTable[int](DEPLOYMENT, recent=0)
    manifest = desired(webapp(ports=[{"name": "http", "containerPort": 8080}], config={"A": "1"}))[-1]
    metadata = {**manifest["metadata"], "uid": "child-1", "resourceVersion": "1"}
    observed = observe(DEPLOYMENT, {**manifest, "metadata": metadata})
    shelf.put(1, observed)
    content = shelf._packed[1]
    assert isinstance(content, bytes)
    packed, as_dicts = len(content), memory(observed.content)
    print(f"a Deployment: {as_dicts} bytes as dicts, {packed} packed")
    assert as_dicts > 3 * packed


@given(STEPS)
def test_it_behaves_like_a_dict(steps: list[tuple[str, int]]) -> None:
    shelf, model = PackedTable[int](DEPLOYMENT, recent=2), dict[int, Projection]()
    for version, (step, place) in enumerate(steps, start=1):
        if step == "put":
            shelf.put(place, observed_child(version=version))
            model[place] = observed_child(version=version)
        elif step == "remove":
            shelf.remove(place)
            model.pop(place, None)
        assert shelf.get(place) == model.get(place)
        assert sorted(shelf) == sorted(model)


def large() -> Projection:
    """Return a WebApp with a file that compresses well."""
    return observed_webapp(spec={"files": [{"path": "/a", "content": "abcdefgh" * 100_000}]})


def test_a_large_object_is_compressed_at_once_and_restored_equal() -> None:
    """S4: sixty-four large objects stayed uncompressed."""
    shelf = PackedTable[int](WEBAPP)
    observed = large()
    shelf.put(1, observed)
    for _ in range(2):
        found = shelf.get(1)
        assert found == observed
        assert found is not observed
    packed = shelf._packed[1]
    assert not isinstance(packed, bytes)
    assert len(packed.content) < 20_000
    assert 1 in shelf
    shelf.put(1, observed_webapp())
    assert shelf.get(1) == observed_webapp()
    shelf.put(1, observed)
    shelf.remove(1)
    assert (1 in shelf, list(shelf)) == (False, [])


def test_an_object_that_cannot_be_packed_does_not_remove_the_previous_one() -> None:
    table = PackedTable[int](DEPLOYMENT)
    before = observed_child()
    table.put(1, before)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        table.put(1, dataclasses.replace(before, content={"a": lambda: None}))
    assert table.get(1) is before
