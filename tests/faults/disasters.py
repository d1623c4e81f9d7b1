"""The real disasters that a script may name, and how a cluster is made whole after them."""

import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from cluster import ControlPlane, disasters
from cluster.ports import free_ports
from cluster.readiness import wait_until
from faults.hostile import create_all, hostile_objects
from faults.stand import Stand
from faults.webhook import WAYS, Webhook
from faults.witness import list_objects

ROOT = Path(__file__).parents[2]
CRD = ROOT / "crds" / "webapps.yaml"
CLUSTER_ROLE = ROOT / "manifests" / "overlays" / "cluster" / "clusterrole.yaml"
CRD_NAME = "webapps.coxswain.dev"
SERVED_SECONDS = 30.0
OTHER_API_SERVER = "kube-apiserver-2"

_PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")

RIGHTS: dict[str, tuple[set[str], set[str]]] = {
    "watching": ({"list", "watch"}, set()),
    "writing children": ({"create", "patch", "delete"}, {"serviceaccounts", "configmaps", "services", "deployments"}),
    "writing the status": ({"patch"}, {"webapps/status"}),
    "telling Events": ({"create"}, {"events"}),
}
"""What can be forbidden: verbs, and of which resources; none for all."""


def _forbid(what: str) -> Callable[[Stand], None]:
    def do(stand: Stand) -> None:
        role = yaml.safe_load(CLUSTER_ROLE.read_text(encoding="utf-8"))
        change = [{"op": "replace", "path": "/rules", "value": rules_without(role["rules"], what)}]
        stand.proxy.mark("faults begin")
        stand.cluster.kubectl("patch", "clusterrole", "coxswain", "--type=json", "--patch", json.dumps(change))

    return do


def rules_without(rules: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    """Return the rules of a role without one of `RIGHTS`."""
    verbs, resources = RIGHTS[what]
    left: list[dict[str, Any]] = []
    for rule in rules:
        for verb in rule["verbs"]:
            lost = verb in verbs
            kept = [name for name in rule["resources"] if not (lost and (name in resources or not resources))]
            if kept:
                left.append({"apiGroups": rule["apiGroups"], "resources": kept, "verbs": [verb]})
    return left


def _give_rights_back(cluster: ControlPlane) -> None:
    cluster.kubectl("apply", "-f", str(CLUSTER_ROLE))


def _rights_returned(stand: Stand) -> None:
    _give_rights_back(stand.cluster)
    stand.proxy.mark("faults end")


def _save_etcd(stand: Stand) -> None:
    stand.proxy.mark("etcd: stop")
    disasters.save_etcd(stand.cluster)
    stand.proxy.mark("etcd: start")


def _restore_etcd(stand: Stand) -> None:
    stand.proxy.mark("etcd: kill")
    disasters.restore_etcd(stand.cluster, stand.cluster.layout.root / "etcd-saved")
    stand.proxy.mark("etcd: start")
    stand.proxy.mark("etcd restored")
    stand.witness.restart()


def _replace_key(stand: Stand) -> None:
    stand.proxy.mark("kube-apiserver: stop")
    disasters.replace_service_account_key(stand.cluster)
    stand.proxy.mark("kube-apiserver: start")
    _hand_out(stand)
    stand.proxy.mark("kube-apiserver is back")


def _hand_out(stand: Stand) -> None:
    stand.tokens.hand_out()
    stand.proxy.mark("token rotated")


def _replace_certificate(stand: Stand) -> None:
    stand.do_to_program("kube-apiserver", "stop")
    stand.cluster.issue_certificate()
    stand.do_to_program("kube-apiserver", "start")


def _delete_crd(stand: Stand) -> None:
    stand.proxy.mark("faults begin")
    stand.cluster.kubectl("delete", "crd", CRD_NAME)


def _crd_returned(stand: Stand) -> None:
    _install_crd(stand.cluster)
    stand.proxy.mark("faults end")


def _install_crd(cluster: ControlPlane) -> None:
    cluster.kubectl("apply", "--server-side", "-f", str(CRD))
    cluster.kubectl("wait", "crd", CRD_NAME, "--for=condition=Established", "--timeout=30s")
    wait_until("webapps to be served", lambda: _serves_webapps(cluster), [], SERVED_SECONDS)


def _serves_webapps(cluster: ControlPlane) -> bool:
    try:
        list_objects(cluster, "default", "webapps")
    except OSError:
        return False
    return True


def _move(stand: Stand) -> None:
    """Start another API server on the same etcd, and lead the operator to it."""
    port = free_ports(1)[0]
    stand.cluster.add_api_server(OTHER_API_SERVER, port)
    stand.proxy.move(f"https://127.0.0.1:{port}")


def _await_no_children(stand: Stand) -> None:
    wait_until("the garbage collector", lambda: not stand.kubectl("get", "deployments,services", "-o", "name"), [], 60)


def make_whole(cluster: ControlPlane) -> None:
    """Make a cluster what it was before its disasters, whatever has become of it."""
    for name in _PROGRAMS:
        cluster.signal_program(name, signal.SIGCONT)
        cluster.start_program(name)
    _give_rights_back(cluster)
    _install_crd(cluster)


HOUR = 3600
ANOTHER_VERSION = "renders-another-value"
ROUNDS = 5
"""How often each of two operators takes back a field, until both leave it alone: for each round O7 allows a fault more.
"""


def _step_clock(seconds: int) -> Callable[[Stand], None]:
    def do(stand: Stand) -> None:
        stand.proxy.mark(f"the operator's clock is wrong by {seconds} s")
        (stand.folder / "clock").write_text(str(seconds), encoding="utf-8")

    return do


def _step_pods(seconds: int) -> Callable[[Stand], None]:
    """Let the nodes' clocks be wrong: the times in the pods' statuses."""

    def do(stand: Stand) -> None:
        time = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for pod in stand.end()["pods"]:
            conditions = [{**each, "lastTransitionTime": time} for each in pod["status"].get("conditions", [])]
            patch = json.dumps({"status": {"startTime": time, "conditions": conditions}})
            name = pod["metadata"]["name"]
            stand.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "--patch", patch)

    return do


