"""spec.restartOn: a change of the data of a Secret or ConfigMap restarts the pods; the operator never sees the data."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest

from cluster import AuditLog, ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import OPERATOR, SPEC, Scene, eventually

pytestmark = pytest.mark.slow

OVERLAY = Path(__file__).parents[2] / "manifests" / "overlays" / "restart-on"
ANNOTATION = "coxswain.dev/restart-on"
RESTARTING = {**SPEC, "restartOn": {"secrets": ["db"], "configMaps": ["flags"]}}
MARKER = "never-in-the-operator-7f3a"
NAMED = ("secrets", "configmaps")

Start = Callable[..., OperatorProcess]


@pytest.fixture
def watching(cluster: ControlPlane, namespace: str, another_operator: Start) -> Scene:
    """A namespace with a Secret and a ConfigMap, whose metadata an operator may watch."""
    cluster.kubectl("apply", "-n", namespace, "-k", str(OVERLAY))
    operator = another_operator("--namespace", namespace, "--watch-metadata", ",".join(NAMED))
    scene = Scene(cluster, namespace, operator)
    scene.kubectl("create", "secret", "generic", "db", f"--from-literal=password={MARKER}")
    scene.kubectl("create", "configmap", "flags", "--from-literal=beta=false")
    return scene


def records(scene: Scene, name: str = "web") -> dict[str, str]:
    """Return what the pod template records of each object."""
    annotations = scene.get("deployment", name)["spec"]["template"]["metadata"].get("annotations", {})
    return dict(re.findall(r"([^=,]+)=([^,]*)", annotations.get(ANNOTATION, "")))


def recorded_anew(scene: Scene, before: dict[str, str], place: str) -> dict[str, str]:
    """Wait for a rolling update after a change of one object; return the new records."""
    eventually(lambda: records(scene)[place] != before[place], f"a change of {place} restarts the pods")
    scene.ready()
    after = records(scene)
    assert {key: after[key] for key in after if key != place} == {key: before[key] for key in before if key != place}
    return after


def message(scene: Scene, name: str = "web") -> str:
    """Return the message of the Deployment in the status."""
    children = scene.get("webapp", name).get("status", {}).get("children", [])
    return str(next((each.get("message", "") for each in children if each["kind"] == "Deployment"), ""))


def change(scene: Scene, value: str, name: str = "db") -> None:
    """Change the data of the Secret, as `kubectl edit` does."""
    encoded = base64.b64encode(value.encode()).decode()
    patch = json.dumps({"data": {"password": encoded}})
    scene.kubectl("patch", "secret", name, "--type=merge", "--patch", patch, "--field-manager=kubectl-edit")


def asked(mark: AuditLog, resource: str) -> set[str]:
    """Return the operator's verbs on a resource since the mark."""
    return {event.verb for event in mark.events() if event.user == OPERATOR and event.resource == resource}


def _encoded(uri: str) -> str:
    path, _, query = uri.partition("?")
    return f"{path}?{urlencode(parse_qsl(query))}"


def holds(pid: int, texts: list[bytes]) -> list[bytes]:
    """Return the texts that are in the memory of a process."""
    found = set()
    with Path(f"/proc/{pid}/maps").open(encoding="utf-8") as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            area = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if area is None:
                continue
            begin, end = (int(number, 16) for number in area.groups())
            memory.seek(begin)
            try:
                content = memory.read(end - begin)
            except OSError:  # such as areas of the kernel
                continue
            found |= {text for text in texts if text in content}
    return sorted(found)


@pytest.mark.timeout(300)
def test_data_restarts_and_labels_do_not(watching: Scene) -> None:
    scene = watching
    mark = scene.cluster.audit()
    scene.apply_ready(spec=RESTARTING)
    first = records(scene)
    assert first.keys() == {"Secret/db", "ConfigMap/flags"}
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in first.values())
    quiet = scene.cluster.audit()
    for kind, name in (("secret", "db"), ("configmap", "flags")):
        scene.kubectl("label", kind, name, "team=red")
        scene.kubectl("annotate", kind, name, "example.com/note=1")
    # Later than the labels: so their events have been there.
    scene.apply_ready("other")
    assert not scene.requests(quiet)["patch deployments"] - len(scene.names("deployment", "other"))
    assert records(scene) == first
    change(scene, "changed")
    second = recorded_anew(scene, first, "Secret/db")
    scene.kubectl("patch", "configmap", "flags", "--patch", '{"data":{"beta":"true"}}')
    third = recorded_anew(scene, second, "ConfigMap/flags")
    scene.operator.stop()
    scene.operator.start()
    settled = scene.cluster.audit()
    scene.settled(settled)
    assert records(scene) == third, "a restart of the operator restarts no pods"
    assert asked(mark, "secrets") == {"list", "watch"}
    requests = [event.uri for event in mark.events() if event.user == OPERATOR and event.resource == "secrets"]
    without_releases, nothing = "fieldSelector=type%21%3Dhelm.sh%2Frelease.v1", "fieldSelector=metadata.name"
    assert all(without_releases in uri or nothing in uri for uri in map(_encoded, requests)), requests


