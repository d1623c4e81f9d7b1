"""A child deleted by someone else is recreated at once. After repeated deletions it stays absent for a while (K33)."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from coxswain.kernel.api.errors import OutOfDate, RequestFailed
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, minus
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONFIG_MAP, CONTROLLER_REVISION, DEPLOYMENT, SERVICE
from rendered import desired, observe, webapp_of
from unit.bench import WEB, Bench
from unit.objects import observed_autoscaler, stored
from unit.server import refusal


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a converged WebApp."""
    bench = Bench()
    bench.converge()
    return bench


def live(bench: Bench, kind: Kind) -> Projection | None:
    return next(iter(bench.store.objects_of(WEB, kind)), None)


def changed_by(bench: Bench, manager: str | None, kind: Kind, **spec: Any) -> None:
    """Change fields of a child's spec, as another manager or with our own."""
    found = live(bench, kind)
    assert found is not None
    fields: dict[str, Any] = {"f:spec": {f"f:{name}": {} for name in spec}}
    others = () if manager is None else (ManagedFieldsEntry(manager, fields, "Update"),)
    owned = found.owned if manager is None else minus(found.owned or {}, fields)
    bench.writer.version += 1
    content = {**found.content, "spec": {**found.content["spec"], **spec}}
    bench.store.observe(
        dataclasses.replace(found, version=bench.writer.version, content=content, owned=owned, others=others)
    )


def delete(bench: Bench, kind: Kind) -> list[str]:
    """Delete a child as someone else. Reconcile, and return the requests."""
    found = live(bench, kind)
    assert found is not None
    bench.writer.version += 1
    bench.store.forget(kind, Key(found.namespace, found.name), bench.writer.version)
    bench.now += 0.1
    bench.run()
    return list(bench.writer.sent)


@pytest.mark.parametrize("kind", [SERVICE, CONFIG_MAP, DEPLOYMENT])
def test_after_five_deletions_the_child_stays_absent_and_this_is_reported(bench: Bench, kind: Kind) -> None:
    for _ in range(5):
        assert delete(bench, kind)[:2] == ["look WebApp", f"create {kind}"]
    assert bench.conditions()["Contested"][0] == "False"
    bench.events.told.clear()
    assert f"create {kind}" not in delete(bench, kind)
    assert bench.conditions()["Contested"] == ("True", "WriteWar")
    assert "is deleted each time the operator creates it" in bench.message_of("Contested")
    assert bench.conditions()["Ready"] == ("False", "Contested")
    assert "Find the client that deletes it in the audit log of the API server. Some" in bench.message_of("Ready")
    assert [told.reason for told in bench.events.told] == ["Contested"]
    bench.run()
    assert bench.writer.sent == []


def test_it_comes_back_when_its_time_is_up_and_each_delay_is_twice_as_long(bench: Bench) -> None:
    for _ in range(5):
        delete(bench, SERVICE)
    delays = []
    for _ in range(5):
        delete(bench, SERVICE)
        after = bench.run().after
        assert after is not None
        delays.append(round(after))
        bench.now += after
        bench.run()
        assert bench.writer.sent[:2] == ["look WebApp", "create Service"]
    assert delays == [10, 20, 40, 60, 60]
    assert bench.conditions()["Contested"][0] == "False"


def test_now_and_then_is_no_write_war(bench: Bench) -> None:
    for _ in range(12):
        bench.now += 601
        assert delete(bench, SERVICE)[:2] == ["look WebApp", "create Service"]


def test_a_new_manifest_is_a_new_intent(bench: Bench) -> None:
    for _ in range(6):
        delete(bench, SERVICE)
    assert live(bench, SERVICE) is None
    bench.webapp(version=bench.writer.version + 1, generation=2, service={"sessionAffinity": "ClientIP"})
    bench.run()
    assert bench.writer.sent[:2] == ["look WebApp", "create Service"]


def test_an_autoscaled_deployment_is_braked_too(bench: Bench) -> None:
    bench.writer.version += 1
    bench.store.observe(observed_autoscaler(version=bench.writer.version))
    sent = []
    for _ in range(6):
        bench.run()
        sent += delete(bench, DEPLOYMENT)
    assert sent.count("create Deployment") == 5


def recreated(bench: Bench, kind: Kind) -> bool:
    """Delete a child after a second; tell whether it was created again."""
    bench.time += timedelta(seconds=1)
    delete(bench, kind)
    return f"create {kind}" in [*bench.writer.sent, *bench.writer.recorded]


def test_the_record_of_a_spec_is_braked_although_its_notes_have_the_time(bench: Bench) -> None:
    assert [recreated(bench, CONTROLLER_REVISION) for _ in range(5)] == [True] * 5
    assert not recreated(bench, CONTROLLER_REVISION)
    assert bench.conditions()["Contested"] == ("True", "WriteWar")


