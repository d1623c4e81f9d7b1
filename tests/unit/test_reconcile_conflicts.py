"""Reconciling children that others write too: what is sent, what is left alone, and what is told."""

import contextlib
import dataclasses

import pytest

from coxswain.kernel.api.errors import OutOfDate
from coxswain.kernel.objects.edit import value_at, with_value
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, minus_place, plus
from coxswain.webapp.kinds import DEPLOYMENT
from unit.bench import WEB, Bench
from unit.objects import observed_webapp
from unit.planning import IMAGE
from unit.server import refusal

RIVAL = ManagedFieldsEntry("rival", plus({}, IMAGE, {}))


@pytest.fixture
def bench() -> Bench:
    """A bench without any object."""
    return Bench()


def test_a_policy_that_this_version_does_not_know_halts_and_says_so(bench: Bench) -> None:
    """A newer CRD may have more policies (K22)."""
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.webapp(version=500, generation=2, conflicts={"policy": "Observe"})
    other = ManagedFieldsEntry("kubectl", {"f:spec": {"f:replicas": {}}})
    content = {**live.content, "spec": {**live.content["spec"], "replicas": 7}}
    bench.store.observe(dataclasses.replace(live, version=501, others=(other,), content=content))
    bench.writer.version = 501
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Conflicted"] == ("True", "Halted")
    assert bench.conditions()["Stalled"] == ("True", "Halted")
    for condition in ("Conflicted", "Stalled"):
        assert "does not know the policy Observe (spec.conflicts)" in bench.message_of(condition)


def set_image(bench: Bench, image: str, *, others: tuple[ManagedFieldsEntry, ...] = (RIVAL,)) -> None:
    """Let a rival set the image of the live Deployment, and own it."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    spec = with_value(live.content["spec"], IMAGE[1:], image)
    owned = minus_place(live.owned or {}, IMAGE)
    bench.writer.version += 1
    bench.store.observe(
        dataclasses.replace(
            live,
            version=bench.writer.version,
            content={**live.content, "spec": spec},
            owned=owned,
            others=others,
        )
    )


def fight(bench: Bench) -> None:
    """Let a rival set the image until it is left alone."""
    bench.converge()
    for _ in range(6):
        bench.now += 0.1
        set_image(bench, "registry.example/theirs:1")
        bench.run()
    assert bench.conditions()["Contested"] == ("True", "WriteWar")
    assert "update Deployment" not in bench.writer.sent


def live_image(bench: Bench) -> str:
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    return str(value_at(live.content, IMAGE))


def test_a_person_who_changes_the_contested_field_is_obeyed_at_once(bench: Bench) -> None:
    """K26."""
    fight(bench)
    bench.webapp(version=bench.writer.version + 1, generation=2, image="registry.example/web:2")
    bench.run()
    assert bench.writer.sent == ["update Deployment"]
    assert live_image(bench) == "registry.example/web:2"
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Contested"][0] == "False"


def test_when_nobody_fights_any_more_every_change_is_applied_at_once(bench: Bench) -> None:
    """K26: also a change back to the value that was contested."""
    fight(bench)
    for generation, image in enumerate(("web:2", "web:1", "web:2", "web:3"), start=2):
        bench.webapp(version=bench.writer.version + 1, generation=generation, image=f"registry.example/{image}")
        bench.run()
        assert live_image(bench) == f"registry.example/{image}"


def test_another_change_of_the_webapp_leaves_the_contested_field_alone(bench: Bench) -> None:
    fight(bench)
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=3)
    bench.run()
    assert bench.writer.sent[0] == "update Deployment"
    assert "image" not in value_at(bench.writer.manifests["Deployment"], IMAGE[:-1])


def conflicts_for(bench: Bench, seconds: float, *, every: float) -> int:
    """Let events come while each write is a conflict; return how many requests there were about the Deployment."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.fail("update Deployment", refusal(409))
    requests = 0
    for _ in range(round(seconds / every)):
        bench.now += every
        bench.writer.version += 1
        bench.writer.answer("look Deployment", dataclasses.replace(live, version=bench.writer.version))
        outcome = bench.run()
        requests += len([sent for sent in bench.writer.sent if sent != "status"])
        if not bench.writer.sent:
            assert outcome.failed is None
            assert outcome.after is not None
            assert 0 < outcome.after <= 2
    return requests


def test_a_child_whose_writes_are_conflicts_again_and_again_waits_whatever_events_come(bench: Bench) -> None:
    """K36: the Deployment's controller writes all the time, and the watch is behind."""
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.version = 500
    assert conflicts_for(bench, 10, every=0.02) <= 10 * 3
    bench.writer.answers.clear()
    bench.now += 2
    bench.run()
    assert "update Deployment" in bench.writer.sent


def test_it_waits_too_while_others_change_the_webapp_all_the_time(bench: Bench) -> None:
    """Each look at the WebApp finds another generation, so each reconcile ends as out of date."""
    bench.converge()
    bench.writer.fail("update Deployment", refusal(409))
    requests = 0
    for generation in range(2, 202):
        bench.now += 0.05
        version = bench.writer.version = bench.writer.version + 10
        bench.webapp(version=version, generation=generation, image=f"registry.example/web:{generation}")
        newer = observed_webapp(version=version + 1, metadata={"generation": generation + 1})
        bench.writer.answer("look WebApp", newer)
        with contextlib.suppress(OutOfDate):
            bench.run()
        requests += bench.writer.sent.count("update Deployment")
    assert 3 <= requests <= 10


def test_after_a_write_that_came_through_a_conflict_is_tried_again_at_once(bench: Bench) -> None:
    bench.converge()
    for generation in range(2, 6):
        bench.webapp(
            version=bench.writer.version + 1, generation=generation, image=f"registry.example/web:{generation}"
        )
        assert conflicts_for(bench, 0.02, every=0.02) == 3
        bench.writer.answers.clear()
        bench.run()
        assert "update Deployment" in bench.writer.sent


def test_another_child_goes_on_meanwhile(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.version = 500
    conflicts_for(bench, 0.04, every=0.02)
    service = {"sessionAffinity": "ClientIP"}
    bench.webapp(version=bench.writer.version + 1, generation=3, image="registry.example/web:2", service=service)
    bench.run()
    assert [sent for sent in bench.writer.sent if sent != "status"] == ["update Service"]
