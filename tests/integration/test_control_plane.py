"""The throwaway Kubernetes itself: the properties used by the other tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pykube
import pytest
import requests
import yaml

from cluster import ControlPlane, KubectlError
from cluster.__main__ import main
from cluster.catalog import KUBERNETES
from cluster.certificates import create_authority
from cluster.clients import direct_session
from cluster.processes import process_start_time

pytestmark = pytest.mark.slow

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


@pytest.fixture(scope="module")
def own() -> Iterator[ControlPlane]:
    """A separate cluster for this module, because it is restarted and stopped."""
    with ControlPlane(nodes=2) as cluster:
        yield cluster


def eventually(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.1)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def pod(name: str, annotations: dict[str, str]) -> str:
    containers = [{"name": "web", "image": "example.test/web:1"}, {"name": "sidecar", "image": "example.test/log:2"}]
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}
    return yaml.safe_dump(document)


def pod_status(cluster: ControlPlane, name: str) -> dict[str, object]:
    answer = cluster.kubectl("get", "pod", name, "--output=yaml")
    status = yaml.safe_load(answer)["status"]
    assert isinstance(status, dict)
    return status


def condition(status: dict[str, object], kind: str) -> str:
    conditions = status.get("conditions")
    assert isinstance(conditions, list)
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "absent")


def test_the_server_reports_its_proper_version(own: ControlPlane) -> None:
    client = own.pykube()
    assert client.version == (str(KUBERNETES.version.major), str(KUBERNETES.version.minor))
    assert f"Server Version: {KUBERNETES.version}" in own.kubectl("version")


def test_a_deployment_becomes_available_on_the_fake_nodes(own: ControlPlane) -> None:
    own.kubectl("create", "deployment", "web", "--image=example.test/web:1", "--replicas=2")
    own.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    nodes = own.kubectl("get", "pods", "--selector=app=web", "--output=jsonpath={.items[*].spec.nodeName}")
    assert sorted(nodes.split()) == ["node-0", "node-1"]
    own.kubectl("delete", "deployment", "web", "--cascade=foreground")
    eventually(lambda: "web" not in own.kubectl("get", "pods"))


def test_a_pod_gets_the_fate_of_its_annotation(own: ControlPlane) -> None:
    fates = ("ready", "never-ready", "image-missing", "crash")
    for fate in fates:
        own.kubectl("apply", "--filename=-", input=pod(fate, {"kwok.test/fate": fate}))
    eventually(lambda: all(condition(pod_status(own, fate), "Initialized") == "True" for fate in fates))
    status = {fate: pod_status(own, fate) for fate in fates}
    assert {fate: (status[fate]["phase"], condition(status[fate], "Ready")) for fate in fates} == {
        "ready": ("Running", "True"),
        "never-ready": ("Running", "False"),
        "image-missing": ("Pending", "False"),
        "crash": ("Running", "False"),
    }
    assert all(condition(status[fate], "PodScheduled") == "True" for fate in fates)
    assert status["ready"]["podIP"]
    for fate, reason in (("image-missing", "ImagePullBackOff"), ("crash", "CrashLoopBackOff")):
        containers = status[fate]["containerStatuses"]
        assert isinstance(containers, list)
        assert [one["state"]["waiting"]["reason"] for one in containers] == [reason, reason]
    own.kubectl("delete", "pod", "--all")


def test_a_pod_takes_the_time_that_its_annotation_says(own: ControlPlane) -> None:
    own.kubectl("apply", "--filename=-", input=pod("slow", {"kwok.test/delay": "2s"}))
    time.sleep(1)
    assert pod_status(own, "slow")["phase"] == "Pending"
    own.kubectl("wait", "pod", "slow", "--for=condition=Ready", "--timeout=10s")
    own.kubectl("delete", "pod", "slow")


def test_the_audit_log_has_a_request_when_its_answer_has_come(own: ControlPlane) -> None:
    own.kubectl("create", "serviceaccount", "reader")
    kubeconfig = own.service_account_kubeconfig("default", "reader")
    mark = own.audit()
    client = own.pykube(kubeconfig)
    assert client.get(url="configmaps", namespace="default").status_code == 403
    user = "system:serviceaccount:default:reader"
    events = [event for event in mark.events() if event.user == user]
    assert [(one.verb, one.resource, one.namespace, one.code) for one in events] == [
        ("list", "configmaps", "default", 403)
    ]


def test_the_audit_log_has_a_watch_when_it_is_opened_and_no_second_time(own: ControlPlane) -> None:
    mark = own.audit()
    with direct_session(own.ca_file, own.token) as session:
        url = f"{own.url}/api/v1/namespaces/default/secrets?watch=true&timeoutSeconds=1"
        with session.get(url, stream=True, timeout=10) as answer:
            opened = [event for event in mark.events() if event.resource == "secrets" and event.user == "admin"]
            for _line in answer.iter_lines():
                pass
    assert [(one.verb, one.code, one.stage) for one in opened] == [("watch", 200, "ResponseStarted")]
    own.kubectl("get", "namespaces")
    assert not [event for event in mark.events() if event.resource == "secrets" and event.user == "admin"]


def test_no_environment_variable_decides_whom_a_client_trusts(
    own: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = create_authority(tmp_path, "other").certificate_file
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "PYKUBE_SSL_CERTIFICATE_AUTHORITY"):
        monkeypatch.setenv(name, str(other))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert "node-0" in own.kubectl("get", "nodes")
    client = own.pykube()
    assert [node.name for node in pykube.Node.objects(client)] == ["node-0", "node-1"]


def test_a_client_of_another_authority_refuses_the_server(own: ControlPlane, tmp_path: Path) -> None:
    other = create_authority(tmp_path, "other").certificate_file
    with direct_session(other, own.token) as session, pytest.raises(requests.exceptions.SSLError):
        session.get(f"{own.url}/version", timeout=5)


def test_an_error_of_kubectl_is_reported(own: ControlPlane) -> None:
    with pytest.raises(KubectlError, match="NotFound") as failure:
        own.kubectl("get", "configmap", "absent")
    assert failure.value.code == 1
    assert own.kubectl("get", "configmap", "absent", check=False) == ""
    with pytest.raises(KubectlError, match="timed out"):
        own.kubectl("get", "pods", "--watch", timeout=0.5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarted_server_has_its_data_its_port_and_its_certificate(
    own: ControlPlane, number: signal.Signals
) -> None:
    name = f"before-{number.name.lower()}"
    own.kubectl("create", "configmap", name)
    before = own.pid("kube-apiserver")
    own.stop_program("kube-apiserver", number)
    with pytest.raises(KubectlError):
        own.kubectl("get", "configmap", name)
    own.start_program("kube-apiserver")
    assert own.pid("kube-apiserver") != before
    assert name in own.kubectl("get", "configmap", name)
    own.check()


KILLED = """
import sys, time
from cluster import ControlPlane
with ControlPlane(nodes=1) as cluster:
    print(cluster.directory, *(cluster.pid(name) for name in sys.argv[1:]), flush=True)
    time.sleep(120)
