"""Projections of objects that others made large need little memory (S4)."""

import pickle
from typing import Any

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.identity import ADOPT_ANNOTATION, WEBAPP_LABEL
from coxswain.webapp.kinds import CONFIG_MAP, SERVICE
from rendered import CHILDREN, observe
from unit.objects import webapp

LARGE = "x" * 1_000_000
OURS = {"manager": "coxswain", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}}
OWNER = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "uid-1", "controller": True}


def raw(**metadata: Any) -> dict[str, Any]:
    """Return an object that is large in every part."""
    entry = {"manager": LARGE, "operation": "Update", "fieldsV1": {f"f:{LARGE}": {}}}
    identity = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 3}
    labels = {WEBAPP_LABEL: "web", "large": LARGE}
    whole = {**identity, "labels": labels, "annotations": {"large": LARGE}, "managedFields": [entry], **metadata}
    return {"metadata": whole, "data": {"a": LARGE}, "binaryData": {"b": LARGE}, "spec": {"large": LARGE}}


@pytest.mark.parametrize("kind", CHILDREN)
@pytest.mark.parametrize("annotations", [{"large": LARGE}, {}, None])
def test_of_a_foreign_object_with_our_label_only_its_identity_is_kept(kind: Kind, annotations: Any) -> None:
    found = observe(kind, raw(annotations=annotations))
    assert len(pickle.dumps(found)) < 2000
    assert (found.namespace, found.name, found.uid, found.version, found.label) == ("shop", "web", "u", 7, "web")
    assert (found.generation, found.parents, found.others) == (3, frozenset({"web"}), ())
    assert not found.is_child_of(webapp())
    assert not found.is_adoptable_by(webapp())


@pytest.mark.parametrize(
    "metadata",
    [{"annotations": {ADOPT_ANNOTATION: "web"}}, {"ownerReferences": [OWNER]}, {"managedFields": [OURS]}],
)
def test_what_may_be_compared_is_kept(metadata: dict[str, Any]) -> None:
    found = observe(SERVICE, raw(**metadata))
    assert found.content["spec"] == {"large": LARGE}


def test_neither_data_nor_binary_data_keeps_a_value() -> None:
    found = observe(CONFIG_MAP, raw(managedFields=[OURS], labels={}, annotations={}))
    assert len(found.content["data"]["a"]) == len(found.content["binaryData"]["b"]) == 64
    assert "binaryData" not in observe(CONFIG_MAP, {**raw(ownerReferences=[OWNER]), "binaryData": None}).content


def test_of_very_many_keys_ours_are_kept() -> None:
    many = {**raw(managedFields=[OURS], labels={}, annotations={}), "binaryData": None}
    many["data"] = {"a": "1", **{f"k{number}": "" for number in range(100_000)}}
    assert list(observe(CONFIG_MAP, many).content["data"]) == ["a"]
    many["data"] = {f"k{number}": "" for number in range(320)}
    assert len(observe(CONFIG_MAP, many).content["data"]) == 320
