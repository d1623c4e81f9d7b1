"""What things cost, counted in the audit log."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime

from cluster import AuditLog, ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import OPERATOR, SPEC, Quiet, Scene, eventually, show

MANY = 100
SPARE = 10
"""Statuses beyond the others: three pods of one WebApp."""
COUNTS_SECONDS = 1.5
"""A change of counts waits this long for the next change (docs/decisions/0026)."""
QUIET_SECONDS = 60.0


def test_creation_costs_four_child_writes(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    requests = scene.settled(mark)
    show("one WebApp, from its creation on", requests)
    statuses, events = requests.pop("patch webapps/status"), requests.pop("create events", 0)
    assert requests == Counter(
        {"patch serviceaccounts": 1, "patch configmaps": 1, "patch services": 1, "patch deployments": 1}
    )
    assert statuses <= 2
    assert events <= 1


def test_a_changed_image_costs_one_child_write(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    requests = scene.settled(mark)
    show("a changed image", requests)
    assert requests.pop("patch webapps/status") <= 2
    assert requests == Counter({"patch deployments": 1})


def test_a_drifted_field_costs_one_child_write_and_one_status_a_minute(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    scene.kubectl("label", "deployment", "web", "--overwrite", "app.kubernetes.io/name=other")
    eventually(lambda: scene.get("deployment")["metadata"]["labels"]["app.kubernetes.io/name"] == "web", "put back")
    requests = scene.settled(mark)
    show("a label of the Deployment changed by kubectl", requests)
    assert requests == Counter({"patch deployments": 1, "create events": 1, "patch webapps/status": 1})
    # The same drift again is no news, and its count waits for a minute.
    scene.kubectl("label", "deployment", "web", "--overwrite", "app.kubernetes.io/name=other")
    assert scene.settled(mark) == Counter({"patch deployments": 1})


def test_a_drifted_pod_costs_one_child_write(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    scene.kubectl("set", "image", "deployment/web", "app=registry.example/other:1")
    requests = scene.settled(mark)
    show("the image of the Deployment changed by kubectl", requests)
    assert requests.pop("patch webapps/status", 0) <= 2, "it rolls out for a moment, and that is told"
    # The Deployment controller follows the edit as well, with up to three writes of its own: whenever one of them comes
    # between, ours is refused, and made anew.
    refused = requests.pop("get webapps", 0)
    assert refused <= 3
    assert requests.pop("get deployments", 0) == refused
    assert requests == Counter({"patch deployments": 1 + refused, "create events": 1})


def affordable(mark: AuditLog, namespace: str) -> int:
    """Return how many status writes the WebApps may cost since the mark.

    Two for each, and one for each wait that the rollout outlasted: on a busy machine the controllers need seconds from
    one count of pods to the next.
    """
    written: dict[str, list[datetime]] = defaultdict(list)
    for event in mark.events():
        if (event.user, event.namespace, event.subresource) == (OPERATOR, namespace, "status"):
            written[event.name].append(datetime.fromisoformat(event.time))
    waits = sum(int((times[-1] - times[0]).total_seconds() / COUNTS_SECONDS) for times in written.values())
    if waits:
        print(f"{waits} waits of {COUNTS_SECONDS} s between the first and the last status of a rollout")
    return 2 * MANY + waits + SPARE


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
    assert requests == Counter({f"patch {kind}": MANY for kind in children})
    assert statuses <= affordable(statuses_mark, scene.namespace)
    assert events <= MANY

    scene.apply_all({name: {**spec, "image": "registry.example/hello:2"} for name, spec in specs.items()})
    scene.all_ready(MANY)
    requests = scene.settled(mark)
    show(f"another image for {MANY} WebApps", requests)
    assert requests.pop("patch webapps/status") <= affordable(statuses_mark, scene.namespace)
    assert requests == Counter({"patch deployments": MANY})

    scene.kubectl("delete", "webapps", "--all")
    eventually(lambda: not scene.list("deployment"), "the garbage collector has taken the children", timeout=120)
    requests = scene.settled(mark)
    show(f"{MANY} WebApps deleted", requests)
    assert requests == Counter()


def test_a_converged_webapp_costs_no_request_in_a_minute(quiet: Quiet) -> None:
    """While all the tests before this one ran, restarts of the operator among them.

    The watches and the resync are about no namespace; test_restart.py counts them.
    """
    time.sleep(max(0.0, quiet.since + QUIET_SECONDS - time.monotonic()))
    requests = quiet.scene.requests(quiet.mark)
    show(f"a converged WebApp in {time.monotonic() - quiet.since:.0f} s", requests)
    assert requests == Counter()
