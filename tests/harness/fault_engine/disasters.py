"""The disasters that a script can name, and the repair of the cluster after them."""

import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from cluster import ControlPlane, disasters
from cluster.ports import free_ports
from cluster.readiness import wait_until
from fault_engine.placeholders import filled
from fault_engine.stand import Stand
from fault_engine.webhook import WAYS, Webhook
from fault_engine.witness import list_objects
from fault_engine.workload import Workload

SERVED_SECONDS = 30.0
LISTED_SECONDS = 60.0
OTHER_API_SERVER = "kube-apiserver-2"

_PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")

RIGHTS: dict[str, tuple[set[str], set[str]]] = {
    "watching": ({"list", "watch"}, set()),
    "writing children": ({"create", "patch", "delete"}, {"{children}"}),
    "writing the status": ({"patch"}, {"{parents}/status"}),
    "creating Events": ({"create"}, {"events"}),
}
"""Permissions that a script can revoke: verbs and their resources; no resources mean all."""


_PROBES: dict[str, tuple[str, ...]] = {
    "watching": ("watch", "{parents}"),
    "writing children": ("patch", "{main}"),
    "writing the status": ("patch", "{parents}", "--subresource=status"),
    "creating Events": ("create", "events.events.k8s.io"),
}
"""For each entry of `RIGHTS`, a right that it revokes, as for `kubectl auth can-i`."""


def _forbid(what: str) -> Callable[[Stand], None]:
    """Return the disaster that revokes permissions. It returns when the API server refuses: that takes a moment."""

    def do(stand: Stand) -> None:
        role = stand.workload.cluster_role
        change = [{"op": "replace", "path": "/rules", "value": rules_without(stand.workload, what)}]
        stand.proxy.mark("faults begin")
        name = role["metadata"]["name"]
        stand.cluster.kubectl("patch", "clusterrole", name, "--type=json", "--patch", json.dumps(change))
        probe = ("--namespace", stand.namespace, "auth", "can-i", f"--as={stand.workload.user}")
        right = filled(_PROBES[what], stand.workload.words)
        wait_until(
            f"the end of the right of {what}",
            lambda: stand.cluster.kubectl(*probe, *right, check=False).strip() == "no",
            [],
            SERVED_SECONDS,
        )

    return do


def rules_without(workload: Workload, what: str) -> list[dict[str, Any]]:
    """Return the rules of the ClusterRole without the permissions of one entry of `RIGHTS`."""
    verbs, named = RIGHTS[what]
    resources = {filled(name, workload.words) for name in named - {"{children}"}}
    resources |= set(workload.plurals) if "{children}" in named else set()
    left: list[dict[str, Any]] = []
    for rule in workload.cluster_role["rules"]:
        for verb in rule["verbs"]:
            lost = verb in verbs
            kept = [name for name in rule["resources"] if not (lost and (name in resources or not resources))]
            if kept:
                left.append({"apiGroups": rule["apiGroups"], "resources": kept, "verbs": [verb]})
    return left


def _restore_rights(cluster: ControlPlane, workload: Workload) -> None:
    cluster.kubectl("apply", "-f", str(workload.role))


def _rights_restored(stand: Stand) -> None:
    _restore_rights(stand.cluster, stand.workload)
    stand.proxy.mark("faults end")


def _save_etcd(stand: Stand) -> None:
    stand.proxy.mark("etcd: stop")
    disasters.save_etcd(stand.cluster)
    stand.proxy.mark("etcd: start")


def _restore_etcd(stand: Stand) -> None:
    stand.proxy.mark("etcd: kill")
    disasters.lose_etcd(stand.cluster)
    stand.proxy.mark("etcd lost")
    disasters.restore_etcd(stand.cluster, stand.cluster.layout.root / "etcd-saved")
    stand.proxy.mark("etcd: start")
    stand.proxy.mark("etcd restored")
    stand.witness.restart()


def _replace_key(stand: Stand) -> None:
    stand.proxy.mark("kube-apiserver: stop")
    disasters.replace_service_account_key(stand.cluster)
    stand.proxy.mark("kube-apiserver: start")
    _issue_token(stand)
    stand.proxy.mark("kube-apiserver is back")


def _issue_token(stand: Stand) -> None:
    stand.tokens.issue()
    stand.proxy.mark("token rotated")


def _replace_certificate(stand: Stand) -> None:
    stand.do_to_program("kube-apiserver", "stop")
    stand.cluster.issue_certificate()
    stand.do_to_program("kube-apiserver", "start")