@pytest.mark.timeout(300)
def test_an_apply_without_a_change_restarts_nothing(watching: Scene) -> None:
    """A GitOps tool applies the same Secret every few minutes."""
    scene = watching
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git"}, "stringData": {"a": "1"}}
    apply = ("apply", "--server-side", "--field-manager=gitops", "-f", "-")
    scene.kubectl(*apply, input=json.dumps(secret))
    scene.apply_ready(spec={**SPEC, "restartOn": {"secrets": ["git"]}})
    first = records(scene)
    scene.kubectl(*apply, input=json.dumps(secret))
    scene.kubectl("label", "secret", "git", "team=red")
    scene.apply_ready("other")
    assert records(scene) == first
    scene.kubectl(*apply, input=json.dumps({**secret, "stringData": {"a": "2"}}))
    recorded_anew(scene, first, "Secret/git")


@pytest.mark.timeout(300)
def test_the_operator_never_has_the_data(watching: Scene) -> None:
    """The API server sends metadata: neither the LIST nor the WATCH brings a value into the process."""
    scene = watching
    many = [f"--from-literal=key{number}={MARKER}-{number:04}-{'x' * 200}" for number in range(100)]
    scene.kubectl("create", "secret", "generic", "large", *many, "--save-config=false")
    scene.kubectl("label", "secret", "large", f"visible={MARKER[::-1]}")
    scene.apply_ready(spec={**SPEC, "restartOn": {"secrets": ["db", "large"]}})
    before = records(scene)
    change(scene, f"{MARKER}-second")
    recorded_anew(scene, before, "Secret/db")
    scene.operator.stop()
    scene.operator.start()
    change(scene, f"{MARKER}-third", "large")
    recorded_anew(scene, records(scene), "Secret/large")
    data = [MARKER.encode(), base64.b64encode(MARKER.encode())[:24]]
    pid = scene.operator.pid
    assert pid is not None
    assert holds(pid, [scene.namespace.encode()]), "the memory can be read"
    assert holds(pid, data) == []
    assert MARKER not in scene.operator.logged()


@pytest.mark.timeout(300)
def test_a_missing_object_restarts_nothing_and_its_return_does(watching: Scene) -> None:
    scene = watching
    scene.apply_ready(spec=RESTARTING)
    first = records(scene)
    scene.kubectl("delete", "secret", "db")
    eventually(lambda: "names Secret db, which does not exist" in message(scene), "the status says so")
    assert records(scene) == first
    assert scene.condition("Ready")["status"] == "True"
    scene.kubectl("create", "secret", "generic", "db", f"--from-literal=password={MARKER}")
    recorded_anew(scene, first, "Secret/db")
    eventually(lambda: not message(scene), "nothing is missing")


@pytest.mark.timeout(300)
def test_without_the_right_the_status_has_the_reason(
    cluster: ControlPlane, namespace: str, another_operator: Start
) -> None:
    scene = Scene(cluster, namespace, another_operator("--namespace", namespace, "--watch-metadata", ",".join(NAMED)))
    scene.kubectl("create", "secret", "generic", "db", f"--from-literal=password={MARKER}")
    scene.kubectl("create", "configmap", "flags", "--from-literal=beta=false")
    scene.apply("web", RESTARTING)
    eventually(lambda: "a change of Secret db restarts no pods" in message(scene), "it says what is missing", 60)
    scene.ready()
    text = message(scene)
    assert f"The operator cannot list secrets (metadata) of {namespace}: 403" in text
    assert f"kubectl apply -n {namespace} -k manifests/overlays/restart-on" in text
    assert scene.operator.probe("/readyz")[0] == 200
    assert len(scene.awaited_events("NotWatched")) == 1
    first = records(scene)
    scene.kubectl("patch", "configmap", "flags", "--patch", '{"data":{"beta":"true"}}')
    first = recorded_anew(scene, first, "ConfigMap/flags")
    scene.kubectl("apply", "-k", str(OVERLAY))
    recorded_anew(scene, first, "Secret/db")
    eventually(lambda: not message(scene), "nothing is missing")


def test_the_base_installation_does_not_ask_for_secrets(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.operator.stop()
    scene.operator.start()
    scene.apply_ready(spec={**SPEC, "restartOn": {"secrets": ["db"]}})
    assert "The operator does not watch secrets (metadata)" in message(scene)
    assert "Add secrets to --watch-metadata of the operator" in message(scene)
    assert not asked(mark, "secrets")
