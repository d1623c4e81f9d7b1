"""The causes of pods that are not ready: stable while a container repeats its states, and none in a normal start."""

from datetime import timedelta
from typing import Any

import pytest

from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.diagnosis.pods import Diagnosis, diagnosis, explained
from rendered import health
from unit.objects import webapp
from unit.pod_states import (
    CRASH_LOOP,
    EDIT,
    IMAGE,
    NOT_FOUND,
    NOW,
    PODS,
    PULL_LOOP,
    READINESS,
    STARTS,
    ago,
    container,
    deployment,
    ended,
    pod,
    replica_set,
    running,
    unscheduled,
    waiting,
)

APP = f"container app (image {IMAGE})"
RESTARTED = "The kubelet restarts it with backoff."
LOG = f"Check its log: kubectl logs --previous --ignore-errors --tail=50 {PODS}"
SEE = f"See: kubectl describe pods {PODS}"
TOO_MUCH_MEMORY = f", because it exceeds its memory limit. {RESTARTED} Raise spec.resources.limits.memory: {EDIT}"
PROBE_OR_LOG = LOG.replace("Check", "Check spec.livenessProbe, and")
KILLED_BY_PROBE = f", possibly because its livenessProbe fails. {RESTARTED} {PROBE_OR_LOG}"
NOT_PULLED = (
    f": the image cannot be pulled. The kubelet retries with backoff. Check spec.image or spec.imagePullSecrets: {EDIT}"
)
COMMAND = f"Check spec.command, spec.workingDir and spec.image: {EDIT}"
NOT_STARTED = f"cannot be started. The kubelet retries with backoff. {COMMAND}"
UNSCHEDULED = (
    "cannot be scheduled. The scheduler retries. Add nodes, or check spec.resources.requests, spec.nodeSelector and "
    f"spec.tolerations: {EDIT}"
)
REFERENCES = f"Check the ConfigMaps and Secrets in spec.env and spec.envFrom, and spec.runAsUser: {EDIT}"
OLD_AND_NEW = [replica_set("old", 1), replica_set("new", 2)]


def diagnosed(*pods: dict[str, Any], **spec: Any) -> Diagnosis:
    """Diagnose the pods of a Deployment with these fields in its container."""
    return diagnosis(webapp(), deployment(**{**READINESS, **spec}), OLD_AND_NEW, pods, NOW)


def told(*pods: dict[str, Any], **spec: Any) -> tuple[str, str, str] | None:
    """Return reason, text and quotation of the cause."""
    cause = diagnosed(*pods, **spec).cause
    return None if cause is None else (cause.reason, cause.text, cause.quotation)


def of_container(*arguments: Any, **spec: Any) -> tuple[str, str, str] | None:
    return told(pod(container(*arguments)), **spec)


@pytest.mark.parametrize("state", STARTS)
def test_a_normal_start_has_no_cause(state: dict[str, Any]) -> None:
    assert told(pod(state)) is None


@pytest.mark.parametrize("state", CRASH_LOOP)
def test_a_crash_loop_is_one_cause_all_the_way_round(state: dict[str, Any]) -> None:
    log = "2026-01-01T11:59:00Z starting | 2026-01-01T11:59:01Z panic: no DATABASE_URL"
    assert told(pod(state)) == (
        "CrashLoopBackOff",
        f"{APP} exits repeatedly, exit code 1 (Error). {RESTARTED} {LOG}",
        log,
    )


def test_a_crash_loop_ends_with_readiness_or_a_long_run() -> None:
    assert told(pod(container(running(50), ended(), restarts=2, ready=True))) is None
    found = diagnosed(pod(container(running(50), ended(), restarts=2)))
    assert found.until == NOW + timedelta(seconds=550)
    assert told(pod(container(running(600), ended(), restarts=2)))[0] == "ReadinessProbeFailing"  # type: ignore[index]


@pytest.mark.parametrize("state", PULL_LOOP)
def test_an_image_that_cant_be_pulled_is_one_cause_all_the_way_round(state: dict[str, Any]) -> None:
    assert told(pod(state)) == ("ImagePullBackOff", f"{APP}{NOT_PULLED}", NOT_FOUND)


