"""The reconcile with pods: one status write for each cause, none for other changes, and requeues for deadlines."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.webapp.kinds import DEPLOYMENT, POD, REPLICA_SET
from unit.bench import WEB, Bench
from unit.objects import observed_child
from unit.pod_states import (
    CRASH_LOOP,
    NOW,
    PULL_LOOP,
    STARTS,
    container,
    ended,
    pod,
    replica_set,
    running,
    unscheduled,
    waiting,
)
from unit.server import refusal


class PodBench(Bench):
    """A WebApp whose Deployment rolls out its second revision."""

    def __init__(self) -> None:
        super().__init__()
        self.time = NOW
        self.converge()
        self.webapp(version=500, generation=2, image="registry.example/web:2")
        self.writer.version = 1000
        self.run()
        self.roll_out(updatedReplicas=1, replicas=2, readyReplicas=1)
        self.put(REPLICA_SET, "web-old", replica_set("old", 1))
        self.put(REPLICA_SET, "web-new", replica_set("new", 2))
        self.run()
        self.events.told.clear()
        assert self.conditions()["Ready"] == ("False", "RollingOut")

    def roll_out(self, *, revision: int = 2, **counts: Any) -> None:
        """Observe the spec as the Deployment's controller, and report these counts."""
        super().roll_out()
        live = self.deployment
        conditions = counts.pop("conditions", [{"type": "Available", "status": "True"}])
        annotations = {"deployment.kubernetes.io/revision": str(revision)}
        metadata = {**live.content["metadata"], "annotations": annotations}
        status = {**live.content["status"], **counts, "conditions": conditions}
        self.again(live, {**live.content, "metadata": metadata, "status": status})

    @property
    def deployment(self) -> Projection:
        """Return the Deployment."""
        live = self.store.get(DEPLOYMENT, WEB)
        assert live is not None
        return live

    def put(self, kind: Any, name: str, content: Any, **more: Any) -> None:
        """Put a pod or a ReplicaSet into the store."""
        named = {"controller": Controller("Deployment", "web", self.deployment.uid), **more}
        self.again(dataclasses.replace(observed_child(kind, name, uid=name), **named), content)

    def pod(self, state: Any, **more: Any) -> None:
        """Put the only new pod into the store, with a container in this state."""
        self.put(POD, "web-new-1", pod(state) if "state" in state else state, **more)

    def again(self, observed: Projection, content: Any) -> None:
        """Put a new version of an object into the store."""
        self.writer.version += 1
        self.store.observe(dataclasses.replace(observed, version=self.writer.version, content=content))

    def message(self) -> str:
        """Return the message of the Deployment in the status."""
        webapp = self.store.parent(WEB)
        assert webapp is not None
        children = webapp.content["status"]["children"]
        return str(next(each["message"] for each in children if each["kind"] == "Deployment"))


@pytest.fixture
def bench() -> PodBench:
    """Return a bench with a WebApp whose Deployment rolls out its second revision."""
    return PodBench()


def test_the_cause_is_reported_at_once_with_one_event(bench: PodBench) -> None:
    bench.pod(PULL_LOOP[0])
    assert bench.run() == Outcome(answered=True)
    assert bench.writer.sent == ["status"]
    conditions = bench.conditions()
    assert conditions["Ready"] == ("False", "ImagePullBackOff")
    assert conditions["Available"][0] == "True"
    assert conditions["Stalled"][0] == "False"
    assert "rolling out: 1 of 1 pods ready; 1 of 1 new pods: container app" in bench.message()
    (told,) = bench.events.told
    assert (told.reason, told.type) == ("ImagePullBackOff", "Warning")
    assert "not found" in told.note


@pytest.mark.parametrize("loop", [PULL_LOOP, CRASH_LOOP])
def test_a_loop_costs_one_write(bench: PodBench, loop: list[Any]) -> None:
    bench.pod(loop[0])
    bench.run()
    for state in [*loop, *loop]:
        bench.now += 60
        bench.pod(state)
        bench.run()
        assert bench.writer.sent == []
    assert len(bench.events.told) == 1


def test_last_words_that_differ_in_their_numbers_cost_nothing(bench: PodBench) -> None:
    for number in range(5):
        bench.now += 60
        bench.pod(container(waiting("CrashLoopBackOff"), ended(message=f"12:0{number} panic")))
        bench.run()
        assert bench.writer.sent == ([] if number else ["status"])


