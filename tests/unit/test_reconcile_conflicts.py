"""Reconciling children with several writers: requests, fields left alone, and reports."""

import contextlib
import dataclasses
from collections.abc import Sequence

import pytest

from coxswain.kernel.api.errors import OutOfDate
from coxswain.kernel.objects.edit import value_at, with_value
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, Path, minus_path, plus
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from unit.bench import WEB, Bench
from unit.objects import observed_webapp
from unit.planning import IMAGE
from unit.server import refusal

RIVAL = ManagedFieldsEntry("rival", plus({}, IMAGE, {}))


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


def test_an_unknown_policy_halts_and_is_reported(bench: Bench) -> None:
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
        assert ". Unknown conflict policy: Observe (spec.conflicts). " in bench.message_of(condition)


def set_image(bench: Bench, image: str, *, others: tuple[ManagedFieldsEntry, ...] = (RIVAL,)) -> None:
    """Set the image of the live Deployment as a rival. The rival becomes its owner."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    spec = with_value(live.content["spec"], IMAGE[1:], image)
    owned = minus_path(live.owned or {}, IMAGE)
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
    """Set the image as a rival until its enforcement is suspended."""
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


def test_a_change_of_the_contested_field_in_the_spec_is_applied_at_once(bench: Bench) -> None:
    """K26: a change of the spec is a new intent."""
    fight(bench)
    bench.webapp(version=bench.writer.version + 1, generation=2, image="registry.example/web:2")
    bench.run()
    assert bench.writer.sent == ["update Deployment"]
    assert live_image(bench) == "registry.example/web:2"
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Contested"][0] == "False"


def test_after_the_write_war_every_change_is_applied_at_once(bench: Bench) -> None:
    """K26: also a change back to the value of the write war."""
    fight(bench)
    for generation, image in enumerate(("web:2", "web:1", "web:2", "web:3"), start=2):
        bench.webapp(version=bench.writer.version + 1, generation=generation, image=f"registry.example/{image}")
        bench.run()
        assert live_image(bench) == f"registry.example/{image}"


def test_after_the_value_of_the_rival_the_first_value_is_applied_at_once(bench: Bench) -> None:
    """K26: the value of the rival costs no write, so nothing but the new spec tells that the write war is over."""
    fight(bench)
    for generation, image in enumerate(("theirs:1", "web:1"), start=2):
        bench.webapp(version=bench.writer.version + 1, generation=generation, image=f"registry.example/{image}")
        bench.run()
        assert live_image(bench) == f"registry.example/{image}"


def test_another_change_of_the_webapp_leaves_the_contested_field_alone(bench: Bench) -> None:
    fight(bench)
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=3)
    bench.run()
    assert bench.writer.sent[:2] == ["create PodDisruptionBudget", "update Deployment"]
    assert "image" not in value_at(bench.writer.manifests["Deployment"], IMAGE[:-1])


def conflicts_for(bench: Bench, seconds: float, *, every: float) -> int:
    """Reconcile on each event while every write is a conflict. Return the number of requests for the Deployment."""
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


@pytest.mark.thorough
def test_events_do_not_reset_the_backoff_of_repeated_conflicts(bench: Bench) -> None:
    """K36: the Deployment's controller writes all the time, and the watch is behind."""
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.version = 500
    assert conflicts_for(bench, 10, every=0.05) <= 10 * 3
    bench.writer.answers.clear()
    bench.now += 2
    bench.run()
    assert "update Deployment" in bench.writer.sent


def test_a_webapp_that_changes_all_the_time_does_not_reset_the_backoff(bench: Bench) -> None:
    """Each read of the WebApp returns a newer generation, so each reconcile ends with OutOfDate."""
    bench.converge()
    bench.writer.fail("update Deployment", refusal(409))
    requests = 0
    for generation in range(2, 62):
        bench.now += 0.05
        version = bench.writer.version = bench.writer.version + 10
        bench.webapp(version=version, generation=generation, image=f"registry.example/web:{generation}")
        newer = observed_webapp(version=version + 1, metadata={"generation": generation + 1})
        bench.writer.answer("look WebApp", newer)
        with contextlib.suppress(OutOfDate):
            bench.run()
        requests += bench.writer.sent.count("update Deployment")
    assert 3 <= requests <= 8


def test_after_a_successful_write_a_conflict_is_retried_at_once(bench: Bench) -> None:
    bench.converge()
    for generation in range(2, 6):
        bench.webapp(
            version=bench.writer.version + 1, generation=generation, image=f"registry.example/web:{generation}"
        )
        assert conflicts_for(bench, 0.02, every=0.02) == 3
        bench.writer.answers.clear()
        bench.run()
        assert "update Deployment" in bench.writer.sent


def test_other_children_are_written_during_the_backoff(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.writer.version = 500
    conflicts_for(bench, 0.04, every=0.02)
    service = {"sessionAffinity": "ClientIP"}
    bench.webapp(version=bench.writer.version + 1, generation=3, image="registry.example/web:2", service=service)
    bench.run()
    assert [sent for sent in bench.writer.sent if sent != "status"] == ["update Service"]


def test_a_port_that_returns_during_an_apply_is_reassigned_again(bench: Bench) -> None:
    """Simulation, seed 412: an apply without a reassignment has two ports of one name, which is invalid for good."""
    bench.converge()
    ours = bench.store.get(SERVICE, WEB)
    assert ours is not None
    others_port = ("f:spec", "f:ports", 'k:{"port":9090,"protocol":"TCP"}')
    helm = ManagedFieldsEntry("helm", plus({}, others_port, {}))
    content = {
        **ours.content,
        "spec": {**ours.content["spec"], "ports": [{"name": "http", "port": 9090, "protocol": "TCP"}]},
    }
    moved = dataclasses.replace(ours, content=content, others=(helm,))

    async def take_ownership(observed: Projection, paths: Sequence[Path]) -> Projection:
        assert paths == (others_port,)
        bench.writer.sent.append("take ownership Service")
        bench.writer.version += 1
        owned = plus(observed.owned or {}, others_port, {})
        return dataclasses.replace(observed, version=bench.writer.version, owned=owned, others=())

    def overtaken() -> Projection:
        bench.writer.answers.clear()
        bench.writer.version += 2
        bench.store.observe(dataclasses.replace(moved, version=bench.writer.version))
        return dataclasses.replace(ours, version=bench.writer.version - 1)

    bench.writer.take_ownership = take_ownership  # type: ignore[method-assign]
    bench.writer.answers["update Service"] = overtaken
    bench.writer.version = 500
    bench.store.observe(dataclasses.replace(moved, version=500))
    bench.run()
    writes = [request for request in bench.writer.sent if "Service" in request and "Account" not in request]
    assert writes == ["take ownership Service", "update Service", "take ownership Service", "update Service"]


def test_the_end_of_a_suspension_is_waited_for(bench: Bench) -> None:
    bench.converge()
    for _ in range(6):
        set_image(bench, "rival:1")
        bench.run()
    assert bench.conditions()["Contested"] == ("True", "WriteWar")
    assert bench.run().after == pytest.approx(60)
    bench.now += 20
    assert bench.run().after == pytest.approx(40)
