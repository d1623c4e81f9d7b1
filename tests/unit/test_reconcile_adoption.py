"""Adoption: the requests, the conditions for it, and its effects."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE, SERVICE_ACCOUNT
from rendered import desired, kind_of, observe, webapp_of
from unit.bench import WEB, Bench
from unit.objects import observed_autoscaler, stored
from unit.server import refusal

ADOPT = {"coxswain.dev/adopt": "web"}


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


def foreign(bench: Bench, kind: Kind, *, annotations: dict[str, str] | None = None, **spec: Any) -> Projection:
    """Return a child like one made by kubectl: without our label, owner reference and entry."""
    webapp = bench.store.parent(WEB) or bench.webapp()
    manifest = next(each for each in desired(webapp_of(webapp)) if kind_of(each) is kind)
    bench.writer.version += 1
    raw = stored(manifest, version=bench.writer.version, uid=f"their-{kind}")
    raw["metadata"] |= {"labels": {"app": "web"}, "annotations": annotations or {}, "ownerReferences": []}
    raw["metadata"]["managedFields"][0] |= {"manager": "kubectl-create", "operation": "Update"}
    if "spec" in raw:
        raw["spec"] |= spec
    return observe(kind, raw)


def take(bench: Bench, theirs: Projection) -> None:
    """Give a child's name to this object."""
    bench.writer.fail(f"create {theirs.kind}", refusal(409))
    bench.writer.answer(f"look {theirs.kind}", theirs)


def test_a_name_conflict_is_read_once_a_minute_and_the_message_has_the_command(bench: Bench) -> None:
    take(bench, foreign(bench, SERVICE_ACCOUNT))
    assert bench.run() == Outcome(after=60.0, answered=True)
    note = bench.events.told[0].note
    assert note.endswith("kubectl annotate serviceaccount web coxswain.dev/adopt=web -n shop --overwrite")
    bench.now += 59
    assert bench.run() == Outcome(after=1.0)
    assert bench.writer.sent == []
    bench.now += 1
    assert bench.run() == Outcome(after=60.0)
    assert bench.writer.sent == ["look ServiceAccount"]


def both_taken(bench: Bench) -> None:
    """Reconcile while foreign objects have the names of Service and Deployment. The Deployment is read 5 ms later."""
    for kind in (SERVICE, DEPLOYMENT):
        take(bench, foreign(bench, kind))
    theirs = bench.writer.answers["look Deployment"]

    def later() -> Projection:
        bench.now += 0.005
        return theirs()

    bench.writer.answers["look Deployment"] = later
    bench.run()


def test_a_name_due_during_a_reconcile_is_read_in_the_next(bench: Bench) -> None:
    """The read of the Deployment becomes due after the decision on it, but before the end of the reconcile."""
    both_taken(bench)
    bench.now = 60.0
    bench.writer.fail("look Service", refusal(404))
    del bench.writer.answers["create Service"]

    async def write_status(webapp: Projection, status: Any) -> Projection:
        bench.now += 0.01
        return await type(bench.writer).write_status(bench.writer, webapp, status)

    bench.writer.write_status = write_status  # type: ignore[method-assign,assignment]
    outcome = bench.run()
    assert bench.writer.sent == ["look Service", "create Service", "status"]
    assert outcome.after == pytest.approx(0.005)
    bench.run()
    assert bench.writer.sent == ["look Deployment"]


@pytest.mark.parametrize("why", ["paused", "not desired", "held back", "refused", "in the store"])
def test_an_overdue_name_that_no_reconcile_reads_causes_no_hot_loop(bench: Bench, why: str) -> None:
    both_taken(bench)
    bench.now += 1000
    for name in ("Service", "Deployment"):
        bench.writer.fail(f"look {name}", refusal(403))
    if why == "paused":
        bench.webapp(version=500, generation=2, paused=True)
    elif why == "not desired":
        bench.webapp(version=500, generation=2, ports=[])
    elif why == "held back":
        account = bench.store.get(SERVICE_ACCOUNT, WEB)
        assert account is not None
        bench.store.observe(dataclasses.replace(account, version=500, terminating=True))
    elif why == "in the store":
        for kind in (SERVICE, DEPLOYMENT):
            bench.store.observe(dataclasses.replace(foreign(bench, kind), version=500, label="web"))
    bench.run()
    assert bench.run().after != 0


def test_an_annotation_is_noticed_and_the_object_adopted(bench: Bench) -> None:
    take(bench, foreign(bench, SERVICE_ACCOUNT))
    bench.run()
    bench.events.told.clear()
    bench.writer.answer("look ServiceAccount", foreign(bench, SERVICE_ACCOUNT, annotations=ADOPT))
    bench.now += 60
    bench.run()
    assert bench.writer.sent[:2] == ["look ServiceAccount", "update ServiceAccount"]
    adopted = bench.store.get(SERVICE_ACCOUNT, WEB)
    assert adopted is not None
    assert adopted.uid == "their-ServiceAccount"
    assert [told.note for told in bench.events.told] == ["adopted ServiceAccount web"]
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    assert "drift" not in webapp.content["status"]
    bench.now += 60
    assert bench.run().after is None, "no object is left to read again"


def test_a_free_name_is_used_after_the_next_read(bench: Bench) -> None:
    take(bench, foreign(bench, SERVICE_ACCOUNT))
    bench.run()
    bench.writer.fail("look ServiceAccount", refusal(404))
    del bench.writer.answers["create ServiceAccount"]
    bench.now += 60
    bench.run()
    assert bench.writer.sent[:2] == ["look ServiceAccount", "create ServiceAccount"]


