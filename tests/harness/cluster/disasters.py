"""Disasters of a real control plane: compacted history, etcd restored from a backup, replaced keys."""

import json
import shutil
import signal
import urllib.request
from pathlib import Path
from typing import Any

from cluster.certificates import write_key
from cluster.control_plane import ControlPlane

CLIENTS = ("kube-controller-manager", "kube-scheduler", "kwok")


def revision(cluster: ControlPlane) -> int:
    """Return etcd's current revision: the newest possible resourceVersion."""
    answer = _ask_etcd(cluster, "/v3/kv/range", {"key": "AA==", "limit": "1", "count_only": True})
    return int(answer["header"]["revision"])


def compact(cluster: ControlPlane) -> int:
    """Compact etcd's history up to now, as the API server does every five minutes; return the revision."""
    now = revision(cluster)
    _ask_etcd(cluster, "/v3/kv/compaction", {"revision": str(now), "physical": True})
    return now


def save_etcd(cluster: ControlPlane) -> Path:
    """Return a copy of etcd's current data; API server and etcd are stopped meanwhile."""
    copy = cluster.layout.root / "etcd-saved"
    cluster.stop_program("kube-apiserver")
    cluster.stop_program("etcd")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(cluster.layout.root / "etcd", copy)
    cluster.start_program("etcd")
    cluster.start_program("kube-apiserver")
    return copy


def lose_etcd(cluster: ControlPlane) -> None:
    """Kill the control plane, and delete the data of etcd. `restore_etcd` starts both again."""
    for name in (*CLIENTS, "kube-apiserver", "etcd"):
        cluster.stop_program(name, signal.SIGKILL)
    shutil.rmtree(cluster.layout.root / "etcd")


def restore_etcd(cluster: ControlPlane, saved: Path) -> None:
    """Restore an older state, as `etcdutl snapshot restore` does: resourceVersions go backwards.

    Starts the clients of the control plane too, as the Kubernetes documentation advises
    (https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/#restoring-an-etcd-cluster).
    """
    shutil.copytree(saved, cluster.layout.root / "etcd")
    for name in ("etcd", "kube-apiserver", *CLIENTS):
        cluster.start_program(name)


def replace_service_account_key(cluster: ControlPlane) -> None:
    """Invalidate all ServiceAccount tokens: the API server signs and verifies with a new key from now on."""
    for name in ("kube-controller-manager", "kube-apiserver"):
        cluster.stop_program(name)
    write_key(cluster.layout.pki / "service-accounts.key")
    for name in ("kube-apiserver", "kube-controller-manager"):
        cluster.start_program(name)


def _ask_etcd(cluster: ControlPlane, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        cluster.layout.etcd_url + path, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found
