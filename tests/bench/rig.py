"""The rig: a Kubernetes with fsync in etcd, one peer with its own account and rights, and the load."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import Signals
from types import TracebackType
from typing import Any, Self

import yaml

from bench.meter import Meter, memory
from bench.results import BARE, COXSWAIN, PLAIN_KOPF
from bench.webapps import NAMESPACES, aside_definition, children, children_template, contains, is_available, is_ready
from cluster import AuditEvent, AuditLog, ControlPlane
from cluster.clients import direct_session
from cluster.operator_process import OperatorProcess
from cluster.processes import Service, clean_environment
from cluster.readiness import wait_until
from coxswain.webapp.kinds import WEBAPP
from rendered import kind_of

ROOT = Path(__file__).parents[2]
CRD = ROOT / "crds" / "webapps.yaml"
PODS_PER_NODE = 900
PATIENT_WITH_NODES = "--node-monitor-grace-period=1h"
"""Pods of a silent node are marked as not ready, and only a kubelet would mark them as ready again. The fake nodes have
no kubelet, and an outage silences all of them."""
SETTLE_SECONDS = 2.0
QUIET_SECONDS = 10.0
READS = ("get", "list", "watch")

_PEERS_NAMESPACE = "bench-peers"
_RIGHTS: Sequence[Mapping[str, Any]] = (
    {
        "apiGroups": ["coxswain.dev", "apps", "", "events.k8s.io"],
        "resources": [
            *("webapps", "webapps/status", "deployments", "services", "configmaps", "serviceaccounts", "events"),
            "namespaces",
        ],
        "verbs": ["*"],
    },
    {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "verbs": ["get", "list", "watch"],
    },
)


def nodes_for(size: int) -> int:
    """Return the number of fake nodes for twice the pods of `size` WebApps: in an update some WebApps have two."""
    return max(3, 2 * size // PODS_PER_NODE + 1)


class Rig:
    """One cluster with one peer, during a `with`; the next rig starts from scratch."""

    def __init__(self, peer: str, size: int, *, program: Path | None = None) -> None:
        """Size the cluster for `size` WebApps. `program` is controller-runtime's."""
        self.peer = peer
        self._nodes = nodes_for(size)
        self._program = program
        self.cluster = ControlPlane(
            fsync=True, nodes=self._nodes, manifests=[CRD], controller_manager_flags=[PATIENT_WITH_NODES]
        )

    def __enter__(self) -> Self:
        self.cluster.__enter__()
        self.cluster.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        self.children = self.cluster.directory / "children.json"
        self.children.write_text(json.dumps(children_template()), encoding="utf-8")
        self.kubeconfig = self._account()
        objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]
        self.cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all(objects))
        self.operator = self._make_peer(self.kubeconfig)
        self._all = self.mark()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.operator.stop()
        self.cluster.__exit__(kind, error, trace)

    def _account(self) -> Path:
        if self.peer == COXSWAIN:
            self.user = "system:serviceaccount:coxswain-system:coxswain"
            return self.cluster.service_account_kubeconfig("coxswain-system", "coxswain")
        name = self.peer.lower().replace(" ", "-")
        self.user = f"system:serviceaccount:{_PEERS_NAMESPACE}:{name}"
        group, account = "rbac.authorization.k8s.io", {"name": name, "namespace": _PEERS_NAMESPACE}
        objects = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _PEERS_NAMESPACE}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
            {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(_RIGHTS)},
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", **account}],
            },
        ]
        self.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(objects))
        return self.cluster.service_account_kubeconfig(_PEERS_NAMESPACE, name)

    def _make_peer(self, kubeconfig: Path) -> "OperatorProcess | Peer":
        log = self.cluster.directory / "logs" / "operator.log"
        if self.peer == COXSWAIN:
            return OperatorProcess(kubeconfig, log)
        return Peer(self.peer, kubeconfig, self, log)

    def behind(self, kubeconfig: Path) -> None:
        """Use another kubeconfig for the operator, for example of a proxy, from its next start on."""
        self.operator.stop()
        self.operator = self._make_peer(kubeconfig)

    def add_twin(self) -> None:
        """Let the API server serve a copy of the WebApp's kind that no operator watches."""
        twin = aside_definition(yaml.safe_load(CRD.read_text(encoding="utf-8")))
        self.cluster.kubectl("create", "-f", "-", input=yaml.safe_dump(twin))
        self.cluster.wait_for_crds()

    @property
    def program(self) -> str:
        """The path of controller-runtime's program."""
        assert self._program is not None, "controller-runtime was not built"
        return str(self._program)

    @property
    def pid(self) -> int:
        """The process id of the operator."""
        assert self.operator.pid is not None, "the operator has exited"
        return self.operator.pid

    def meter(self) -> Meter:
        """Return a meter of the operator and the servers."""
        return Meter({"operator": self.pid, **self._servers()})

    def meter_of_servers(self) -> Meter:
        """Return a meter of the servers only."""
        return Meter(self._servers())

    def _servers(self) -> dict[str, int]:
        servers = {"API server": self.cluster.pid("kube-apiserver"), "etcd": self.cluster.pid("etcd")}
        return {name: pid for name, pid in servers.items() if pid is not None}

    def memory(self) -> float:
        """Return the operator's current resident memory in MB."""
        return memory(self.pid)

    def mark(self) -> AuditLog:
        """Return a position in the audit log."""
        return self.cluster.audit()

    def events(self, mark: AuditLog) -> list[AuditEvent]:
        """Return the peer's requests since the mark or the last call."""
        return [event for event in mark.events() if event.user == self.user]

    def load(self, job: str, count: int, **options: Any) -> dict[str, Any]:
        """Run a job of bench.load to its end; return its result."""
        return self.loaded(self.start_load(job, count, **options))

    def start_load(self, job: str, count: int, **options: Any) -> "subprocess.Popen[bytes]":
        """Start a job of bench.load. An option with the value True is a flag."""
        given = {"kubeconfig": self.cluster.kubeconfig, "children": self.children, "count": count, **options}
        flags = [
            part
            for name, value in given.items()
            if value is not False
            for part in ([f"--{name}"] if value is True else [f"--{name}", str(value)])
        ]
        environment = clean_environment(self.cluster.directory, {"PYTHONPATH": python_path()})
        command = [sys.executable, "-m", "bench.load", job, *flags]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)

    def loaded(self, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
        """Wait for a job; return its result. Raises RuntimeError if it failed."""
        output, _ = process.communicate()
        self.cluster.check()
        if process.returncode:
            raise RuntimeError(f"the load exited with code {process.returncode}")
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found

    def quiet(self, mark: AuditLog, seconds: float = QUIET_SECONDS) -> tuple[list[AuditEvent], list[AuditEvent]]:
        """Wait until a quiet window is over; return the peer's requests before and in it."""
        time.sleep(SETTLE_SECONDS)  # requests in it belong to the load before it
        before = self.events(mark)
        time.sleep(seconds)  # the length of the window: a request in it makes the measurement void
        return before, self.events(mark)

    def differences(self) -> list[str]:
        """Return wrong objects: a child that lacks something, a WebApp that is not ready (O1)."""
        template = self.children.read_text(encoding="utf-8")
        found = {
            (each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]): each for each in self._children()
        }
        wrong: list[str] = []
        for webapp in self._list(WEBAPP.path(None)):
            place = f"{webapp['metadata']['namespace']}/{webapp['metadata']['name']}"
            if not is_ready(webapp):
                wrong.append(f"{place} is not ready")
            for wanted in children(template, webapp):
                kind, metadata = wanted["kind"], wanted["metadata"]
                live = found.get((kind, metadata["namespace"], metadata["name"]))
                if live is None or not contains(live, wanted):
                    wrong.append(f"{kind} of {place} is {'missing' if live is None else 'not as desired'}")
                elif kind == "Deployment" and not is_available(live, webapp["spec"]["image"]):
                    wrong.append(f"{kind} of {place} is not rolled out")
        return wrong

    def _children(self) -> list[dict[str, Any]]:
        kinds = [kind_of(manifest) for manifest in children_template()]
        return [
            {**item, "kind": kind.kind, "apiVersion": kind.api_version}  # omitted in a LIST
            for kind in kinds
            for item in self._list(f"{kind.path(None)}?labelSelector=coxswain.dev%2Fwebapp")
        ]

    def _list(self, path: str) -> list[dict[str, Any]]:
        with direct_session(self.cluster.ca_file, self.cluster.token) as session:
            answer = session.get(self.cluster.url + path, timeout=60)
        answer.raise_for_status()
        items: list[dict[str, Any]] = answer.json()["items"]
        return items


