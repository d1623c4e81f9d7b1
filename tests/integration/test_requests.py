"""The cost of operations in requests, counted in the audit log."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime

import pytest

from cluster import AuditLog, ControlPlane
from cluster.operator_process import OperatorProcess
from coxswain.settings import StatusSettings
from integration import gateways
from integration.scene import OPERATOR, SPEC, Quiet, Scene, eventually, show
from integration.test_metrics import scraped, total
from rendered import CHILDREN

MANY = 100
SPARE = 10
"""Additional status writes for three pods of one WebApp."""
PAUSE_SECONDS = min(StatusSettings().progress_interval, StatusSettings().counts_interval)
"""The shortest time that a status without decisive news waits for further changes (docs/decisions/0026 and 0045)."""
QUIET_SECONDS = 60.0


def test_creation_costs_four_child_writes_and_two_for_the_revision(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    requests = scene.settled(mark)
    show("one WebApp, from its creation on", requests)
    statuses, events = requests.pop("patch webapps/status"), requests.pop("create events", 0)
    assert requests == Counter(
        {
            "patch serviceaccounts": 1,
            "patch configmaps": 1,
            "patch services": 1,
            "patch deployments": 1,
            "patch controllerrevisions": 2,
        }
    ), "the revision is recorded, and that it was Ready"
    assert statuses <= 2
    assert events <= 1


FULL = {
    **{name: value for name, value in SPEC.items() if name != "replicas"},
    "autoscaling": {"minReplicas": 2, "maxReplicas": 4},
    "network": {"ingress": [{"from": {"sameNamespace": True}}]},
    "routes": [{"parentRefs": [gateways.GATEWAY], "hostnames": ["shop.example.com"]}],
    "ingress": {"className": "public", "hosts": [{"host": "shop.example.com"}]},
}
"""A WebApp with each kind of child."""


@pytest.mark.slow
def test_creation_of_a_full_webapp_costs_one_write_for_each_child(scene: Scene) -> None:
    mark, statuses_mark = scene.cluster.audit(), scene.cluster.audit()
    scene.apply(spec=FULL)
    gateways.there(scene, "httproute")
    gateways.report(scene)
    gateways.there(scene, "ingress")
    gateways.assign(scene)
    scene.ready()
    requests = scene.settled(mark)
    show("a WebApp with each kind of child, from its creation on", requests)
    statuses, events = requests.pop("patch webapps/status"), requests.pop("create events", 0)
    # Two more writes of the Deployment leave its count to the autoscaler: without a count it would start with one pod.
    assert requests == Counter(f"patch {kind.plural}" for kind in CHILDREN) + Counter(
        {"patch deployments": 2, "patch controllerrevisions": 1}
    )
    assert len(requests) == 10
    most = 2 + waits(statuses_mark, scene.namespace)
    assert statuses <= most, "reports of other controllers wait for each other, and for the progress of two pods"
    assert events <= 1

    reconciles = reconciled(scene)
    scene.kubectl("annotate", "deployment,service,ingress,httproute", "web", "example.com/note=a")
    eventually(lambda: reconciled(scene) > reconciles, "a reconcile after a change without effect")
    assert scene.settled(mark) == Counter()


def test_a_changed_image_costs_one_child_write_and_two_for_the_revision(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    requests = scene.settled(mark)
    show("a changed image", requests)
    assert requests.pop("patch webapps/status") <= 2
    assert requests == Counter({"patch deployments": 1, "patch controllerrevisions": 2})


@pytest.mark.slow
def test_a_drifted_field_costs_one_child_write_and_one_status_a_minute(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    scene.kubectl("label", "deployment", "web", "--overwrite", "app.kubernetes.io/name=other")
    eventually(lambda: scene.get("deployment")["metadata"]["labels"]["app.kubernetes.io/name"] == "web", "put back")
    requests = scene.settled(mark)
    show("a label of the Deployment changed by kubectl", requests)
    assert requests == Counter({"patch deployments": 1, "create events": 1, "patch webapps/status": 1})
    # The same drift again causes no immediate write; its count waits for a minute.
    scene.kubectl("label", "deployment", "web", "--overwrite", "app.kubernetes.io/name=other")
    assert scene.settled(mark) == Counter({"patch deployments": 1})


def test_a_drifted_pod_costs_one_child_write(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    statuses_mark, available = scene.cluster.audit(), scene.condition("Available")
    scene.kubectl("set", "image", "deployment/web", "app=registry.example/other:1")
    requests = scene.settled(mark)
    show("the image of the Deployment changed by kubectl", requests)
    statuses = requests.pop("patch webapps/status", 0)
    # The two rollouts overlap, so the Deployment controller may stop the only ready pod before the next one is ready.
    interrupted = scene.condition("Available") != available
    assert statuses <= 2 + interrupted + waits(statuses_mark, scene.namespace), "the short rollout is reported"
    assert requests == Counter({"patch deployments": 1, "create events": 1})


def reconciled(scene: Scene) -> float:
    """Return the number of finished reconciles of WebApps."""
    return total(scraped(scene), "controller_runtime_reconcile_time_seconds_count", controller="webapp")


def waits(mark: AuditLog, namespace: str) -> int:
    """Return how many waits of a rollout lie between the first and the last status of each WebApp since the mark.

    Each may cost one status write more: on a busy machine the controllers need seconds between two counts of pods.
    """
    written: dict[str, list[datetime]] = defaultdict(list)
    for event in mark.events():
        if (event.user, event.namespace, event.subresource) == (OPERATOR, namespace, "status"):
            written[event.name].append(datetime.fromisoformat(event.time))
    found = sum(int((times[-1] - times[0]).total_seconds() / PAUSE_SECONDS) for times in written.values())
    if found:
        print(f"{found} waits of {PAUSE_SECONDS} s between the first and the last status of a rollout")
    return found


@pytest.mark.slow
def test_a_hundred_webapps_at_once(
    cluster: ControlPlane, make_namespace: Callable[[], str], operator: OperatorProcess
) -> None:
    scene = Scene(cluster, make_namespace(), operator)
    specs = {f"web-{number:03}": {**SPEC, "replicas": 3 if number == 0 else 1} for number in range(MANY)}
    log, mark, statuses_mark, started = len(operator.logged()), cluster.audit(), cluster.audit(), time.monotonic()
    scene.apply_all(specs)
    applied = time.monotonic() - started
    scene.all_ready(MANY)
    elapsed = time.monotonic() - started
    requests = scene.settled(mark)
    show(f"{MANY} WebApps, applied in {applied:.1f} s, all Ready {elapsed:.1f} s after the first was", requests)
    assert scene.get("webapp", "web-000")["status"]["readyReplicas"] == 3
    assert not [line for line in operator.logged()[log:].splitlines() if " error " in line]
    statuses, events = requests.pop("patch webapps/status"), requests.pop("create events")
    children = ("serviceaccounts", "configmaps", "services", "deployments")
    several = {"patch poddisruptionbudgets": 1, "patch controllerrevisions": 2 * MANY}
    assert requests == Counter({f"patch {kind}": MANY for kind in children}) + Counter(several)
    assert statuses <= 2 * MANY + waits(statuses_mark, scene.namespace) + SPARE
    assert events <= MANY

    scene.apply_all({name: {**spec, "image": "registry.example/hello:2"} for name, spec in specs.items()})
    scene.all_ready(MANY)
    requests = scene.settled(mark)
    show(f"another image for {MANY} WebApps", requests)
    assert requests.pop("patch webapps/status") <= 2 * MANY + waits(statuses_mark, scene.namespace) + SPARE
    assert requests == Counter({"patch deployments": MANY, "patch controllerrevisions": 2 * MANY})

    scene.kubectl("delete", "webapps", "--all")
    eventually(lambda: not scene.list("deployment"), "the garbage collector has deleted the children", timeout=120)
    requests = scene.settled(mark)
    show(f"{MANY} WebApps deleted", requests)
    assert requests == Counter()


def test_a_converged_webapp_costs_no_request_in_a_minute(quiet: Quiet) -> None:
    """Measured during all earlier tests, which include restarts of the operator.

    Watches and the resync belong to no namespace; test_restart.py counts them.
    """
    time.sleep(max(0.0, quiet.since + QUIET_SECONDS - time.monotonic()))
    requests = quiet.scene.requests(quiet.mark)
    show(f"a converged WebApp in {time.monotonic() - quiet.since:.0f} s", requests)
    assert requests == Counter()