@pytest.mark.parametrize("told_first", [True, False])
def test_a_registry_that_is_down_is_one_cause_too(told_first: bool) -> None:
    why = f"image pull failed for {IMAGE} because the registry is unavailable: 503"
    first = waiting("RegistryUnavailable", why)
    then = waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": RegistryUnavailable: {why}')
    assert of_container(first if told_first else then) == ("ImagePullBackOff", f"{APP}{NOT_PULLED}", why)


START_ERROR = 'exec: "/shop": stat /shop: no such file or directory'


@pytest.mark.parametrize(
    ("state", "last"),
    [
        (waiting("RunContainerError", START_ERROR), None),
        (waiting("RunContainerError", "another text"), ended(128, "StartError", START_ERROR)),
        (ended(128, "StartError", START_ERROR), None),
        (waiting("CrashLoopBackOff", "back-off 10s"), ended(128, "StartError", START_ERROR)),
    ],
)
def test_a_command_that_isnt_there_is_one_cause_all_the_way_round(state: Any, last: Any) -> None:
    assert of_container(state, last) == ("RunContainerError", f"{APP} {NOT_STARTED}", START_ERROR)


@pytest.mark.parametrize(
    ("reason", "message", "advice", "told_reason", "told_message"),
    [
        ("CreateContainerConfigError", 'secret "shop-db" not found', REFERENCES, None, None),
        (
            "CreateContainerConfigError",
            'container has runAsNonRoot and image will run as root (pod: "web-new-1_shop(7f3e)", container: app)',
            REFERENCES,
            None,
            "container has runAsNonRoot and image will run as root",
        ),
        (
            "CreateContainerError",
            'name "app_web-new-1_shop" is reserved',
            COMMAND,
            None,
            'name "app_the pod_shop" is reserved',
        ),
        ("ErrImageNeverPull", "not present", f"Check spec.image and spec.imagePullPolicy: {EDIT}", None, None),
        ("InvalidImageName", "couldn't parse image name", f"Check spec.image: {EDIT}", None, None),
        ("rpc error: code = Unknown", "odd", COMMAND, "CreateContainerError", None),
    ],
)
def test_a_container_that_cant_be_made(
    reason: str, message: str, advice: str, told_reason: str | None, told_message: str | None
) -> None:
    text = f"{APP} cannot be created. The kubelet retries. {advice}"
    expected = (told_reason or reason, text, told_message or message)
    assert of_container(waiting(reason, message)) == expected


MOUNTS = f"Check spec.files, spec.volumes and spec.writablePaths: {EDIT}"
RUNC = "OCI runtime create failed: runc create failed: unable to start container process: "
SOURCE = "/var/lib/kubelet/pods/0/volume-subpaths/files/app/0"
NESTED_FILE = (
    f'failed to create shim task: {RUNC}error during container init: error mounting "{SOURCE}" to rootfs at '
    f'"/etc/shop/shop.toml": mount src={SOURCE}, dst=/etc/shop/shop.toml: not a directory: unknown'
)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (NESTED_FILE, MOUNTS),
        (f'{RUNC}create mountpoint for /etc/a mount: make mountpoint "/etc/a": mkdir /etc/a: file exists', MOUNTS),
        ("crun: mount `/var/lib/kubelet/a` to `etc/a`: Is a directory: OCI runtime error", MOUNTS),
        ("crun: open `/var/lib/containers/etc/a/b`: Not a directory: OCI runtime error", MOUNTS),
        (f'{RUNC}exec: "/bin/mounting": stat /bin/mounting: no such file or directory', COMMAND),
        (f'{RUNC}exec: "/shop/run": stat /shop/run: not a directory', COMMAND),
    ],
)
def test_a_mount_that_fails_is_no_fault_of_the_command(message: str, advice: str) -> None:
    """kubernetes/kubernetes#61545. containerd mounts at the start of a container, CRI-O at its creation."""
    for reason, event in (("RunContainerError", "started"), ("CreateContainerError", "created")):
        _, text, _ = of_container(waiting(reason, message)) or ("", "", "")
        assert text.startswith(f"{APP} cannot be {event}. The kubelet retries")
        assert text.endswith(advice)


