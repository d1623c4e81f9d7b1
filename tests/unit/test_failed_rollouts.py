"""When a rollout has failed before its deadline: all new pods have a cause that no retry resolves."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from coxswain.webapp.diagnosis.pods import Diagnosis, diagnosis, projected_pod
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


NO_IMAGE = waiting("ErrImagePull", NOT_FOUND)


def since(*times: tuple[str, float]) -> list[dict[str, Any]]:
    """Return conditions that have been True for so many seconds."""
    return [{"type": name, "status": "True", "lastTransitionTime": ago(seconds)} for name, seconds in times]


def of_cached(found: dict[str, Any]) -> Diagnosis:
    """Diagnose a pod that was created long ago, as the cache has it."""
    found["metadata"]["creationTimestamp"] = ago(3600)
    return diagnosed(projected_pod(found))


def assert_starts_late(at: Callable[[float], dict[str, Any]]) -> None:
    """Check that `at(seconds)` counts as failed after a minute."""
    early = of_cached(at(1))
    assert (early.failed, early.until) == (False, NOW + timedelta(seconds=59)), "one pull has failed"
    assert of_cached(at(60)).failed


@pytest.mark.parametrize("last", ["Initialized", "PodReadyToStartContainers"])
def test_the_kubelet_pulls_after_volumes_network_and_init_containers(last: str) -> None:
    """A pod may wait for them for longer than a minute."""

    def at(seconds: float) -> dict[str, Any]:
        times = {"PodScheduled": 600.0, "PodReadyToStartContainers": 500.0, "Initialized": 400.0, last: seconds}
        return pod(container(NO_IMAGE), conditions=since(*times.items()))

    assert_starts_late(at)


@pytest.mark.parametrize(
    "first",
    [
        lambda seconds: {**container(ended(0, "Completed", ran=500, since=seconds), name="migrate"), "ready": True},
        lambda seconds: {**container(running(seconds), name="proxy"), "ready": True},
        lambda seconds: container(running(seconds), name="proxy", started=True),
    ],
    ids=["init container", "ready sidecar", "sidecar that is not ready"],
)
def test_the_kubelet_pulls_one_init_container_after_the_other(first: Any) -> None:
    uninitialized = {"type": "Initialized", "status": "False", "lastTransitionTime": ago(600)}

    def at(seconds: float) -> dict[str, Any]:
        return pod(
            container(waiting("PodInitializing")),
            conditions=[*since(("PodScheduled", 600)), uninitialized],
            initContainerStatuses=[first(seconds), container(NO_IMAGE, name="seed")],
        )

    assert_starts_late(at)


@pytest.mark.parametrize("restarts", [0, 3])
def test_an_image_that_the_container_had_before_may_come_back(restarts: int) -> None:
    """imagePullPolicy is Always. The kubelet pulls up to five minutes after the exit, and no field has that time."""
    last = ended(ran=300, since=240) if restarts == 0 else None
    broken = pod(container(NO_IMAGE, last, restarts=restarts), phase="Running", conditions=since(("Initialized", 600)))
    found = of_cached(broken)
    assert found.cause is not None
    assert (found.cause.reason, found.failed, found.until) == ("ImagePullBackOff", False, None)


def test_a_pod_whose_container_ran_before_keeps_the_others_from_failing() -> None:
    """Their causes have the same text."""
    ran = pod(container(NO_IMAGE, ended(), restarts=1))
    new = pod(container(NO_IMAGE), name="web-new-2")
    for each in (ran, new):
        each["metadata"]["creationTimestamp"] = ago(3600)
    assert diagnosed(new).failed
    assert not diagnosed(ran, new).failed
    assert not diagnosed(new, ran).failed


def test_the_cache_keeps_the_times_of_pending_pods_alone() -> None:
    names = ("PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    done = {**container(ended(0, "Completed", "a long message"), name="migrate"), "ready": True}
    uninitialized = {"type": "Initialized", "status": "False"}

    def kept(phase: str, conditions: Any) -> Any:
        found = projected_pod(pod(phase=phase, conditions=conditions, initContainerStatuses=[done]))["status"]
        return [each["type"] for each in found["conditions"]], found["initContainerStatuses"][0]

    bare = {"name": "migrate", "ready": True}
    everything = since(*((name, 5) for name in names))
    assert kept("Running", everything) == ([], bare)
    assert kept("Pending", everything) == (list(names[:3]), bare)
    times = {"startedAt": ago(7), "finishedAt": ago(5)}
    assert kept("Pending", [uninitialized])[1] == {**bare, "state": {"terminated": times}}
    assert kept("Running", [uninitialized])[1] == bare


def test_a_rollout_has_not_failed_while_another_pod_is_better_off() -> None:
    broken = pod(container(waiting("InvalidImageName", "no")))
    assert diagnosed(broken).failed
    assert not diagnosed(broken, pod(container(running(5)), name="web-new-2")).failed
