"""Clients in pods: one sends single requests, and one keeps eight connections busy and counts failures."""

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
"""The fewest requests that any real load reaches during a test on the slowest machine."""


def client_pod(name: str, *arguments: str) -> dict[str, Any]:
    """Return a pod on the control plane's node, which no test drains and whose kubelet no test stops."""
    role = "node-role.kubernetes.io/control-plane"
    # Without a CPU request it would be starved on a busy machine, and measure that.
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
    """The results of a load."""

    requests: int
    failed: int
    resent: int
    """Requests sent again on a new connection, because the server closed the reused one before any response byte."""
    kinds: Mapping[str, int]
    failures: Sequence[Mapping[str, str]]
    answered: Mapping[str, int]
    silence_seconds: float
    """The longest time without a response."""

    @classmethod
    def parse(cls, report: Mapping[str, Any]) -> Self:
        """Read the output of the program."""
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
        """Return the report if no request failed; otherwise fail with the errors."""
        assert self.failed == 0, f"requests failed: {self}"
        return self

    @property
    def versions(self) -> set[str]:
        """The versions that answered."""
        return {who.split()[0] for who in self.answered}

    @property
    def pods(self) -> set[str]:
        """The names of the pods that answered."""
        return {who.split()[1] for who in self.answered}


@dataclass
class Load:
    """A pod that keeps eight connections to a URL busy during the `with` block; `report` is available afterwards.

    Half of the connections are reused, half are new for each request. The block begins after the first responses, and
    the load ends a full second after the block.
    """

    clients: Namespace
    url: str
    connect_to: str = ""
    """HOST:PORT to connect to instead of the URL's host."""
    name: str = field(default_factory=lambda: f"load-{uuid.uuid4().hex[:6]}")
    _report: Report | None = None

    def __enter__(self) -> Self:
        options = (f"--connections={CONNECTIONS}", f"--connect-to={self.connect_to}")
        self.clients.create(client_pod(self.name, "load", *options, self.url))
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
        """The report, available after the end of the block."""
        assert self._report is not None, "the load still runs"
        return self._report

    def versions_now(self) -> set[str]:
        """Return the versions that answer within one full second from now on; wait for it."""
        before = len(self._logged("progress"))
        # The next line may cover time from before the call.
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
    """The namespace of the clients, with a pod that sends single requests on demand."""

    namespace: Namespace
    connect_to: str = ""
    """HOST:PORT to connect to instead of each URL's host, such as a proxy that serves the host."""

    def start(self) -> None:
        """Create the pod, and the namespace unless it exists."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace.name}}
        self.namespace.create(namespace)
        self.namespace.create(client_pod("client", "serve"))
        self.namespace.wait("condition=Ready", "pod/client")

    def get(self, url: str) -> str:
        """Wait until a URL answers; return the response, such as "v1 POD".

        A Service routes to ready pods with a short delay, until kube-proxy has the endpoints.
        """

        def answer() -> str:
            with contextlib.suppress(KubectlError):
                return self.namespace.kubectl("exec", "client", "--", *command).strip()
            return ""

        command = ("/workload", "get", f"--connect-to={self.connect_to}", url)
        return eventually(answer, f"{url} answers", pause=0.2)

    def resolve(self, name: str) -> tuple[str, Sequence[str]]:
        """Return the canonical name of a DNS name and its sorted addresses; wait until it has one."""

        def answer() -> str:
            with contextlib.suppress(KubectlError):
                return self.namespace.kubectl("exec", "client", "--", "/workload", "resolve", name)
            return ""

        canonical, *addresses = eventually(answer, f"{name} resolves", timeout=60, pause=0.5).split()
        return canonical.rstrip("."), addresses

    def load(self, url: str) -> Load:
        """Return a load on a URL for a `with` block, after waiting for a first response."""
        self.get(url)
        return Load(self.namespace, url, self.connect_to)
