"""The conflict lab's write methods: the request that each sends."""

from typing import Any

import pytest

from conflict_lab.subject import STATUS
from conflict_lab.ways import APPLY, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, WAYS, Change, Workload, named
from unit.conflict_lab_object import thing

SHARED, OWN = Workload.SHARED, Workload.OWN


_ENV = "/template/spec/containers/0/env"
_TEST_VERSION = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
_ANNOTATIONS = {"annotations": {"counter": "5"}}
_KEYED = {"template": {"spec": {"containers": [{"name": "app", "env": [{"name": "B", "value": "3"}]}]}}}
_TYPE = {"apiVersion": "v1", "kind": "PodTemplate"}
_REPLACE_COUNTER = {"op": "replace", "path": "/metadata/annotations/counter", "value": "5"}
_REPLACE_ENTRY = {"op": "replace", "path": f"{_ENV}/2/value", "value": "3"}
_CONTAINERS = {"template": {"spec": {"containers": thing(4, A=1, B=3)["template"]["spec"]["containers"]}}}


@pytest.mark.parametrize(
    ("name", "content_type", "shared", "own"),
    [
        ("put-version", JSON, thing(5, A=1, B=2), thing(4, A=1, B=3)),
        ("json-patch", JSON_PATCH, [_REPLACE_COUNTER], [_REPLACE_ENTRY]),
        ("json-patch-version", JSON_PATCH, [_TEST_VERSION, _REPLACE_COUNTER], [_TEST_VERSION, _REPLACE_ENTRY]),
        (
            "json-patch-value",
            JSON_PATCH,
            [{"op": "test", "path": "/metadata/annotations/counter", "value": "4"}, _REPLACE_COUNTER],
            [{"op": "test", "path": f"{_ENV}/2", "value": {"name": "B", "value": "2"}}, _REPLACE_ENTRY],
        ),
        ("merge-patch", MERGE_PATCH, {"metadata": _ANNOTATIONS}, _CONTAINERS),
        (
            "merge-patch-version",
            MERGE_PATCH,
            {"metadata": {**_ANNOTATIONS, "resourceVersion": "7"}},
            {**_CONTAINERS, "metadata": {"resourceVersion": "7"}},
        ),
        ("strategic", STRATEGIC_MERGE_PATCH, {"metadata": _ANNOTATIONS}, _KEYED),
        (
            "apply",
            APPLY,
            {**_TYPE, "metadata": {"name": "target", **_ANNOTATIONS}},
            {**_TYPE, "metadata": {"name": "target"}, **_KEYED},
        ),
        (
            "apply-force-version",
            APPLY,
            {**_TYPE, "metadata": {"name": "target", **_ANNOTATIONS, "resourceVersion": "7"}},
            {**_TYPE, "metadata": {"name": "target", "resourceVersion": "7"}, **_KEYED},
        ),
    ],
)
def test_each_way_sends_what_its_name_says(name: str, content_type: str, shared: Any, own: Any) -> None:
    seen = thing(4, A=1, B=2)
    for workload, body in ((SHARED, shared), (OWN, own)):
        request = named(name).request(seen, Change(workload, "B"))
        assert (request.content_type, request.body) == (content_type, body)
        assert request.method == ("PUT" if content_type == JSON else "PATCH")


def test_a_put_without_resourceversion_is_the_same_but_for_that() -> None:
    for workload in Workload:
        change = Change(workload, "B")
        plain = named("put").request(thing(B=2), change)
        guarded = named("put-version").request(thing(B=2), change)
        del guarded.body["metadata"]["resourceVersion"]
        assert plain == guarded


def test_force_is_asked_for_by_the_ways_that_say_so() -> None:
    forcing = {way.name for way in WAYS if way.request(thing(), Change(SHARED, "A")).query.get("force") == "true"}
    assert forcing == {"apply-force", "apply-force-version"}


_OWN_STATUS = {"entries": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]}


@pytest.mark.parametrize(
    ("name", "shared", "own"),
    [
        (
            "json-patch",
            [{"op": "replace", "path": "/status/counter", "value": "5"}],
            [{"op": "replace", "path": "/status/entries/1/value", "value": "3"}],
        ),
        ("merge-patch", {"status": {"counter": "5"}}, {"status": _OWN_STATUS}),
        (
            "apply",
            {**STATUS.type, "metadata": {"name": "target"}, "status": {"counter": "5"}},
            {**STATUS.type, "metadata": {"name": "target"}, "status": {"entries": _OWN_STATUS["entries"][1:]}},
        ),
    ],
)
def test_each_way_writes_a_status_too(name: str, shared: Any, own: Any) -> None:
    seen = {**STATUS.manifest("target"), "status": {"counter": "4", "entries": [{"name": "A", "value": "1"}]}}
    seen = STATUS.with_entry(seen, "B", 2)
    for workload, body in ((SHARED, shared), (OWN, own)):
        assert named(name).request(seen, Change(workload, "B", subject=STATUS)).body == body
    assert STATUS.counter(seen) == 4
    assert STATUS.counter(STATUS.manifest("target")) == 0


def test_the_first_json_patch_of_an_entry_appends_it() -> None:
    request = named("json-patch-value").request(thing(), Change(OWN, "A"))
    assert request.body == [{"op": "add", "path": f"{_ENV}/-", "value": {"name": "A", "value": "1"}}]
