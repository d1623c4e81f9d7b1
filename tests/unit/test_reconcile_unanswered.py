"""Replacements whose DELETE or CREATE has no answer, is refused or is not sent: nothing is lost, each counts once."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import NotLeading, OutOfDate, Refused, RequestFailed, Unreachable
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from rendered import desired, observe, webapp_of
from unit.bench import WEB, Bench
from unit.objects import stored
from unit.server import refusal
from unit.test_reconcile_replacement import OTHER


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


AUTOSCALED = {"coxswain.dev/replicas": "kept=7,spec=1"}


def autoscaled_with_another_selector(bench: Bench) -> Projection:
    """Put a Deployment of seven replicas into the store that must be replaced around its pods."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    assert live.owned is not None
    note: dict[str, Any] = {"f:annotations": {f"f:{next(iter(AUTOSCALED))}": {}}}
    spec = {**live.content["spec"], "replicas": 7, "selector": OTHER}
    content = {**live.content, "metadata": {**live.content["metadata"], "annotations": AUTOSCALED}, "spec": spec}
    owned = {**live.owned, "f:metadata": {**live.owned["f:metadata"], **note}}
    bench.writer.version += 100
    other = dataclasses.replace(live, version=bench.writer.version, owned=owned, content=content)
    bench.store.observe(other)
    return other


def replicas_of(bench: Bench) -> Any:
    made = bench.store.get(DEPLOYMENT, WEB)
    return made and made.content["spec"]["replicas"]


def test_a_first_creation_without_an_answer_is_no_round_of_a_write_war(bench: Bench) -> None:
    found = bench.webapp()
    bench.writer.fail("create Service", Unreachable("reset after it was sent"))
    bench.run()
    bench.writer.version += 1
    created = stored(desired(webapp_of(found))[2], version=bench.writer.version)
    bench.store.observe(observe(SERVICE, created))
    bench.run(failures=1)
    assert bench.memory.child("Service/web").deletions._war is None
    assert bench.memory.child("Service/web").existed


def test_the_count_survives_a_lost_answer(bench: Bench) -> None:
    """The DELETE succeeded, but its response was lost (K11)."""
    bench.converge()
    autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", Unreachable("reset after it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    bench.run()
    assert (bench.writer.sent[0], replicas_of(bench)) == ("create Deployment", 7)
    assert [told.reason for told in bench.events.told] == ["Replaced"], "its deletion is not drift"
    assert len(bench.memory.child("Deployment/web").wars) == 1, "it is a round of a write war"
    bench.run()
    assert len(bench.events.told) == 1


def test_the_count_survives_a_lost_answer_and_a_conflict(bench: Bench) -> None:
    """The object is already terminating at the second DELETE, so it has changed. Found by the simulation, seed 4111."""
    bench.converge()
    autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", Unreachable("reset after it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    bench.writer.fail("remove Deployment but not its pods", refusal(409))
    bench.run(failures=1)
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    bench.now += 10
    bench.run(failures=2)
    assert replicas_of(bench) == 7


def test_a_delete_without_an_answer_is_sent_again(bench: Bench) -> None:
    """The result of the first DELETE is unknown. The preconditions make a second one harmless (K11)."""
    bench.converge()
    other = autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", Unreachable("reset before it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    bench.writer.answers.clear()
    bench.run()
    assert bench.writer.sent == ["remove Deployment but not its pods", "status"]
    bench.run()
    assert bench.writer.sent == []
    bench.store.forget(DEPLOYMENT, WEB, other.version + 1)
    bench.writer.version += 10
    bench.run()
    assert replicas_of(bench) == 7


def test_a_terminating_object_after_an_unanswered_delete_delays_the_replacement(bench: Bench) -> None:
    bench.converge()
    other = autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", Unreachable("reset after it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(other, version=bench.writer.version, terminating=True))
    bench.run()
    assert bench.writer.sent == ["status"]
    assert "is being recreated" in bench.message_of("Ready")
    assert [told.reason for told in bench.events.told] == ["Replaced"]
    bench.run()
    assert len(bench.events.told) == 1


def test_a_delete_without_an_answer_is_counted_if_another_object_has_the_name(bench: Bench) -> None:
    bench.converge()
    before = bench.store.get(DEPLOYMENT, WEB)
    other = autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", Unreachable("reset after it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    assert before is not None
    bench.store.observe(dataclasses.replace(before, version=other.version + 1, uid="new"))
    bench.writer.version = other.version + 1
    bench.run()
    assert [told.reason for told in bench.events.told] == ["Replaced"]


