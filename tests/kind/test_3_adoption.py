"""Two typical charts become WebApps under load: adopted by a rolling update, with no failed request."""

from typing import Any

import pytest

from integration.charts import CHARTS
from kind.client import Client
from kind.images import V1, V2
from kind.namespace import Namespace, spec
from kind.timings import Timings

REPLICAS = 3
OURS = {"coxswain.dev/webapp": "web"}


def installed(namespace: Namespace, chart: str) -> list[dict[str, Any]]:
    """Install a chart like Helm, with a preStop delay as in production charts, and wait."""
    objects = CHARTS[chart](V1)
    pod = objects[2]["spec"]["template"]["spec"]
    pod["containers"] = pod["containers"][:1]  # the image of a chart's second container does not exist
    pod["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": 5}}}
    namespace.create(*objects)
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
    return objects


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_is_adopted_under_load(namespace: Namespace, client: Client, timings: Timings, chart: str) -> None:
    objects = installed(namespace, chart)
    before = {thing["kind"]: namespace.get(thing["kind"].lower()) for thing in objects}
    selector = before["Deployment"]["spec"]["selector"]
    label = ",".join(f"{key}={value}" for key, value in selector["matchLabels"].items())
    old = [pod["metadata"]["name"] for pod in namespace.list("pods", label)]
    assert len(old) == REPLICAS
    with client.load(namespace.address()) as load:
        with timings.of(f"a chart ({chart}) of {REPLICAS} pods adopted: WebApp created to Ready") as row:
            namespace.apply_ready(spec(V2, replicas=REPLICAS))
        namespace.gone(*old)
        assert load.versions_now() == {"v2"}
    row.load = load.report.unharmed()
    assert load.report.versions == {"v1", "v2"}
    for kind, thing in before.items():
        assert namespace.get(kind.lower())["metadata"]["uid"] == thing["metadata"]["uid"], kind
    deployment, service = namespace.get("deployment"), namespace.get("service")
    assert deployment["spec"]["selector"] == selector
    assert [found["name"] for found in deployment["spec"]["template"]["spec"]["containers"]] == ["app"]
    assert service["spec"]["selector"] == OURS
    for name in ("type", "clusterIP", "ports"):
        assert service["spec"][name] == before["Service"]["spec"][name]
    assert len(namespace.pods()) == REPLICAS


def test_an_adopted_chart_is_rolled_out_again_under_load(namespace: Namespace, client: Client) -> None:
    installed(namespace, "app and release")
    namespace.apply_ready(spec(V1, replicas=REPLICAS))
    old = namespace.pods()
    with client.load(namespace.address()) as load:
        namespace.apply_ready(spec(V2, replicas=REPLICAS))
        namespace.gone(*old)
    load.report.unharmed()
    assert namespace.get("deployment")["spec"]["selector"] == {"matchLabels": {"app": "storefront", "release": "blue"}}
