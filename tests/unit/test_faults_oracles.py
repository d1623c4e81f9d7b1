"""The oracles that compare a run with a fault-free run, and those that check its end: each finds its violation."""

import copy
import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fault_engine.evidence import Evidence, converged
from fault_engine.oracles import IDS, check
from fault_engine.oracles.masking import MASKS, end_state
from unit.faulty_runs import Run, Thing, changed, good, removed, with_end


def found(run: Run | Evidence, oracle: str) -> list[str]:
    evidence = run.evidence() if isinstance(run, Run) else run
    return [violation.what for violation in check(evidence, good("other", 2).evidence(), [oracle])]


@pytest.mark.parametrize("oracle", IDS)
def test_a_good_run_passes(oracle: str) -> None:
    assert found(good(), oracle) == []


def test_what_an_oracle_needs_must_be_there() -> None:
    evidence = good().evidence()
    with pytest.raises(ValueError, match="O9"):
        check(evidence, evidence, ["O9"])
    for oracle in ("O1", "O2", "O3", "O7"):
        with pytest.raises(ValueError, match="without faults"):
            check(evidence, None, [oracle])
    with pytest.raises(ValueError, match="quiet_since"):
        check(dataclasses.replace(evidence, quiet_since=None), evidence, ["O3"])
    with pytest.raises(ValueError, match="secrets"):
        check(dataclasses.replace(evidence, secrets=()), None, ["O8"])


@pytest.mark.parametrize(
    ("resource", "name", "change", "sentence"),
    [
        (
            "services",
            "web",
            lambda thing: thing["metadata"]["labels"].update(team="red"),
            "services/web metadata.labels.team is 'red'; the reference has absent",
        ),
        (
            "deployments",
            "web",
            lambda thing: thing["metadata"]["ownerReferences"][0].update(uid="someone"),
            "deployments/web metadata.ownerReferences[0].uid is 'someone'; the reference has '<uid of webapps/web>'",
        ),
        (
            "webapps",
            "web",
            lambda thing: thing["metadata"].update(generation=3),
            "webapps/web status.observedGeneration is 'behind by 2'; the reference has 'current'",
        ),
        (
            "deployments",
            "web",
            lambda thing: thing["metadata"]["managedFields"][0].update(fieldsV1={}),
            "deployments/web metadata.managedFields.coxswain Apply v1.fieldsV1.f:spec is absent; the reference has",
        ),
        (
            "deployments",
            "web",
            lambda thing: thing["spec"].update(of="elsewhere"),
            "deployments/web spec.of is 'elsewhere'; the reference has '<namespace>'",
        ),
    ],
)
def test_a_field_that_differs_at_the_end(
    resource: str, name: str, change: Callable[[Thing], object], sentence: str
) -> None:
    violations = found(with_end(good().evidence(), resource, name, change), "O1")
    assert any(found.startswith(f"at the end {sentence}") for found in violations), violations


def test_an_object_too_many_or_too_few_at_the_end() -> None:
    run = good()
    run.store("configmaps", run.thing("configmaps", "web-2", data={"A": "a"}))
    removed(run, "services", "web")
    assert found(run, "O1") == [
        "at the end there is configmaps/web-2, unlike in the reference",
        "at the end services/web is missing, unlike in the reference",
    ]


def test_pods_are_compared_by_their_replica_set_and_phase() -> None:
    run = good()
    changed(run, "pods", "web-5d4-a1", lambda pod: pod["status"].update(phase="Pending"))
    (sentence,) = found(run, "O1")
    assert "pods[0] is 'a pod of web-5d4: Pending'; the reference has 'a pod of web-5d4: Running'" in sentence


def test_a_reference_to_a_former_object_is_told_from_one_to_the_present_one() -> None:
    run, other = good(), good("other", 2)
    for each in (run, other):
        old = each.there["webapps", "web"]
        removed(each, "webapps", "web")
        each.store("webapps", {**old, "metadata": {**old["metadata"], "uid": f"new-{each.number}"}})
    assert check(run.evidence(), other.evidence(), ["O1"]) == []
    changed(run, "services", "web", lambda thing: thing["metadata"]["ownerReferences"][0].update(uid="new-1"))
    (violation,) = check(run.evidence(), other.evidence(), ["O1"])
    assert "is '<uid of webapps/web>'; the reference has '<former uid of webapps/web>'" in violation.what


