"""A child that someone deletes: it is created at once, and left absent for a while if that goes on (K33)."""

import pytest

from coxswain.kernel.api.errors import OutOfDate
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE
from unit.bench import WEB, Bench
from unit.objects import observed_autoscaler
from unit.server import refusal


@pytest.fixture
def bench() -> Bench:
    """A WebApp that has converged."""
    bench = Bench()
    bench.converge()
    return bench


def live(bench: Bench, kind: Kind) -> Projection | None:
    return next(iter(bench.store.objects_of(WEB, kind)), None)


def delete(bench: Bench, kind: Kind) -> list[str]:
    """Let someone delete a child; reconcile, and return what was sent."""
    found = live(bench, kind)
    assert found is not None
    bench.writer.version += 1
    bench.store.forget(kind, Key(found.namespace, found.name), bench.writer.version)
    bench.now += 0.1
    bench.run()
    return list(bench.writer.sent)


@pytest.mark.parametrize("kind", [SERVICE, CONFIG_MAP, DEPLOYMENT])
def test_after_five_times_it_is_left_absent_and_told(bench: Bench, kind: Kind) -> None:
    for _ in range(5):
        assert delete(bench, kind)[:2] == ["look WebApp", f"create {kind}"]
    assert bench.conditions()["Contested"][0] == "False"
    bench.events.told.clear()
    assert f"create {kind}" not in delete(bench, kind)
    assert bench.conditions()["Contested"] == ("True", "WriteWar")
    assert "is deleted each time coxswain creates it" in bench.message_of("Contested")
    assert bench.conditions()["Ready"] == ("False", "Contested")
    assert "Find the client that deletes it" in bench.message_of("Ready")
    assert [told.reason for told in bench.events.told] == ["Contested"]
    bench.run()
    assert bench.writer.sent == []


def test_it_comes_back_when_its_time_is_up_and_each_rest_is_twice_as_long(bench: Bench) -> None:
    for _ in range(5):
        delete(bench, SERVICE)
    rests = []
    for _ in range(5):
        delete(bench, SERVICE)
        after = bench.run().after
        assert after is not None
        rests.append(round(after))
        bench.now += after
        bench.run()
        assert bench.writer.sent[:2] == ["look WebApp", "create Service"]
    assert rests == [10, 20, 40, 60, 60]
    assert bench.conditions()["Contested"][0] == "False"


def test_now_and_then_is_no_contest(bench: Bench) -> None:
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


def test_what_coxswain_itself_deleted_does_not_count(bench: Bench) -> None:
    """A Service that the WebApp wants, and then does not, to and fro."""
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


def test_a_child_that_went_with_its_webapp_is_not_made_anew(bench: Bench) -> None:
    """The garbage collector may be faster than the watch of WebApps."""
    bench.writer.fail("look WebApp", refusal(404))
    with pytest.raises(OutOfDate, match="gone"):
        delete(bench, SERVICE)
    assert bench.writer.sent == ["look WebApp"]


def test_a_deleted_child_is_made_anew_and_told_of(bench: Bench) -> None:
    bench.converge()
    bench.store.forget(SERVICE, WEB, 500)
    bench.writer.version = 500
    bench.run()
    assert bench.writer.sent == ["look WebApp", "create Service"]
    assert bench.events.told[0].note == "recreated Service web after its deletion"


def test_a_child_that_is_deleted_at_once_waits_for_its_event(bench: Bench) -> None:
    """The answer of the create is older than the DELETED event: the store does not take it in."""
    bench.converge()
    bench.store.forget(SERVICE, WEB, 500)
    bench.run()
    assert bench.writer.sent == ["look WebApp", "create Service", "status"]
    assert bench.conditions()["Ready"] == ("False", "Missing")
