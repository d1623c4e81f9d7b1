"""Volumes, init containers, sidecars and scheduling on a real API server: no drift, no loop, and causes by name."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import KubectlError
from integration.scene import SPEC, Scene, eventually, masked
from integration.test_pods import ago, ended, spec, the_pod

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "golden" / "in" / "pods.yaml"
POD = "/spec/template/spec"
MIGRATE: dict[str, Any] = {
    "name": "migrate",
    "image": "registry.example/migrate:1",
    "env": [{"name": "STEP", "value": "1"}],
    "volumeMounts": [{"name": "run", "mountPath": "/run"}],
}
PROXY: dict[str, Any] = {
    "name": "proxy",
    "image": "registry.example/proxy:1",
    "ports": [{"name": "proxy", "containerPort": 9000}],
    "startupProbe": {"tcpSocket": {"port": "proxy"}},
}
BESIDE: dict[str, Any] = {
    "volumes": [{"name": "run", "emptyDir": {}}],
    "initContainers": [MIGRATE],
    "sidecars": [PROXY],
}
FULL = {**SPEC, **BESIDE}
VOLUMES = [{"name": "tls", "mountPath": "/tls", "secret": {"secretName": "missing"}}]


def every_field(**more: Any) -> dict[str, Any]:
    """A spec with every field for pods, and no pods."""
    golden: dict[str, Any] = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["spec"]
    return {**golden, "replicas": 0, **more}


def test_every_field_at_once_is_neither_drift_nor_a_loop(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready(spec=every_field())
    first = scene.settled(mark)
    assert {name: count for name, count in first.items() if name != "patch webapps/status"} == Counter(
        {
            "create events": 2,  # Created; and Check, because the operator does not watch the objects of restartOn
            **{f"patch {kind}": 1 for kind in ("serviceaccounts", "configmaps", "services", "deployments")},
            "patch controllerrevisions": 1,  # without pods it has no outcome
        }
    )
    mark = scene.cluster.audit()
    scene.apply_ready(spec=every_field(annotations={"example.com/touched": "yes"}))
    assert scene.settled(mark)["patch deployments"] == 1
    assert not scene.get("webapp")["status"].get("drift")


def test_without_the_fields_again_the_deployment_is_that_of_a_new_webapp(scene: Scene) -> None:
    plain = {**SPEC, "replicas": 0}
    scene.apply_ready(spec=every_field())
    scene.apply_ready(spec=plain)
    scene.apply_ready("fresh", spec=plain)
    evolved, fresh = masked(scene.child("deployment")), masked(scene.child("deployment", "fresh"))
    assert repr(evolved).replace("web", "fresh") == repr(fresh).replace("web", "fresh")


def test_init_containers_and_sidecars_are_admitted_as_restricted(scene: Scene) -> None:
    scene.kubectl("label", "namespace", scene.namespace, "pod-security.kubernetes.io/enforce=restricted")
    scene.apply_ready(spec={**FULL, "readOnlyRootFilesystem": True, "writablePaths": ["/run/app"]})
    assert not scene.condition("PodSecurityViolated")
    made = scene.get("deployment")["spec"]["template"]["spec"]["initContainers"]
    assert [(each["name"], each.get("restartPolicy")) for each in made] == [("proxy", "Always"), ("migrate", None)]


def beside(container: str, state: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The status of an init container or a sidecar that is not ready."""
    usual = {"image": f"registry.example/{container}:1", "imageID": "", "ready": False, "restartCount": 3}
    return {"name": container, **usual, "lastState": {}, "state": state, **more}


@pytest.mark.parametrize(("container", "role"), [("migrate", "init container"), ("proxy", "sidecar")])
def test_a_failing_init_container_or_sidecar_is_reported_by_name(scene: Scene, container: str, role: str) -> None:
    scene.apply(spec={**spec("never-ready"), **BESIDE})
    pod = the_pod(scene)
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
    scene.patch_status(
        "pod", {"initContainerStatuses": [beside(container, waiting, lastState=ended(3, "no schema"))]}, pod
    )
    ready = scene.not_ready("CrashLoopBackOff")
    assert (
        f"{role} {container} (image registry.example/{container}:1) exits repeatedly, exit code 3" in ready["message"]
    )
    log = f"kubectl logs --previous --ignore-errors --tail=50 -l coxswain.dev/webapp=web -n {scene.namespace}"
    assert ready["message"].endswith(f"{log} --all-containers --prefix; message: no schema")