def test_the_namespace_is_masked_as_a_word_only() -> None:
    run, other = good("shop"), good("other", 2)
    run.there["configmaps", "web-1"]["data"] = {"A": "http://web.shop.svc", "B": "my-shop", "C": "shops"}
    other.there["configmaps", "web-1"]["data"] = {"A": "http://web.other.svc", "B": "my-other", "C": "others"}
    sentences = [violation.what for violation in check(run.evidence(), other.evidence(), ["O1"])]
    assert sentences == [
        "at the end configmaps/web-1 data.B is 'my-shop'; the reference has 'my-other'",
        "at the end configmaps/web-1 data.C is 'shops'; the reference has 'others'",
    ]


def test_what_kubernetes_puts_into_each_namespace_is_not_compared() -> None:
    run = good()
    run.store("configmaps", run.thing("configmaps", "kube-root-ca.crt"))
    assert found(run, "O1") == []


def test_which_counts_the_deployment_controller_has_written_is_not_compared() -> None:
    run, other = good(), good("other", 2)
    cases: list[tuple[dict[str, Any], Any]] = [({"f:replicas": {}}, run), ({}, other)]
    for fields, each in cases:
        entry = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}
        each.there["deployments", "web"]["metadata"]["managedFields"] = [
            {**entry, "apiVersion": "apps/v1", "fieldsV1": {"f:status": fields}}
        ]
    assert check(run.evidence(), other.evidence(), ["O1"]) == []


def test_which_replica_set_has_got_on_last_is_not_compared() -> None:
    run, other = good(), good("other", 2)
    for name, each in (("web-1", run), ("web-2", other)):
        said = {"type": "Progressing", "message": f'ReplicaSet "{name}" has successfully progressed.'}
        each.there["deployments", "web"]["status"]["conditions"] = [said]
    assert check(run.evidence(), other.evidence(), ["O1"]) == []
    other.there["deployments", "web"]["status"]["conditions"][0]["message"] = "it is another"
    assert len(check(run.evidence(), other.evidence(), ["O1"])) == 1


def test_the_ledger_of_what_was_put_back_is_not_compared() -> None:
    run, other = good(), good("other", 2)
    webapp = run.there["webapps", "web"]
    webapp["status"]["drift"] = [{"field": "spec.replicas", "count": 2}]
    cases: list[tuple[dict[str, Any], Any]] = [({"f:drift": {}, "f:url": {}}, run), ({"f:url": {}}, other)]
    for fields, each in cases:
        entry = {"manager": "coxswain", "operation": "Apply", "subresource": "status"}
        each.there["webapps", "web"]["metadata"]["managedFields"] = [
            {**entry, "apiVersion": "coxswain.dev/v1", "fieldsV1": {"f:status": fields}}
        ]
    assert check(run.evidence(), other.evidence(), ["O1"]) == []


@pytest.mark.parametrize("path", [path for path in MASKS if path[1] != "managedFields" or path[2] == "*"], ids=".".join)
def test_masked_fields_are_not_compared(path: tuple[str, ...]) -> None:
    def put(thing: Any, path: tuple[str, ...], value: Any) -> None:
        for key, then in itertools.pairwise(path):
            fresh: Any = [{"type": "Any", "manager": "any"}] if then == "*" else {}
            thing = thing[0] if key == "*" else thing.setdefault(key, fresh)
        thing[path[-1]] = value

    run, other = good(), good("other", 2)
    for value, each in (("first value", run), ("second value", other)):
        put(each.there["services", "web"], path, value)
    assert check(run.evidence(), other.evidence(), ["O1"]) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["run-1", "a run-1.svc", "webapps-web-of-1", "x"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["a", "uid", "run-1"]), parts),
    max_leaves=8,
)


@pytest.mark.thorough
@settings(deadline=None, max_examples=50)
@given(JSON, st.sampled_from(["spec", "data", "status"]))
def test_a_run_compared_with_itself_differs_in_nothing(value: Any, part: str) -> None:
    run = good()
    run.there["configmaps", "web-1"][part] = {"thing": value}
    evidence = run.evidence()
    assert check(evidence, copy.deepcopy(evidence), ["O1", "O2", "O6", "O7"]) == []


@settings(deadline=None, max_examples=50)
@given(JSON)
def test_masking_what_is_masked_changes_nothing(value: Any) -> None:
    run = good()
    run.there["configmaps", "web-1"]["data"] = {"thing": value}
    once = end_state(run.evidence())["configmaps/web-1"]["data"]
    run.there["configmaps", "web-1"]["data"] = once
    assert end_state(run.evidence())["configmaps/web-1"]["data"] == once


def test_an_object_that_was_made_twice() -> None:
    run = good()
    again = run.thing("services", "web", spec={})
    again["metadata"]["uid"] = "another"
    removed(run, "services", "web")
    run.write("patch", "services", status=201)
    run.store("services", again)
    assert found(run, "O2") == [
        "services/web was created 2 times; in the reference once",
        "services/web was deleted once; in the reference never",
        "services/web was created by the operator 2 times; in the reference once",
    ]


