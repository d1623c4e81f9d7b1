"""Two operator processes with leader election: takeover after SIGTERM, SIGKILL and SIGSTOP."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from signal import Signals
from typing import Any

import pytest

from cluster import AuditLog, ControlPlane, KubectlError
from cluster.operator_process import OperatorProcess
from integration.scene import SPEC, Scene, eventually

SYSTEM = "coxswain-system"
ELECTED = ("--leader-elect",)
RELEASED_SECONDS = 3.0
EXPIRED_SECONDS = 17.0
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


class Replica:
    """One operator process with a user of its own, so that the audit log tells whose requests are whose."""

    def __init__(self, cluster: ControlPlane, name: str, folder: Path) -> None:
        self.name = name
        self.user = f"system:serviceaccount:{SYSTEM}:{name}"
        kubeconfig = cluster.service_account_kubeconfig(SYSTEM, name)
        self.process = OperatorProcess(kubeconfig, folder / f"{name}.log", ELECTED)

    @property
    def role(self) -> str:
        """The line about the leader election on /readyz."""
        return self.process.probe("/readyz")[1].strip().splitlines()[-1]

    @property
    def leads(self) -> bool:
        """Whether it has acquired the Lease."""
        return "this process leads" in self.process.logged()

    def requests(self, mark: AuditLog) -> Counter[str]:
        """Return its requests since the mark. The audit log leaves out Leases."""
        return Counter(f"{event.verb} {event.resource}" for event in mark.events() if event.user == self.user)


class Pair:
    """Two replicas, and the Lease."""

    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.cluster = cluster
        self.replicas = [Replica(cluster, name, folder) for name in ("replica-a", "replica-b")]

    def start(self) -> tuple[Replica, Replica]:
        """Start both; return the leader and the standby when both have a warm cache."""
        for each in self.replicas:
            each.process.start()
        eventually(lambda: any(each.leads for each in self.replicas), "one leads", EXPIRED_SECONDS + 5)
        leader, standby = sorted(self.replicas, key=lambda each: not each.leads)
        # A standby reads the Lease every two seconds.
        eventually(lambda: standby.role == f"standby: {self.holder()} leads", "the standby knows the leader")
        eventually(lambda: leader.role == f"leader: {self.holder()}", "the leader tells its role")
        assert not standby.leads
        return leader, standby

    def holder(self) -> str:
        """Return the holder of the Lease; empty if there is none."""
        query = ("--ignore-not-found", "--output=jsonpath={.spec.holderIdentity}")
        return self.cluster.kubectl("get", "lease", "coxswain", "--namespace", SYSTEM, *query)

    def lease(self) -> dict[str, Any]:
        """Return the spec of the Lease."""
        spec: dict[str, Any] = json.loads(
            self.cluster.kubectl("get", "lease", "coxswain", "--namespace", SYSTEM, "--output=json")
        )["spec"]
        return spec


@pytest.fixture(scope="module")
def accounts(cluster: ControlPlane) -> None:
    """Two ServiceAccounts with the rights of the operator's, and those only."""
    for name in ("replica-a", "replica-b"):
        account = f"--serviceaccount={SYSTEM}:{name}"
        cluster.kubectl("create", "serviceaccount", name, "--namespace", SYSTEM)
        cluster.kubectl("create", "clusterrolebinding", name, "--clusterrole=coxswain", account)
        cluster.kubectl("create", "rolebinding", name, "--role=coxswain-leader-election", account, "-n", SYSTEM)


@pytest.fixture
def pair(cluster: ControlPlane, accounts: None, tmp_path: Path, _operator: OperatorProcess) -> Iterator[Pair]:  # noqa: ARG001
    """Two replicas instead of the usual operator."""
    _operator.stop()
    pair = Pair(cluster, tmp_path)
    yield pair
    for each in pair.replicas:
        each.process.stop()
        print(f"{each.name}:\n{each.process.logged()[-3000:]}")


def changed(scene: Scene, image: str) -> None:
    """Change the image of the WebApp, and wait until the Deployment has it and the WebApp is Ready."""
    scene.apply(spec={**SPEC, "image": image})

    def applied() -> bool:
        template = scene.child("deployment")["spec"]["template"]["spec"]
        return bool(template["containers"][0]["image"] == image)

    eventually(applied, f"the Deployment has {image}")
    scene.ready()


def test_sigterm_hands_over_at_once_and_the_standby_is_warm(pair: Pair, namespace: str) -> None:
    leader, standby = pair.start()
    scene = Scene(pair.cluster, namespace, leader.process)
    from_start = pair.cluster.audit()
    scene.apply_ready()
    for each, value in ((leader, "1.0"), (standby, "0.0")):
        metrics = each.process.metrics()[1].splitlines()
        assert f'leader_election_master_status{{name="coxswain"}} {value}' in metrics
        assert f"coxswain_led_slots {value}" in metrics
    assert not [what for what in standby.requests(from_start) if what.split()[0] in WRITES], "a standby writes nothing"
    transitions = pair.lease()["leaseTransitions"]

    mark = pair.cluster.audit()
    begin = time.monotonic()
    assert leader.process.stop() == 0
    eventually(lambda: standby.leads, "the standby leads", pause=0.02)
    passed = time.monotonic() - begin
    print(f"takeover after SIGTERM: {passed:.2f} s")
    assert passed < RELEASED_SECONDS
    changed(scene, "registry.example/web:2")
    requests = standby.requests(mark)
    assert requests["patch deployments"] >= 1
    assert not [what for what in requests if what.startswith("list ")], "a takeover sends no LIST"
    lease = pair.lease()
    assert lease["leaseTransitions"] == transitions + 1
    renewed = datetime.fromisoformat(lease["renewTime"])
    assert abs((datetime.now(UTC) - renewed).total_seconds()) < 10, "in UTC"