@pytest.mark.parametrize("answer", [refusal(422, "ControllerRevision is invalid: data: ..."), refusal(500)])
def test_a_failed_record_of_a_spec_is_no_other_one_a_second_later(bench: Bench, answer: RequestFailed) -> None:
    """After a refusal for good it is not sent again, and after other failures with backoff."""
    bench.writer.fail("create ControllerRevision", answer)
    delete(bench, CONTROLLER_REVISION)
    sent = 0
    for second in range(20):
        bench.time += timedelta(seconds=1)
        bench.now += 0.01
        bench.ready_pods(second % 2)
        bench.run()
        sent += "create ControllerRevision" in [*bench.writer.sent, *bench.writer.recorded]
    assert sent <= 2


def test_deletions_by_coxswain_do_not_count(bench: Bench) -> None:
    """The WebApp alternates between wanting a Service and not wanting one."""
    created = 0
    for generation in range(2, 22, 2):
        bench.webapp(version=bench.writer.version + 1, generation=generation, ports=[])
        bench.run()
        assert "remove Service" in bench.writer.sent
        found = live(bench, SERVICE)
        assert found is not None
        bench.writer.version += 1
        bench.store.forget(SERVICE, WEB, bench.writer.version)
        bench.webapp(version=bench.writer.version + 1, generation=generation + 1)
        bench.run()
        created += bench.writer.sent.count("create Service")
    assert created == 10


def test_a_child_deleted_with_its_webapp_is_not_recreated(bench: Bench) -> None:
    """The garbage collector may be faster than the watch of WebApps."""
    bench.writer.fail("look WebApp", refusal(404))
    with pytest.raises(OutOfDate, match="gone"):
        delete(bench, SERVICE)
    assert bench.writer.sent == ["look WebApp"]


def test_a_halted_child_deleted_with_its_webapp_is_not_recreated(bench: Bench) -> None:
    """It never matched since the start of this process, and a correction of its sibling has read the WebApp."""
    bench.webapp(version=bench.writer.version + 1, generation=2, conflicts={"policy": "Halt"})
    bench.writer.answer("look WebApp", bench.webapp_now())
    bench.run()
    changed_by(bench, "them", DEPLOYMENT, replicas=7)
    bench.restart()
    changed_by(bench, None, SERVICE, sessionAffinity="ClientIP")
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "Halted")
    assert bench.writer.sent[:2] == ["look WebApp", "update Service"]
    bench.writer.fail("look WebApp", refusal(404))
    with pytest.raises(OutOfDate, match="gone"):
        delete(bench, DEPLOYMENT)
    assert bench.writer.sent == ["look WebApp"]


def test_a_deleted_child_is_recreated_and_reported(bench: Bench) -> None:
    bench.converge()
    bench.store.forget(SERVICE, WEB, 500)
    bench.writer.version = 500
    bench.run()
    assert bench.writer.sent == ["look WebApp", "create Service"]
    assert bench.events.told[0].note == "recreated Service web after its deletion"


def test_a_child_that_is_deleted_at_once_waits_for_its_event(bench: Bench) -> None:
    """The response to the create is older than the DELETED event, so the store rejects it."""
    bench.converge()
    bench.store.forget(SERVICE, WEB, 500)
    bench.run()
    assert bench.writer.sent == ["look WebApp", "create Service", "status"]
    assert bench.conditions()["Ready"] == ("False", "Missing")


def test_a_read_that_is_older_than_a_known_removal_resets_the_history() -> None:
    """A restore of etcd brought the object back. Without the reset, its creation was tried again and again.

    Found by the simulation, seed 5042.
    """
    bench = Bench()
    live = observe(SERVICE, stored(desired(webapp_of(bench.webapp()))[2], version=50))
    bench.store.observe(live)
    bench.store.forget(SERVICE, WEB, 500)
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", live)
    with pytest.raises(HistoryReset, match="was removed at 500, and is at 50"):
        bench.run()


def test_a_read_of_an_object_without_our_label_resets_no_history() -> None:
    """A relist without it removed it at the version of the LIST, which is newer than the object."""
    bench = Bench()
    live = stored(desired(webapp_of(bench.webapp()))[2], version=50)
    live["metadata"]["labels"] = {}
    bench.writer.version = 500
    bench.store.forget(SERVICE, WEB, 500)
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", observe(SERVICE, live))
    bench.run()
    assert bench.writer.sent[2:6] == ["create Service", "look WebApp", "look Service", "update Service"]


def test_ours_that_left_the_label_filter_and_is_terminating_is_read_again() -> None:
    """No event reports its deletion. Found by the simulation of ScheduledTasks, seed 269."""
    bench = Bench()
    live = stored(desired(webapp_of(bench.webapp()))[2], version=50)
    live["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z"
    del live["metadata"]["labels"]["coxswain.dev/webapp"]
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", observe(SERVICE, live))
    after = bench.run().after
    assert after is not None
    assert after <= 5
    bench.writer.answers.clear()
    bench.writer.fail("look Service", refusal(404))
    bench.now += after
    bench.run()
    assert "create Service" in bench.writer.sent
    assert bench.store.get(SERVICE, WEB) is not None
