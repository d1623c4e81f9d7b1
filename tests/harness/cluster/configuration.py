"""Pure functions that return the configuration files and command lines of a throwaway cluster's programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CONTEXT = "coxswain-throwaway"
SERVICE_ADDRESSES = "10.96.0.0/16"
POD_ADDRESSES = "10.244.0.0/16"
NODE_ADDRESS = "192.0.2.1"  # reserved for documentation, so that nothing answers
FAKE_NODE = ("kwok.x-k8s.io/node", "fake")

STAGES = Path(__file__).with_name("stages.yaml")

# A start of the API server takes a quarter less CPU with four times the default heap growth, and 0.3 GB more memory.
ENVIRONMENT = {"GOGC": "400"}

# One event for each request: a watch when it is opened, any other when it is answered. Only the constant traffic of
# the control plane is left out: health checks, and the leases of nodes and of the API server.
AUDIT_POLICY: Mapping[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitManagedFields": True,
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*"]},
        {
            "level": "None",
            "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
            "namespaces": ["kube-node-lease", "kube-system"],
        },
        {"level": "Metadata", "verbs": ["watch"], "omitStages": ["ResponseComplete"]},
        {"level": "Metadata", "omitStages": ["ResponseStarted"]},
    ],
}


@dataclass(frozen=True)
class Account:
    """A user with a static token."""

    user: str
    groups: tuple[str, ...]
    token: str


@dataclass(frozen=True)
class Layout:
    """The paths of one cluster's files, and the ports of its servers on the loopback interface."""

    root: Path
    etcd_port: int
    etcd_peer_port: int
    api_port: int

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def etcd_url(self) -> str:
        return f"http://127.0.0.1:{self.etcd_port}"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def kubeconfigs(self) -> Path:
        return self.root / "kubeconfigs"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.log"

    @property
    def audit_policy(self) -> Path:
        return self.root / "audit-policy.yaml"

    @property
    def tokens(self) -> Path:
        return self.pki / "tokens.csv"

    @property
    def ca_file(self) -> Path:
        return self.pki / "ca.crt"

    def kubeconfig(self, user: str) -> Path:
        return self.kubeconfigs / f"{user.replace(':', '-')}.yaml"


@dataclass(frozen=True)
class Choices:
    """The options of a cluster; ControlPlane documents each."""

    fsync: bool
    feature_gates: Mapping[str, bool]
    api_server_flags: Sequence[str]
    controller_manager_flags: Sequence[str]


def etcd_command(layout: Layout, choices: Choices) -> list[str]:
    peers = f"http://127.0.0.1:{layout.etcd_peer_port}"
    return [
        "--name=throwaway",
        f"--data-dir={layout.root / 'etcd'}",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=throwaway={peers}",
        *([] if choices.fsync else ["--unsafe-no-fsync"]),
    ]


def api_server_command(layout: Layout, choices: Choices) -> list[str]:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(choices.feature_gates.items()))
    return [
        f"--etcd-servers={layout.etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # it rejects a loopback address
        f"--secure-port={layout.api_port}",
        f"--tls-cert-file={layout.pki / 'apiserver.crt'}",
        f"--tls-private-key-file={layout.pki / 'apiserver.key'}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={layout.pki / 'service-accounts.key'}",
        f"--service-account-signing-key-file={layout.pki / 'service-accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_ADDRESSES}",
        "--allow-privileged=true",
        "--shutdown-watch-termination-grace-period=1s",  # without it, watches delay a SIGTERM by a minute
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-mode=blocking",  # the line is written before the response is sent
        "--audit-log-maxsize=100000",  # MB: a rotation would break the readers of the log
        *([f"--feature-gates={gates}"] if gates else []),
        *choices.api_server_flags,
    ]


def controller_manager_command(layout: Layout, choices: Choices) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig('system:kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={layout.pki / 'service-accounts.key'}",
        f"--root-ca-file={layout.ca_file}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        # The HPA acts within a second, also on new pods. The default is a sync every 15 s, and minutes for new pods.
        "--horizontal-pod-autoscaler-sync-period=1s",
        "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
        "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
        *choices.controller_manager_flags,
    ]


def scheduler_command(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig('system:kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def kwok_command(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={STAGES}",
        f"--manage-nodes-with-annotation-selector={'='.join(FAKE_NODE)}",
        "--node-lease-duration-seconds=40",
        f"--node-ip={NODE_ADDRESS}",
        f"--cidr={POD_ADDRESSES}",
    ]


def token_file(accounts: Sequence[Account]) -> str:
    """Return the content of the API server's --token-auth-file."""
    return "".join(f'{one.token},{one.user},{one.user},"{",".join(one.groups)}"\n' for one in accounts)


def kubeconfig(*, url: str, ca_data: str, user: str, token: str, namespace: str = "default") -> str:
    """Return a self-contained kubeconfig: `ca_data` is the authority's PEM in base64."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": url, "certificate-authority-data": ca_data}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": user, "namespace": namespace}}],
    }
    return yaml.safe_dump(document, sort_keys=False)


def fake_nodes(count: int, architecture: str) -> str:
    """Return the manifest of `count` KWOK nodes, with more capacity than any test needs."""
    capacity = {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{number}",
                "annotations": dict([FAKE_NODE]),
                "labels": {
                    "kubernetes.io/hostname": f"node-{number}",
                    "topology.kubernetes.io/zone": f"zone-{number % 3}",
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": architecture,
                },
            },
            "status": {"capacity": capacity, "allocatable": capacity},
        }
        for number in range(count)
    ]
    return yaml.safe_dump_all(nodes, sort_keys=False)
