"""The cause names a failing init container or sidecar by role and name, with the fields of the WebApp behind it."""

from typing import Any

import pytest

from coxswain.webapp.diagnosis.pods import diagnosis
from unit.objects import webapp
from unit.pod_states import EDIT, NOW, PODS, container, deployment, ended, pod, replica_set, running, waiting

MIGRATE = {"name": "migrate", "image": "registry.example/migrate:1"}
PROXY = {"name": "proxy", "image": "registry.example/proxy:1", "startupProbe": {"tcpSocket": {"port": 9000}}}
INIT = "init container migrate (image registry.example/migrate:1)"
SIDECAR = "sidecar proxy (image registry.example/proxy:1)"
WAITS = container(waiting("PodInitializing"))
BACKOFF = "The kubelet restarts it with backoff. "
LOGS = f"kubectl logs --previous --ignore-errors --tail=50 {PODS}"
RETRIES = "The kubelet retries with backoff. "


def told(*init: dict[str, Any], app: dict[str, Any] = WAITS) -> tuple[str, str, str] | None:
    """Return reason, text and quotation of the cause of a pod with these init containers."""
    made = deployment()
    made["spec"]["template"]["spec"]["initContainers"] = [{**PROXY, "restartPolicy": "Always"}, MIGRATE]
    parent = webapp(initContainers=[MIGRATE], sidecars=[PROXY])
    found = diagnosis(parent, made, [replica_set()], [pod(app, initContainerStatuses=list(init))], NOW).cause
    return None if found is None else (found.reason, found.text, found.quotation)


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        (
            container(waiting("CrashLoopBackOff"), ended(3), name="migrate"),
            "CrashLoopBackOff",
            (f"{INIT} exits repeatedly, exit code 3 (Error). {BACKOFF}Check its log: {LOGS} --all-containers --prefix"),
        ),
        (
            container(waiting("ErrImagePull", "not found"), name="migrate"),
            "ImagePullBackOff",
            (
                f"{INIT}: the image cannot be pulled. {RETRIES}"
                f"Check spec.initContainers[name=migrate].image or spec.imagePullSecrets: {EDIT}"
            ),
        ),
        (
            container(waiting("CreateContainerConfigError", "no Secret"), name="migrate"),
            "CreateContainerConfigError",
            (
                f"{INIT} cannot be created. The kubelet retries. Check the ConfigMaps and Secrets in "
                "spec.initContainers[name=migrate].env and spec.initContainers[name=migrate].envFrom, and "
                f"spec.initContainers[name=migrate].runAsUser: {EDIT}"
            ),
        ),
        (
            container(waiting("RunContainerError"), name="migrate"),
            "RunContainerError",
            (
                f"{INIT} cannot be started. {RETRIES}"
                f"Check spec.initContainers[name=migrate].command and spec.initContainers[name=migrate].image: {EDIT}"
            ),
        ),
        (
            container(waiting("RunContainerError", 'error mounting "/a" to rootfs: not a directory'), name="migrate"),
            "RunContainerError",
            f"{INIT} cannot be started. {RETRIES}Check spec.initContainers[name=migrate].volumeMounts: {EDIT}",
        ),
        (
            container(
                waiting(
                    "CreateContainerConfigError", 'failed to prepare subPath for volumeMount "run" of container "p"'
                ),
                name="proxy",
            ),
            "CreateContainerConfigError",
            f"{SIDECAR} cannot be created. The kubelet retries. Check spec.sidecars[name=proxy].volumeMounts: {EDIT}",
        ),
        (
            container(waiting("CrashLoopBackOff"), ended(137, "OOMKilled"), name="proxy"),
            "OOMKilled",
            (
                f"{SIDECAR} exits repeatedly, exit code 137 (OOMKilled), because it exceeds its memory limit. {BACKOFF}"
                f"Raise spec.sidecars[name=proxy].resources.limits.memory: {EDIT}"
            ),
        ),
        (
            container(waiting("CrashLoopBackOff"), ended(137), name="proxy"),
            "CrashLoopBackOff",
            (
                f"{SIDECAR} exits repeatedly, exit code 137 (Error), possibly because its startupProbe fails. {BACKOFF}"
                f"Check spec.sidecars[name=proxy].startupProbe, and its log: {LOGS} --all-containers --prefix"
            ),
        ),
        (
            container(running(99), name="proxy", started=False),
            "StartupProbeFailing",
            (
                f"{SIDECAR} runs, but its startupProbe fails: tcpSocket on port 9000. "
                f"Check the application and spec.sidecars[name=proxy].startupProbe: kubectl describe pods {PODS}"
            ),
        ),
    ],
)
def test_the_role_the_name_and_the_field_are_told(status: dict[str, Any], reason: str, text: str) -> None:
    assert (told(status) or ())[:2] == (reason, text)


def test_init_containers_that_run_or_have_ended_are_no_cause() -> None:
    ready = container(ended(0, "Completed"), name="migrate", ready=True)
    assert told(container(running(5), name="proxy", ready=True), ready) is None
    assert told(container(running(9999), name="migrate")) is None, "an init container has no known time limit"


def test_a_container_that_another_manager_added_has_no_field_of_the_webapp() -> None:
    mesh = container(waiting("ErrImagePull", "not found"), name="mesh")
    text = "container mesh (image docker.io/library/registry.example/web:2): the image cannot be pulled. "
    assert told(app=mesh) == ("ImagePullBackOff", f"{text}{RETRIES}See: kubectl describe pods {PODS}", "not found")
