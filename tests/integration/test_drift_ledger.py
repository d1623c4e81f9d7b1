"""Corrected drift in the status, as Events and as a metric: manager, field and count; no secrets, and few writes."""

import re
import time

import pytest

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
    entry = eventually(lambda: drift(scene).get(place), "the change is in the drift ledger")
    assert (entry["wanted"], entry["found"], entry["count"]) == (SPEC["image"], THEIRS, 1)
    assert len(drift(scene)) == 1
    (event,) = scene.awaited_events("DriftCorrected")
    assert f"{IMAGE} {THEIRS} to {SPEC['image']} (changed by updater)" in event["note"]
    assert corrected(scene, "Deployment") - before == 1


def corrected(scene: Scene, kind: str) -> float:
    """Return the number of corrected fields of a kind from /metrics."""
    status, text = scene.operator.metrics()
    assert status == 200
    found = re.search(rf'coxswain_drift_corrected_total{{kind="{kind}"}} (\S+)', text)
    return float(found[1]) if found else 0.0


def test_a_removal_has_no_known_manager(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    scene.kubectl("annotate", "service/web", f"{NOTE}-")
    entry = eventually(lambda: drift(scene).get((*NOTED_AT, "unknown")), "the removal is in the drift ledger")
    assert (entry["wanted"], entry["found"], entry["count"]) == ("ours", "(none)", 1)
    assert scene.get("service")["metadata"]["annotations"][NOTE] == "ours"


@pytest.mark.slow
def test_a_change_of_the_spec_is_no_drift(scene: Scene) -> None:
    """New, changed or removed fields of the spec are the user's changes, even if another manager had set them."""
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


@pytest.mark.slow
def test_a_change_while_the_operator_was_down_is_reported(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    scene.operator.stop()
    scene.kubectl("annotate", "--overwrite", "--field-manager=updater", "service/web", f"{NOTE}=theirs")
    scene.operator.start()
    entry = eventually(lambda: drift(scene).get((*NOTED_AT, "updater")), "the change is in the drift ledger")
    assert entry["found"] == "theirs"


def test_secrets_are_hidden_in_status_events_and_logs(scene: Scene) -> None:
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
    found = eventually(lambda: drift(scene), "the changes are in the drift ledger")
    assert {(entry["wanted"], entry["found"]) for entry in found.values()} == {("(hidden)", "(hidden)")}
    assert len(found) == 2
    eventually(lambda: told(scene, "DriftCorrected"), "an Event reports it")
    status = str(scene.get("webapp")["status"]) + str(scene.events())
    assert "open-sesame" not in status
    assert "open-sesame" not in scene.operator.logged()


@pytest.mark.slow
def test_counts_alone_are_written_at_most_once_a_minute(scene: Scene) -> None:
    scene.apply_ready(spec=NOTED)
    mark = scene.cluster.audit()
    scene.settled(mark)
    began = time.monotonic()
    for number in range(4):
        scene.kubectl("annotate", "--overwrite", "--field-manager=updater", "service/web", f"{NOTE}={number}")
        eventually(lambda: scene.get("service")["metadata"]["annotations"][NOTE] == "ours", "it is corrected")
    requests = scene.settled(mark)
    minutes = (time.monotonic() - began) / 60
    assert requests["patch services"] == 4
    assert requests["patch webapps/status"] <= 1 + minutes
    assert drift(scene)[*NOTED_AT, "updater"]["found"] == "0", "the first change is reported immediately"
    scene.apply_ready(spec={**NOTED, "image": "registry.example/web:2"})
    entry = drift(scene)[*NOTED_AT, "updater"]
    assert (entry["count"], entry["found"]) == (4, "3"), "another write includes the pending counts"


def test_an_equal_value_written_by_another_manager_is_no_drift(scene: Scene) -> None:
    """The value is as desired, so there is nothing to correct, whichever manager owns it now."""
    scene.apply_ready(spec=NOTED)
    mark = scene.cluster.audit()
    scene.settled(mark)
    apply_as(scene, "updater", "Service", {"metadata": {"annotations": {NOTE: "ours"}}})
    assert scene.settled(mark).total() == 0
    assert drift(scene) == {}
