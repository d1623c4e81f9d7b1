"""O6: a state that is always forbidden is found even in a single version or a single write."""

import pytest

from fault_engine.oracles import check
from unit.faulty_runs import Run, Thing, changed, good, removed


def found(run: Run, oracle: str) -> list[str]:
    return [violation.what for violation in check(run.evidence(), good("other", 2).evidence(), [oracle])]


def test_a_child_that_goes_over_to_another_webapp() -> None:
    run = good()
    changed(run, "services", "web", lambda thing: thing["metadata"]["ownerReferences"][0].update(uid="another"))
    (sentence,) = found(run, "O6")
    assert "services/web, version" in sentence
    assert "was controlled by WebApp web (webapps-web-of-1), and is now controlled by WebApp web (another)" in sentence


def _foreign(run: Run, name: str, *, owned: bool) -> Thing:
    thing = run.thing("services", name)
    other = {"kind": "Shop", "name": "x", "uid": "y", "apiVersion": "v1", "controller": True}
    thing["metadata"].update(labels={}, managedFields=[], ownerReferences=[other] if owned else [])
    return thing


@pytest.mark.parametrize(("owned", "whose"), [(True, "by Shop x (y)"), (False, "by nobody")])
def test_a_foreign_object_that_was_adopted(owned: bool, whose: str) -> None:
    run = good()
    foreign = run.store("services", _foreign(run, "taken", owned=owned))
    ours = run.thing("services", "taken")
    ours["metadata"]["uid"] = foreign["metadata"]["uid"]
    run.store("services", ours)
    assert any(f"was adopted by the operator; it was controlled {whose}" in sentence for sentence in found(run, "O6"))


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("verb", ["patch", "delete"])
def test_a_foreign_object_that_was_written(owned: bool, verb: str) -> None:
    run = good()
    run.store("services", _foreign(run, "taken", owned=owned))
    run.now += 1
    run.write(verb, "services", "taken", status=409)
    assert found(run, "O6") == []
    run.write(verb, "services", "taken")
    (sentence,) = found(run, "O6")
    assert sentence.startswith(f"the operator wrote a foreign object ({verb}): services/taken, ")


def test_only_what_was_there_at_the_time_counts() -> None:
    run = good()
    ours, foreign = run.thing("services", "web"), _foreign(run, "web", owned=True)
    foreign["metadata"]["uid"] = "foreign"
    removed(run, "services", "web")
    run.store("services", foreign)
    run.now += 5
    run.write("patch", "services")
    run.now += 5
    removed(run, "services", "web")
    run.store("services", {**ours, "metadata": {**ours["metadata"], "uid": "third"}})
    (sentence,) = found(run, "O6")
    assert "the operator wrote a foreign object (patch): services/web, controlled by Shop x (y)" in sentence


def test_an_object_of_ours_whose_reference_was_stripped_is_ours() -> None:
    run = good()
    changed(run, "services", "web", lambda thing: thing["metadata"].update(ownerReferences=[]))
    run.now += 1
    run.write("patch", "services")
    run.store("services", run.there["services", "web"])
    assert found(run, "O6") == []


@pytest.mark.parametrize(("wanted", "ours", "violations"), [(2, True, 1), (0, True, 0), (2, False, 0)])
def test_a_deployment_of_no_pods(wanted: int, ours: bool, violations: int) -> None:
    run = good()
    changed(run, "webapps", "web", lambda thing: thing["spec"].update(replicas=wanted))
    run.now += 30

    def stop(thing: Thing) -> None:
        thing["spec"].update(replicas=0)
        if not ours:
            thing["metadata"]["managedFields"][0]["fieldsV1"] = {"f:spec": {}}

    changed(run, "deployments", "web", stop)
    sentences = found(run, "O6")
    assert len(sentences) == violations
    assert all("the operator set spec.replicas to 0; its WebApp wants [2]" in sentence for sentence in sentences)


@pytest.mark.parametrize(("ports", "going", "violations"), [(True, False, 1), (False, False, 0), (True, True, 0)])
def test_a_service_that_was_deleted(ports: bool, going: bool, violations: int) -> None:
    run = good()

    def change(thing: Thing) -> None:
        if not ports:
            del thing["spec"]["ports"]
        if going:
            thing["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    changed(run, "webapps", "web", change)
    run.now += 5
    run.write("delete", "services")
    removed(run, "services", "web")
    expected = "the operator deleted Service web while its WebApp web exists and has ports"
    assert found(run, "O6") == [expected] * violations


@pytest.mark.parametrize(("namespace", "where"), [("other", "in namespace other"), ("", "outside any namespace")])
def test_a_write_elsewhere(namespace: str, where: str) -> None:
    run = good()
    run.write("patch", "configmaps", "web-1", namespace=namespace, status=403)
    assert found(run, "O6") == [f"the operator wrote {where}: patch of configmaps web-1, status 403"]