def _start_another_version(stand: Stand) -> None:
    other = stand.launch("other.log", ANOTHER_VERSION)
    stand.closing.append(lambda: other.stop(signal.SIGKILL))
    stand.rival = other
    stand.faults += ROUNDS
    stand.proxy.mark("another version started")
    other.start(wait=False)


def _stop_another_version(stand: Stand) -> None:
    assert stand.rival is not None
    stand.rival.stop()
    stand.proxy.mark("another version stopped")


def _make_namespaces(stand: Stand) -> None:
    for name in stand.besides:
        stand.cluster.kubectl("create", "namespace", name)
        stand.closing.append(_deletion(stand.cluster, name, "false"))


def _deletion(cluster: ControlPlane, name: str, wait: str) -> Callable[[], object]:
    return lambda: cluster.kubectl("delete", "namespace", name, f"--wait={wait}", "--ignore-not-found", check=False)


def _delete_namespaces(stand: Stand) -> None:
    for name in stand.besides:
        stand.cluster.kubectl("delete", "namespace", name)


def _make_hostile_objects(stand: Stand) -> None:
    """Fill the other namespaces with objects of nobody's that bear the operator's label."""
    for name in stand.besides:
        stand.cluster.kubectl("create", "namespace", name)
        stand.closing.append(_deletion(stand.cluster, name, "true"))
        for version, plural, things in hostile_objects():
            create_all(stand.cluster.pykube, name, version, plural, things)


def _webhook(what: str) -> Callable[[Stand], None]:
    def do(stand: Stand) -> None:
        webhook = Webhook(stand, what)
        stand.closing.append(webhook.close)
        stand.webhook = webhook
        webhook.begin()

    return do


def _end_webhook(stand: Stand) -> None:
    assert stand.webhook is not None
    stand.webhook.end()


DISASTERS: dict[str, Callable[[Stand], object]] = {
    "compact": lambda stand: disasters.compact(stand.cluster),
    "save etcd": _save_etcd,
    "restore etcd": _restore_etcd,
    "cut the watches": lambda stand: stand.proxy.cut(),
    "replace the ServiceAccounts' key": _replace_key,
    "replace the API server's certificate": _replace_certificate,
    "move to another API server": _move,
    "hand out a token": _hand_out,
    "revoke the older tokens": lambda stand: stand.tokens.revoke_older(),
    "delete the CRD": _delete_crd,
    "wait for the children's end": _await_no_children,
    "install the CRD": _crd_returned,
    "give the rights back": _rights_returned,
    "step the clock an hour back": _step_clock(-HOUR),
    "step the clock an hour ahead": _step_clock(HOUR),
    "step the nodes' clocks an hour back": _step_pods(-HOUR),
    "step the nodes' clocks an hour ahead": _step_pods(HOUR),
    "start another version": _start_another_version,
    "stop the other version": _stop_another_version,
    "make the other namespaces": _make_namespaces,
    "delete the other namespaces": _delete_namespaces,
    "make hostile objects": _make_hostile_objects,
    "remove the webhook": _end_webhook,
    **{f"webhook: {what}": _webhook(what) for what in WAYS},
    **{f"forbid {what}": _forbid(what) for what in RIGHTS},
}
"""By the name that a script has for it."""
