"""The simulation of HTTPRoutes and Ingresses: a CRD that comes and goes, reports of Gateways, and broken operators."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.store import Store
from coxswain.kernel.reconciling.parent import child_set
from coxswain.kernel.status.health import HEALTHY
from coxswain.kernel.watching.supervisor import Supervisor
from coxswain.kernel.workload import ChildType
from coxswain.webapp.children import httproute, ingress
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from model_cluster.routing import Answer
from simulation.conditions import Conditions
from simulation.many import Batch
from simulation.run import MEMORY_CHECKED, Outcome, play
from simulation.script import Script, Step
from simulation.workloads import workload
from simulation.workloads.webapp.draws_of_routes import INTERNAL, PUBLIC

pytestmark = pytest.mark.thorough

WEB = {"at": "a", "name": "web-0"}
ROUTES = [{"parentRefs": [{"name": PUBLIC}]}, {"name": "api", "parentRefs": [{"name": INTERNAL}]}]
EDGE = "edge"
INGRESS = {"className": EDGE, "hosts": [{"host": "web.example.com"}]}
CREATE = Step(1.0, "create", {**WEB, "size": 1, "image": "app:1", "replicas": 1, "routes": ROUTES, "ingress": INGRESS})


def crd_gone(time: float = 60.0, seconds: float = 60.0, *, back: bool = True) -> Step:
    """Return the deletion of the CRD of HTTPRoute."""
    return Step(time, "delete CRD", {"plural": "httproutes", "seconds": seconds, "pause": 0.001, "back": back})


def change(time: float, **what: Any) -> Step:
    """Return a change of the spec."""
    return Step(time, "change", {**WEB, "what": what})


def answers(time: float, answer: Answer, gateway: str = PUBLIC) -> Step:
    """Return another answer of a Gateway and an Ingress class."""
    return Step(time, "gateway answers", {"gateway": gateway, "answer": answer.value})


def played(*steps: Step, finale: bool = False) -> Outcome:
    """Play these steps after the creation of a WebApp with routes and an Ingress."""
    return play(Script(1, "test", Conditions(), (CREATE, *steps), finale))


def test_the_crd_goes_and_comes_while_the_spec_changes() -> None:
    outcome = played(crd_gone(), change(80.0, image="app:2"), change(90.0, routes=ROUTES[:1]), finale=True)
    assert outcome.why == ""
    happened = {name: count for name, count in outcome.happened.items() if name != "write of an HTTPRoute refused"}
    assert happened == {
        "HTTPRoute created": 3,
        "HTTPRoute deleted with its CRD": 2,
        "HTTPRoute orphaned": 1,
        "Ingress created": 1,
        "Ingress orphaned": 1,
        MEMORY_CHECKED: 1,
    }


def test_the_crd_is_installed_after_the_webapp() -> None:
    outcome = played(crd_gone(0.0, 100.0))
    assert outcome.why == ""
    assert outcome.happened["HTTPRoute created"] == 2


def test_no_memory_of_routes_is_left_if_the_crd_is_gone_for_good() -> None:
    assert played(crd_gone(back=False), finale=True).why == ""


def test_memory_of_routes_that_stays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "drop", lambda *_: None)
    outcome = played(crd_gone(back=False), finale=True)
    assert outcome.invariant == "memory is empty", outcome.why


def test_a_watch_of_routes_that_hangs_at_a_start_holds_up_no_other_child() -> None:
    hang = Step(30.0, "silent watch", {"plural": "httproutes", "seconds": 400.0, "hang": True})
    outcome = played(hang, Step(40.0, "restart", {"hard": True, "pause": 1.0}), change(60.0, image="app:2"))
    assert outcome.why == ""
    assert outcome.met["hanging watch"] > 1


@pytest.mark.parametrize("answer", Answer)
def test_every_answer_of_a_controller_is_reported(answer: Answer) -> None:
    begun = [answers(60.0, answer, gateway) for gateway in (PUBLIC, EDGE)]
    ended = [answers(200.0, Answer.ACCEPT, gateway) for gateway in (PUBLIC, EDGE)]
    outcome = played(*begun, change(120.0, routes=ROUTES[:1]), *ended)
    assert outcome.why == ""
    rejects = answer in (Answer.REFUSE, Answer.UNRESOLVED, Answer.TAKE_OVER)
    assert outcome.happened["HTTPRoute rejected by a Gateway"] == rejects
    assert outcome.happened["Ingress without its address"] == (answer is Answer.WITHDRAW)


def test_the_counts_of_all_seeds_have_a_minimum() -> None:
    outcome = played(crd_gone())
    batch = Batch(1)
    batch.add(outcome)
    batch.add(outcome)
    assert batch.happened["HTTPRoute created"] == 2 * outcome.happened["HTTPRoute created"] == 8
    assert set(batch.happened) <= set(workload("webapp").happenings)


def test_an_operator_that_does_not_ask_discovery_again_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Supervisor, "_restart_when_served", never)
    outcome = played(crd_gone(seconds=20.0), Step(500.0, "annotate", WEB))
    assert outcome.invariant == "progress", outcome.why
    assert "httproutes/web-0 existence: wanted there, found missing" in outcome.why


def test_an_operator_that_is_silent_about_a_missing_kind_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_set, "not_served", lambda *_: HEALTHY)
    outcome = played(crd_gone(seconds=200.0))
    assert outcome.invariant in ("honesty", "nobody is forgotten"), outcome.why
    assert "found not served" in outcome.why


def test_an_operator_that_writes_nothing_without_the_kind_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of(self: Coverage, namespace: str) -> dict[str, str]:
        return {kind.kind: "not served" for kind in self.unavailable(namespace)}

    monkeypatch.setattr(Coverage, "unlisted", all_of)
    outcome = played(crd_gone(seconds=300.0), change(80.0, image="app:2"))
    assert outcome.invariant in ("progress", "nobody is forgotten"), outcome.why
    assert "deployments/web-0 image: wanted app:2, found app:1" in outcome.why


@pytest.mark.parametrize(("child", "gateway"), [(httproute.TYPE, PUBLIC), (ingress.TYPE, EDGE)], ids=[PUBLIC, EDGE])
def test_an_operator_that_trusts_a_route_is_noticed(
    child: ChildType[WebApp], gateway: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting = tuple(replace(each, health=lambda _: HEALTHY) if each is child else each for each in WORKLOAD.children)
    monkeypatch.setattr(WORKLOAD, "children", trusting, raising=False)
    outcome = played(answers(0.5, Answer.WITHDRAW, gateway))
    assert outcome.invariant in ("honesty", "nobody is forgotten"), outcome.why
    assert "Ready: wanted False, found True" in outcome.why
