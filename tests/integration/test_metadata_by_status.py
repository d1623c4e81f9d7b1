"""Another client sets a label or an annotation of a child through its status: the API server records that too."""

from typing import Any

import pytest

from integration.co_writing import conflicted, conflicts, drift
from integration.scene import SPEC, Scene, eventually

POOL = "example.com/pool"
NEW = "registry.example/web:2"


def pooled(policy: str, **spec: Any) -> dict[str, Any]:
    return {**SPEC, "annotations": {POOL: "ours"}, "conflicts": {"policy": policy}, **spec}


def overwrite(scene: Scene, kind: str) -> None:
    """Set the annotation through the status as another client."""
    theirs = {"metadata": {"annotations": {POOL: "theirs"}}}
    answer = scene.send("PATCH", kind, "/web/status?fieldManager=updater", theirs, "merge-patch+json")
    answer.raise_for_status()
    [entry] = [each for each in answer.json()["metadata"]["managedFields"] if each["manager"] == "updater"]
    assert (entry["subresource"], f"f:{POOL}" in entry["fieldsV1"]["f:metadata"]["f:annotations"]) == ("status", True)


def live(scene: Scene) -> tuple[str, str]:
    """Return image and annotation of the Deployment."""
    found = scene.get("deployment")
    return found["spec"]["template"]["spec"]["containers"][0]["image"], found["metadata"]["annotations"][POOL]


@pytest.mark.parametrize("kind", ["Deployment", "Service"])
def test_it_is_enforced(scene: Scene, kind: str) -> None:
    scene.apply_ready(spec=pooled("Enforce"))
    overwrite(scene, kind.lower())
    field = (f"{kind}/web", f"metadata.annotations[{POOL}]", "updater")
    eventually(lambda: field in drift(scene), "the change is in the drift ledger")
    scene.apply_ready(spec=pooled("Enforce", image=NEW))
    assert live(scene) == (NEW, "ours")
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=2), "nothing is written without a cause"


def test_it_is_left_alone_under_yield(scene: Scene) -> None:
    scene.apply_ready(spec=pooled("Yield"))
    overwrite(scene, "deployment")
    conflicted(scene, "Yielded")
    assert conflicts(scene) == [("Deployment/web", f"metadata.annotations[{POOL}]", "updater", "Yield")]
    scene.apply_ready(spec=pooled("Yield", image=NEW))
    assert live(scene) == (NEW, "theirs")
