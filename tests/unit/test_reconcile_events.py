"""Reconcile pods that are being prepared for too long: their Events are read, once a minute at most."""

from datetime import timedelta
from typing import Any

import pytest

from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.settings import Settings
from coxswain.webapp.kinds import POD
from unit.pod_states import ago, container, pod, waiting
from unit.server import refusal
from unit.test_reconcile_pods import PodBench

MISSING = ReportedEvent("FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "shop-tls" not found')
FORBIDDEN = refusal(403)
INTERVAL = Settings().events_interval


def preparing(seconds: float = 120) -> dict[str, Any]:
    """A pod with volumes that the kubelet has tried to mount for so long."""
    types = {"PodScheduled": "True", "PodReadyToStartContainers": "False"}
    conditions = [
        {"type": name, "status": status, "lastTransitionTime": ago(seconds)} for name, status in types.items()
    ]
    return pod(container(waiting("ContainerCreating")), conditions=conditions)


@pytest.fixture
def bench() -> PodBench:
    """A WebApp whose Deployment rolls out its second revision."""
    return PodBench()


def test_the_event_is_the_cause_and_a_stuck_pod_costs_one_read(bench: PodBench) -> None:
    bench.reported.warnings["web-new-1"] = [MISSING]
    bench.pod(preparing())
    assert bench.run() == Outcome(answered=True)
    assert bench.conditions()["Ready"] == ("False", "FailedMount")
    assert bench.message().endswith(f"a volume cannot be mounted. {step()}; message: {MISSING.note}")
    assert [told.reason for told in bench.events.told] == ["FailedMount"]
    for _ in range(3):
        bench.now += INTERVAL / 4
        assert bench.run() == Outcome()
    assert (bench.reported.read, bench.writer.sent) == (["web-new-1"], [])


def step() -> str:
    return "The kubelet retries. See: kubectl describe pods -l coxswain.dev/webapp=web -n shop"


def test_before_two_minutes_no_event_is_read(bench: PodBench) -> None:
    bench.pod(preparing(119))
    assert bench.run() == Outcome(after=1.0)
    assert bench.reported.read == []
    bench.time += timedelta(seconds=1)
    bench.run()
    assert bench.reported.read == ["web-new-1"]


def test_a_later_reconcile_reads_again(bench: PodBench) -> None:
    bench.reported.warnings["web-new-1"] = [MISSING]
    bench.pod(preparing())
    bench.run()
    other = ReportedEvent("FailedMount", 'MountVolume.SetUp failed for volume "tls" : no key')
    bench.reported.warnings["web-new-1"] = [other]
    bench.now += INTERVAL - 1
    bench.run()
    assert "not found" in bench.message()
    bench.now += 1
    bench.run()
    bench.now += 1
    bench.run()
    assert "no key" in bench.message()
    assert len(bench.reported.read) == 2


def test_events_that_are_not_there_yet_are_read_after_a_minute(bench: PodBench) -> None:
    bench.pod(preparing())
    assert bench.run() == Outcome(after=INTERVAL, answered=True)
    assert bench.conditions()["Ready"] == ("False", "ContainerCreating")
    bench.now += 20
    assert bench.run() == Outcome(after=INTERVAL - 20)
    assert len(bench.reported.read) == 1
    bench.reported.warnings["web-new-1"] = [MISSING]
    bench.now += INTERVAL - 20
    assert bench.run() == Outcome(answered=True)
    assert bench.conditions()["Ready"] == ("False", "FailedMount")


@pytest.mark.parametrize(("error", "after"), [(FORBIDDEN, None), (Unreachable("reset"), INTERVAL)])
def test_a_failed_read_leaves_the_message_as_it_is(bench: PodBench, error: Any, after: float | None) -> None:
    """Without the right the message does not change, and no requeue waits for it."""
    bench.reported.error = error
    bench.pod(preparing())
    assert bench.run() == Outcome(after=after, answered=True)
    assert bench.conditions()["Ready"] == ("False", "ContainerCreating")
    bench.now += 1
    assert bench.run().after == (None if after is None else INTERVAL - 1)
    assert len(bench.reported.read) == 1


def test_a_failed_read_forgets_nothing(bench: PodBench) -> None:
    bench.reported.warnings["web-new-1"] = [MISSING]
    bench.pod(preparing())
    bench.run()
    bench.reported.error = Unreachable("reset")
    bench.now += INTERVAL
    assert bench.run() == Outcome()
    assert bench.conditions()["Ready"] == ("False", "FailedMount")
    assert bench.writer.sent == []


def test_one_read_for_many_pods(bench: PodBench) -> None:
    bench.pod(preparing())
    bench.put(POD, "web-new-2", {**preparing(), "metadata": {**preparing()["metadata"], "name": "web-new-2"}})
    bench.reported.warnings["web-new-2"] = [MISSING]
    bench.run()
    assert bench.reported.read == ["web-new-1"], "one pod in a minute"
    assert bench.conditions()["Ready"] == ("False", "ContainerCreating")


def test_the_events_of_another_pod_are_none_of_this(bench: PodBench) -> None:
    bench.reported.warnings["web-new-1"] = [MISSING]
    bench.pod(preparing())
    bench.run()
    bench.pod(preparing(), uid="another")
    bench.now += 10
    assert bench.run() == Outcome(after=INTERVAL - 10, answered=True)
    assert bench.conditions()["Ready"] == ("False", "ContainerCreating")
