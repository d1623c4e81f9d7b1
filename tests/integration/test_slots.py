"""Three operator processes that share six slots: balance, join, leave, a killed replica, and other numbers of slots."""

import itertools
import json
import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from signal import Signals

import pytest

from cluster import AuditEvent, AuditLog, ControlPlane
from cluster.operator_process import OperatorProcess
from coxswain.kernel.election.slots import slot_number
from integration.scene import SPEC, Scene, eventually, manifest
from integration.slot_replicas import SYSTEM, Holders, Replica, foreign, shared_periods, writes

pytestmark = pytest.mark.slow

COUNT = 6
NAMES = ("slots-a", "slots-b", "slots-c")
_CANDIDATES = [f"slots-{number:02}" for number in range(100)]
NAMESPACES = [
    name for slot in range(COUNT) for name in [name for name in _CANDIDATES if slot_number(name, COUNT) == slot][:3]
]
"""Three in each slot."""
_tags = itertools.count(1)
"""Each edit, also of the next test, changes the image."""
FLAGS = ("--slots", str(COUNT))
BALANCED_SECONDS = 40.0
"""The first start creates the Leases and waits for their expiry."""
JOINED_SECONDS = 15.0
LEFT_SECONDS = 6.0
EXPIRED_SECONDS = 20.0


class Group:
    """Three replicas, the WebApps of 18 namespaces, and the holders of the slots."""

    def __init__(self, cluster: ControlPlane, folder: Path, holders: Holders) -> None:
        self.cluster = cluster
        self.holders = holders
        self.all = [Replica(cluster, name, folder, *FLAGS) for name in NAMES]
        self.log: AuditLog = cluster.audit()
        self._sent: list[tuple[Replica, AuditEvent]] = []
        """The writes since the last call of `judge`."""

    def start(self, *replicas: Replica) -> None:
        """Start replicas at the same time, and wait until the slots are balanced."""
        for each in replicas:
            each.process.start(wait=False)
        self.balanced(BALANCED_SECONDS)

    @property
    def running(self) -> list[Replica]:
        """The replicas that run."""
        return [each for each in self.all if each.process.running]

    def whole(self) -> bool:
        """Whether each slot has one leader, and no replica has more than its share."""
        held = [each.slots for each in self.running]
        quota = math.ceil(COUNT / len(held))
        return sorted(slot for slots in held for slot in slots) == list(range(COUNT)) and max(map(len, held)) <= quota

    def balanced(self, seconds: float) -> float:
        """Wait until the slots are balanced; return the seconds."""
        begin = time.monotonic()
        eventually(self.whole, "the slots are balanced", seconds, pause=0.1)
        return time.monotonic() - begin

    def edit(self) -> None:
        """Change all WebApps, and wait until each Deployment follows."""
        image, before = f"registry.example/web:{next(_tags)}", len(self._read())
        for namespace in NAMESPACES:
            Scene(self.cluster, namespace, self.all[0].process).apply_all({"web": {**SPEC, "image": image}})
        eventually(lambda: self._images() == {image}, f"all Deployments have {image}")
        # An object changes before the request that changed it is in the audit log.
        eventually(
            lambda: {event.namespace for _, event in self._read()[before:]} >= set(NAMESPACES),
            "the audit log has a write in each namespace",
        )

    def _read(self) -> list[tuple[Replica, AuditEvent]]:
        self._sent += writes(self.log, self.all)
        return self._sent

    def _images(self) -> set[str]:
        deployments = self.cluster.pykube().get(version="apps/v1", url="deployments").json()["items"]
        return {
            found["spec"]["template"]["spec"]["containers"][0]["image"]
            for found in deployments
            if found["metadata"]["namespace"] in NAMESPACES
        }

    def judge(self) -> dict[str, set[str]]:
        """Assert that only holders wrote; return the writers of each namespace since the last call."""
        sent, self._sent = self._read(), []
        self.holders.catch_up()
        periods = self.holders.periods()
        assert sent
        assert foreign(sent, periods, COUNT) == []
        assert shared_periods(periods) == []
        found: dict[str, set[str]] = {}
        for replica, event in sent:
            found.setdefault(event.namespace, set()).add(replica.name)
        return found


@pytest.fixture(scope="module")
def accounts(cluster: ControlPlane) -> None:
    """ServiceAccounts with the rights of the component `slots`, and those only."""
    component = Path(__file__).parents[2] / "manifests/components/slots/role.yaml"
    patch = cluster.kubectl(
        "patch", "role", "coxswain-leader-election", "-n", SYSTEM, "--type=json", "--dry-run=client", "-o", "json",
        "--patch-file", str(component),
    )  # fmt: skip
    role = json.loads(patch)
    role["metadata"] = {"name": "slots", "namespace": SYSTEM}
    cluster.kubectl("create", "-f", "-", input=json.dumps(role))
    for name in NAMES:
        account = f"--serviceaccount={SYSTEM}:{name}"
        cluster.kubectl("create", "serviceaccount", name, "--namespace", SYSTEM)
        cluster.kubectl("create", "clusterrolebinding", name, "--clusterrole=coxswain", account)
        cluster.kubectl("create", "rolebinding", name, "--role=slots", account, "-n", SYSTEM)


