"""Hub and spoke: from `kubectl apply` to Ready, each participant connects only to the API server."""

from collections import defaultdict
from collections.abc import Sequence

import pytest

from cluster import AuditLog, ControlPlane
from cluster.audit import read_audit
from cluster.operator_process import OperatorProcess
from demo.hub import WATCHES, WRITES, accepted, fan_out, identities, peers
from demo.sequence import ACTORS, Step
from demo.sequence_page import record
from integration.scene import Scene
from integration.test_rbac import ROLES, granted, used

pytestmark = pytest.mark.slow

WRITERS = {
    "webapps": {"you"},
    "webapps/status": {"coxswain"},
    "serviceaccounts": {"coxswain"},
    "configmaps": {"coxswain"},
    "services": {"coxswain"},
    "deployments": {"coxswain"},
    "controllerrevisions": {"coxswain"},
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
    """The accepted writes, in order."""
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


def test_each_participant_watches_the_objects_that_it_changes(found: Sequence[Step], cluster: ControlPlane) -> None:
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
        ports = set(peers(pid))
        assert ports == {server}, f"{name} is connected to ports {ports}; the API server's is {server}"


def test_the_api_server_alone_has_connections_to_etcd(
    found: Sequence[Step], cluster: ControlPlane, operator: OperatorProcess
) -> None:
    assert found
    hub, etcd, port = cluster.pid("kube-apiserver"), cluster.pid("etcd"), cluster.layout.etcd_port
    assert hub is not None
    assert etcd is not None
    assert operator.pid is not None
    assert port not in peers(operator.pid)
    assert peers(hub).count(port) == accepted(etcd, port) > 0, "another process is connected to etcd"


def test_twenty_more_watches_cost_no_watch_of_etcd(
    found: Sequence[Step], cluster: ControlPlane, namespace: str
) -> None:
    assert found
    measured = fan_out(cluster, namespace, "shop")
    assert measured.more_clients == WATCHES
    assert measured.more_etcd_watches == 0
    assert measured.clients >= 1, "the operator's own"
    # Other WebApps of this cluster may change meanwhile.
    assert measured.received >= WRITES
    assert measured.sent >= WRITES * (WATCHES + measured.clients), "each client gets each event"
    assert measured.received < measured.sent / (WATCHES / 2), "etcd does not send an event for each client"


def test_each_participant_is_a_user_with_its_own_role(
    found: Sequence[Step], cluster: ControlPlane, namespace: str
) -> None:
    known = {each.name: each for each in identities(cluster.audit_log.read_text().splitlines(), namespace)}
    assert set(known) == {step.actor for step in found}
    assert len({each.user for each in known.values()}) == len(known)
    assert known["coxswain"].rights == ("ClusterRole coxswain",)
    assert known["coxswain"].credential == "ServiceAccount token"
    assert known["you"].rights == ("group system:masters",)
    assert known["deployment controller"].rights == ("ClusterRole system:controller:deployment-controller",)
    assert known["scheduler"].user == "system:kube-scheduler"