def test_a_normal_start_costs_nothing(bench: PodBench) -> None:
    for state in STARTS:
        bench.now += 60
        bench.pod(state)
        bench.run()
        assert bench.writer.sent == []
    assert bench.events.told == []


def test_a_scheduling_message_counts_as_progress(bench: PodBench) -> None:
    bench.pod(unscheduled("0/3 nodes are available: 3 Insufficient cpu."))
    bench.run()
    assert bench.writer.sent == ["status"]
    bench.pod(unscheduled("0/3 nodes are available: 3 Insufficient memory."))
    assert bench.run() == Outcome(after=1.0)
    bench.now += 1
    bench.run()
    assert bench.writer.sent == ["status"]
    assert "memory" in bench.message()
    assert len(bench.events.told) == 1


def test_another_cause_is_another_event(bench: PodBench) -> None:
    bench.pod(PULL_LOOP[0])
    bench.run()
    bench.pod(CRASH_LOOP[0])
    bench.run()
    assert [told.reason for told in bench.events.told] == ["ImagePullBackOff", "CrashLoopBackOff"]


def test_it_comes_back_when_a_probe_has_had_its_time_and_then_no_more(bench: PodBench) -> None:
    bench.pod(container(running(30)))
    assert bench.run() == Outcome(after=2.0)
    assert bench.writer.sent == []
    bench.time += timedelta(seconds=2)
    assert bench.run() == Outcome(answered=True)
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "ReadinessProbeFailing")


def test_it_comes_back_at_the_earlier_of_two_times(bench: PodBench) -> None:
    bench.pod(container(running(30)))
    bench.roll_out(updatedReplicas=1, replicas=3, readyReplicas=1)
    assert bench.run() == Outcome(after=1.5), "counts wait for 1.5 s, and the probe has two seconds left"
    bench.roll_out(updatedReplicas=1, replicas=3, readyReplicas=0)
    assert bench.run() == Outcome(after=1.0), "ready pods are reported after one second"


def test_pods_that_go_or_are_of_others_say_nothing(bench: PodBench) -> None:
    bench.pod(PULL_LOOP[0], terminating=True)
    bench.run()
    assert bench.writer.sent == []
    bench.pod(PULL_LOOP[0])
    bench.put(REPLICA_SET, "web-new", replica_set("new", 2), controller=Controller("Deployment", "web", "another"))
    bench.run()
    assert bench.writer.sent == [], "the ReplicaSet belongs to a deleted namesake"


def test_pods_of_the_former_revision_are_not_reported(bench: PodBench) -> None:
    bench.pod(PULL_LOOP[0])
    bench.run()
    bench.roll_out(revision=3, updatedReplicas=0, replicas=2, readyReplicas=1)
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "RollingOut")


def test_an_unobserved_spec_is_not_reported(bench: PodBench) -> None:
    bench.pod(PULL_LOOP[0])
    live = bench.deployment
    bench.again(live, {**live.content, "metadata": {**live.content["metadata"], "generation": 2}})
    bench.run()
    bench.now += 60
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "RollingOut")


def test_of_a_deployment_that_has_its_pods_nothing_is_asked(bench: PodBench) -> None:
    bench.pod(PULL_LOOP[0])
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("True", "Ready")


def test_it_is_over_when_the_pods_are_ready(bench: PodBench) -> None:
    bench.pod(CRASH_LOOP[0])
    bench.run()
    bench.pod(container(running(5), ended(), restarts=2, ready=True))
    bench.roll_out()
    assert bench.run() == Outcome(answered=True)
    assert bench.conditions()["Ready"] == ("True", "Ready")


def test_a_deployment_that_can_not_be_written_says_that(bench: PodBench) -> None:
    bench.pod(CRASH_LOOP[0])
    bench.run()
    bench.writer.fail("update Deployment", refusal(422, "spec.x: Invalid"))
    bench.webapp(version=2000, generation=3, image="registry.example/web:3")
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "Rejected")
    assert bench.message() == (
        "rejected by the API server: spec.x: Invalid. The operator retries after a change. "
        "Correct what another manager has set in the object, or the spec: kubectl edit webapp web -n shop"
    )


def test_when_the_deadline_has_passed_the_status_says_both(bench: PodBench) -> None:
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late."}
    bench.pod(CRASH_LOOP[0])
    bench.roll_out(updatedReplicas=1, replicas=2, conditions=[late])
    bench.run()
    assert bench.conditions()["Stalled"] == ("True", "ProgressDeadlineExceeded")
    assert bench.message().startswith("too late; 1 of 1 new pods: container app")
