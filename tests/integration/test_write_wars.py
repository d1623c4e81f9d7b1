"""Another controller overwrites a field after each correction: no write war, and other fields stay enforced."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.co_writing import IMAGE, co_writer, conflicts, image, is_true, told
from integration.scene import SPEC, Scene, eventually

THEIRS = "registry.example/theirs:1"
NOTE = "example.com/note"
NOTED = {**SPEC, "service": {"annotations": {NOTE: "ours"}}}
FIGHT = 0.05
"""Seconds between two writes of the other controller, which forces the field whenever it has another value."""


@pytest.fixture
def hurried(
    cluster: ControlPlane, operator: OperatorProcess, kubeconfig: Path, make_namespace: Callable[[], str]
) -> Iterator[Scene]:
    """A namespace with an operator that suspends a contested field for 2 seconds at first, and for 6 at most."""
    operator.stop()
    log = cluster.directory / "logs" / "hurried-operator.log"
    launch = ("faults.launch", "--scale", "0.01")
    process = OperatorProcess(kubeconfig, log, program=launch)
    process.start()
    yield Scene(cluster, make_namespace(), process)
    process.stop()


def live_image(scene: Scene) -> str:
    return str(scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]["image"])


def contested(scene: Scene) -> str:
    """Wait until the WebApp is Contested; return the message."""
    eventually(lambda: is_true(scene, "Contested", "WriteWar"), "Contested is True")
    return str(scene.condition("Contested")["message"])


def test_after_five_rounds_only_the_contested_field_is_suspended(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    scene.apply_ready("other")
    mark = scene.cluster.audit()
    scene.settled(mark)
    body = {"metadata": {"annotations": {NOTE: "theirs"}}}
    with co_writer(scene, "rival", "force-apply", "services/web", body, every=FIGHT) as rival:
        message = contested(scene)
        assert message == (
            f"Service/web metadata.annotations[{NOTE}] is overwritten by rival each time coxswain enforces it. "
            "Enforcement is suspended: the operator tries again later. "
            "Stop the other manager from setting the field, or choose Yield in spec.conflicts: "
            f"kubectl edit webapp web -n {scene.namespace}"
        )
        requests = scene.settled(mark)
        assert requests["patch services"] == 5
        rival.writes(20)
        assert scene.settled(mark).total() == 0, "the field is not enforced"
        assert scene.condition("Ready")["reason"] == "Contested"
        assert conflicts(scene) == []
        assert [("rival" in note, "coxswain" in note) for note in told(scene, "Contested")] == [(True, True)]
        scene.apply(spec={**NOTED, "image": "registry.example/web:2", "labels": {"team": "red"}})
        eventually(lambda: live_image(scene) == "registry.example/web:2", "the Deployment is written")
        eventually(lambda: scene.get("service")["metadata"]["labels"].get("team") == "red", "other fields too")
        assert scene.get("service")["metadata"]["annotations"][NOTE] == "theirs"
        scene.apply_ready("other", spec={**SPEC, "image": "registry.example/web:2"})
        assert is_true(scene, "Contested")


@pytest.mark.slow
def test_after_the_suspension_the_field_is_enforced_for_good_if_the_other_stopped(hurried: Scene) -> None:
    scene = hurried
    scene.apply_ready()
    with co_writer(scene, "rival", "force-apply", "deployments/web", image(THEIRS), every=FIGHT):
        contested(scene)
        mark = scene.cluster.audit()
        eventually(lambda: scene.requests(mark)["patch deployments"] > 0, "it tries again")
        contested(scene)

    def over() -> bool:
        # The other controller's last write may end a round: then the field is enforced after one more suspension.
        return bool(scene.condition("Contested")["status"] == "False" and live_image(scene) == SPEC["image"])

    eventually(over, "the field is ours", timeout=75)
    scene.ready()


def test_a_webapp_that_lets_the_field_go_ends_it_at_once(scene: Scene) -> None:
    scene.apply_ready()
    with co_writer(scene, "rival", "force-apply", "deployments/web", image(THEIRS), every=FIGHT):
        contested(scene)
        rules = [{"kind": "Deployment", "path": IMAGE, "policy": "Yield"}]
        scene.apply_ready(spec={**SPEC, "conflicts": {"rules": rules}})
        assert conflicts(scene) == [("Deployment/web", IMAGE, "rival", "Yield")]
        assert not is_true(scene, "Contested")


@pytest.mark.slow
def test_two_webapps_with_one_rival_each_are_judged_apart(scene: Scene) -> None:
    scene.apply_ready()
    scene.apply_ready("other")
    mark = scene.cluster.audit()
    with co_writer(scene, "rival", "update", "deployments/web", {"spec": {"replicas": 0}}, every=FIGHT):
        assert "spec.replicas is overwritten by rival each time" in contested(scene)
        scene.kubectl("scale", "deployment", "other", "--replicas=2")
        eventually(lambda: scene.get("deployment", "other")["spec"]["replicas"] == 1, "the other WebApp is corrected")
        eventually(lambda: not is_true(scene, "Stalled"), "nothing is stalled")
        scene.settled(mark)


@pytest.mark.slow
def test_a_child_that_is_deleted_again_and_again_is_left_absent_for_a_while(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    uids = {scene.get("service")["metadata"]["uid"]}

    def is_back() -> bool:
        return (scene.find("service") or {}).get("metadata", {}).get("uid") not in {None, *uids}

    for _ in range(5):
        scene.kubectl("delete", "service", "web")
        eventually(is_back, "the Service is created again")
        uids.add(scene.get("service")["metadata"]["uid"])
    scene.kubectl("delete", "service", "web")
    assert contested(scene).startswith(
        "Service web is deleted each time the operator creates it. Enforcement is suspended"
    )
    assert scene.find("service") is None
    assert scene.requests(mark)["patch services"] == 5
    scene.ready()
    assert scene.requests(mark)["patch services"] == 1
