"""Other field managers own parts of the status: the status still tells the present state, and nothing else.

A forced Server-Side Apply sets a field of another manager, but does not remove it.
"""

import pytest

from integration.scene import Scene, eventually
from integration.test_rollback import BAD, GOOD, rolled_back
from integration.test_stripped_managed_fields import PORTS, STRIPPED

APPROVED = {
    "type": "example.com/Approved",
    "status": "True",
    "reason": "Checked",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
"""The condition of another controller."""


def types(scene: Scene) -> set[str]:
    """Return the types of the conditions of the WebApp."""
    return {each["type"] for each in scene.get("webapp")["status"]["conditions"]}


def owners(scene: Scene) -> set[tuple[str, str]]:
    """Return the field managers of the status, with their operations."""
    entries = scene.get("webapp")["metadata"]["managedFields"]
    return {(each["manager"], each["operation"]) for each in entries if each.get("subresource") == "status"}


@pytest.mark.slow
def test_a_rollback_ends_after_managed_fields_were_cleared(scene: Scene) -> None:
    usual = types(_ready(scene))
    scene.apply(spec=BAD)
    rolled_back(scene)
    mark = scene.cluster.audit()
    scene.patch("webapp", STRIPPED)
    scene.settled(mark, seconds=2)
    assert "RolledBack" in types(scene)
    mark = scene.cluster.audit()
    scene.apply_ready(spec={**GOOD, "config": {"GREETING": "repaired"}})
    eventually(lambda: types(scene) == usual, "the condition RolledBack is gone")
    assert "runningRevision" not in scene.get("webapp")["status"]
    scene.settled(mark)
    assert ("coxswain", "Update") not in owners(scene), "a removal makes nobody an owner"
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=3), "nothing is written without a cause"


@pytest.mark.slow
def test_fields_of_a_patch_of_the_status_go_away(scene: Scene) -> None:
    before = _ready(scene).get("webapp")["status"]
    stray = {"kind": "Service", "name": "old", "health": "Healthy"}
    scene.send(
        "PATCH",
        "webapp",
        "/web/status?fieldManager=editor",
        [
            {"op": "add", "path": "/status/conditions/0", "value": {**APPROVED, "type": "RolledBack"}},
            {"op": "add", "path": "/status/conditions/0", "value": APPROVED},
            {"op": "add", "path": "/status/children/0", "value": stray},
            {"op": "add", "path": "/status/children/1/message", "value": "is fine"},
            {"op": "add", "path": "/status/runningRevision", "value": 7},
        ],
        "json-patch+json",
    ).raise_for_status()

    eventually(lambda: "runningRevision" not in scene.get("webapp")["status"], "the field is removed")
    status = scene.get("webapp")["status"]
    assert {**status, "conditions": [each for each in status["conditions"] if each != APPROVED]} == before
    assert APPROVED in scene.get("webapp")["status"]["conditions"], "a condition of another controller stays"
    assert ("coxswain", "Update") not in owners(scene)
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=3)


def test_an_item_that_others_own_in_part_goes_away(scene: Scene) -> None:
    """An apply would leave its keys, without the required health: the API server refuses that status as a whole."""
    spec = {**GOOD, "ports": PORTS, "ingress": {"hosts": [{"host": "web.example.com"}]}}
    scene.apply(spec=spec)
    scene.not_ready("NoAddress")
    scene.patch("webapp", STRIPPED)
    scene.patch_status("ingress", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}, "web")
    scene.ready()
    assert ("before-first-apply", "Update") in owners(scene), "it owns the keys of the item, not its health"
    scene.apply_ready(spec={**GOOD, "ports": PORTS})
    assert "Ingress" not in {each["kind"] for each in scene.get("webapp")["status"]["children"]}
    assert "removing from the status" in scene.operator.logged(), "the API server refused the first apply"


def test_each_repetition_costs_two_writes(scene: Scene) -> None:
    _ready(scene)
    mark = scene.cluster.audit()
    for number in range(3):
        scene.patch_status("webapp", {"runningRevision": number + 7}, "web")
        eventually(lambda: "runningRevision" not in scene.get("webapp")["status"], "the field is removed")
    requests = scene.settled(mark)
    assert requests == {"patch webapps/status": 2 * 3}


def _ready(scene: Scene) -> Scene:
    """Create a WebApp, and wait until its status is complete."""
    mark = scene.cluster.audit()
    scene.apply_ready(spec=GOOD)
    scene.settled(mark)
    return scene