def test_a_deletion_and_a_pod_too_many() -> None:
    run = good()
    run.write("delete", "configmaps", "web-1")
    run.write("delete", "services", status=404)
    pod = copy.deepcopy(run.there["pods", "web-5d4-a1"])
    pod["metadata"].update(name="web-5d4-c1", uid="third")
    run.store("pods", pod)
    assert found(run, "O2") == [
        "one of pods of ReplicaSet web-5d4 was created 3 times; in the reference 2 times",
        "configmaps/web-1 was deleted by the operator once; in the reference never",
        "the operator tried to delete configmaps/web-1; in the reference it never did",
        "the operator tried to delete services/web; in the reference it never did",
    ]


def test_a_deletion_that_was_tried_again_is_no_other_deletion() -> None:
    run, other = good(), good("other", 2)
    run.write("delete", "configmaps", "web-1", status=409)
    for each in (run, other):
        each.write("delete", "configmaps", "web-1")
    assert check(run.evidence(), other.evidence(), ["O2"]) == []


def test_events_are_not_counted() -> None:
    run = good()
    run.write("create", "events", "web.1", status=201)
    assert found(run, "O2") == []


def test_a_write_in_the_quiet_time() -> None:
    run = good()
    run.now += 2
    run.write("create", "events", "", status=403)
    assert found(dataclasses.replace(run.evidence(), quiet_since=run.now - 1), "O3") == [
        "1.0 s into the quiet time the operator wrote: create of events , status 403"
    ]


@pytest.mark.parametrize(("tries", "violations"), [(6, 0), (8, 2)])
def test_what_is_refused_for_good_is_tried_in_the_quiet_time_with_backoff(tries: int, violations: int) -> None:
    run, other = good(), good("other", 2)
    for each in (run, other):
        each.tell("False", reason="Rejected")
    for _ in range(tries):
        run.now += 1
        run.write("patch", "services", status=422)
    evidence = dataclasses.replace(run.evidence(), quiet_since=run.now - tries)
    sentences = [violation.what for violation in check(evidence, other.evidence(), ["O3"])]
    assert len(sentences) == violations
    assert len(check(evidence, good("third", 3).evidence(), ["O3"])) == tries + 1, (
        "the reference has no refusal and is Ready"
    )


def test_an_attempt_in_the_quiet_time_that_no_server_heard_of() -> None:
    run = good()
    run.now += 2
    run.ask("patch", "services", status=503)
    assert found(dataclasses.replace(run.evidence(), quiet_since=run.now - 1), "O3") == [
        "1.0 s into the quiet time the operator sent: patch of services web, not forwarded to the server"
    ]


def _set(thing: Thing, *path: str, value: Any) -> None:
    for key in path[:-1]:
        thing = thing[key]
    thing[path[-1]] = value


@pytest.mark.parametrize(
    ("resource", "path", "value", "problem"),
    [
        ("webapps", ("metadata", "generation"), 2, "status.observedGeneration is 1 and metadata.generation is 2"),
        ("webapps", ("status", "conditions"), [], "Ready is None"),
        ("deployments", ("metadata", "ownerReferences"), [], "it controls 0 Deployments"),
        ("deployments", ("metadata", "generation"), 2, "observedGeneration is 1 and generation is 2"),
        ("deployments", ("status", "updatedReplicas"), 1, "updatedReplicas is 1 of 2"),
        ("deployments", ("status", "replicas"), 3, "replicas is 3 of 2"),
        ("deployments", ("status", "availableReplicas"), 0, "availableReplicas is 0 of 2"),
    ],
)
def test_what_has_not_come_to_rest(resource: str, path: tuple[str, ...], value: Any, problem: str) -> None:
    evidence = good().evidence()
    assert converged(evidence, evidence.end["webapps"][0]) is None
    evidence = with_end(evidence, resource, "web", lambda thing: _set(thing, *path, value=value))
    (sentence,) = found(evidence, "O3")
    assert sentence.startswith("at the end WebApp web has not converged: ")
    assert problem in sentence


def test_a_webapp_that_is_not_ready_in_the_reference_either() -> None:
    run, other = good(), good("other", 2)
    run.tell("False", reason="NameTaken")
    other.tell("False", reason="NameTaken")
    assert check(run.evidence(), other.evidence(), ["O3"]) == []
    other.tell("False", reason="Rejected")
    (violation,) = check(run.evidence(), other.evidence(), ["O3"])
    assert "Ready is False, reason NameTaken; the reference has False, reason Rejected" in violation.what