@pytest.mark.slow
def test_sigkill_hands_over_after_the_expiry(pair: Pair, namespace: str) -> None:
    leader, standby = pair.start()
    scene = Scene(pair.cluster, namespace, leader.process)
    scene.apply_ready()
    begin = time.monotonic()
    leader.process.stop(Signals.SIGKILL)
    scene.apply(spec={**SPEC, "image": "registry.example/web:2"})
    eventually(lambda: standby.leads, "the standby leads", EXPIRED_SECONDS + 5, pause=0.02)
    passed = time.monotonic() - begin
    print(f"takeover after SIGKILL: {passed:.2f} s")
    assert 10 < passed < EXPIRED_SECONDS
    changed(scene, "registry.example/web:2")


@pytest.mark.slow
def test_a_stopped_leader_writes_nothing_when_it_continues(pair: Pair, namespace: str) -> None:
    leader, standby = pair.start()
    scene = Scene(pair.cluster, namespace, leader.process)
    scene.apply_ready()
    leader.process.send(Signals.SIGSTOP)
    begin = time.monotonic()
    eventually(lambda: standby.leads, "the standby leads", EXPIRED_SECONDS + 5, pause=0.02)
    passed = time.monotonic() - begin
    print(f"takeover after SIGSTOP: {passed:.2f} s")
    assert passed < EXPIRED_SECONDS
    # These events wait in the sockets of the old leader.
    changed(scene, "registry.example/web:2")
    scene.apply("another")
    scene.ready("another")
    mark = pair.cluster.audit()
    leader.process.send(Signals.SIGCONT)
    eventually(lambda: not leader.process.running, "the old leader ends")
    assert leader.process.stop() == 1
    assert "coxswain: lost the Lease coxswain-system/coxswain: " in leader.process.logged()
    assert "Traceback" not in leader.process.logged()
    assert not [what for what in leader.requests(mark) if what.split()[0] in WRITES]
    assert standby.role.startswith("leader: ")


@pytest.mark.slow
def test_a_standby_ends_at_once_and_the_leader_stays(pair: Pair) -> None:
    leader, standby = pair.start()
    holder = pair.lease()["holderIdentity"]
    begin = time.monotonic()
    assert standby.process.stop() == 0
    passed = time.monotonic() - begin
    print(f"end of a standby: {passed:.2f} s")
    assert passed < 1
    assert pair.lease()["holderIdentity"] == holder
    assert leader.role == f"leader: {holder}"


@pytest.mark.slow
def test_without_the_right_to_the_lease_a_replica_is_not_ready(pair: Pair) -> None:
    replica = pair.replicas[0]
    pair.cluster.kubectl("delete", "rolebinding", replica.name, "--namespace", SYSTEM)
    try:
        replica.process.start(wait=False)
        eventually(lambda: "cannot be read or acquired: 403 Forbidden" in replica.process.probe("/readyz")[1], "told")
        assert replica.process.probe("/readyz")[0] == 503
        assert replica.process.probe("/healthz")[0] == 200
    finally:
        account = f"--serviceaccount={SYSTEM}:{replica.name}"
        pair.cluster.kubectl(
            "create", "rolebinding", replica.name, "--role=coxswain-leader-election", account, "-n", SYSTEM
        )
    eventually(lambda: replica.process.probe("/readyz")[0] == 200, "ready")


@pytest.mark.slow
def test_a_deleted_lease_is_created_again_by_its_leader(pair: Pair) -> None:
    leader, standby = pair.start()
    before = pair.cluster.kubectl("get", "lease", "coxswain", "--namespace", SYSTEM, "--output=json")
    pair.cluster.kubectl("delete", "lease", "coxswain", "--namespace", SYSTEM)
    eventually(lambda: pair.holder() == json.loads(before)["spec"]["holderIdentity"], "the leader holds it again", 5)
    time.sleep(3)
    assert leader.role.startswith("leader: ")
    assert standby.role.startswith("standby: ")


def test_a_late_update_does_not_create_a_deleted_lease(cluster: ControlPlane) -> None:
    """The API server creates a missing Lease by PUT, unless the request has a uid."""
    created = cluster.kubectl("create", "-f", "-", "--output=json", input=json.dumps(_lease("late", {})))
    cluster.kubectl("delete", "lease", "late", "--namespace", SYSTEM)
    path = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/late"
    with pytest.raises(KubectlError, match="Precondition failed: UID"):
        cluster.kubectl("replace", "--raw", path, "-f", "-", input=created)
    assert cluster.kubectl("get", "lease", "late", "--namespace", SYSTEM, "--ignore-not-found") == ""


def _lease(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SYSTEM}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": dict(spec)}