class Peer:
    """A peer in its own process: ready after the API server has its watches."""

    def __init__(self, name: str, kubeconfig: Path, rig: Rig, log: Path) -> None:
        self._rig = rig
        self._watches = ("webapps",) if name == BARE else ("webapps", "deployments")
        program = {
            BARE: [sys.executable, "-m", "bench.peers.bare"],
            PLAIN_KOPF: [sys.executable, "-m", "bench.peers.plain_kopf"],
        }.get(name) or [rig.program]
        command = [*program, "--kubeconfig", str(kubeconfig), "--children", str(rig.children)]
        environment = {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1"}
        self._service = Service(name, command, log=log, home=log.parent, extra=environment)

    @property
    def pid(self) -> int | None:
        """The process id, or None if it does not run."""
        return self._service.pid

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait for its watches."""
        mark, seen = self._rig.mark(), set[str]()
        self._service.start()
        if not wait:
            return

        def watching() -> bool:
            seen.update(event.resource for event in self._rig.events(mark) if event.verb == "watch")
            return seen.issuperset(self._watches)

        wait_until(self._service.name, watching, [self._service], 60)

    def stop(self, number: Signals = Signals.SIGTERM) -> int | None:
        """Stop it."""
        return self._service.stop(number)


def counted(events: Sequence[AuditEvent]) -> dict[str, int]:
    """Return the number of requests of each type, such as `patch webapps/status`."""
    names = [
        f"{event.verb} {event.resource}" + (f"/{event.subresource}" if event.subresource else "")
        for event in events
        if event.resource
    ]
    return dict(Counter(names))


def writes(events: Sequence[AuditEvent]) -> int:
    """Return the number of writes."""
    return sum(event.verb not in READS for event in events if event.resource)


def python_path() -> str:
    """Return the search path of the operator and the tests."""
    return ":".join(str(ROOT / folder) for folder in ("operator", "tests/harness", "tests"))
