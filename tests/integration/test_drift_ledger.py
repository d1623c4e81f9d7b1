"""Who changed what, and how often: in the status, as Events, as a metric; without secrets, and seldom written."""

import re
import time

from integration.co_writing import IMAGE, apply_as, drift, image, patch_as, told
from integration.scene import SPEC, Scene, eventually

THEIRS = "registry.example/theirs:1"
CONTAINER = "/spec/template/spec/containers/0"
NOTE = "example.com/note"
NOTED = {**SPEC, "service": {"annotations": {NOTE: "ours", "example.com/other": "ours too"}}}
NOTED_AT = ("Service/web", f"metadata.annotations[{NOTE}]")


def test_wanted_found_manager_and_count(scene: Scene) -> None:
    scene.apply_ready()
    before = corrected(scene, "Deployment")
    apply_as(scene, "updater", "Deployment", image(THEIRS), force=True)
    place = ("Deployment/web", IMAGE, "updater")
    entry = eventually(lambda: drift(scene).get(place), "the change is in the ledger")
    assert (entry["wanted"], entry["found"], entry["count"]) == (SPEC["image"], THEIRS, 1)
    assert len(drift(scene)) == 1
    (note,) = told(scene, "DriftCorrected")
    assert f"{IMAGE} {THEIRS} to {SPEC['image']} (changed by updater)" in note
    assert corrected(scene, "Deployment") - before == 1


def corrected(scene: Scene, kind: str) -> float:
    """Return how often /metrics says that fields of a kind were put back."""
    status, text = scene.operator.probe("/metrics")
    assert status == 200
    found = re.search(rf'coxswain_drift_corrected_total{{kind="{kind}"}} (\S+)', text)
    return float(found[1]) if found else 0.0


def test_of_a_removal_nobody_is_known(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    scene.kubectl("annotate", "service/web", f"{NOTE}-")
    entry = eventually(lambda: drift(scene).get((*NOTED_AT, "unknown")), "the removal is in the ledger")
    assert (entry["wanted"], entry["found"], entry["count"]) == ("ours", "(none)", 1)
    assert scene.get("service")["metadata"]["annotations"][NOTE] == "ours"


def test_what_the_spec_says_anew_is_no_drift(scene: Scene) -> None:
    """Fields that are new, changed or no longer desired are the user's own doing, also where another had them."""
    scene.apply_ready(spec=NOTED)
    scene.kubectl("label", "service/web", "deployment/web", "team=red")
    scene.apply_ready(
        spec={
            **SPEC,
            "image": "registry.example/web:2",
            "labels": {"team": "red", "tier": "front"},
            "annotations": {"example.com/contact": "me"},
            "env": [{"name": "NEW", "value": "1"}],
            "replicas": 2,
        }
    )
    scene.apply_ready()
    assert (drift(scene), told(scene, "DriftCorrected")) == ({}, [])


def test_a_change_while_the_operator_was_down_is_told(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    scene.operator.stop()
    scene.kubectl("annotate", "--overwrite", "--field-manager=updater", "service/web", f"{NOTE}=theirs")
    scene.operator.start()
    entry = eventually(lambda: drift(scene).get((*NOTED_AT, "updater")), "the change is in the ledger")
    assert entry["found"] == "theirs"


def test_secrets_are_hidden_wherever_it_is_told(scene: Scene) -> None:
    env = [{"name": "DB_PASSWORD", "value": "open-sesame-1"}, {"name": "URL", "value": "http://a:open-sesame-2@db"}]
    scene.apply_ready(spec={**SPEC, "env": env})
    live = scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]["env"]
    changes = [
        {"op": "replace", "path": f"{CONTAINER}/env/{index}/value", "value": value}
        for index, found in enumerate(live)
        for name, value in (("DB_PASSWORD", "open-sesame-3"), ("URL", "http://a:open-sesame-4@db"))
        if found["name"] == name
    ]
    assert len(changes) == 2
    patch_as(scene, "updater", "deployment", *changes)
    found = eventually(lambda: drift(scene), "the changes are in the ledger")
    assert {(entry["wanted"], entry["found"]) for entry in found.values()} == {("(hidden)", "(hidden)")}
    assert len(found) == 2
    eventually(lambda: told(scene, "DriftCorrected"), "an Event tells of it")
    status = str(scene.get("webapp")["status"]) + str(scene.events())
    assert "open-sesame" not in status
    assert "open-sesame" not in scene.operator.logged()


def test_counts_alone_are_written_at_most_once_a_minute(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    mark = scene.cluster.audit()
    scene.settled(mark)
    began = time.monotonic()
    for number in range(4):
        scene.kubectl("annotate", "--overwrite", "--field-manager=updater", "service/web", f"{NOTE}={number}")
        eventually(lambda: scene.get("service")["metadata"]["annotations"][NOTE] == "ours", "it is put back")
    requests = scene.settled(mark)
    minutes = (time.monotonic() - began) / 60
    assert requests["patch services"] == 4
    assert requests["patch webapps/status"] <= 1 + minutes
    assert drift(scene)[*NOTED_AT, "updater"]["found"] == "0", "the first is told at once"
    scene.apply_ready(spec={**NOTED, "image": "registry.example/web:2"})
    entry = drift(scene)[*NOTED_AT, "updater"]
    assert (entry["count"], entry["found"]) == (4, "3"), "another write takes the rest along"


def test_a_change_that_is_put_back_at_once_by_its_maker_is_no_drift(scene: Scene) -> None:
    """The value is as desired: there is nothing to correct, whoever holds it now."""
    scene.apply_ready(spec=NOTED)
    mark = scene.cluster.audit()
    scene.settled(mark)
    apply_as(scene, "updater", "Service", {"metadata": {"annotations": {NOTE: "ours"}}})
    assert scene.settled(mark).total() == 0
    assert drift(scene) == {}
