"""Why a WebApp is not Ready, told from its pods; and that what they don't tell costs no write."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually

IMAGE = "registry.example/web:2"
APP = f"container app (image {IMAGE})"


def spec(fate: str, **more: Any) -> dict[str, Any]:
    """A WebApp whose pods have this fate (tests/harness/cluster/stages.yaml)."""
    return {**SPEC, "image": IMAGE, "annotations": {"kwok.test/fate": fate}, **more}


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def the_pod(scene: Scene, webapp: str = "web") -> str:
    """The name of the one pod, which runs."""

    def running() -> str | None:
        pods = scene.list("pod", f"coxswain.dev/webapp={webapp}")
        return str(pods[0]["metadata"]["name"]) if [pod["status"].get("phase") for pod in pods] == ["Running"] else None

    return eventually(running, "one pod runs")


def set_container(scene: Scene, pod: str, *, ready: bool = False, **status: Any) -> None:
    """Set the status of a pod's one container, as the kubelet would."""
    usual = {"name": "app", "image": IMAGE, "imageID": "", "ready": ready, "started": ready, "lastState": {}}
    conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "PodScheduled")]
    conditions += [{"type": kind, "status": str(ready)} for kind in ("Ready", "ContainersReady")]
    scene.patch_status("pod", {"containerStatuses": [{**usual, **status}], "conditions": conditions}, pod)


LOG = "Check its log: kubectl logs --previous --ignore-errors --tail=50 -l coxswain.dev/webapp=web -n "
RESTARTED = f"The kubelet restarts it with backoff. {LOG}"
EDIT = "kubectl edit webapp web -n "
NOT_PULLED = (
    f": the image cannot be pulled. The kubelet retries with backoff. Check spec.image or spec.imagePullSecrets: {EDIT}"
)


def ended(code: int, message: str = "", *, ran: float = 1) -> dict[str, Any]:
    """The end of a container just now."""
    times = {"startedAt": ago(ran), "finishedAt": ago(0)}
    return {"terminated": {"exitCode": code, "reason": "Error", "message": message, **times}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fate", "reason", "cause", "quoted"),
    [
        ("image-missing", "ImagePullBackOff", f"{NOT_PULLED}{{namespace}}", ["not found"]),
        (
            "crash",
            "CrashLoopBackOff",
            f" exits repeatedly, exit code 1 (Error). {RESTARTED}{{namespace}}",
            ["starting | panic: no DATABASE_URL"],
        ),
    ],
)
def test_a_bad_revision_is_explained_while_the_old_pods_serve(
    scene: Scene, fate: str, reason: str, cause: str, quoted: list[str]
) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    mark = scene.cluster.audit()
    scene.apply(spec=spec(fate))
    ready = scene.not_ready(reason)
    told = f"{APP}{cause.format(namespace=scene.namespace)}; message: "
    assert f"Deployment web: rolling out: 1 of 1 pods ready; 1 of 1 new pods: {told}" in ready["message"]
    assert all(words in ready["message"] for words in quoted)
    assert scene.condition("Available")["status"] == "True"
    assert scene.condition("Progressing")["status"] == "True"
    assert scene.settled(mark)["patch webapps/status"] <= 3, "the new generation, a count, and the cause"
    events = [event for event in scene.events() if event["type"] == "Warning"]
    assert [event["reason"] for event in events] == [reason]
    child = next(child for child in scene.get("webapp")["status"]["children"] if child["kind"] == "Deployment")
    assert child["health"] == "Degraded"
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:3"})


