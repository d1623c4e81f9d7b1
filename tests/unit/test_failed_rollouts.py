"""When a rollout has failed before its deadline: all new pods have a cause that no retry resolves."""

from datetime import timedelta
from typing import Any

import pytest

from coxswain.webapp.diagnosis.pods import Diagnosis, diagnosis
from unit.objects import webapp
from unit.pod_states import (
    IMAGE,
    NOT_FOUND,
    NOW,
    READINESS,
    ago,
    container,
    deployment,
    ended,
    pod,
    replica_set,
    running,
    waiting,
)

OLD_AND_NEW = [replica_set("old", 1), replica_set("new", 2)]


def diagnosed(*pods: dict[str, Any]) -> Diagnosis:
    """Diagnose the pods of a Deployment."""
    spec: dict[str, Any] = READINESS
    return diagnosis(webapp(), deployment(**spec), OLD_AND_NEW, pods, NOW)


EXEC = 'OCI runtime create failed: runc create failed: unable to start container process: exec: "x": '


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (waiting("ErrImagePull", NOT_FOUND), 60),
        (waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: {NOT_FOUND}'), 60),
        (waiting("ErrImagePull", 'no match for platform in manifest "linux/arm64"'), 60),
        (waiting("InvalidImageName", "couldn't parse image name"), 0),
        (waiting("RunContainerError", f"{EXEC}executable file not found in $PATH: unknown"), 0),
        (waiting("RunContainerError", f"{EXEC}permission denied: unknown"), 0),
        (ended(127, "StartError", f"{EXEC}stat x: no such file or directory: unknown"), 0),
        (waiting("CreateContainerError", "Error response from daemon: no command specified"), 0),
        (waiting("ErrImagePull", "dial tcp: lookup registry.example: no such host"), None),
        (waiting("ErrImagePull", "429 Too Many Requests"), None),
        (waiting("ErrImagePull", "pull access denied, repository does not exist or may require authorization"), None),
        (waiting("RunContainerError", 'error mounting "/data" to rootfs at "/data": no such file or directory'), None),
        (waiting("CreateContainerConfigError", 'secret "keys" not found'), None),
        (waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"), None),
        (ended(1, "Error", "panic"), None),
    ],
)
def test_a_rollout_has_failed_if_no_retry_resolves_the_cause(state: dict[str, Any], after: int | None) -> None:
    """A registry, a network, a Secret and a database may come back; an image and a command that do not exist won't."""

    def of_age(seconds: float) -> Diagnosis:
        broken = pod(container(state))
        broken["metadata"]["creationTimestamp"] = ago(seconds)
        return diagnosed(broken)

    assert of_age(3600).failed is (after is not None)
    assert of_age(59).failed is (after == 0)
    if after == 60:
        assert of_age(59).until == NOW + timedelta(seconds=1)


def test_the_kubelet_pulls_from_the_moment_when_the_pod_is_scheduled() -> None:
    broken = pod(container(waiting("ErrImagePull", NOT_FOUND)))
    broken["metadata"]["creationTimestamp"] = ago(3600)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(10)}
    broken["status"]["conditions"] = [scheduled]
    assert not diagnosed(broken).failed
    broken["status"]["conditions"] = [{**scheduled, "lastTransitionTime": ago(61)}]
    assert diagnosed(broken).failed


def test_a_rollout_has_not_failed_while_another_pod_is_better_off() -> None:
    broken = pod(container(waiting("InvalidImageName", "no")))
    assert diagnosed(broken).failed
    assert not diagnosed(broken, pod(container(running(5)), name="web-new-2")).failed
