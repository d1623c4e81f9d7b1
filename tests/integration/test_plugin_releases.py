"""`kubectl coxswain` and the revisions of the real operator: from a bad image to the undo."""

import json
import re
from typing import Any

import pytest

from integration.plugin_process import Plugin
from integration.scene import SPEC, Scene, eventually, manifest

pytestmark = pytest.mark.slow

ROLLBACK = {**SPEC, "rollout": {"onFailure": "Rollback", "progressDeadlineSeconds": 5}}
BAD = {**ROLLBACK, "image": "registry.example/web:typo", "config": {"GREETING": "hi"}}
BAD["annotations"] = {"kwok.test/fate": "image-missing"}


@pytest.fixture
def plugin(scene: Scene) -> Plugin:
    return Plugin(scene)


def spec_of(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.get("webapp")["spec"]
    return found


def test_from_a_bad_image_to_the_undo(scene: Scene, plugin: Plugin) -> None:
    good = scene.apply_ready(spec=ROLLBACK)["spec"]
    scene.apply(spec=BAD)
    eventually(lambda: scene.condition("RolledBack").get("status") == "True", "the operator rolls back")
    why = plugin.json("why", "web")
    assert why["verdict"]["state"] == "RolledBack"
    assert "the image cannot be pulled" in why["cause"]
    assert why["next"][0] == f"kubectl coxswain undo web -n {scene.namespace}"
    history = plugin.json("history", "web")["revisions"]
    assert [(each["number"], each["running"], each["current"]) for each in history] == [
        (1, True, False),
        (2, False, True),
    ]
    assert "ProgressDeadlineExceeded" in history[1]["failed"]
    assert plugin("drift", "web").out.startswith("web is as desired"), "as the running revision"
    generation = scene.get("deployment")["metadata"]["generation"]
    done = plugin("undo", "web", "--yes")
    assert done.code == 0, done.err
    assert "Pods restart: no, because the pod template stays the same" in done.out
    scene.ready()
    assert spec_of(scene) == good
    assert scene.get("deployment")["metadata"]["generation"] == generation, "the pods of revision 1 run on"
    assert scene.get("webapp")["metadata"]["annotations"]["kubernetes.io/change-cause"].endswith("undo web --to 1")
    history = plugin.json("history", "web")["revisions"]
    assert [each["number"] for each in history] == [2, 3], "a spec that comes back takes the next number"
    assert history[-1]["changedBy"] == "kubectl-coxswain"


def test_undo_to_an_older_revision_with_its_configuration(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    first = scene.child("configmap")["metadata"]["name"]
    for number in (2, 3):
        scene.apply_ready(spec={**SPEC, "image": f"registry.example/web:{number}", "config": {"GREETING": str(number)}})
    scene.kubectl("scale", "webapp/web", "--replicas=2")
    scene.ready()
    done = plugin("undo", "web", "--to", "1", "--yes")
    assert done.code == 0, done.err
    assert "Pods restart: yes" in done.out
    assert f"ConfigMap/{first}: create" not in done.out, "a kept revision keeps its ConfigMap"
    scene.ready()
    found = spec_of(scene)
    assert (found["image"], found["config"], found["replicas"]) == (SPEC["image"], SPEC["config"], 2)


@pytest.mark.parametrize("by_server", [False, True], ids=["client", "server"])
def test_an_apply_after_an_undo_brings_the_state_of_its_manifest(
    scene: Scene, plugin: Plugin, *, by_server: bool
) -> None:
    """A server-side apply as well, because kubectl moves the fields of the last-applied annotation's manager."""
    scene.apply_ready(spec={**SPEC, "command": ["run", "--debug"]})
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    assert plugin("undo", "web", "--yes").code == 0
    assert spec_of(scene)["command"] == ["run", "--debug"]
    wanted = json.dumps(manifest("web", {**SPEC, "image": "registry.example/web:3"}))
    options = ("--server-side",) if by_server else ()
    planned = plugin("plan", "-f", "-", *options, stdin=wanted)
    assert "spec.command: " in planned.out, "a dry-run of kubectl keeps this field with --server-side"
    scene.kubectl("apply", *options, "-f", "-", input=wanted)
    found = spec_of(scene)
    assert (found["image"], found.get("command")) == ("registry.example/web:3", None), planned


def test_a_server_side_apply_leaves_the_fields_of_an_undo_as_the_notes_say(scene: Scene, plugin: Plugin) -> None:
    for spec in ({**SPEC, "command": ["run"]}, {**SPEC, "image": "registry.example/web:2"}):
        scene.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(manifest("web", spec)))
        scene.ready()
    done = plugin("undo", "web", "--yes")
    assert done.code == 0, done.err
    assert "note: only kubectl-coxswain will own spec.command, spec.image." in done.err
    wanted = json.dumps(manifest("web", {**SPEC, "image": "registry.example/web:3"}))
    planned = plugin("plan", "-f", "-", "--server-side", "--force-conflicts", stdin=wanted)
    assert "note: kubectl-coxswain owns spec.command, and the manifest lacks it" in planned.err
    scene.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=wanted)
    assert spec_of(scene)["command"] == ["run"]


def test_undo_of_a_webapp_that_argo_cd_applies(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    scene.kubectl("annotate", "webapp", "web", "argocd.argoproj.io/tracking-id=shop:coxswain.dev/WebApp:shop/web")
    done = plugin("undo", "web", "--yes")
    assert done.code == 1
    assert "Argo CD (application shop) applies WebApp web and would set an undo back" in done.err
    assert spec_of(scene)["image"] == "registry.example/web:2"
    assert plugin("undo", "web", "--yes", "--force").code == 0
    assert spec_of(scene)["image"] == SPEC["image"]


def test_history_shows_a_spec(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    eventually(lambda: plugin.json("history", "web")["revisions"][0]["readyAt"], "the revision was Ready", pause=0.5)
    assert re.search(
        r"^1 +Running +\w+ +kubectl-client-side-apply +registry.example/web:1",
        plugin("history", "web").out,
        re.MULTILINE,
    )
    shown = json.loads(plugin("history", "web", "--revision", "1", "-o", "json").out)
    assert shown["image"] == SPEC["image"]
    assert "paused" not in shown