@pytest.mark.parametrize("problem", ["failed to prepare subPath", "failed to create subPath directory"])
def test_a_sub_path_that_the_kubelet_cannot_prepare_is_no_fault_of_the_environment(problem: str) -> None:
    message = f'{problem} for volumeMount "data" of container "app"'
    text = f"{APP} cannot be created. The kubelet retries. Check spec.volumes[].subPath: {EDIT}"
    expected = ("CreateContainerConfigError", text, message)
    assert of_container(waiting("CreateContainerConfigError", message)) == expected


def test_a_config_map_may_have_a_key_named_sub_path() -> None:
    message = "couldn't find key subPath in ConfigMap shop/settings"
    _, text, _ = of_container(waiting("CreateContainerConfigError", message)) or ("", "", "")
    assert text.endswith(REFERENCES)


LIVENESS = {"livenessProbe": {"tcpSocket": {"port": "http"}}}


@pytest.mark.parametrize(
    ("code", "how", "spec", "reason", "text"),
    [
        (0, "Completed", {}, "CrashLoopBackOff", f"exit code 0 (Completed). {RESTARTED} {LOG}"),
        (137, "OOMKilled", LIVENESS, "OOMKilled", f"exit code 137 (OOMKilled){TOO_MUCH_MEMORY}"),
        (137, "Error", LIVENESS, "CrashLoopBackOff", f"exit code 137 (Error){KILLED_BY_PROBE}"),
        (137, "Error", {}, "CrashLoopBackOff", f"exit code 137 (Error). {RESTARTED} {LOG}"),
        (2, "Error", LIVENESS, "CrashLoopBackOff", f"exit code 2 (Error). {RESTARTED} {LOG}"),
    ],
)
def test_how_it_ends(code: int, how: str, spec: Any, reason: str, text: str) -> None:
    found = of_container(waiting("CrashLoopBackOff"), ended(code, how), **spec)
    assert found == (reason, f"{APP} exits repeatedly, {text}", "")


def test_a_crash_loop_of_which_nothing_is_known() -> None:
    assert of_container(waiting("CrashLoopBackOff")) == (
        "CrashLoopBackOff",
        f"{APP} exits repeatedly. {RESTARTED} {LOG}",
        "",
    )


def test_init_containers_and_sidecars_of_others_are_told_of_by_name() -> None:
    broken = container(waiting("CrashLoopBackOff"), ended(), name="proxy")
    text = f"container proxy (image docker.io/library/{IMAGE}) exits repeatedly, exit code 1 (Error). {RESTARTED} {LOG}"
    expected = ("CrashLoopBackOff", f"{text} --all-containers --prefix", "")
    assert told(pod(container(waiting("PodInitializing")), initContainerStatuses=[broken])) == expected
    assert told(pod(container(running(5)), broken)) == expected
    assert told(pod(container(running(5)), container(running(9999), name="proxy"))) is None, (
        "the probes of a foreign container are not known"
    )


def test_a_pod_that_no_node_takes() -> None:
    message = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
    assert told(unscheduled(message)) == ("Unschedulable", UNSCHEDULED, message)
    assert told(unscheduled("gated", "SchedulingGated")) == ("SchedulingGated", f"not scheduled yet. {SEE}", "gated")


def failed(seconds: float) -> dict[str, Any]:
    """Return a pod created and evicted this long ago, with another name of the same revision."""
    made = pod(container(ended()), phase="Failed", reason="Evicted", message="The node was low on resource: memory.")
    made["metadata"]["creationTimestamp"] = ago(seconds)
    return made


def test_a_pod_that_failed_is_told_of_while_it_is_young() -> None:
    assert told(failed(599)) == (
        "Evicted",
        f"failed. The ReplicaSet replaces them. {SEE}",
        "The node was low on resource: memory.",
    )
    assert diagnosed(failed(599)).until == NOW + timedelta(seconds=1)
    assert diagnosed(failed(600)) == Diagnosis()


