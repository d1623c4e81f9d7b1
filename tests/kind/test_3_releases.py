"""Releases with real pods: a failed rollout goes back by itself, and an upgrade of the operator restarts no pod."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from integration.scene import eventually
from kind.client import Client
from kind.edits import Edits
from kind.images import CRASHING, V1, V2
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.other_version import SLEEP_SECONDS, build_other_version
from kind.timings import Timings

WEBAPPS = 50
USED, EDITED = "web-01", "web-02"
"""The WebApp with clients, and the one with edits: a changed spec has new defaults, so its pods are replaced."""
OTHERS = f"coxswain.dev/webapp,coxswain.dev/webapp!={EDITED}"
FEWEST_EDITS = 5
"""The fewest edits during a rolling upgrade on the slowest machine."""
FAILURES: dict[str, dict[str, Any]] = {
    "a crash": {"image": CRASHING, "rollout": {"onFailure": "Rollback", "progressDeadlineSeconds": 15}},
    "a command that does not exist": {"image": V2, "command": ["/missing"], "rollout": {"onFailure": "Rollback"}},
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_rollout_is_rolled_back_without_a_failed_request(
    namespace: Namespace, client: Client, timings: Timings, name: str
) -> None:
    bad = FAILURES[name]
    good = spec(V1, replicas=2, config={"GREETING": "hello"}, rollout=bad["rollout"])
    namespace.apply_ready(good)
    old, running = namespace.pods(), rendered(namespace)
    with client.load(namespace.address()) as load:
        with timings.of(f"failed rollout, {name}: to the earlier revision") as row:
            namespace.apply({**good, **bad, "config": {"GREETING": "good day"}})
            namespace.wait("condition=RolledBack", "webapp/web")
        eventually(lambda: rendered(namespace) == running, "pods and configuration are those of revision 1", timeout=30)
        assert {"revision": 2, "runningRevision": 1}.items() <= namespace.get("webapp")["status"].items()
        eventually(lambda: namespace.pods().keys() == old.keys(), "the failed pods are gone", timeout=60, pause=1)
        assert load.versions_now() == {"v1"}
        with timings.of(f"failed rollout, {name}: corrected, to Ready"):
            namespace.apply({**good, "image": V2})
            namespace.ready()
        # An old pod serves during its preStop sleep.
        namespace.gone(*old)
        assert load.versions_now() == {"v2"}
    row.load = load.report.unharmed()
    types = {condition["type"] for condition in namespace.get("webapp")["status"]["conditions"]}
    assert "RolledBack" not in types


@pytest.mark.usefixtures("alone")
def test_an_upgrade_and_a_downgrade_of_the_operator_restart_no_pod(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings, tell: Callable[[str], None]
) -> None:
    """F21 under load, with other defaults in the other version. A changed spec has those of the present version."""
    cluster, image = namespace.cluster, operator.image
    other = build_other_version(cluster.engine, image)
    cluster.load(other)
    names = [f"web-{number:02}" for number in range(WEBAPPS)]
    with timings.of(f"{WEBAPPS} WebApps of one pod each: to all Ready"):
        namespace.create(*(webapp(name, V1) for name in names))
        namespace.wait("condition=Ready", "webapp", "--all", seconds=300)
    pods, written = uids(namespace), generations(namespace)
    assert len(pods) == WEBAPPS - 1

    def use(image: str, what: str) -> None:
        """Roll an operator out, while clients use one WebApp and someone edits another one each second."""
        with (
            client.load(namespace.address(USED)) as load,
            Edits(namespace, EDITED) as edits,
            timings.of(f"{what} of the operator: to all {WEBAPPS} WebApps reconciled") as row,
        ):
            operator.use(image)
            enough = WEBAPPS + edits.count
            eventually(lambda: operator.reconciles() >= enough, "all are reconciled", timeout=120, pause=1)
        row.load = load.report.unharmed()
        tell(f"{what}: {edits.count} edits")
        assert edits.count >= FEWEST_EDITS

    try:
        use(other, "upgrade")
        assert (uids(namespace), generations(namespace)) == (pods, written)
        tell(f"upgrade: {len(pods)} pods before and after it: {', '.join(sorted(pods))}")
        namespace.create(webapp("web-00", V2))
        namespace.ready("web-00")
        assert sleep_seconds(namespace, "web-00") == SLEEP_SECONDS
        eventually(lambda: len(uids(namespace)) == WEBAPPS - 1, "the old pod of web-00 is gone", pause=0.5)
        pods, written = uids(namespace), generations(namespace)
    finally:
        use(image, "downgrade")
    assert (uids(namespace), generations(namespace)) == (pods, written)
    tell(f"downgrade: {len(pods)} pods before and after it: {', '.join(sorted(pods))}")
    assert "render version 2" in namespace.not_ready("RenderUnknown", "web-00")
    assert {sleep_seconds(namespace, name) for name in names[1:]} == {5}
    templates = namespace.list("replicasets", f"coxswain.dev/webapp={EDITED}")
    assert len(templates) == 2, "the edited WebApp had the defaults of each version once"


def webapp(name: str, image: str) -> dict[str, Any]:
    manifest = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": name}}
    return {**manifest, "spec": {**spec(image), "resources": {"requests": {"cpu": "1m"}}}}


def rendered(namespace: Namespace) -> Mapping[str, Any]:
    """Return the pod template and the ConfigMap that it refers to."""
    template = namespace.get("deployment")["spec"]["template"]
    (name,) = [each["valueFrom"]["configMapKeyRef"]["name"] for each in template["spec"]["containers"][0]["env"]]
    return {"template": template, "config": namespace.get("configmap", name)["data"]}


def uids(namespace: Namespace) -> set[str]:
    return {pod["metadata"]["uid"] for pod in namespace.list("pods", OTHERS)}


def generations(namespace: Namespace) -> dict[str, int]:
    return {
        found["metadata"]["name"]: found["metadata"]["generation"] for found in namespace.list("deployments", OTHERS)
    }


def sleep_seconds(namespace: Namespace, name: str) -> int:
    [container] = namespace.get("deployment", name)["spec"]["template"]["spec"]["containers"]
    seconds: int = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    return seconds
