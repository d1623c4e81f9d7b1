"""An autoscaler with the real metrics-server: load raises the replicas, and its end lowers them."""

from typing import Any

from integration.scene import eventually
from kind import metrics_server
from kind.client import Client
from kind.images import V1
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.timings import Timings

SCALED_SECONDS = 240
"""Two samples of metrics-server, two intervals of the autoscaler, and the start or the end of pods."""

AUTOSCALED: dict[str, Any] = {
    **spec(V1),
    "resources": {"requests": {"cpu": "10m"}},
    "autoscaling": {
        "minReplicas": 1,
        "maxReplicas": 3,
        "cpu": 100,
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
    },
}


def test_load_raises_the_replicas_and_its_end_lowers_them(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    metrics_server.wait_until_available(namespace.cluster)
    namespace.apply_ready(AUTOSCALED)
    active = "jsonpath={.status.conditions[?(@.type=='ScalingActive')].status}=True"
    namespace.wait(active, "horizontalpodautoscaler/web", seconds=SCALED_SECONDS)
    before = operator.writes()
    with client.load(namespace.address()) as load:
        with timings.of("load on an autoscaled WebApp: to 3 replicas ready") as row:
            namespace.wait("jsonpath={.status.readyReplicas}=3", "webapp/web", seconds=SCALED_SECONDS)
        load.versions_now()
    row.load = load.report.unharmed()
    assert len(load.report.answered) == 3, load.report
    with timings.of("end of the load: to 1 replica"):
        eventually(lambda: len(namespace.pods()) == 1, "the pods end", timeout=SCALED_SECONDS, pause=1)
    namespace.ready()
    assert (operator.writes() - before).keys() <= {"webapps/status"}, "the autoscaler alone scales"
