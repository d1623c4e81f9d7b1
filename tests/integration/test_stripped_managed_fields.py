"""Another tool removes the managedFields of a child. What the operator has recorded in annotations still counts."""

from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually
from integration.test_rollback import BAD, GOOD, rolled_back, template

STRIPPED: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
"""The patch that removes all entries
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields)."""
PORTS = [{"name": "http", "containerPort": 8080}]


def strip(scene: Scene, kind: str, name: str = "web") -> None:
    """Remove the entries, and wait until the operator has its own again."""
    scene.patch(kind, STRIPPED, name)

    def has_own() -> bool:
        entries = scene.get(kind, name)["metadata"].get("managedFields", [])
        return any(entry["manager"] == "coxswain" for entry in entries)

    eventually(has_own, f"the operator owns fields of {kind} {name} again")


def test_an_adopted_service_keeps_its_type(scene: Scene) -> None:
    scene.kubectl("create", "service", "nodeport", "web", "--tcp=8080:8080")
    scene.kubectl("annotate", "service", "web", "coxswain.dev/adopt=web")
    scene.apply_ready(spec={**SPEC, "ports": PORTS})
    before = scene.get("service")["spec"]
    assert before["type"] == "NodePort"
    strip(scene, "service")
    scene.apply_ready(spec={**SPEC, "ports": PORTS, "labels": {"example.com/team": "blue"}})
    after = scene.get("service")["spec"]
    assert (after["type"], after["ports"]) == ("NodePort", before["ports"])


@pytest.mark.slow
def test_a_kept_number_of_replicas_is_kept(scene: Scene) -> None:
    spec: dict[str, Any] = {**SPEC, "resources": {"requests": {"cpu": "1m"}}}
    spec.pop("replicas", None)
    scene.apply_ready(spec={**spec, "autoscaling": {"minReplicas": 3, "maxReplicas": 4}})
    eventually(lambda: scene.get("deployment")["spec"]["replicas"] == 3, "the autoscaler has scaled")
    scene.apply_ready(spec=spec)
    assert scene.get("deployment")["spec"]["replicas"] == 3
    strip(scene, "deployment")
    scene.apply_ready(spec={**spec, "labels": {"example.com/team": "blue"}})
    assert scene.get("deployment")["spec"]["replicas"] == 3


@pytest.mark.slow
def test_a_rolled_back_spec_does_not_run_again(scene: Scene) -> None:
    scene.apply_ready(spec=GOOD)
    good = template(scene)
    scene.apply(spec=BAD)
    rolled_back(scene)
    assert template(scene) == good
    names = scene.names("controllerrevision")
    assert len(names) == 2
    mark = scene.cluster.audit()
    for name in names:
        scene.patch("controllerrevision", STRIPPED, name)
    scene.settled(mark, seconds=2)
    assert template(scene) == good
    assert scene.condition("RolledBack")["status"] == "True"