def test_a_changed_webapp_reads_the_name_at_once(bench: Bench) -> None:
    take(bench, foreign(bench, SERVICE_ACCOUNT))
    bench.run()
    bench.webapp(version=500, generation=2, replicas=2)
    bench.run()
    assert bench.writer.sent[0] == "look ServiceAccount"


@pytest.mark.parametrize("value", ["", "other"])
def test_another_name_in_the_annotation_is_no_leave(bench: Bench, value: str) -> None:
    take(bench, foreign(bench, SERVICE_ACCOUNT, annotations={"coxswain.dev/adopt": value}))
    bench.run()
    assert "update ServiceAccount" not in bench.writer.sent
    assert bench.conditions()["Stalled"] == ("True", "NameTaken")


def test_an_object_of_another_controller_is_never_adopted(bench: Bench) -> None:
    theirs = foreign(bench, SERVICE_ACCOUNT, annotations=ADOPT)
    take(bench, dataclasses.replace(theirs, controller=Controller("Shop", "theirs", "uid-9")))
    bench.run()
    assert "update ServiceAccount" not in bench.writer.sent
    note = bench.events.told[0].note
    assert "controlled by Shop theirs" in note
    assert "coxswain.dev/adopt has no effect" in note
    assert note.endswith("Inspect the object: kubectl describe serviceaccount web -n shop")
    assert "kubectl annotate" not in note


def test_nothing_is_adopted_while_paused(bench: Bench) -> None:
    bench.webapp(paused=True)
    labelled = dataclasses.replace(foreign(bench, SERVICE_ACCOUNT, annotations=ADOPT), label="web")
    bench.store.observe(labelled)
    bench.run()
    assert bench.writer.sent == ["status"]


def test_a_service_waits_for_the_pods_that_it_will_lead_to(bench: Bench) -> None:
    take(bench, foreign(bench, SERVICE, annotations=ADOPT, selector={"app": "old"}))
    bench.run()
    assert "update Service" not in bench.writer.sent
    assert bench.conditions()["Ready"][1] == "HeldBack"
    bench.run()
    assert bench.writer.sent == [], "the Deployment exists but is not available"
    bench.roll_out()
    bench.run()
    assert bench.writer.sent[0] == "update Service"


def test_after_an_adoption_waiting_names_are_read_at_once(bench: Bench) -> None:
    """The object may already match the desired state, so that no event follows."""
    take(bench, foreign(bench, DEPLOYMENT, annotations=ADOPT))
    outcome = bench.run()
    assert "update Deployment" in bench.writer.sent
    assert outcome.again
    assert not bench.run().again


def test_a_service_that_leads_to_the_new_pods_too_waits_for_the_rollout(bench: Bench) -> None:
    selector = {"app.kubernetes.io/name": "web"}
    take(bench, foreign(bench, SERVICE, annotations=ADOPT, selector=selector))
    bench.run()
    bench.roll_out()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    rolling = {**live.content, "status": {**live.content["status"], "updatedReplicas": 0}}
    bench.store.observe(dataclasses.replace(live, version=live.version + 1, content=rolling))
    bench.run()
    assert "update Service" not in bench.writer.sent
    bench.writer.version = live.version + 10
    bench.roll_out()
    bench.run()
    assert bench.writer.sent[0] == "update Service"


def adopted_with(bench: Bench, *others: ManagedFieldsEntry) -> None:
    """Converge with an adopted Deployment that has these entries of other managers."""
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    metadata = {**live.content["metadata"], "annotations": ADOPT}
    adopted = dataclasses.replace(
        live, version=live.version + 100, content={**live.content, "metadata": metadata}, others=others, adopter="web"
    )
    bench.store.observe(adopted)
    bench.writer.version = adopted.version


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}}}


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "helm", "kubectl-create", "before-first-apply"])
def test_after_an_adoption_former_managers_release_our_fields(bench: Bench, manager: str) -> None:
    adopted_with(bench, ManagedFieldsEntry(manager, REPLICAS, "Update"))
    bench.run()
    assert bench.writer.sent == ["release Deployment"]
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    assert live.others == (ManagedFieldsEntry(manager, {"f:spec": {"f:paused": {}}}, "Update"),)
    bench.run()
    assert bench.writer.sent == []


def test_who_applies_is_a_writer_of_today(bench: Bench) -> None:
    adopted_with(bench, ManagedFieldsEntry("argocd", REPLICAS, "Apply"))
    bench.run()
    assert bench.writer.sent == []


def test_fields_of_other_managers_stay_without_an_adoption(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.store.observe(
        dataclasses.replace(live, version=900, others=(ManagedFieldsEntry("helm", REPLICAS, "Update"),))
    )
    bench.run()
    assert bench.writer.sent == []


def test_an_autoscaler_keeps_the_replicas_of_an_adopted_deployment(bench: Bench) -> None:
    bench.webapp()
    bench.store.observe(observed_autoscaler())
    bench.writer.version = 50
    theirs = foreign(bench, DEPLOYMENT, annotations=ADOPT, replicas=9)
    take(bench, theirs)
    bench.run()
    assert "update Deployment" in bench.writer.sent
    assert "replicas" not in bench.writer.manifests["Deployment"]["spec"]
