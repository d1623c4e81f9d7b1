"""`kubectl coxswain` with the real kubectl, API server and operator."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster.metrics_api import MetricsApi
from integration.autoscaled import autoscaler, noted, scaled
from integration.plugin_process import Plugin, viewer
from integration.scene import SPEC, Scene, eventually, manifest
from kubectl_coxswain.kubectl import Completed, Kubectl

pytestmark = pytest.mark.slow

REMOVED_STATUS = '[{"op": "remove", "path": "/status"}]'
MISSING = {**SPEC, "image": "registry.example/web:2", "annotations": {"kwok.test/fate": "image-missing"}}


@pytest.fixture
def plugin(scene: Scene) -> Plugin:
    return Plugin(scene)


def given(scene: Scene, **spec: Any) -> str:
    """Return the file of a WebApp."""
    made = manifest("web", {**SPEC, **spec})
    return json.dumps({**made, "metadata": {**made["metadata"], "namespace": scene.namespace}})


def test_status_and_tree_of_a_healthy_webapp(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    done = plugin("status", "web")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("web is Healthy: all children match the spec and are healthy\n")
    assert re.search(r"`-- Pod/web-\w+-\w+ +Running", done.out)
    tree = plugin.json("tree", "web")["tree"]
    assert {"Deployment", "Service", "ServiceAccount", "ConfigMap"} <= {child["kind"] for child in tree["children"]}
    assert all(child["created"] for child in tree["children"])
    assert plugin("status").out.splitlines()[1].split()[:2] == ["web", "Healthy"]


def test_why_names_the_image_and_the_next_command(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    scene.apply(spec=MISSING)
    scene.not_ready("ImagePullBackOff")
    found = plugin.json("why", "web")
    assert found["verdict"]["state"] == "Degraded"
    assert "the image cannot be pulled" in found["cause"]
    sources = {each["source"] for each in found["evidence"]}
    assert {"Condition", "Container"} <= sources
    container = next(each for each in found["evidence"] if each["source"] == "Container")
    assert container["reason"] in ("ImagePullBackOff", "ErrImagePull")


def test_watch_follows_a_rollout_to_its_end(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    scene.apply(spec={**SPEC, "image": "registry.example/web:2"})
    done = plugin("status", "web", "--watch", "--timeout", "40", "--interval", "0.2")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1].startswith("Healthy")
    image = scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "registry.example/web:2"


def test_drift_of_a_paused_webapp_and_its_end(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    assert plugin("pause", "web").code == 0
    eventually(lambda: scene.condition("Progressing").get("reason") == "Paused", "the pause is observed")
    scene.kubectl("set", "image", "deployment/web", "app=theirs:1", "--field-manager=somebody")
    found = plugin.json("drift", "web")
    (child,) = (each for each in found["children"] if each["state"] == "Differs")
    assert [each["field"] for each in child["fields"]] == ["spec.template.spec.containers[name=app].image"]
    assert (child["fields"][0]["live"], child["fields"][0]["managers"]) == ("theirs:1", ["somebody"])
    assert plugin("resume", "web").code == 0
    scene.ready()
    assert plugin("drift", "web").out.startswith("web is as desired\n")
    corrections = plugin.json("drift", "web")["corrections"]
    assert [each["field"] for each in corrections] == ["spec.template.spec.containers[name=app].image"]


def test_conflicts_names_the_manager(scene: Scene, plugin: Plugin) -> None:
    rules = [{"kind": "Deployment", "path": "spec.template.spec.containers[name=app].image", "policy": "Yield"}]
    scene.apply_ready(spec={**SPEC, "conflicts": {"rules": rules}})
    scene.kubectl("set", "image", "deployment/web", "app=theirs:1", "--field-manager=somebody")
    eventually(lambda: scene.condition("Conflicted").get("status") == "True", "the conflict is reported")
    (entry,) = plugin.json("conflicts", "web")["conflicts"]
    assert (entry["manager"], entry["policy"]) == ("somebody", "Yield")


def test_a_webapp_that_the_operator_has_not_seen(scene: Scene, plugin: Plugin) -> None:
    scene.operator.stop()
    scene.apply()
    assert re.search(r"^WebApp/web +Pending +\w+ +not yet reconciled$", plugin("tree", "web").out, re.MULTILINE)
    assert plugin("status").out.splitlines()[1].split()[:4] == ["web", "Pending", "NotReconciled", "?/1"]
    assert "the operator has not reported on WebApp web" in plugin("conflicts", "web").out
    assert not plugin.json("conflicts", "web")["reconciled"]
    done = plugin("history", "web")
    assert (done.code, "the operator has not reconciled it yet" in done.err) == (1, True)


def test_the_children_of_a_webapp_that_lost_its_status(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    scene.operator.stop()
    scene.kubectl("patch", "webapp", "web", "--subresource=status", "--type=json", "--patch", REMOVED_STATUS)
    tree = plugin.json("tree", "web")["tree"]
    assert (tree["state"], tree["info"]) == ("Pending", "not yet reconciled")
    states = {child["kind"]: child["state"] for child in tree["children"]}
    assert (states["Deployment"], states["Service"]) == ("NotReported", "NotReported")
    assert plugin.json("status", "web")["replicas"] == {"desired": 1, "updated": 1, "ready": 1, "autoscalers": []}


def test_undo_of_a_change_that_the_operator_has_not_seen(scene: Scene, plugin: Plugin) -> None:
    images = [SPEC["image"], "registry.example/web:2", "registry.example/web:3"]
    for image in images[:2]:
        scene.apply_ready(spec={**SPEC, "image": image})
    eventually(lambda: scene.get("webapp")["status"].get("revision") == 2, "the second revision is recorded")
    scene.operator.stop()
    scene.apply(spec={**SPEC, "image": images[2]})
    done = plugin("undo", "web", "--yes")
    assert done.code == 0, done.err
    assert scene.get("webapp")["spec"]["image"] == images[1], "not the previous revision of the status"


def test_status_names_an_autoscaler_of_the_user(scene: Scene, plugin: Plugin, metrics: MetricsApi) -> None:
    metrics.set_load(scene.namespace, 100)
    scene.apply_ready()
    scene.create(autoscaler(least=3))
    noted(scene, "autoscaled")
    scaled(scene, 3)
    found = plugin.json("status", "web")["replicas"]
    assert found == {"desired": 3, "updated": 3, "ready": 3, "autoscalers": ["scaler"]}
    assert "3 desired (set by HorizontalPodAutoscaler scaler), 3 updated, 3 ready" in plugin("status", "web").out
    assert "3/3" in plugin("status").out


def test_restart_replaces_the_pods(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    before = {pod["metadata"]["uid"] for pod in scene.list("pod")}
    assert plugin("restart", "web").code == 0
    assert plugin("status", "web", "--watch", "--timeout", "40", "--interval", "0.2").code == 0
    eventually(lambda: before.isdisjoint(pod["metadata"]["uid"] for pod in scene.list("pod")), "no old pod runs")


# plan


def test_plan_of_a_change_says_what_the_operator_then_does(scene: Scene, plugin: Plugin) -> None:
    scene.create(json.loads(given(scene)))
    scene.ready()
    assert plugin("plan", "-f", "-", stdin=given(scene)).code == 0
    mark = scene.cluster.audit()
    text = given(scene, image="registry.example/web:2", config={"GREETING": "hi"})
    done = plugin("plan", "-f", "-", stdin=text)
    assert done.code == 1, done.err
    assert "Pods restart: yes, because the pod template changes: spec.containers[name=app].image" in done.out
    assert re.search(r"\+ ConfigMap/web-\w+: create", done.out)
    found = [event for event in mark.events() if event.namespace == scene.namespace and "kubectl" in event.agent]
    writes = [event for event in found if event.verb not in ("get", "list")]
    assert len(writes) >= 3
    assert all("dryRun=All" in event.uri for event in writes), "a plan stores nothing"
    assert "secrets" not in {event.resource for event in found}
    scene.create(json.loads(text))
    scene.ready()
    assert plugin("plan", "-f", "-", stdin=text).code == 0


def test_plan_of_a_removed_annotation_after_a_restart(scene: Scene, plugin: Plugin) -> None:
    """kubectl has left an annotation of its own in the pod template."""
    scene.create(json.loads(given(scene, annotations={"example.com/mine": "1"})))
    scene.ready()
    assert plugin("restart", "web").code == 0
    scene.ready()
    (found,) = plugin.json("plan", "-f", "-", stdin=given(scene))["items"]
    place = "spec.template.metadata.annotations[example.com/mine]"
    assert (found["restart"]["restarts"], found["restart"]["fields"]) == (True, [place])
    scene.create(json.loads(given(scene)))
    scene.ready()
    left = scene.get("deployment")["spec"]["template"]["metadata"]["annotations"]
    assert list(left) == ["kubectl.kubernetes.io/restartedAt"]


def test_plan_of_a_new_webapp_and_of_several_documents(scene: Scene, plugin: Plugin) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}}
    done = plugin("plan", "-f", "-", stdin=f"{given(scene)}\n---\n{json.dumps(secret)}\n")
    assert done.code == 1, done.err
    assert "WebApp web in namespace" in done.out
    assert "+ Deployment/web: create" in done.out
    assert "1 other objects of the files are not planned" in done.err
    assert "hunter2" not in done.out + done.err
    assert scene.find("webapp") is None


def test_plan_refuses_what_the_api_server_refuses(scene: Scene, plugin: Plugin) -> None:
    done = plugin("plan", "-f", "-", stdin=given(scene, replicas=-1))
    assert done.code == 2
    assert "spec.replicas" in done.err
    done = plugin("plan", "-f", "-", stdin=given(scene, imagee="a"))
    assert done.code == 2
    assert 'unknown field "spec.imagee"' in done.err


def test_plan_of_a_server_side_apply_reports_conflicts(scene: Scene, plugin: Plugin) -> None:
    scene.create(json.loads(given(scene)))
    text = given(scene, image="registry.example/web:2")
    done = plugin("plan", "-f", "-", "--server-side", "--field-manager=other", stdin=text)
    assert done.code == 2
    assert "Apply failed with 1 conflict" in done.err
    assert "give --force-conflicts" in done.err
    assert (
        plugin("plan", "-f", "-", "--server-side", "--field-manager=other", "--force-conflicts", stdin=text).code == 1
    )


@pytest.fixture
def reader(scene: Scene) -> Plugin:
    return Plugin(scene, viewer(scene))


def test_a_user_who_may_only_view_gets_a_plan_too(scene: Scene, reader: Plugin) -> None:
    scene.create(json.loads(given(scene)))
    scene.ready()
    text = given(scene, image="registry.example/web:2")
    done = reader("plan", "-f", "-", stdin=text)
    assert done.code == 1, done.err
    assert "Pods restart: yes, because the pod template changes: spec.containers[name=app].image" in done.out
    assert "the WebApp is merged without the API server" in done.err
    assert "you are not allowed to patch webapps.coxswain.dev" in done.err
    assert "defaults" not in done.err, "the schema is readable for everybody"
    unchanged = reader("plan", "-f", "-", stdin=given(scene))
    assert (unchanged.code, unchanged.out) == (0, "web: no differences\n")
    for command in ("status", "tree", "why", "drift", "conflicts"):
        assert reader(command, "web").code == 0, command


def test_a_viewer_may_change_nothing_and_is_told_the_right(scene: Scene, reader: Plugin) -> None:
    scene.apply_ready()
    done = reader("pause", "web")
    assert done.code == 1
    assert "error: you are not allowed to patch webapps.coxswain.dev in namespace" in done.err
    assert "kubectl auth can-i patch webapps.coxswain.dev" in done.err


# adopt


def test_adopt_shows_the_changes_and_the_operator_adopts(scene: Scene, plugin: Plugin) -> None:
    scene.kubectl("create", "serviceaccount", "web")
    scene.apply()
    scene.not_ready("NameTaken")
    found = plugin.json("why", "web")
    assert found["next"][0] == f"kubectl coxswain adopt web -n {scene.namespace}"
    done = plugin("adopt", "web", "--yes")
    assert done.code == 0, done.err
    assert "~ ServiceAccount/web: adopt" in done.out
    eventually(lambda: scene.condition("Ready").get("status") == "True", "it is adopted", timeout=120, pause=0.5)
    owner = scene.get("serviceaccount")["metadata"]["ownerReferences"][0]
    assert owner["kind"] == "WebApp"


# Errors of a real kubectl


def test_errors(scene: Scene, plugin: Plugin, tmp_path: Path) -> None:
    scene.apply_ready()
    done = plugin("status", "wbe")
    assert (done.code, "Did you mean web?" in done.err) == (1, True)
    done = plugin("status", "--context", "nope")
    assert (done.code, 'context "nope" does not exist' in done.err) == (1, True)
    done = plugin("status", "--server", "https://127.0.0.1:1")
    assert (done.code, "the cluster cannot be reached" in done.err) == (1, True)
    done = plugin("plan", "-f", str(tmp_path / "missing.yaml"))
    assert (done.code, "missing.yaml" in done.err) == (2, True)
    assert plugin("status", "--as", "nobody").err.startswith("error: you are not allowed to list webapps.coxswain.dev")


def test_version(plugin: Plugin, scene: Scene) -> None:
    found = plugin.json("version")
    assert found["api"] == "coxswain.dev/v1"
    assert found["server"].startswith("v1.")
    assert any("no Deployment of the operator was found" in note for note in found["notes"]), scene.namespace


def test_kubectl_completes_the_plugin(scene: Scene, plugin: Plugin) -> None:
    scene.apply_ready()
    assert plugin.kubectl("__complete", "coxswain", "und").out.splitlines()[0] == "undo"
    done = plugin.kubectl("__complete", "coxswain", "undo", "--namespace", scene.namespace, "w")
    assert done.out.splitlines()[0] == "web", done.err


@pytest.mark.parametrize(("of_context", "namespace"), [({}, "default"), ({"namespace": "team-a"}, "team-a")])
def test_the_namespace_is_that_of_the_context_and_none_of_its_extensions(
    scene: Scene, tmp_path: Path, of_context: dict[str, str], namespace: str
) -> None:
    extensions = [{"name": "example", "extension": {"namespace": "wrong"}}]
    context = {"cluster": "a", "user": "a", **of_context, "extensions": extensions}
    kubeconfig = tmp_path / "kubeconfig"
    content: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "a"}
    content |= {"clusters": [{"name": "a", "cluster": {}}], "users": [{"name": "a", "user": {}}]}
    kubeconfig.write_text(json.dumps({**content, "contexts": [{"name": "a", "context": context}]}), encoding="utf-8")

    def run(arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:
        command = [str(scene.cluster.programs["kubectl"]), f"--kubeconfig={kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=seconds, check=False)
        return Completed(done.returncode, done.stdout, done.stderr)

    assert Kubectl(run).namespace == namespace
