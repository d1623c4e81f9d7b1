"""Serving containers that end and are started again by their kubelet."""

from typing import Any

from integration.scene import eventually
from kind.client import Client
from kind.images import V1
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.test_5_kills import kill_container
from kind.timings import Timings

FAILED_SHARE = 0.1
"""Of the requests, at most. Those in the killed container fail. New ones are refused until the kubelet has restarted
it, which is faster than the removal of the pod from the Service."""
SILENCE_SECONDS = 2.0
"""The other pod answers all the time."""


def restarts(namespace: Namespace) -> dict[str, int]:
    """Return the restarts of each pod's container."""
    return {
        name: pod["status"]["containerStatuses"][0]["restartCount"]
        for name, pod in namespace.pods().items()
        if pod["status"].get("containerStatuses")
    }


def test_a_killed_container_is_started_again(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """The kubelet starts it, and the operator writes nothing but the status."""
    namespace.apply_ready({**spec(V1), "replicas": 2})
    name, pod = next(iter(namespace.pods().items()))
    before = operator.writes()
    with client.load(namespace.address()) as load:
        with timings.of("serving container killed: to its restart, and the WebApp Ready") as row:
            kill_container(
                namespace.cluster, pod["spec"]["nodeName"], f"--label=io.kubernetes.pod.uid={pod['metadata']['uid']}"
            )
            eventually(lambda: restarts(namespace)[name] == 1, "the kubelet starts it again", timeout=60, pause=0.3)
            namespace.ready()
        load.versions_now()
    row.load = load.report
    assert load.report.failed < FAILED_SHARE * load.report.requests, load.report
    assert load.report.silence_seconds < SILENCE_SECONDS, load.report
    assert len(load.report.answered) == 2, load.report
    assert restarts(namespace) == {each: int(each == name) for each in restarts(namespace)}
    assert (operator.writes() - before).keys() <= {"webapps/status"}


def test_a_liveness_probe_restarts_a_container(namespace: Namespace, client: Client, timings: Timings) -> None:
    probe: dict[str, Any] = {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 1, "failureThreshold": 2}
    unhealthy = {"args": ["serve", "--version=v1", "--unhealthy-after=15s"], "livenessProbe": probe}
    with timings.of("unhealthy after 15 s: `kubectl apply` to the restart by its livenessProbe"):
        namespace.apply_ready({**spec(V1), **unhealthy})
        (name,) = namespace.pods()
        eventually(lambda: restarts(namespace)[name] == 1, "the probe restarts it", timeout=90, pause=0.5)
    assert client.get(namespace.address()) == f"v1 {name}"
    terminated = namespace.pods()[name]["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert terminated["exitCode"] == 0, "it ends by SIGTERM"
    killed = [event.get("message", "") for event in namespace.list("events") if event["reason"] == "Killing"]
    assert any("failed liveness probe" in message for message in killed), killed
