"""Large foreign objects, and large WebApps, under the memory limit of the manifests (S4).

Any user with the right to write ConfigMaps can give them the operator's label. The kernel kills the operator at the
limit, as in its container. The printed peak is VmHWM, the kernel's high-water mark for one process; where this user
cannot have a control group, the peak alone is compared with the limit.
"""

import base64
import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane
from cluster.memory_limit import MemoryLimit, memory_limit
from cluster.operator_process import OperatorProcess
from integration.scene import SPEC, Scene, eventually, manifest

pytestmark = pytest.mark.large

ROOT = Path(__file__).parents[2]
COUNT = 300
MANY_KEYS = 40_000


@pytest.fixture(scope="module")
def roomy() -> Iterator[ControlPlane]:
    """A separate Kubernetes, because etcd keeps each version of each object."""
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml"]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        yield plane


@pytest.fixture
def limited() -> Iterator[MemoryLimit | None]:
    with memory_limit(limit()) as limited:
        yield limited
        assert limited is None or limited.kills() == 0, "the kernel killed the operator at the limit"


@pytest.fixture
def operator(roomy: ControlPlane, limited: MemoryLimit | None) -> Iterator[OperatorProcess]:
    kubeconfig = roomy.service_account_kubeconfig("coxswain-system", "coxswain")
    prefix = limited.prefix if limited is not None else ()
    process = OperatorProcess(kubeconfig, roomy.directory / "logs" / "operator.log", prefix=prefix)
    yield process
    process.stop()


def limit() -> int:
    """Return the memory limit of the operator's container, in bytes."""
    deployment = yaml.safe_load((ROOT / "manifests/base/deployment.yaml").read_text(encoding="utf-8"))
    text = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
    assert text.endswith("Mi")
    return int(text[:-2]) * 2**20


def peak(operator: OperatorProcess) -> int:
    """Return the peak resident memory of this operator process, in bytes."""
    status = Path(f"/proc/{operator.pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def hold(operator: OperatorProcess, limited: MemoryLimit | None, what: str) -> None:
    """Print the peak, and compare it with the limit, at which no process may have been killed."""
    if limited is not None:
        assert limited.kills() == 0, f"{what}: the kernel killed the operator at the limit"
        assert limited.contains(operator.pid), f"{what}: the operator does not run under the limit"
    print(f"{what}: peak of {peak(operator) / 2**20:.0f} MiB, limit {limit() / 2**20:.0f} MiB")
    assert peak(operator) < limit()


def noise(size: int, seed: int) -> str:
    """Return incompressible text."""
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4)).decode()


def config_map(number: int) -> dict[str, Any]:
    """Return a ConfigMap of 1 MB with the operator's label."""
    labels = {"coxswain.dev/webapp": "web" if number % 3 else "nobody"}
    labels |= {"app.kubernetes.io/managed-by": "coxswain"} if number % 2 else {}
    content: dict[str, Any] = {"data": {"noise": noise(1_000_000, number)}}
    if number % 10 == 1:
        content = {"data": {f"k{key}": "" for key in range(MANY_KEYS)}}
    elif number % 10 == 2:
        content = {"binaryData": {"noise": noise(1_000_000, number)}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"large-{number}", "labels": labels},
        **content,
    }


def create_all(scene: Scene, version: str, plural: str, things: list[dict[str, Any]]) -> None:
    def create(thing: dict[str, Any]) -> None:
        answer = scene._api.post(version=version, namespace=scene.namespace, url=plural, json=thing)
        assert answer.status_code == 201, answer.text[:500]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, things))


@pytest.mark.timeout(600)
def test_large_objects_with_our_label(
    roomy: ControlPlane, operator: OperatorProcess, limited: MemoryLimit | None
) -> None:
    roomy.kubectl("create", "namespace", "hostile")
    scene = Scene(roomy, "hostile", operator)
    operator.start()
    scene.apply_ready()
    create_all(scene, "v1", "configmaps", [config_map(number) for number in range(COUNT)])
    scene.json_patch("webapp", {"op": "replace", "path": "/spec/image", "value": "registry.example/web:2"})
    scene.ready()
    hold(operator, limited, f"{COUNT} ConfigMaps of 1 MB with our label are created while it runs")
    operator.stop()
    operator.start()
    scene.kubectl("delete", "service", "web")
    eventually(lambda: scene.names("service"), "the Service is created again")
    hold(operator, limited, f"{COUNT} ConfigMaps of 1 MB with our label exist at the start")


def more(scene: Scene, than: int) -> int:
    """Return the number of Deployments if there are more `than` these, else 0."""
    found = len(scene.list("deployment"))
    return found if found > than else 0


@pytest.mark.timeout(1800)
def test_large_webapps(roomy: ControlPlane, operator: OperatorProcess, limited: MemoryLimit | None) -> None:
    roomy.kubectl("create", "namespace", "large")
    scene = Scene(roomy, "large", operator)
    operator.start()
    specs = [{**SPEC, "files": [{"path": "/etc/large", "content": noise(890_000, number)}]} for number in range(COUNT)]
    things = [manifest(f"large-{number}", spec) for number, spec in enumerate(specs)]
    create_all(scene, "coxswain.dev/v1", "webapps", things)
    # A LIST of the WebApps has 270 MB. So wait for the small Deployments first, then read each WebApp.
    made = 0
    while made < COUNT:
        # The time for all of them is work of both cores, so each step has the deadline.
        made = eventually(partial(more, scene, made), f"more than {made} of {COUNT} have a Deployment", pause=1)
    for number in range(COUNT):
        scene.ready(f"large-{number}")
    hold(operator, limited, f"{COUNT} WebApps of 900 kB become Ready")
    operator.stop()
    operator.start()
    scene.kubectl("delete", "service", "large-7")
    eventually(lambda: scene.names("service", "large-7"), "the Service is created again")
    hold(operator, limited, f"{COUNT} WebApps of 900 kB exist at the start")
