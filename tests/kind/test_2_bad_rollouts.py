"""A bad rollout: the old pods keep serving, and the status has the cause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from cluster.kind.kind_cluster import KindCluster
from integration.scene import eventually
from kind.client import Client
from kind.images import CRASHING, EXIT_CODE, LAST_WORDS, MISSING, NEVER_READY, SLOW, START_SECONDS, V1, V2
from kind.installation import Installation
from kind.namespace import READY_SECONDS, Namespace, spec, temporary
from kind.timings import Timings

PATIENCE_SECONDS = 120
"""A volume may take so long before it is a cause."""
MOUNT_BACKOFF_SECONDS = 122
"""The longest pause of the kubelet between two tries to mount a volume."""


@pytest.fixture(scope="module", autouse=True)
def without_secret(cluster: KindCluster, installed: Installation) -> Iterator[Namespace]:
    """A WebApp whose Secret is missing, applied before the first test, because its cause takes two minutes."""
    installed.ready()
    with temporary(cluster) as namespace:
        volume = {"name": "tls", "mountPath": "/tls", "secret": {"secretName": "missing"}}
        namespace.apply(spec(V1, volumes=[volume]))
        yield namespace


@dataclass(frozen=True)
class Bad:
    """A spec or quota that cannot roll out, and the expected reason and words of the message in the status."""

    spec: dict[str, Any]
    reason: str
    words: Sequence[str]
    quota: dict[str, str] = field(default_factory=dict)


BAD = {
    "an image that does not exist": Bad(spec(MISSING), "ImagePullBackOff", [f"image {MISSING}"]),
    "a crash": Bad(spec(CRASHING), "CrashLoopBackOff", [f"image {CRASHING}", f"exit code {EXIT_CODE}", LAST_WORDS]),
    "never ready": Bad(
        spec(NEVER_READY, readinessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 2, "failureThreshold": 2}),
        "ReadinessProbeFailing",
        [f"image {NEVER_READY}", "tcpSocket on port http"],
    ),
    "no node that fits": Bad(
        spec(V2, nodeSelector={"example.com/disk": "fast"}), "Unschedulable", ["node affinity/selector"]
    ),
    "a quota": Bad(spec(V2), "FailedCreate", ["ResourceQuota few is exceeded: pods 2 of 2 used"], quota={"pods": "2"}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_rollout_harms_no_request_and_says_why(
    namespace: Namespace, client: Client, timings: Timings, name: str
) -> None:
    bad, good = BAD[name], spec(V1, replicas=2)
    namespace.apply_ready(good)
    old = namespace.pods()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": bad.quota}}
    if bad.quota:
        namespace.create(quota)
    with client.load(namespace.address()) as load:
        with timings.of(f"bad rollout, {name}: to its cause in the status") as row:
            namespace.apply({**bad.spec, "replicas": 2})
            message = namespace.not_ready(bad.reason)
        assert all(words in message for words in bad.words), message
        assert namespace.condition("Available")["status"] == "True"
        assert load.versions_now() == {"v1"}
        assert old.keys() <= namespace.pods().keys()
        with timings.of(f"bad rollout, {name}: mended, to Ready"):
            if bad.quota:
                namespace.kubectl("delete", "resourcequota", "few")
            else:
                namespace.apply(good)
            namespace.ready()
    row.load = load.report.unharmed()


def test_a_slow_start_is_no_crash(namespace: Namespace, client: Client, timings: Timings) -> None:
    startup = {"tcpSocket": {"port": "http"}, "periodSeconds": 2, "failureThreshold": 30}
    reasons = set()

    def ready() -> bool:
        found = namespace.condition("Ready")
        reasons.add(found["reason"])
        return bool(found["status"] == "True")

    with timings.of(f"a start that takes {START_SECONDS} s, within its startupProbe: to Ready"):
        namespace.apply(spec(SLOW, startupProbe=startup))
        namespace.wait("jsonpath={.status.conditions}", "webapp/web")
        eventually(ready, "the slow one is Ready", timeout=90, pause=0.3)
    assert reasons <= {"Missing", "RollingOut", "Ready"}
    warnings = [event["note"] for event in namespace.events() if event["type"] == "Warning"]
    assert warnings == []
    assert client.get(namespace.address()).startswith("slow ")


def test_a_missing_secret_is_reported_with_the_kubelets_message(without_secret: Namespace) -> None:
    namespace = without_secret
    reason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=FailedMount'
    namespace.wait(reason, "webapp/web", seconds=PATIENCE_SECONDS + READY_SECONDS)
    message = namespace.condition("Ready")["message"]
    command = f"kubectl describe secret missing -n {namespace.name}; message: "
    assert command in message
    assert 'secret "missing" not found' in message.partition(command)[2]
    namespace.kubectl("create", "secret", "generic", "missing", "--from-literal=tls.crt=none")
    namespace.wait("condition=Ready", "webapp/web", seconds=MOUNT_BACKOFF_SECONDS + READY_SECONDS)
