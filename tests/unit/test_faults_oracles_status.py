"""O5, the honest status: each false claim of a status is found, and a true status passes."""

import copy
from collections.abc import Callable

import pytest

from fault_engine.oracles import check, honesty
from unit.faulty_runs import Run, Thing, changed, complete, good, removed


def found(run: Run, oracle: str) -> list[str]:
    return [violation.what for violation in check(run.evidence(), good("other", 2).evidence(), [oracle])]


def test_a_status_that_is_ahead() -> None:
    run = good()
    run.tell("False", generation=2)
    ahead, sent = found(run, "O5")
    assert ahead == f"webapps/web, version {run.version}: observedGeneration is 2, but generation is 1"
    assert "the status written to WebApp web says observedGeneration 2; the newest received is 1" in sent


def test_a_new_process_knows_nothing() -> None:
    run = good()
    run.now += 1
    run.mark("operator killed")
    run.mark("operator started")
    run.tell("False")
    assert "says observedGeneration 1; the newest received is none" in found(run, "O5")[0]


@pytest.mark.parametrize(
    ("break_it", "problem"),
    [
        (lambda run: removed(run, "services", "web"), "contrary to received data: it owns no services"),
        (lambda run: removed(run, "configmaps", "web-1"), "it owns no configmaps"),
        (lambda run: removed(run, "serviceaccounts", "web"), "it owns no serviceaccounts"),
        (
            lambda run: changed(run, "services", "web", lambda thing: thing["metadata"].update(ownerReferences=[])),
            "it owns no services",
        ),
        (
            lambda run: changed(run, "services", "web", lambda thing: _owner(thing).update(uid="former")),
            "it owns no services",
        ),
        (
            lambda run: changed(run, "services", "web", lambda thing: thing["metadata"].update(labels={})),
            "it owns no services",
        ),
        (
            lambda run: changed(run, "deployments", "web", lambda thing: thing["spec"].update(replicas=1)),
            "its Deployment's spec.replicas is 1 instead of 2",
        ),
        (
            lambda run: changed(run, "deployments", "web", lambda thing: _image(thing, "web:2")),
            "its Deployment has the image web:2 instead of web:1",
        ),
        (
            lambda run: changed(run, "deployments", "web", lambda thing: thing["status"].update(availableReplicas=1)),
            "its Deployment is not complete: availableReplicas is 1 of 2",
        ),
    ],
)
def test_ready_though_a_child_is_wrong(break_it: Callable[[Run], object], problem: str) -> None:
    run = good()
    break_it(run)
    run.tell("True")
    (sentence,) = found(run, "O5")
    assert "the status written to WebApp web says Ready, contrary to received data" in sentence
    assert problem in sentence


@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        ("networkpolicies", {"network": {"defaultDeny": True}}),
        ("networkpolicies", {"network": {"ingress": []}}),
        ("poddisruptionbudgets", {"disruption": {"minAvailable": 1}}),
        ("poddisruptionbudgets", {"disruption": {"enabled": True}}),
        ("horizontalpodautoscalers", {"autoscaling": {"maxReplicas": 3}}),
        ("ingresses", {"ingress": {"hosts": []}}),
        ("httproutes", {"routes": [{}]}),
    ],
)
def test_ready_without_a_child_that_the_spec_asks_for(resource: str, spec: Thing) -> None:
    run = good()
    changed(run, "webapps", "web", lambda thing: thing["spec"].update(spec))
    run.tell("True")
    assert found(run, "O5") == []  # the operator has not listed the kind
    _list_none(run, resource)
    run.tell("True")
    assert any(f"says Ready, contrary to received data: it owns no {resource}" in each for each in found(run, "O5"))


def test_ready_with_some_of_the_routes() -> None:
    run = good()
    changed(run, "webapps", "web", lambda thing: thing["spec"].update(routes=[{}, {"name": "api"}]))
    run.store("httproutes", run.thing("httproutes", "web"))
    run.tell("True")
    assert any("it owns 1 httproutes of 2" in sentence for sentence in found(run, "O5"))
    run.store("httproutes", run.thing("httproutes", "web-api"))
    complaints = len(found(run, "O5"))
    run.tell("True")
    assert len(found(run, "O5")) == complaints


def test_a_budget_may_be_declined() -> None:
    run = good()
    changed(run, "webapps", "web", lambda thing: thing["spec"].update(disruption={"enabled": False, "minAvailable": 1}))
    _list_none(run, "poddisruptionbudgets")
    run.tell("True")
    assert found(run, "O5") == []


def _list_none(run: Run, resource: str) -> None:
    run.now += 1
    run.ask("list", resource, "", answer={"metadata": {"resourceVersion": str(run.version)}, "items": []})
    run.now += 1


def test_replicas_that_an_autoscaler_has_are_not_wrong() -> None:
    run = good()
    changed(run, "deployments", "web", _autoscaled)
    run.tell("True")
    assert found(run, "O5") == []


def _autoscaled(deployment: Thing) -> None:
    deployment["metadata"]["annotations"] = {"coxswain.dev/replicas": "autoscaled"}
    deployment["spec"]["replicas"] = 1
    deployment["status"].update(dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1))


def _owner(thing: Thing) -> Thing:
    owner: Thing = thing["metadata"]["ownerReferences"][0]
    return owner


def _image(deployment: Thing, image: str) -> None:
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image