"""


def test_everything_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", KILLED, *PROGRAMS],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "harness"), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        pids = [int(text) for text in parent.stdout.readline().split()[1:]]
    assert len(pids) == len(PROGRAMS)
    assert all(process_start_time(pid) is not None for pid in pids)
    parent.kill()
    parent.wait(5)
    eventually(lambda: all(process_start_time(pid) is None for pid in pids), 5)


def test_a_program_that_ends_at_once_is_an_error_with_its_words_and_leaves_nothing(tmp_path: Path) -> None:
    cluster = ControlPlane(directory=tmp_path, api_server_flags=["--no-such-flag"])
    with pytest.raises(RuntimeError, match="unknown flag: --no-such-flag"), cluster:
        pass
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in read(path)]
    assert left == []


def test_up_leaves_a_cluster_and_down_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cluster"
    where = f"--directory={folder}"
    assert main(["down", where]) == 0
    assert "nothing is up" in capsys.readouterr().out
    try:
        assert main(["up", where, "--nodes=1"]) == 0
        assert f"export KUBECONFIG={folder / 'kubeconfig'}" in capsys.readouterr().out
        command = [str(folder / "kubectl"), f"--kubeconfig={folder / 'kubeconfig'}", "get", "nodes"]
        assert "node-0" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert main(["up", where]) == 0
        assert "already up" in capsys.readouterr().out
    finally:
        assert main(["down", where]) == 0
    assert not folder.exists()
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(folder).encode() in read(path)]


def test_up_leaves_a_folder_with_other_content_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    assert main(["up", f"--directory={tmp_path}"]) == 1
    assert "contains other files" in capsys.readouterr().err
    assert (tmp_path / "data").exists()


def test_after_its_end_no_process_and_no_data_is_left(own: ControlPlane) -> None:
    pids = [own.pid(name) for name in PROGRAMS]
    own.stop()
    assert all(pid is not None and process_start_time(pid) is None for pid in pids)
    assert not own.directory.exists()
