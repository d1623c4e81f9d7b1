"""A WebApp serves requests, also during changes."""

from pathlib import Path

import pytest
import yaml

from integration.scene import eventually
from kind.client import Client
from kind.images import V1, V2
from kind.namespace import Namespace, spec
from kind.timings import Timings

SAMPLE = Path(__file__).parents[2] / "manifests" / "samples" / "hello.yaml"


def test_the_sample_answers_by_name_from_another_namespace(
    namespace: Namespace, client: Client, timings: Timings
) -> None:
    sample = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    sample["spec"] |= {"image": V1, "args": ["serve", "--version=v1"]}
    with timings.of("the sample: `kubectl apply` to Ready"):
        namespace.create(sample)
        namespace.ready("hello")
    url = namespace.get("webapp", "hello")["status"]["url"]
    assert url == f"http://hello.{namespace.name}.svc:8080"
    assert client.get(url).startswith("v1 hello-")
    assert client.get(f"http://hello.{namespace.name}.svc.cluster.local:8080/").startswith("v1 hello-")


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_rolling_update_fails_no_request(
    namespace: Namespace, client: Client, timings: Timings, replicas: int
) -> None:
    namespace.apply_ready(spec(V1, replicas=replicas))
    old = namespace.pods()
    with client.load(namespace.address()) as load:
        with timings.of(f"rolling update of {replicas}: new image to Ready") as row:
            namespace.apply_ready(spec(V2, replicas=replicas))
        namespace.gone(*old)
        assert load.versions_now() == {"v2"}
    row.load = load.report.unharmed()
    assert load.report.versions == {"v1", "v2"}


def test_a_renamed_port_fails_no_request(namespace: Namespace, client: Client, timings: Timings) -> None:
    """Meanwhile the Service leads to the number, which the old and the new pods have."""
    namespace.apply_ready(spec(V1, replicas=2))
    old, address = namespace.pods(), namespace.address()
    ports = [{"name": "front", "containerPort": 8080}]
    service = {"ports": [{"name": "http", "port": 80, "targetPort": "front"}]}
    with client.load(address) as load:
        with timings.of("a port of 2 pods renamed: to Ready") as row:
            namespace.apply_ready(spec(V2, replicas=2, ports=ports, service=service))
        namespace.gone(*old)
        assert load.versions_now() == {"v2"}
    row.load = load.report.unharmed()
    eventually(
        lambda: namespace.get("service", "web")["spec"]["ports"][0]["targetPort"] == "front",
        "the new name is the target",
    )


def test_without_the_defaults_requests_fail(namespace: Namespace, client: Client, timings: Timings) -> None:
    """Counter-check of the other tests' zeros: the same client, and a WebApp without the defaults."""
    opted_out = {"terminationGracePeriodSeconds": 0, "rollout": {"strategy": "Recreate"}}
    namespace.apply_ready(spec(V1, **opted_out))
    with client.load(namespace.address()) as load:
        with timings.of("strategy Recreate, no sleep before the end: new image to Ready") as row:
            namespace.apply_ready(spec(V2, **opted_out))
        eventually(lambda: load.versions_now() == {"v2"}, "the new version answers")
    row.load = load.report
    assert load.report.failed > 0