def _delete_crd(stand: Stand) -> None:
    stand.proxy.mark("faults begin")
    stand.cluster.kubectl("delete", "crd", stand.workload.crd_name)


def _reinstall_crd(stand: Stand) -> None:
    _install_crd(stand.cluster, stand.workload)
    stand.proxy.mark("faults end")


def _install_crd(cluster: ControlPlane, workload: Workload) -> None:
    cluster.kubectl("apply", "--server-side", "-f", str(workload.crd))
    cluster.wait_for_crds()
    what = f"{workload.parent.plural} to be served"
    wait_until(what, lambda: _serves_parents(cluster, workload), [], SERVED_SECONDS)


def _serves_parents(cluster: ControlPlane, workload: Workload) -> bool:
    try:
        list_objects(cluster, "default", workload.parent.plural, workload.parent.path)
    except OSError:
        return False
    return True


def _move(stand: Stand) -> None:
    """Start another API server on the same etcd, and connect the operator to it."""
    port = free_ports(1)[0]
    stand.cluster.add_api_server(OTHER_API_SERVER, port)
    stand.proxy.move(f"https://127.0.0.1:{port}")


def _await_no_children(stand: Stand) -> None:
    wait_until(
        "the garbage collector",
        lambda: not stand.kubectl("get", "{main},{child}", "-l", "{label}", "-o", "name"),
        [],
        60,
    )


def repair(cluster: ControlPlane, workload: Workload) -> None:
    """Undo all disasters on a cluster, whatever its state."""
    for name in _PROGRAMS:
        cluster.signal_program(name, signal.SIGCONT)
        cluster.start_program(name)
    _restore_rights(cluster, workload)
    _install_crd(cluster, workload)


HOUR = 3600


def _step_clock(seconds: int) -> Callable[[Stand], None]:
    def do(stand: Stand) -> None:
        stand.proxy.mark(f"the operator's clock is wrong by {seconds} s")
        (stand.folder / "clock").write_text(str(seconds), encoding="utf-8")

    return do


def _step_pods(seconds: int) -> Callable[[Stand], None]:
    """Set the times in the pods' statuses as nodes with a wrong clock would."""

    def do(stand: Stand) -> None:
        time = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for pod in stand.end().get("pods", ()):
            conditions = [{**each, "lastTransitionTime": time} for each in pod["status"].get("conditions", [])]
            patch = json.dumps({"status": {"startTime": time, "conditions": conditions}})
            name = pod["metadata"]["name"]
            stand.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "--patch", patch)

    return do


def _await_lists(stand: Stand) -> None:
    """Wait until the operator has listed the other namespaces, too. It is ready after the first one."""

    def listed() -> bool:
        status, lacking = stand.operator.probe("/readyz")
        return status == 200 and not any(name in lacking for name in stand.besides)

    wait_until("the lists of all namespaces", listed, [], LISTED_SECONDS)


def _make_namespaces(stand: Stand) -> None:
    for name in stand.besides:
        stand.cluster.kubectl("create", "namespace", name)
        stand.closing.append(deletion(stand.cluster, name, "false"))


def deletion(cluster: ControlPlane, name: str, wait: str) -> Callable[[], object]:
    """Return a function that deletes a namespace; `wait` is true or false."""
    return lambda: cluster.kubectl("delete", "namespace", name, f"--wait={wait}", "--ignore-not-found", check=False)


def _delete_namespaces(stand: Stand) -> None:
    for name in stand.besides:
        stand.cluster.kubectl("delete", "namespace", name)


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
    "issue a token": _issue_token,
    "revoke the older tokens": lambda stand: stand.tokens.revoke_older(),
    "delete the CRD": _delete_crd,
    "wait for the lists of all namespaces": _await_lists,
    "wait for the children's deletion": _await_no_children,
    "install the CRD": _reinstall_crd,
    "restore the rights": _rights_restored,
    "step the clock an hour back": _step_clock(-HOUR),
    "step the clock an hour ahead": _step_clock(HOUR),
    "step the nodes' clocks an hour back": _step_pods(-HOUR),
    "step the nodes' clocks an hour ahead": _step_pods(HOUR),
    "create the other namespaces": _make_namespaces,
    "delete the other namespaces": _delete_namespaces,
    "remove the webhook": _end_webhook,
    **{f"webhook: {what}": _webhook(what) for what in WAYS},
    **{f"forbid {what}": _forbid(what) for what in RIGHTS},
}
"""The disasters by their names in scripts."""