def test_a_creation_after_the_deletion_is_no_drift_although_its_answer_is_lost(bench: Bench) -> None:
    bench.converge()
    autoscaled_with_another_selector(bench)
    bench.run()
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    usual, made = bench.writer._stored, list[Projection]()

    def lost(manifest: Any) -> Projection:
        made.append(usual(manifest))
        raise Unreachable("PATCH: the connection was reset")

    bench.writer._stored = lost  # type: ignore[method-assign,assignment]
    assert isinstance(bench.run().failed, Unreachable)
    bench.writer._stored = usual  # type: ignore[method-assign]
    bench.store.observe(made[0])
    bench.run(failures=1)
    assert [told.reason for told in bench.events.told] == ["Replaced"], "the creation is no drift"
    assert bench.memory.child("Deployment/web").deletion is None


@pytest.mark.parametrize("reason", [NotLeading("this process does not lead"), OutOfDate("the parent has changed")])
def test_a_delete_that_was_not_sent_is_not_counted(bench: Bench, reason: RequestFailed) -> None:
    """The process stops leading just before the DELETE, or the parent changes. Then someone else deletes the object."""
    bench.converge()
    autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", reason)
    with pytest.raises(type(reason)):
        bench.run()
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    bench.run()
    assert [told.reason for told in bench.events.told] == ["DriftCorrected"]


def test_a_refused_delete_leaves_nothing_behind(bench: Bench) -> None:
    """The object changed in the meantime and needs no replacement any more. Its later deletion is drift (K11)."""
    bench.converge()
    before = bench.store.get(DEPLOYMENT, WEB)
    other = autoscaled_with_another_selector(bench)
    assert before is not None
    mended = dataclasses.replace(before, version=other.version + 1)
    bench.writer.fail("remove Deployment but not its pods", refusal(409))
    bench.writer.answer("look Deployment", mended)
    assert isinstance(bench.run().failed, Refused)
    bench.run()
    bench.store.forget(DEPLOYMENT, WEB, other.version + 2)
    bench.writer.version += 10
    bench.run()
    assert replicas_of(bench) == 1
    assert [told.reason for told in bench.events.told] == ["DriftCorrected"]


def test_a_replacement_that_is_needed_no_more_is_forgotten(bench: Bench) -> None:
    """The DELETE never arrived, and by now the object can be changed in place (K11)."""
    bench.converge()
    before = bench.store.get(DEPLOYMENT, WEB)
    other = autoscaled_with_another_selector(bench)
    bench.writer.fail("remove Deployment but not its pods", Unreachable("reset before it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    assert before is not None
    bench.store.observe(dataclasses.replace(before, version=other.version + 1))
    bench.writer.version = other.version + 1
    bench.run()
    bench.store.forget(DEPLOYMENT, WEB, other.version + 2)
    bench.writer.version += 10
    bench.run()
    assert replicas_of(bench) == 1


def unlabelled(live: Projection, version: int) -> Projection:
    """Return an object after a user has removed our label: the watch reports its end."""
    metadata = live.content["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != "coxswain.dev/webapp"}
    content = {**live.content, "metadata": {**metadata, "labels": labels}}
    return dataclasses.replace(live, version=version, content=content, label=None)


def test_a_delete_that_was_not_carried_out_is_sent_again_although_the_watch_lost_the_object(bench: Bench) -> None:
    """The end of the watch is no proof of the deletion: a user has removed the label."""
    bench.converge()
    other = autoscaled_with_another_selector(bench)
    delete = "remove Deployment but not its pods"
    bench.writer.fail(delete, Unreachable("reset before it was sent"))
    assert isinstance(bench.run().failed, Unreachable)
    bench.writer.answers.clear()
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    bench.writer.fail("create Deployment", refusal(409))
    bench.writer.answer("look Deployment", unlabelled(other, bench.writer.version + 1))
    bench.run(failures=1)
    assert delete in bench.writer.sent
    assert [told.reason for told in bench.events.told] == ["Replaced"], "of the second DELETE"


def test_a_create_that_was_not_carried_out_is_not_counted_if_the_object_lost_its_label(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    bench.writer.version += 1
    bench.store.forget(SERVICE, WEB, bench.writer.version)
    bench.writer.fail("create Service", Unreachable("reset before it was sent"))
    bench.run()
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", unlabelled(live, bench.writer.version + 1))
    bench.run(failures=1)
    notes = [told.note for told in bench.events.told]
    assert len(notes) == 1
    assert notes[0].startswith("reverted Service web: metadata.labels"), "it was not created again"