@pytest.mark.slow
def test_a_crash_loop_costs_no_write_until_it_says_something_else(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply(spec=spec("never-ready"))
    pod = the_pod(scene)
    held_back = {"waiting": {"reason": "CrashLoopBackOff", "message": f"back-off 10s restarting pod={pod}"}}
    set_container(scene, pod, state=ended(3, "12:00:00 no database"), restartCount=1)
    ready = scene.not_ready("CrashLoopBackOff")
    cause = f"{APP} exits repeatedly, exit code 3 (Error). {RESTARTED}{scene.namespace}"
    assert ready["message"].endswith(f"1 of 1 pods: {cause}; message: 12:00:00 no database")
    scene.settled(mark)
    for number in range(2, 6):
        last = ended(3, f"12:0{number}:00 no database")
        set_container(scene, pod, state=held_back, lastState=last, restartCount=number - 1)
        set_container(scene, pod, state={"running": {"startedAt": ago(0)}}, lastState=last, restartCount=number)
        set_container(scene, pod, state=ended(3, f"12:1{number}:00 no database"), lastState=last, restartCount=number)
    assert scene.settled(mark) == Counter()
    set_container(scene, pod, state=ended(4, "no cache"), restartCount=9)
    eventually(lambda: "exit code 4" in scene.condition("Ready")["message"], "the new exit code")
    assert scene.settled(mark) == Counter({"patch webapps/status": 1}), (
        "what was seen last was seen after all the others"
    )
    running = {"running": {"startedAt": ago(0)}}
    set_container(scene, pod, state=running, lastState=ended(4), ready=True, restartCount=10)
    scene.ready()


def test_a_slow_start_is_no_crash_and_costs_no_more_than_any_other(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply(spec=spec("never-ready"))
    pod = the_pod(scene)
    scene.not_ready("RollingOut")
    set_container(scene, pod, state={"waiting": {"reason": "ContainerCreating"}}, restartCount=0)
    set_container(scene, pod, state={"running": {"startedAt": ago(5)}}, started=True, restartCount=0)
    set_container(scene, pod, state=ended(1), restartCount=0)
    set_container(
        scene, pod, state={"running": {"startedAt": ago(5)}}, lastState=ended(1), started=True, restartCount=1
    )
    requests = scene.settled(mark)
    assert scene.condition("Ready")["reason"] == "RollingOut"
    children = ("serviceaccounts", "configmaps", "services", "deployments", "controllerrevisions")
    assert requests == Counter(
        {**{f"patch {kind}": 1 for kind in children}, "patch webapps/status": 1, "create events": 1}
    )


@pytest.mark.slow
def test_a_failing_probe_is_reported_after_its_deadline_without_an_event(scene: Scene) -> None:
    probe = {"httpGet": {"path": "/up", "port": "http"}, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 8}
    mark = scene.cluster.audit()
    scene.apply(spec=spec("never-ready", readinessProbe=probe))
    pod = the_pod(scene)
    set_container(scene, pod, state={"running": {"startedAt": ago(60)}}, ready=True, restartCount=0)
    scene.ready()
    scene.settled(mark)
    set_container(scene, pod, state={"running": {"startedAt": ago(0)}}, started=True, restartCount=1)
    scene.not_ready("RollingOut")
    ready = scene.not_ready("ReadinessProbeFailing")
    assert ready["message"].endswith(
        f"1 of 1 pods: {APP} runs, but its readinessProbe fails: httpGet /up on port http. "
        "Check the application and spec.readinessProbe: "
        f"kubectl describe pods -l coxswain.dev/webapp=web -n {scene.namespace}"
    )
    assert scene.settled(mark) == Counter({"patch webapps/status": 2, "create events": 1})


def test_an_unschedulable_pod_is_reported_with_the_schedulers_message(scene: Scene) -> None:
    scene.apply(spec={**SPEC, "nodeSelector": {"example.com/disk": "fast"}})
    ready = scene.not_ready("Unschedulable")
    assert "0 of 1 pods ready; 1 of 1 pods: cannot be scheduled. The scheduler retries. " in ready["message"]
    assert "; message: 0/" in ready["message"]
    assert "didn't match Pod's node affinity/selector" in ready["message"]
    scene.apply_ready()


def test_an_exceeded_quota_is_reported_with_its_use_until_it_is_raised(scene: Scene) -> None:
    scene.kubectl("create", "quota", "few", "--hard=pods=1")
    eventually(lambda: scene.kubectl("get", "quota", "few", "-o", "jsonpath={.status.hard}"), "the quota is in force")
    scene.apply(spec={**SPEC, "replicas": 2})
    ready = scene.not_ready("FailedCreate")
    quota = "pods cannot be created: ResourceQuota few is exceeded: pods 1 of 1 used, 1 more requested. "
    assert quota in ready["message"]
    assert ready["message"].endswith(f": kubectl describe resourcequota few -n {scene.namespace}")
    assert scene.condition("Stalled")["status"] == "False"
    scene.patch("quota", {"spec": {"hard": {"pods": "5"}}}, name="few")
    scene.ready()


@pytest.mark.slow
def test_a_quota_of_requests_names_each_resource(scene: Scene) -> None:
    scene.kubectl("create", "quota", "compute", "--hard=requests.cpu=300m,requests.memory=1Gi")
    hard = lambda: scene.kubectl("get", "quota", "compute", "-o", "jsonpath={.status.hard}")  # noqa: E731
    eventually(hard, "the quota is in force")
    requests = {"requests": {"cpu": "200m", "memory": "64Mi"}}
    scene.apply(spec={**SPEC, "replicas": 2, "resources": requests})
    ready = scene.not_ready("FailedCreate")
    assert (
        "ResourceQuota compute is exceeded: requests.cpu 200m of 300m used, 200m more requested. " in ready["message"]
    )
    scene.apply(spec=SPEC)
    unspecified = "failed quota: compute: must specify requests.cpu for: app; requests.memory for: app"
    eventually(lambda: unspecified in scene.condition("Ready")["message"], "the requests that are missing")
    step = f"Set it in spec.resources: kubectl describe resourcequota compute -n {scene.namespace}"
    assert step in scene.condition("Ready")["message"]
    scene.apply_ready(spec={**SPEC, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}})


def test_a_limit_range_is_reported_with_a_command(scene: Scene) -> None:
    limit = {"type": "Container", "max": {"memory": "32Mi"}}
    scene.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": {"limits": [limit]}})
    scene.apply(spec={**SPEC, "resources": {"limits": {"memory": "64Mi"}}})
    ready = scene.not_ready("FailedCreate")
    assert "maximum memory usage per Container is 32Mi, but limit is 64Mi" in ready["message"]
    assert ready["message"].endswith(f"Correct spec.resources: kubectl describe limitrange -n {scene.namespace}")


def test_a_passed_deadline_is_reported_with_its_cause(scene: Scene) -> None:
    scene.apply(spec=spec("crash", rollout={"progressDeadlineSeconds": 2}))
    scene.not_ready("CrashLoopBackOff")
    ready = scene.not_ready("ProgressDeadlineExceeded")
    assert f"has timed out progressing; 1 of 1 pods: {APP} exits repeatedly, exit code 1" in ready["message"]
    assert scene.condition("Stalled")["status"] == "True"


def test_a_paused_rollout_is_reported_until_it_resumes(scene: Scene) -> None:
    scene.apply_ready()
    scene.kubectl("rollout", "pause", "deployment/web")
    scene.apply(spec={**SPEC, "image": IMAGE})
    message = scene.not_ready("RolloutPaused")["message"]
    assert scene.condition("Stalled")["status"] == "True"
    scene.kubectl(*message.partition("Resume it: kubectl ")[2].split())
    scene.ready()
    assert scene.child("deployment")["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
