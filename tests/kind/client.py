"""Clients in pods: one that asks once, and one that keeps eight connections busy and counts what fails."""

import contextlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from cluster.kubectl import KubectlError
from integration.scene import eventually
from kind.images import V1
from kind.namespace import Namespace

NAMESPACE = "clients"
CONNECTIONS = 8
FEWEST_REQUESTS = 50
"""What any load answers in the time that a test takes, on the slowest machine; fewer, and it was none."""


def client_pod(name: str, *arguments: str) -> dict[str, Any]:
    """Return a pod on the control plane's node, which no test drains and whose kubelet none stops."""
    role = "node-role.kubernetes.io/control-plane"
    # Without a request it would get next to no CPU on a busy machine, and measure that.
    resources = {"requests": {"cpu": "100m"}}
    container = {"name": "client", "image": V1, "args": list(arguments), "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": arguments[0]}},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelector": {role: ""},
            "tolerations": [{"key": role, "operator": "Exists"}],
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        },
    }


@dataclass(frozen=True)
class Report:
    """What a load came to."""

    requests: int
    failed: int
    resent: int
    """Sent again on a new connection, as the server had closed the reused one before any byte of an answer."""
    kinds: Mapping[str, int]
    failures: Sequence[Mapping[str, str]]
    answered: Mapping[str, int]
    silence_seconds: float
    """The longest time without an answer."""

    @classmethod
    def parse(cls, report: Mapping[str, Any]) -> Self:
        """Read what the program writes."""
        sorts = (report["reused"], report["new"])
        assert all(sort["requests"] > FEWEST_REQUESTS for sort in sorts), f"too few requests: {report}"
        return cls(
            requests=sum(sort["requests"] for sort in sorts),
            failed=sum(sort["failed"] for sort in sorts),
            resent=sum(sort["resent"] for sort in sorts),
            kinds=report["kinds"],
            failures=report["failures"],
            answered=report["answered"],
            silence_seconds=report["silenceMilliseconds"] / 1000,
        )

    def unharmed(self) -> Self:
        """Return the report if no request failed; fail with what happened otherwise."""
        assert self.failed == 0, f"requests failed: {self}"
        return self

    @property
    def versions(self) -> set[str]:
        """Which versions answered."""
        return {who.split()[0] for who in self.answered}


@dataclass
class Load:
    """A pod that keeps eight connections to a URL busy while the `with` block runs; then `report` is there.

    Half of the connections are reused, half are new for each request. The block begins when requests are answered, and
    the load ends a full second after the block.
    """

    clients: Namespace
    url: str
    name: str = field(default_factory=lambda: f"load-{uuid.uuid4().hex[:6]}")
    _report: Report | None = None

    def __enter__(self) -> Self:
        self.clients.create(client_pod(self.name, "load", f"--connections={CONNECTIONS}", self.url))
        self.clients.wait("condition=Ready", f"pod/{self.name}")
        self.versions_now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.versions_now()
            self.clients.kubectl("exec", self.name, "--", "/workload", "stop")
            report = eventually(lambda: self._logged("report"), f"{self.name} reports", timeout=30, pause=0.2)[0]
            self._report = Report.parse(report)
        self.clients.kubectl("delete", "pod", self.name, "--wait=false")

    @property
    def report(self) -> Report:
        """The outcome, when the block has ended."""
        assert self._report is not None, "the load goes on"
        return self._report

    def versions_now(self) -> set[str]:
        """Return which versions answer within a full second from now on; wait for it."""
        before = len(self._logged("progress"))
        # The line that comes next may tell of the time before.
        lines = eventually(
            lambda: self._logged("progress")[before + 1 :], f"{self.name} goes on", timeout=30, pause=0.3
        )
        return set(lines[0]["versions"])

    def _logged(self, kind: str) -> list[dict[str, Any]]:
        log = self.clients.kubectl("logs", self.name)
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        return [line[kind] for line in lines if kind in line]


@dataclass(frozen=True)
class Client:
    """The namespace of the clients, with a pod that asks once whenever it is told to."""

    namespace: Namespace

    def start(self) -> None:
        """Make the namespace, unless it is there, and the pod."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace.name}}
        self.namespace.create(namespace)
        self.namespace.create(client_pod("client", "serve"))
        self.namespace.wait("condition=Ready", "pod/client")

    def get(self, url: str) -> str:
        """Return what a URL answers, such as "v1 POD"; wait until it does.

        A Service leads to its pods a moment after they are ready, when kube-proxy has heard of them.
        """

        def answer() -> str:
            with contextlib.suppress(KubectlError):
                return self.namespace.kubectl("exec", "client", "--", "/workload", "get", url).strip()
            return ""

        return eventually(answer, f"{url} answers", pause=0.2)

    def load(self, url: str) -> Load:
        """Return a load on a URL, for a `with` block; wait until that answers at all."""
        self.get(url)
        return Load(self.namespace, url)
