"""Hub and spoke: from `kubectl apply` to Ready everyone talks to the API server, and to nobody else."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster import AuditLog, ControlPlane
from cluster.audit import read_audit
from cluster.operator_process import OperatorProcess
from cluster.sequence import ACTORS, Step
from cluster.sequence_page import record
from integration.scene import Scene
from integration.test_rights import ROLES, granted, used

ESTABLISHED, LISTENING = "01", "0A"
"""States of a connection in /proc/net/tcp."""

WRITERS = {
    "webapps": {"you"},
    "webapps/status": {"coxswain"},
    "serviceaccounts": {"coxswain"},
    "configmaps": {"coxswain"},
    "services": {"coxswain"},
    "deployments": {"coxswain"},
    "deployments/status": {"deployment controller"},
    "replicasets": {"deployment controller"},
    "replicasets/status": {"replicaset controller"},
    "pods": {"replicaset controller"},
    "pods/binding": {"scheduler"},
    "pods/status": {"kubelet (KWOK)"},
    "endpointslices": {"endpointslice controller"},
    "endpoints": {"endpoint controller"},
}

DOWN = [
    ("you", "webapps"),
    ("coxswain", "serviceaccounts"),
    ("coxswain", "configmaps"),
    ("coxswain", "services"),
    ("coxswain", "deployments"),
    ("deployment controller", "replicasets"),
    ("replicaset controller", "pods"),
    ("scheduler", "pods/binding"),
    ("kubelet (KWOK)", "pods/status"),
]
UP = [
    ("kubelet (KWOK)", "pods/status"),
    ("replicaset controller", "replicasets/status"),
    ("deployment controller", "deployments/status"),
    ("coxswain", "webapps/status"),
]


def about(step: Step) -> str:
    return step.resource + (f"/{step.subresource}" if step.subresource else "")


@pytest.fixture
def mark(cluster: ControlPlane, operator: OperatorProcess) -> AuditLog:
    assert operator.running
    return cluster.audit()


@pytest.fixture
def found(cluster: ControlPlane, namespace: str, mark: AuditLog) -> list[Step]:
    """The writes that were accepted, in their order."""
    assert mark.offset
    return [step for step in record(cluster, namespace) if step.code < 400]


def test_the_work_goes_down_and_the_status_comes_up(found: Sequence[Step], scene: Scene) -> None:
    places = [(step.actor, about(step)) for step in found]
    first = [places.index(place) for place in DOWN]
    assert first == sorted(first), f"first writes: {places}"
    last = [len(places) - 1 - places[::-1].index(place) for place in UP]
    assert last == sorted(last), f"last writes: {places}"
    assert last[-1] == len(found) - 1
    assert scene.condition("Ready", "shop")["status"] == "True"
    assert [place for place in places if places.count(place) > 1 and place in DOWN[:-1]] == [], "nothing is made twice"


def test_each_thing_has_one_writer_and_the_operator_stays_within_its_rights(
    found: Sequence[Step], namespace: str, mark: AuditLog
) -> None:
    writers = defaultdict(set)
    for step in found:
        writers[about(step)].add(step.actor)
    assert writers == WRITERS
    rights = used(mark, namespace)
    assert rights
    assert rights <= granted(ROLES[0])


def test_each_participant_watches_what_it_acts_upon(found: Sequence[Step], cluster: ControlPlane) -> None:
    events, _ = read_audit(cluster.audit_log)
    watched = defaultdict(set)
    for event in events:
        if event.verb == "watch" and event.code == 200:
            watched[event.user].add(event.resource)
    taking_part = {step.actor for step in found}
    for user, actor in ACTORS.items():
        assert actor.name in taking_part
        assert actor.acts_upon <= watched[actor.watches_as or user], actor.name
    news = {step.woken_by.actor for step in found if step.woken_by}
    assert news <= taking_part


def test_no_participant_has_a_connection_but_to_the_api_server(
    found: Sequence[Step], cluster: ControlPlane, operator: OperatorProcess
) -> None:
    assert found
    server = int(cluster.url.rpartition(":")[2])
    pids = {name: cluster.pid(name) for name in ("kube-controller-manager", "kube-scheduler", "kwok")}
    pids["coxswain"] = operator.pid
    for name, pid in pids.items():
        assert pid is not None
        assert peers(pid) == {server}, f"{name} is connected to ports {peers(pid)}; the API server's is {server}"
    hub = cluster.pid("kube-apiserver")
    assert hub is not None
    assert cluster.layout.etcd_port in peers(hub), "the API server alone talks to etcd"


def peers(pid: int) -> set[int]:
    """Return the ports that a process is connected to; who connected to a port of its own is none of them."""
    sockets = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
    ]
    mine = [(port(row[1]), port(row[2]), row[3]) for row in rows if f"socket:[{row[9]}]" in sockets]
    own = {local for local, _, state in mine if state == LISTENING}
    return {remote for local, remote, state in mine if state == ESTABLISHED and local not in own}


def port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
