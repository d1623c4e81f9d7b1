"""Freshness: after a start, what someone has worked on is not written for before it was looked at."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import ErrorClass, OutOfDate, RequestFailed, Unreachable
from coxswain.kernel.cache.store import Key
from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, WEBAPP
from rendered import CHILDREN, observe
from unit.bench import SPEC, WEB, Bench
from unit.objects import observed_child, raw_webapp
from unit.server import refusal

LATER: dict[str, Any] = {**SPEC, "image": "registry.example/web:2", "config": {"A": "2"}}


@pytest.fixture
def restarted() -> Bench:
    """A converged WebApp whose operator has been started again, and whose Service drifts."""
    bench = Bench()
    bench.converge()
    bench.restart()
    service = bench.store.get(SERVICE, WEB)
    assert service is not None
    spec = {**service.content["spec"], "type": "NodePort"}
    bench.writer.version += 1
    bench.store.observe(
        dataclasses.replace(service, version=bench.writer.version, content={**service.content, "spec": spec})
    )
    return bench


def present(bench: Bench, uid: str = "uid-1", generation: int = 3) -> Projection:
    """The WebApp as the API server has it: changed since."""
    bench.writer.version += 1
    raw = raw_webapp(version=bench.writer.version, uid=uid, metadata={"generation": generation})
    return observe(WEBAPP, {**raw, "spec": LATER})


def test_the_first_write_after_a_start_waits_for_a_look_and_the_second_does_not(restarted: Bench) -> None:
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "update Service"]
    restarted.store.forget(SERVICE, WEB, restarted.writer.version + 1)
    restarted.writer.version += 1
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "create Service"], "a child that vanished may have a reason"
    service = restarted.store.get(SERVICE, WEB)
    assert service is not None
    spec = {**service.content["spec"], "type": "NodePort"}
    restarted.writer.version += 1
    restarted.store.observe(
        dataclasses.replace(service, version=restarted.writer.version, content={**service.content, "spec": spec})
    )
    restarted.run()
    assert restarted.writer.sent[0] == "update Service"


def test_a_start_without_anything_to_do_looks_at_nothing() -> None:
    bench = Bench()
    bench.converge()
    bench.restart()
    bench.run()
    assert bench.writer.sent == []


@pytest.mark.parametrize(("uid", "generation"), [("uid-1", 3), ("uid-2", 1)])
def test_a_webapp_of_the_past_is_not_brought_about(restarted: Bench, uid: str, generation: int) -> None:
    restarted.writer.answer("look WebApp", found := present(restarted, uid, generation))
    with pytest.raises(OutOfDate, match="shop/web has changed since generation 1") as raised:
        restarted.run()
    assert raised.value.error_class is ErrorClass.CONFLICT
    assert restarted.writer.sent == ["look WebApp"]
    assert restarted.store.parent(WEB) == found


def test_what_was_looked_at_is_then_brought_about_without_another_look(restarted: Bench) -> None:
    restarted.writer.answer("look WebApp", present(restarted))
    with pytest.raises(OutOfDate):
        restarted.run()
    restarted.run()
    assert "look WebApp" not in restarted.writer.sent
    assert (
        restarted.writer.manifests[DEPLOYMENT.kind]["spec"]["template"]["spec"]["containers"][0]["image"]
        == (LATER["image"])
    )


def test_no_child_is_made_anew_for_a_webapp_of_the_past() -> None:
    bench = Bench()
    bench.converge()
    bench.restart()
    for config in bench.store.objects_of(WEB, CONFIG_MAP):
        bench.store.forget(CONFIG_MAP, Key(config.namespace, config.name), bench.writer.version + 1)
    bench.writer.version += 1
    bench.writer.answer("look WebApp", present(bench))
    with pytest.raises(OutOfDate):
        bench.run()
    assert bench.writer.sent == ["look WebApp"]


def test_no_child_is_removed_for_a_webapp_of_the_past() -> None:
    bench = Bench()
    bench.converge()
    bench.webapp(version=bench.writer.version + 1, generation=2, ports=[])
    bench.run()
    assert "remove Service" in bench.writer.sent
    bench.restart()
    bench.writer.answer("look WebApp", present(bench))
    with pytest.raises(OutOfDate):
        bench.run()
    assert "remove Service" not in bench.writer.sent


def drifted(bench: Bench, **parts: Any) -> None:
    """Let the Deployment be another in parts of its projection."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, **parts))


def test_no_child_is_replaced_or_taken_from_others_for_a_webapp_of_the_past() -> None:
    bench = Bench()
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    immutable = {**live.content, "spec": {**live.content["spec"], "selector": {"matchLabels": {"app": "web"}}}}
    co_owned = (*live.others, ManagedFieldsEntry(BEFORE_FIRST_APPLY, live.owned or {}))
    for parts in ({"content": immutable}, {"content": live.content, "others": co_owned}):
        drifted(bench, **parts)
        bench.restart()
        bench.writer.fail("look WebApp", refusal(404))
        with pytest.raises(OutOfDate):
            bench.run()
        assert bench.writer.sent == ["look WebApp"]