def test_ready_though_the_generation_is_old() -> None:
    run = good()
    changed(run, "webapps", "web", lambda thing: thing["metadata"].update(generation=2))
    run.tell("True", generation=1)
    (sentence,) = found(run, "O5")
    assert "says Ready for generation 1, but 2 was received long before" in sentence


def test_what_was_not_sent_is_not_known_to_be_missing() -> None:
    run = good()
    run.now += 1
    run.mark("etcd lost")
    for resource in ("webapps", "deployments"):
        run.store(resource, run.there[resource, "web"])
    run.now += 1
    run.tell("True")
    assert found(run, "O5") == []
    removed(run, "services", "web")
    run.tell("True")
    assert any("it owns no services" in sentence for sentence in found(run, "O5"))


def test_what_is_received_before_the_control_plane_is_complete_again_is_known() -> None:
    run = good()
    run.now += 1
    run.mark("etcd lost")
    for resource in ("webapps", "deployments", "services"):
        run.store(resource, run.there[resource, "web"])
    run.mark("etcd restored")
    run.now += 1
    run.tell("True")
    assert found(run, "O5") == []
    run.tell("True", generation=2)
    assert any("the newest received is 1" in sentence for sentence in found(run, "O5"))


def test_a_status_that_says_ready_to_the_end() -> None:
    run = good()
    removed(run, "services", "web")
    assert honesty.check(run.evidence(quiet_since=run.now + 14)) == []
    assert len(honesty.check(run.evidence(quiet_since=run.now + 16))) == 1


def test_what_was_sent_only_just_before_may_be_missing() -> None:
    run = good()
    removed(run, "services", "web")
    run.now -= 0.5
    run.tell("True")
    assert found(run, "O5") == []
    assert honesty.check(run.evidence(), grace=0.2) != []


def test_what_a_list_does_not_hold_is_no_more() -> None:
    run = good()
    run.now += 1
    run.ask("list", "services", "", answer={"metadata": {"resourceVersion": str(run.version)}, "items": []})
    run.now += 1
    run.tell("True")
    assert "it owns no services" in found(run, "O5")[0]


def test_a_list_in_pages_one_that_is_behind_and_one_of_a_few_take_nothing_away() -> None:
    run = good()
    service = run.there["services", "web"]
    run.now += 1
    page = {"metadata": {"resourceVersion": str(run.version), "continue": "more"}, "items": [service]}
    run.ask("list", "services", "", answer=page)
    last = {"metadata": {"resourceVersion": str(run.version)}, "items": []}
    run.ask("list", "services", "", query={"continue": "more"}, answer=last)
    run.ask("list", "configmaps", "", answer={"metadata": {"resourceVersion": "1"}, "items": []})
    chosen = {"fieldSelector": "metadata.name=NOTHING"}
    run.ask("list", "serviceaccounts", "", query=chosen, answer=last)
    run.now += 1
    run.tell("True")
    assert found(run, "O5") == []


def test_an_older_version_and_an_answer_that_was_lost_tell_nothing() -> None:
    run = good()
    stale = copy.deepcopy(run.there["services", "web"])
    removed(run, "services", "web")
    run.send("services", "MODIFIED", stale)
    run.ask("get", "services", status=None, answer=None)
    run.tell("True")
    assert "it owns no services" in found(run, "O5")[0]


def test_a_status_that_goes_on_saying_ready() -> None:
    run = good()
    removed(run, "services", "web")
    run.now += 20
    run.ask("list", "pods", "", answer={})
    sent, seen = found(run, "O5")
    assert "WebApp web has been Ready for more than 15 s since" in sent
    assert sent.endswith("contrary to received data: it owns no services")
    assert seen == "WebApp web has been Ready for more than 15 s; services/web: it does not exist"


@pytest.mark.parametrize(
    "mend", [lambda run: run.tell("False"), lambda run: run.store("services", run.thing("services", "web"))]
)
def test_a_wrong_child_that_is_told_of_or_put_right(mend: Callable[[Run], object]) -> None:
    run = good()
    removed(run, "services", "web")
    run.now += 10
    mend(run)
    run.now += 60
    run.ask("list", "pods", "", answer={})
    assert found(run, "O5") == []


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("operator paused", "operator resumed"),
        ("faults begin", "faults end"),
        ("kube-apiserver: stop", "kube-apiserver: start"),
    ],
)
def test_while_nothing_can_be_mended_no_time_counts(begin: str, end: str) -> None:
    run = good()
    run.mark(begin)
    removed(run, "services", "web")
    run.now += 60
    run.ask("list", "pods", "", answer={})
    run.mark(end)
    run.now += 14
    run.ask("list", "pods", "", answer={})
    assert found(run, "O5") == []
    run.now += 2
    run.ask("list", "pods", "", answer={})
    assert len(found(run, "O5")) == 2


def test_a_rollout_is_told_of_and_then_ready_again() -> None:
    run = good()
    changed(
        run,
        "webapps",
        "web",
        lambda thing: (thing["metadata"].update(generation=2), thing["spec"].update(image="web:2")),
    )

    def roll(thing: Thing) -> None:
        thing["metadata"]["generation"] = 2
        _image(thing, "web:2")

    changed(run, "deployments", "web", roll)
    run.tell("False", generation=2, reason="RollingOut")
    run.now += 60
    run.store("deployments", complete(run.there["deployments", "web"]))
    run.tell("True", generation=2)
    assert found(run, "O5") == []