def test_an_unmounted_volume_is_reported_after_two_minutes(scene: Scene) -> None:
    """A Secret that is missing, or a claim on another node, is told in Events only: there are none yet."""
    scene.apply(spec={**spec("never-ready"), "volumes": VOLUMES})
    mark = scene.cluster.audit()
    not_prepared(scene, the_pod(scene), 119)
    ready = scene.not_ready("ContainerCreating")
    assert "volumes or network have not been ready for 2 minutes" in ready["message"], "told without another event"
    assert "Check that the ConfigMaps and Secrets in spec.volumes exist" in ready["message"]
    assert scene.settled(mark)["list events"] == 1
    scene.apply_ready(spec=SPEC)


def test_a_failed_mount_is_reported_with_the_text_of_the_event(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply(spec={**spec("never-ready"), "volumes": VOLUMES})
    pod = the_pod(scene)
    note = 'MountVolume.SetUp failed for volume "tls" : secret "missing" not found'
    for name, reason, type_ in [("a", "FailedMount", "Warning"), ("b", "Scheduled", "Normal")]:
        scene.create(event_about(scene.get("pod", pod), f"{pod}.{name}", reason, type_, note))
    scene.create(event_about(scene.get("webapp"), "other", "FailedMount", "Warning", "of another object"))
    not_prepared(scene, pod, 500)
    ready = scene.not_ready("FailedMount")
    command = f"kubectl describe secret missing -n {scene.namespace}"
    assert ready["message"].endswith(f"Create it and its keys, or correct spec.volumes: {command}; message: {note}")
    requests = scene.settled(mark)
    assert requests["list events"] == 1, "one read for the pod"
    scene.patch("webapp", {"spec": {"annotations": {"example.com/touched": "yes", "kwok.test/fate": "never-ready"}}})
    eventually(lambda: scene.get("webapp")["status"]["observedGeneration"] == 2, "it is reconciled again")
    assert scene.settled(mark)["list events"] <= 2


def event_about(subject: dict[str, Any], name: str, reason: str, type_: str, message: str) -> dict[str, Any]:
    """An Event as the kubelet posts it, through the core API."""
    metadata = subject["metadata"]
    involved = {"apiVersion": subject["apiVersion"], "kind": subject["kind"], "name": metadata["name"]}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {**involved, "namespace": metadata["namespace"], "uid": metadata["uid"]},
        "reason": reason,
        "type": type_,
        "message": message,
        "source": {"component": "kubelet", "host": "node-0"},
        "firstTimestamp": ago(60),
        "lastTimestamp": ago(0),
        "count": 3,
    }


def not_prepared(scene: Scene, pod: str, seconds: float) -> None:
    """Let the kubelet have tried to mount the volumes of a pod for so long."""
    prepared = {"type": "PodReadyToStartContainers", "status": "False", "lastTransitionTime": ago(seconds)}
    creating = beside("app", {"waiting": {"reason": "ContainerCreating"}}, restartCount=0)
    scene.patch_status("pod", {"conditions": [prepared], "containerStatuses": [creating]}, pod)


def test_a_claim_of_one_pod_can_not_be_scaled(scene: Scene) -> None:
    claim = {"name": "data", "mountPath": "/data", "persistentVolumeClaim": {"claimName": "shop"}}
    one = {**SPEC, "replicas": 1, "volumes": [claim], "rollout": {"strategy": "Recreate"}}
    scene.apply(spec=one)
    ready = scene.not_ready("Unschedulable")
    assert 'persistentvolumeclaim "shop" not found' in ready["message"]
    assert "the claims in spec.volumes" in ready["message"]
    with pytest.raises(KubectlError, match="a persistentVolumeClaim without shared serves one pod at a time"):
        scene.kubectl("scale", "webapp/web", "--replicas=2")
    shared = {**claim, "persistentVolumeClaim": {"claimName": "shop", "shared": True}}
    scene.apply(spec={**one, "volumes": [shared]})
    scene.kubectl("scale", "webapp/web", "--replicas=2")