def test_a_webapp_that_is_gone_is_left_to_its_deleted(restarted: Bench) -> None:
    restarted.writer.fail("look WebApp", refusal(404))
    with pytest.raises(OutOfDate, match="gone"):
        restarted.run()
    assert restarted.writer.sent == ["look WebApp"]


@pytest.mark.parametrize("error", [Unreachable("no answer"), refusal(503)])
def test_a_look_that_fails_lets_nothing_through(restarted: Bench, error: RequestFailed) -> None:
    restarted.writer.fail("look WebApp", error)
    assert isinstance(restarted.run().failed, type(error))
    assert restarted.writer.sent == ["look WebApp"]


def test_a_webapp_that_nobody_has_worked_on_is_not_looked_at() -> None:
    bench = Bench()
    # With the status that the schema gives it.
    raw = raw_webapp(status={"observedGeneration": 0})
    bench.store.observe(observe(WEBAPP, {**raw, "spec": SPEC}))
    bench.run()
    assert "look WebApp" not in bench.writer.sent


def test_a_child_without_a_status_tells_of_a_predecessor() -> None:
    bench = Bench()
    bench.webapp()
    bench.store.observe(observed_child(SERVICE))
    bench.run()
    assert bench.writer.sent[0] == "look WebApp"


def test_a_status_without_a_child_tells_of_a_predecessor(restarted: Bench) -> None:
    restarted.writer.version += 1
    for child in restarted.store.objects_of(WEB, *CHILDREN):
        restarted.store.forget(child.kind, Key(child.namespace, child.name), restarted.writer.version)
    restarted.run()
    assert restarted.writer.sent[0] == "look WebApp"


def test_a_namesake_of_what_was_looked_at_is_looked_at_too(restarted: Bench) -> None:
    restarted.run()
    restarted.webapp(version=restarted.writer.version + 1, uid="uid-2")
    restarted.writer.version += 1
    for child in restarted.store.objects_of(WEB, *CHILDREN):
        restarted.store.forget(child.kind, Key(child.namespace, child.name), restarted.writer.version)
    restarted.run()
    assert restarted.writer.sent[0] == "look WebApp", "its status says that someone has worked on it"


def test_what_is_gone_is_forgotten(restarted: Bench) -> None:
    restarted.run()
    restarted.store.forget(WEBAPP, WEB, restarted.writer.version + 1)
    restarted.run()
    restarted.webapp(version=restarted.writer.version + 2, image=LATER["image"])
    restarted.run()
    assert "look WebApp" in restarted.writer.sent


def test_when_history_ran_backwards_nothing_is_known_to_be_present(restarted: Bench) -> None:
    restarted.run()
    restarted.reconciler.start_over()
    restarted.store.forget(SERVICE, WEB, restarted.writer.version + 1)
    restarted.writer.version += 1
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "create Service"]


def test_after_a_gap_in_a_watch_the_first_write_waits_for_a_look(restarted: Bench) -> None:
    restarted.run()
    restarted.reconciler.doubt()
    restarted.writer.version += 1
    for child in restarted.store.objects_of(WEB, SERVICE):
        restarted.store.forget(child.kind, Key(child.namespace, child.name), restarted.writer.version)
    restarted.run()
    assert [sent for sent in restarted.writer.sent if sent != "status"] == ["look WebApp", "create Service"]


def test_a_webapp_that_changes_after_the_gap_needs_no_look(restarted: Bench) -> None:
    """Its watch goes on, and a server that refuses reads must not hold up the writes."""
    restarted.run()
    restarted.reconciler.doubt()
    restarted.webapp(version=restarted.writer.version + 1, generation=2, image="registry.example/web:2")
    restarted.run()
    assert [sent for sent in restarted.writer.sent if sent != "status"] == ["update Deployment"]


def test_after_a_start_no_listed_webapp_came_after_a_gap(restarted: Bench) -> None:
    """Each watch starts with a gap, those of other kinds perhaps before WebApps are listed from a server behind."""
    webapp = restarted.store.parent(WEB)
    assert webapp is not None
    children = restarted.store.objects_of(WEB, *CHILDREN)
    restarted.store.clear()
    restarted.reconciler.doubt()
    for observed in (webapp, *children):
        restarted.store.observe(observed)
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "update Service"]


def test_after_a_start_a_later_change_may_be_of_the_past_too(restarted: Bench) -> None:
    restarted.reconciler.doubt()
    restarted.webapp(version=restarted.writer.version + 1, generation=2, image="registry.example/web:2")
    restarted.run()
    assert restarted.writer.sent[0] == "look WebApp"