@pytest.fixture(scope="module")
def webapps(cluster: ControlPlane) -> Iterator[None]:
    """The namespaces of the WebApps."""
    assert len(NAMESPACES) == 3 * COUNT
    for namespace in NAMESPACES:
        cluster.kubectl("create", "namespace", namespace)
    yield
    cluster.kubectl("delete", "namespace", *NAMESPACES, "--wait=false")


@pytest.fixture
def group(
    cluster: ControlPlane,
    accounts: None,  # noqa: ARG001
    webapps: None,  # noqa: ARG001
    tmp_path: Path,
    _operator: OperatorProcess,
) -> Iterator[Group]:
    """Three replicas instead of the usual operator."""
    _operator.stop()
    with Holders(cluster) as holders:
        group = Group(cluster, tmp_path, holders)
        yield group
        for each in group.all:
            each.process.stop()
            print(f"{each.name}:\n{each.process.logged()[-3000:]}")


def test_each_webapp_is_reconciled_by_the_holder_of_its_slot(group: Group) -> None:
    group.start(*group.all)
    assert [len(each.slots) for each in group.all] == [2, 2, 2]
    group.edit()
    writers = group.judge()
    assert writers.keys() >= set(NAMESPACES)
    led = {each.name: each.slots for each in group.all}
    for namespace, names in writers.items():
        [name] = names
        assert slot_number(namespace, COUNT) in led[name]
    first = group.all[0]
    assert f"leader of 2 of {COUNT} slots: " in first.roles[0]
    assert sum(role.endswith(": leader") for role in first.roles) == 2
    assert sum(": standby, " in role and role.endswith(" leads") for role in first.roles) == 4
    assert "coxswain_led_slots 2.0" in first.process.metrics()[1]


def test_a_replica_joins_and_leaves_without_a_write_of_a_non_holder(group: Group) -> None:
    first, second, third = group.all
    group.start(first, second)
    group.edit()
    before = {each.name: each.slots for each in (first, second)}
    mark = group.cluster.audit()
    third.process.start()
    passed = group.balanced(JOINED_SECONDS)
    print(f"balanced after a join: {passed:.1f} s")
    group.edit()
    for each in (first, second):
        assert each.slots < before[each.name], "nothing but the surplus moved"
    lists = [
        event
        for event in mark.events()
        if event.user != third.user and event.verb == "list" and event.resource != "leases"
    ]
    assert not [event for event in lists if event.user in (first.user, second.user)], "a handover sends no LIST"

    begin = time.monotonic()
    assert first.process.stop() == 0
    passed = group.balanced(LEFT_SECONDS)
    print(f"balanced after SIGTERM: {time.monotonic() - begin:.1f} s, {passed:.1f} s after the end of the process")
    group.edit()
    group.judge()


def test_the_slots_of_a_killed_replica_are_taken_over(group: Group) -> None:
    group.start(*group.all)
    group.edit()
    begin = time.monotonic()
    group.all[0].process.stop(Signals.SIGKILL)
    group.edit()
    passed = time.monotonic() - begin
    print(f"all edits applied after SIGKILL: {passed:.1f} s")
    assert passed < EXPIRED_SECONDS
    group.balanced(5.0)
    group.judge()


def test_a_stopped_replica_writes_nothing_when_it_continues(group: Group) -> None:
    group.start(*group.all)
    group.edit()
    stopped = group.all[0]
    stopped.process.send(Signals.SIGSTOP)
    group.edit()
    mark, continued = group.cluster.audit(), datetime.now(UTC)
    stopped.process.send(Signals.SIGCONT)
    eventually(lambda: not stopped.process.running, "the stopped replica ends")
    assert stopped.process.stop() == 1
    assert "coxswain: lost the Lease coxswain-system/coxswain: " in stopped.process.logged()
    # A request that was in flight at SIGSTOP ends only now; `judge` compares its arrival with the Leases.
    late = [event for _, event in writes(mark, [stopped]) if datetime.fromisoformat(event.time) >= continued]
    assert late == []
    group.judge()


def test_a_replica_with_another_number_of_slots_stands_by(group: Group, tmp_path: Path) -> None:
    first, second, _ = group.all
    group.start(first)
    others = [Replica(group.cluster, second.name, tmp_path / str(number), "--slots", number) for number in "18"]
    for other in others:
        other.process.log.parent.mkdir()
        other.process.start()
    try:
        time.sleep(EXPIRED_SECONDS)
        for other in others:
            assert other.roles == [f"standby: slots-{COUNT} leads"]
            assert other.slots == set()
        assert group.whole()
        assert first.process.stop() == 0
        single, eight = others
        assert eight.process.stop() == 0
        eventually(lambda: single.roles[0].startswith("leader: "), "the Lease expires", EXPIRED_SECONDS)
    finally:
        for other in others:
            other.process.stop()


def test_an_object_in_a_foreign_slot_is_cached_but_not_written(group: Group) -> None:
    """The cache of each replica has all WebApps, so that a handover needs no LIST."""
    group.start(*group.all)
    group.cluster.kubectl("apply", "-n", NAMESPACES[0], "-f", "-", input=json.dumps(manifest("another", SPEC)))
    webapps = group.cluster.pykube().get(version="coxswain.dev/v1", url="webapps").json()["items"]
    line = f'coxswain_objects{{kind="webapps"}} {len(webapps):.1f}'
    eventually(lambda: all(line in each.process.metrics()[1] for each in group.all), "all have it in the cache")
    group.cluster.kubectl("delete", "webapp", "another", "-n", NAMESPACES[0])