INIT = f"{POD}/initContainers"
CHANGES: dict[str, dict[str, Any]] = {
    "an image": {"op": "replace", "path": f"{INIT}/1/image", "value": "registry.example/other:1"},
    "a source of a variable": {
        "op": "replace",
        "path": f"{INIT}/1/env/0",
        "value": {"name": "STEP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    },
    "a handler of a probe": {
        "op": "replace",
        "path": f"{INIT}/0/startupProbe",
        "value": {"exec": {"command": ["true"]}},
    },
    "a container removed": {"op": "remove", "path": f"{INIT}/1"},
    "a sidecar removed": {"op": "remove", "path": f"{INIT}/0"},
    "a port": {"op": "replace", "path": f"{INIT}/0/ports/0/containerPort", "value": 9001},
    "a source of a volume": {
        "op": "replace",
        "path": f"{POD}/volumes/0",
        "value": {"name": "run", "secret": {"secretName": "other"}},
    },
    "the scheduler": {"op": "replace", "path": f"{POD}/schedulerName", "value": "other"},
    "the resolver": {"op": "replace", "path": f"{POD}/dnsPolicy", "value": "Default"},
    "the affinity": {"op": "remove", "path": f"{POD}/affinity"},
    "an alias": {"op": "replace", "path": f"{POD}/hostAliases/0/hostnames", "value": ["other"]},
    "the root": {
        "op": "replace",
        "path": f"{POD}/containers/0/securityContext/readOnlyRootFilesystem",
        "value": False,
    },
    "the ready seconds": {"op": "replace", "path": "/spec/minReadySeconds", "value": 0},
}
PLACED: dict[str, Any] = {
    "schedulerName": "batch",
    "dnsPolicy": "ClusterFirst",
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]
        }
    },
    "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a"]}],
    "readOnlyRootFilesystem": True,
    "rollout": {"minReadySeconds": 1},
    "replicas": 0,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_another_writer_is_corrected(scene: Scene, change: str) -> None:
    scene.apply_ready(spec={**FULL, **PLACED})
    before = masked(scene.child("deployment"))
    scene.json_patch("deployment", CHANGES[change])
    eventually(lambda: masked(scene.child("deployment")) == before, f"{change} is put back")
    scene.ready()


RENAMED: dict[str, tuple[dict[str, Any], str, str]] = {
    "container": ({"op": "replace", "path": f"{INIT}/1/name", "value": "other"}, "", "name"),
    "mount": (
        {"op": "replace", "path": f"{INIT}/1/volumeMounts/0/mountPath", "value": "/other"},
        "volumeMounts",
        "mountPath",
    ),
}


@pytest.mark.parametrize("what", RENAMED)
def test_an_item_renamed_by_another_writer_is_added_again(scene: Scene, what: str) -> None:
    """The item with the new key is the other writer's."""
    operation, place, key = RENAMED[what]
    scene.apply_ready(spec={**FULL, "replicas": 0})
    scene.json_patch("deployment", operation)

    def keys() -> set[str]:
        made = scene.get("deployment")["spec"]["template"]["spec"]["initContainers"]
        items = made if not place else [mount for each in made for mount in each.get(place, [])]
        return {item[key] for item in items}

    ours = {"migrate", "proxy"} if what == "container" else {"/run"}
    eventually(lambda: keys() == {*ours, operation["value"]}, f"the {what} is there again")
    scene.ready()


def test_an_init_container_of_another_manager_stays_beside_ours(scene: Scene) -> None:
    scene.apply_ready(spec=FULL)
    theirs = {"name": "mesh-init", "image": "registry.example/mesh:1"}
    mark = scene.cluster.audit()
    scene.json_patch("deployment", {"op": "add", "path": f"{INIT}/0", "value": theirs})
    scene.ready()
    changes = {"patch deployments", "delete deployments"}
    assert not changes & scene.settled(mark).keys()
    scene.apply_ready(spec={**FULL, "initContainers": [MIGRATE, {**MIGRATE, "name": "more"}]})
    names = [each["name"] for each in scene.get("deployment")["spec"]["template"]["spec"]["initContainers"]]
    assert sorted(names) == ["mesh-init", "migrate", "more", "proxy"]
    assert [name for name in names if name != "mesh-init"] == ["proxy", "migrate", "more"]


def test_a_missing_runtime_class_is_reported(scene: Scene) -> None:
    scene.apply(spec={**SPEC, "runtimeClassName": "gvisor"})
    ready = scene.not_ready("FailedCreate")
    assert 'RuntimeClass "gvisor" not found' in ready["message"]
    assert ready["message"].endswith("Correct spec.runtimeClassName: kubectl get runtimeclasses")
