"""The reconcile: the fewest requests, the memory, and the reaction to each error."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.webapp.kinds import CONFIG_MAP, CONTROLLER_REVISION, DEPLOYMENT, SERVICE, WEBAPP
from rendered import CHILDREN, desired, kind_of, observe, webapp_of
from unit.bench import WEB, Bench
from unit.objects import observed_child, raw_webapp, stored
from unit.server import refusal


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


ANOTHER_UID = refusal(422, causes=[{"field": "metadata.uid"}])
ALL = ["create ServiceAccount", "create ConfigMap", "create Service", "create Deployment", "status"]


def test_creation(bench: Bench) -> None:
    bench.webapp()
    assert bench.run() == Outcome(after=20.0, answered=True), "the status waits until the first pod is counted"
    assert bench.writer.sent == ALL[:-1]
    assert bench.writer.recorded == ["create ControllerRevision"]
    bench.now += 20
    assert bench.run() == Outcome(answered=True)
    assert bench.writer.sent == ["status"]
    assert [told.reason for told in bench.events.told] == ["Created"]


def test_nothing_to_do_costs_nothing(bench: Bench) -> None:
    bench.converge()
    assert bench.run() == Outcome()
    assert (bench.writer.sent, bench.writer.recorded, bench.events.told) == ([], [], [])


def test_no_webapp_means_nothing_at_all(bench: Bench) -> None:
    bench.store.observe(observed_child())
    assert bench.run() == Outcome()
    assert bench.writer.sent == []


def test_a_webapp_that_is_going_is_left_alone(bench: Bench) -> None:
    observed = bench.webapp()
    bench.store.observe(dataclasses.replace(observed, version=11, terminating=True))
    bench.run()
    assert bench.writer.sent == []


def test_a_changed_image_is_one_write(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.run()
    assert bench.writer.sent == ["update Deployment"]
    bench.now += 20
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.events.told == []


def test_a_name_conflict_is_read_once_and_reported(bench: Bench) -> None:
    theirs = dataclasses.replace(observed_child(SERVICE, label=None), controller=Controller("Shop", "theirs", "uid-9"))
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", theirs)
    bench.webapp()
    bench.run()
    assert bench.writer.sent == [*ALL[:3], "look WebApp", "look Service", *ALL[3:]]
    assert bench.conditions()["Stalled"] == ("True", "NameTaken")
    assert "Shop theirs" in bench.events.told[0].note
    bench.run()
    assert bench.writer.sent == []
    bench.reconciler.resynced()
    bench.run()
    assert bench.writer.sent == ["look Service"]


def test_no_pod_starts_with_a_foreign_service_account(bench: Bench) -> None:
    bench.writer.fail("create ServiceAccount", refusal(409))
    bench.writer.answer("look ServiceAccount", observed_child(CHILDREN[0], label=None))
    bench.webapp()
    bench.run()
    assert "create Deployment" not in bench.writer.sent


def test_a_child_without_our_label_is_labelled_again(bench: Bench) -> None:
    observed = bench.webapp()
    service = desired(webapp_of(observed))[2]
    live = stored(service, version=50)
    del live["metadata"]["labels"]["coxswain.dev/webapp"]
    bench.store.forget(SERVICE, WEB, 50)
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", observe(SERVICE, live))
    bench.run()
    assert bench.writer.sent[2:6] == ["create Service", "look WebApp", "look Service", "update Service"]


def test_a_webapp_that_is_behind_is_written_over_no_child(bench: Bench) -> None:
    """The server has its children although the store does not: they may come from a newer spec of the WebApp."""
    observed = bench.webapp()
    bench.writer.fail("create Service", refusal(409))
    live = stored(desired(webapp_of(observed))[2], version=50)
    bench.writer.answer("look Service", observe(SERVICE, {**live, "spec": {**live["spec"], "sessionAffinity": "x"}}))
    newer = raw_webapp(version=400, uid="uid-1", metadata={"generation": 2})
    bench.writer.answer("look WebApp", observe(WEBAPP, {**newer, "spec": observed.content["spec"]}))
    with pytest.raises(OutOfDate):
        bench.run()
    assert "update Service" not in bench.writer.sent
    known = bench.store.parent(WEB)
    assert known is not None
    assert known.version == 400


def test_after_a_conflict_child_and_webapp_are_read(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.fail("update Deployment", refusal(409))
    assert isinstance(bench.run().failed, Refused)
    assert bench.writer.sent == ["update Deployment", "look Deployment", "look WebApp"]


def test_a_child_deleted_without_an_event_is_recreated(bench: Bench) -> None:
    """The child lacks our label, so no watch reports its deletion. Found by the simulation, seed 1113."""
    bench.converge()
    bench.webapp(version=500, generation=2, ports=[{"name": "http", "containerPort": 9090}])
    bench.writer.fail("update Service", refusal(409))
    bench.writer.fail("look Service", refusal(404))
    assert isinstance(bench.run().failed, Refused)
    bench.writer.answers.clear()
    bench.now += 10
    bench.run(failures=1)
    assert "create Service" in bench.writer.sent
    assert bench.store.get(SERVICE, WEB) is not None


def test_an_unlabelled_child_of_a_former_webapp_is_read_again(bench: Bench) -> None:
    """No event reports its deletion by the garbage collector. Found by the simulation, seed 435."""
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    bench.store.observe(dataclasses.replace(live, version=400, label=None))
    bench.webapp(version=500, uid="uid-2")
    bench.run()
    assert "create Service" in bench.writer.sent
    assert bench.store.get(SERVICE, WEB) is not None


def test_children_of_a_deleted_namesake_delay_the_creation(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, uid="uid-2")
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")


def test_a_child_that_is_going_is_not_written(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    bench.store.observe(dataclasses.replace(live, version=500, terminating=True, finalizers=("example.com/hold",)))
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "Terminating")
    assert "these finalizers: example.com/hold" in bench.message_of("Ready")


def test_a_child_that_is_going_says_so_although_another_is_missing(bench: Bench) -> None:
    """Nothing is written to it in both cases, and only its own state tells of its finalizers."""
    bench.converge()
    deployment = bench.store.get(DEPLOYMENT, WEB)
    assert deployment is not None
    (config,) = bench.store.objects_of(WEB, CONFIG_MAP)
    bench.store.forget(CONFIG_MAP, Key("shop", config.name), 500)
    bench.writer.fail("create ConfigMap", refusal(403))
    bench.store.observe(dataclasses.replace(deployment, version=501, terminating=True))
    bench.run()
    assert bench.writer.sent[-2:] == ["create ConfigMap", "status"]
    (found,) = [each for each in bench.webapp_now().content["status"]["children"] if each["kind"] == "Deployment"]
    assert found["health"] == "Terminating"


def test_a_rejected_child_is_not_sent_again_until_a_change(bench: Bench) -> None:
    bench.writer.fail("create Deployment", refusal(422, "spec.x: Invalid"))
    bench.webapp()
    assert bench.run() == Outcome(answered=True)
    assert bench.conditions()["Stalled"] == ("True", "Rejected")
    bench.run()
    assert bench.writer.sent == []
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.run()
    assert "create Deployment" in bench.writer.sent


def test_a_rejected_child_is_not_sent_again_after_a_status_change(bench: Bench) -> None:
    bench.converge()
    bench.writer.fail("update Deployment", refusal(422, "spec.x: Invalid"))
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.run()
    bench.roll_out()
    bench.run()
    assert bench.writer.sent == []


def test_a_forbidden_write_is_reported_at_once_and_retried(bench: Bench) -> None:
    bench.writer.fail("create Service", refusal(403, "exceeded quota"))
    bench.webapp()
    assert bench.run().failed is not None
    assert bench.conditions()["Ready"] == ("False", "Refused")
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")
    assert bench.run().failed is not None
    assert bench.writer.sent == ["create Service"]


@pytest.mark.parametrize("later", [0, 1])
def test_a_value_held_by_a_policy_is_reported_and_not_sent_again(bench: Bench, later: int) -> None:
    """The response contains the old object, or a new version that still differs from the desired state."""
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    content = {**live.content, "spec": {**live.content["spec"], "sessionAffinity": "ClientIP"}}
    held = dataclasses.replace(live, version=500, content=content)
    bench.store.observe(held)
    bench.writer.answer("update Service", dataclasses.replace(held, version=500 + later))
    bench.writer.version = 600
    bench.run()
    assert bench.writer.sent == ["update Service"]
    bench.now += 10
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("True", "Ready")
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    assert "admission policy or webhook changes spec.sessionAffinity" in str(webapp.content["status"]["children"])
    bench.reconciler.resynced()
    bench.run()
    assert bench.writer.sent == ["update Service"], "the policy may be gone"
    bench.run()
    assert bench.writer.sent == []


def test_an_answer_from_the_past_means_that_history_was_reset(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.answer("update Deployment", observed_child(version=1))
    with pytest.raises(HistoryReset):
        bench.run()


def test_old_config_goes_when_no_pod_and_no_revision_needs_it(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, config={"A": "2"}, rollout={"revisionHistoryLimit": 0})
    bench.run()
    assert bench.writer.sent == ["create ConfigMap", "update Deployment"]
    bench.run()
    assert bench.writer.sent == []
    bench.roll_out()
    bench.run()
    assert bench.writer.sent == ["remove ConfigMap", "status"]
    bench.run()
    assert bench.writer.sent == []


def _copied(child: Projection) -> Projection:
    return dataclasses.replace(child, owned=None)


def _relabelled(child: Projection) -> Projection:
    return dataclasses.replace(child, label="other")


def _orphaned(child: Projection) -> Projection:
    return dataclasses.replace(child, controller=None)


@pytest.mark.parametrize("change", [_copied, _relabelled, _orphaned])
def test_only_children_of_this_webapp_are_removed(bench: Bench, change: Callable[[Projection], Projection]) -> None:
    bench.converge()
    extra = observed_child(CONFIG_MAP, "web-more", version=500)
    controlled = dataclasses.replace(extra, controller=Controller("WebApp", "web", "uid-1"), owned={})
    bench.store.observe(change(controlled))
    bench.run()
    assert bench.writer.sent == []
    bench.store.observe(dataclasses.replace(controlled, version=501))
    bench.run()
    assert bench.writer.sent == ["remove ConfigMap"]


def test_paused_writes_nothing_but_status(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, paused=True, image="registry.example/web:2", ports=[])
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "Differs")
    assert bench.conditions()["Progressing"] == ("False", "Paused")
    bench.store.observe(observed_child(DEPLOYMENT, version=600))
    bench.run()
    assert bench.conditions()["Stalled"] == ("True", "NameTaken")
    assert bench.events.told == []


def test_drift_is_corrected_and_reported(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    assert live.owned is not None
    fields = {key: value for key, value in live.owned["f:spec"].items() if key != "f:replicas"}
    content = {**live.content, "spec": {**live.content["spec"], "replicas": 5}}
    drifted = dataclasses.replace(
        live,
        version=500,
        content=content,
        owned={**live.owned, "f:spec": fields},
        others=(ManagedFieldsEntry("kubectl", {"f:spec": {"f:replicas": {}}}),),
    )
    bench.store.observe(drifted)
    bench.writer.version = 600
    bench.run()
    assert bench.writer.sent[0] == "update Deployment"
    assert [told.reason for told in bench.events.told] == ["DriftCorrected"]
    change = "spec.replicas 5 to 1 (changed by kubectl)"
    advice = "To scale, set spec.replicas: kubectl edit webapp web -n shop"
    assert bench.events.told[0].note.endswith(f"{change}. {advice}")


def test_every_child_is_its_kind(bench: Bench) -> None:
    fields: dict[str, Any] = {"routes": [{"parentRefs": [{"name": "a"}]}], "ingress": {"hosts": [{"host": "a.b"}]}}
    webapp = webapp_of(bench.webapp(autoscaling={"maxReplicas": 2}, network={"ingress": []}, **fields))
    assert [kind_of(manifest) for manifest in desired(webapp)] == list(CHILDREN[:-1])
    assert CHILDREN[-1] is CONTROLLER_REVISION