SLOW = {"startupProbe": {"exec": {"command": ["true"]}, "periodSeconds": 10, "failureThreshold": 60}}
EAGER = {"httpGet": {"path": "/up", "port": 80}, "initialDelaySeconds": 5, "periodSeconds": 1, "timeoutSeconds": 2,
         "successThreshold": 2, "failureThreshold": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("started", "spec", "allowed", "reason", "text"),
    [
        (True, {}, 31, "ReadinessProbeFailing", "readinessProbe fails: tcpSocket on port http"),
        (True, {"readinessProbe": EAGER}, 5 + 2 * 2 + 2, "ReadinessProbeFailing", "httpGet /up on port 80"),
        (False, SLOW, 601, "StartupProbeFailing", "startupProbe fails: exec true"),
        (True, SLOW, 601 + 31, "ReadinessProbeFailing", "readinessProbe fails"),
    ],
)
def test_a_probe_fails_when_a_container_has_run_for_longer_than_it_allows(
    started: bool, spec: Any, allowed: int, reason: str, text: str
) -> None:
    in_time = diagnosed(pod(container(running(allowed), started=started)), **spec)
    assert in_time == Diagnosis(until=NOW + timedelta(seconds=1))
    late = diagnosed(pod(container(running(allowed + 1), started=started)), **spec)
    assert late.until is None, "no further change is expected with time alone"
    assert late.cause is not None
    assert late.cause.reason == reason
    assert f"{APP} runs, but its " in late.cause.text
    assert text in late.cause.text


def test_only_the_newest_revision_is_asked() -> None:
    broken = pod(CRASH_LOOP[1], revision="old", name="web-old-1")
    assert told(broken) is None
    one_seen = diagnosis(webapp(), deployment(), OLD_AND_NEW[:1], [broken], NOW)
    assert one_seen == Diagnosis(), "the newest ReplicaSet is not in the store yet"


def test_what_another_try_cant_mend_is_told_first() -> None:
    pods = [pod(PULL_LOOP[0]), pod(CRASH_LOOP[0]), unscheduled("no"), pod(container(running(99))), failed(5)]
    reasons = []
    while pods:
        reasons.append(told(*pods)[0])  # type: ignore[index]
        pods.pop(0)
    assert reasons == ["ImagePullBackOff", "CrashLoopBackOff", "Unschedulable", "ReadinessProbeFailing", "Evicted"]


def told_of(state: Health, found: Diagnosis, **counts: int) -> Health:
    return explained(state, deployment(status=counts), found)


def test_the_message_says_how_many_pods_and_of_which() -> None:
    found = diagnosed(pod(CRASH_LOOP[0]), pod(CRASH_LOOP[3]), pod(container(running(5), ready=True)))
    assert (len(found.pods), found.of) == (2, 3)
    counts = {"readyReplicas": 2, "replicas": 5, "updatedReplicas": 3}
    state = health(deployment(replicas=4, status=counts))
    cause = f"{APP} exits repeatedly, exit code 1 (Error). {RESTARTED} {LOG}; message: "
    rolling = told_of(state, found, **counts)
    assert rolling.message.startswith(f"rolling out: 2 of 4 pods ready; 2 of 3 new pods: {cause}2026-01-01T")
    assert (rolling.level, rolling.reason, rolling.stalled) == (Level.DEGRADED, "CrashLoopBackOff", False)
    later = told_of(state, found, replicas=3, updatedReplicas=3)
    assert later.message.startswith(f"2 of 4 pods ready; 2 of 3 pods: {cause}")
    assert told_of(state, Diagnosis()) == state


def test_a_deadline_and_a_quota_keep_their_word_and_say_the_cause() -> None:
    found = diagnosed(unscheduled("0/3 nodes are available"))
    late = Health(
        Level.DEGRADED, "ProgressDeadlineExceeded", 'ReplicaSet "web-1" has timed out progressing.', stalled=True
    )
    said = told_of(late, found)
    assert (said.reason, said.stalled) == ("ProgressDeadlineExceeded", True)
    assert said.message == (
        f'ReplicaSet "web-1" has timed out progressing; 1 of 1 pods: {UNSCHEDULED}; message: 0/3 nodes are available'
    )
