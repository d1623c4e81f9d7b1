"""A child that the spec no longer needs, but that stays, is reported: held by a finalizer, or under a paused parent."""

from typing import Any

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER, NETWORK_POLICY
from unit.release_bench import ReleaseBench

pytestmark = pytest.mark.model

HELD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASED = {"metadata": {"finalizers": None}}
AUTOSCALED: dict[str, Any] = {"autoscaling": {"minReplicas": 2, "maxReplicas": 8}}
ISOLATED: dict[str, Any] = {"network": {"ingress": []}}
POLICY = NETWORK_POLICY.path("shop", "web")


def removed() -> ReleaseBench:
    """Return a bench whose spec has just ceased to need its NetworkPolicy. A finalizer holds that."""
    bench = ReleaseBench(**ISOLATED)
    bench.settle()
    bench.roll_out()
    assert bench.patch(POLICY, HELD).status == 200
    bench.settle()
    bench.change(network=None)
    bench.transport.sent.clear()
    for _ in range(3):
        bench.reconcile_once()
    return bench


def ready(bench: ReleaseBench) -> tuple[str, str]:
    found = bench.condition("Ready")
    assert found is not None
    return found[:2]


def reported(bench: ReleaseBench) -> dict[str, str]:
    """Return the health of each child in the status, by kind."""
    return {each["kind"]: each["health"] for each in bench.status["children"]}


def statuses(bench: ReleaseBench) -> int:
    return sum(sent == "PATCH webapps/web/status" for sent in bench.transport.sent)


def test_a_child_that_a_finalizer_holds_is_reported() -> None:
    bench = removed()
    outcome = bench.reconcile_once()
    assert (ready(bench), "NetworkPolicy" in reported(bench)) == (("True", "Ready"), False)
    assert outcome.after == pytest.approx(10)
    bench.pass_time(10)
    assert bench.reconcile_once().after is None
    assert (ready(bench), reported(bench).get("NetworkPolicy")) == (("False", "Terminating"), "Terminating")
    message = (bench.condition("Ready") or ("", "", ""))[2]
    assert message.startswith("NetworkPolicy web: the spec no longer needs it, and it is being deleted. ")
    assert "others must remove these finalizers: example.com/hold. If it stays, " in message
    assert message.endswith(": kubectl describe networkpolicy web -n shop")
    assert bench.settle() == 0
    bench.patch(POLICY, RELEASED)
    bench.settle()
    assert (ready(bench), "NetworkPolicy" in reported(bench)) == (("True", "Ready"), False)


def test_an_autoscaler_that_stays_is_reported_while_it_owns_the_replicas() -> None:
    bench = ReleaseBench(**AUTOSCALED)
    bench.settle()
    bench.roll_out()
    bench.patch(HORIZONTAL_POD_AUTOSCALER.path("shop", "web"), HELD)
    bench.settle()
    bench.change(autoscaling=None, replicas=5)
    bench.settle()
    bench.roll_out()
    assert bench.deployment["spec"]["replicas"] == 2
    assert (ready(bench), reported(bench).get("HorizontalPodAutoscaler")) == (("False", "Terminating"), "Terminating")
    bench.patch(HORIZONTAL_POD_AUTOSCALER.path("shop", "web"), RELEASED)
    bench.settle()
    bench.roll_out()
    assert (ready(bench), bench.deployment["spec"]["replicas"]) == (("True", "Ready"), 5)


def test_a_new_process_goes_on_to_report_it() -> None:
    bench = removed()
    bench.pass_time(10)
    bench.settle()
    bench.restart()
    assert bench.settle() == 0
    assert ready(bench) == ("False", "Terminating")


def test_a_deletion_of_some_seconds_is_not_reported() -> None:
    """The controller of a load balancer needs them."""
    bench = removed()
    before = statuses(bench)
    bench.pass_time(5)
    bench.reconcile_once()
    bench.patch(POLICY, RELEASED)
    bench.settle()
    assert (before, statuses(bench)) == (1, 0)
    assert ready(bench) == ("True", "Ready")


@pytest.mark.parametrize(("kind", "spec"), [(NETWORK_POLICY, ISOLATED), (HORIZONTAL_POD_AUTOSCALER, AUTOSCALED)])
def test_a_paused_parent_reports_what_it_does_not_delete(kind: Kind, spec: dict[str, Any]) -> None:
    bench = ReleaseBench(**spec)
    bench.settle()
    bench.roll_out()
    bench.change(paused=True, **dict.fromkeys(spec))
    bench.settle()
    assert len(bench.live(kind.kind)) == 1
    assert (ready(bench), reported(bench).get(kind.kind)) == (("False", "Differs"), "Degraded")
    edit = "kubectl edit webapp web -n shop"
    later = "The operator deletes it when spec.paused is no longer true"
    message = f"the spec no longer needs it. {later}. Set it to false: {edit}"
    assert [each["message"] for each in bench.status["children"] if each["kind"] == kind.kind] == [message]
    bench.change(paused=None)
    bench.settle()
    bench.roll_out()
    assert bench.live(kind.kind) == []
    assert ready(bench) == ("True", "Ready")


def test_a_paused_parent_reports_a_child_that_a_finalizer_holds() -> None:
    bench = removed()
    bench.change(paused=True)
    bench.settle()
    assert (ready(bench), reported(bench).get("NetworkPolicy")) == (("False", "Terminating"), "Terminating")


def test_a_paused_parent_needs_the_objects_of_its_pods_and_no_record() -> None:
    bench = ReleaseBench(rollout={"revisionHistoryLimit": 0})
    bench.settle()
    bench.change(paused=True, config={"B": "3"})
    bench.settle()
    configs = {each["name"]: each["health"] for each in bench.status["children"] if each["kind"] == "ConfigMap"}
    assert list(configs.values()) == ["Missing"], "the one of the pods is not reported"
    assert "ControllerRevision" not in reported(bench)
