"""spec.paused: the operator writes only the status."""

from typing import Any

import pytest

from integration.scene import CHILDREN, SPEC, Scene, eventually

PAUSED = {**SPEC, "paused": True}


def observed(scene: Scene) -> dict[str, dict[str, Any]]:
    """Wait until the status has the current generation; return its conditions."""
    webapp = scene.get("webapp")
    generation = webapp["metadata"]["generation"]
    eventually(
        lambda: scene.get("webapp").get("status", {}).get("observedGeneration") == generation, "the status follows"
    )
    status = scene.get("webapp")["status"]
    return {found["type"]: found for found in status["conditions"]}


@pytest.mark.slow
def test_paused_nothing_but_status_is_written(scene: Scene) -> None:
    scene.apply_ready()
    generation = scene.get("deployment")["metadata"]["generation"]
    mark = scene.cluster.audit()
    scene.apply(spec=PAUSED)
    conditions = observed(scene)
    assert (conditions["Ready"]["status"], conditions["Progressing"]["reason"]) == ("True", "Paused")
    scene.apply(spec={**PAUSED, "image": "registry.example/web:2"})
    conditions = observed(scene)
    assert (conditions["Ready"]["status"], conditions["Ready"]["reason"]) == ("False", "Differs")
    assert "containers[name=app].image" in conditions["Ready"]["message"]
    assert (conditions["Progressing"]["status"], conditions["Progressing"]["reason"]) == ("False", "Paused")
    scene.kubectl("label", "service", "web", "--overwrite", "app.kubernetes.io/name=other")
    assert scene.settled(mark).keys() == {"patch webapps/status"}
    assert scene.get("deployment")["metadata"]["generation"] == generation
    assert scene.get("service")["metadata"]["labels"]["app.kubernetes.io/name"] == "other"
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    container = scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example/web:2"
    assert scene.get("service")["metadata"]["labels"]["app.kubernetes.io/name"] == "web"


def test_a_child_deleted_while_paused_stays_away(scene: Scene) -> None:
    scene.apply_ready()
    scene.apply_ready(spec=PAUSED)
    mark = scene.cluster.audit()
    scene.kubectl("delete", "service", "web")
    scene.not_ready("Missing")
    assert scene.settled(mark).keys() == {"patch webapps/status"}
    assert scene.find("service") is None
    scene.apply_ready()
    assert scene.names("service") == ["web"]


def test_a_child_no_longer_wanted_stays_while_paused(scene: Scene) -> None:
    scene.apply_ready()
    without = {name: value for name, value in SPEC.items() if name not in ("ports", "config")}
    without["rollout"] = {"revisionHistoryLimit": 0}
    scene.apply(spec={**without, "paused": True})
    assert observed(scene)["Ready"]["reason"] == "Differs"
    assert scene.names("service") == ["web"]
    assert len(scene.names("configmap")) == 1
    scene.apply_ready(spec=without)
    eventually(lambda: scene.names("service") == scene.names("configmap") == [], "they are deleted after the pause")


def test_created_paused_it_has_no_children(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply(spec=PAUSED)
    conditions = observed(scene)
    assert (conditions["Ready"]["status"], conditions["Ready"]["reason"]) == ("False", "Missing")
    assert conditions["Progressing"]["reason"] == "Paused"
    assert scene.settled(mark).keys() == {"patch webapps/status"}
    assert [scene.names(kind) for kind in CHILDREN] == [[], [], [], []]
    scene.apply_ready()
