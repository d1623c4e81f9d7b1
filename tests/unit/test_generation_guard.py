"""The generation guard: after a start, a WebApp with earlier work is read again before its first write."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import ErrorClass, OutOfDate, RequestFailed, Unreachable
from coxswain.kernel.cache.store import Key
from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, WEBAPP
from rendered import CHILDREN, observe
from unit.bench import SPEC, WEB, Bench
from unit.objects import observed_autoscaler, observed_child, raw_webapp
from unit.server import refusal

LATER: dict[str, Any] = {**SPEC, "image": "registry.example/web:2", "config": {"A": "2"}}


@pytest.fixture
def restarted() -> Bench:
    """Return a converged WebApp with drift in its Service, after a restart of the operator."""
    bench = Bench()
    bench.converge()
    bench.restart()
    drift(bench)
    return bench


def drift(bench: Bench) -> None:
    """Let another client change the Service."""
    service = bench.store.get(SERVICE, WEB)
    assert service is not None
    spec = {**service.content["spec"], "type": "NodePort"}
    bench.writer.version += 1
    bench.store.observe(
        dataclasses.replace(service, version=bench.writer.version, content={**service.content, "spec": spec})
    )


def present(bench: Bench, uid: str = "uid-1", generation: int = 3) -> Projection:
    """Return the WebApp from the API server, changed in the meantime."""
    bench.writer.version += 1
    raw = raw_webapp(version=bench.writer.version, uid=uid, metadata={"generation": generation})
    return observe(WEBAPP, {**raw, "spec": LATER})


def test_the_first_write_after_a_start_reads_the_webapp_and_the_second_does_not(restarted: Bench) -> None:
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "update Service"]
    restarted.store.forget(SERVICE, WEB, restarted.writer.version + 1)
    restarted.writer.version += 1
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "create Service"], (
        "a missing child may be intended by a newer spec"
    )
    drift(restarted)
    restarted.run()
    assert restarted.writer.sent[0] == "update Service"


def test_a_start_without_drift_reads_nothing() -> None:
    bench = Bench()
    bench.converge()
    bench.restart()
    bench.run()
    assert bench.writer.sent == []


@pytest.mark.parametrize(("uid", "generation"), [("uid-1", 3), ("uid-2", 1)])
def test_an_outdated_webapp_is_not_applied(restarted: Bench, uid: str, generation: int) -> None:
    restarted.writer.answer("look WebApp", found := present(restarted, uid, generation))
    with pytest.raises(OutOfDate, match="shop/web has changed since generation 1") as raised:
        restarted.run()
    assert raised.value.error_class is ErrorClass.CONFLICT
    assert restarted.writer.sent == ["look WebApp"]
    assert restarted.store.parent(WEB) == found


def test_after_the_read_the_webapp_is_applied_without_another_read(restarted: Bench) -> None:
    restarted.writer.answer("look WebApp", present(restarted))
    with pytest.raises(OutOfDate):
        restarted.run()
    restarted.run()
    assert "look WebApp" not in restarted.writer.sent
    assert (
        restarted.writer.manifests[DEPLOYMENT.kind]["spec"]["template"]["spec"]["containers"][0]["image"]
        == (LATER["image"])
    )


def test_no_child_is_created_for_an_outdated_webapp() -> None:
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


def test_no_child_is_removed_for_an_outdated_webapp() -> None:
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
    """Change parts of the Deployment's projection."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, **parts))


def test_no_child_is_replaced_or_adopted_for_an_outdated_webapp() -> None:
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


def test_a_webapp_that_no_longer_exists_is_left_to_its_deleted_event(restarted: Bench) -> None:
    restarted.writer.fail("look WebApp", refusal(404))
    with pytest.raises(OutOfDate, match="gone"):
        restarted.run()
    assert restarted.writer.sent == ["look WebApp"]


@pytest.mark.parametrize("error", [Unreachable("no answer"), refusal(503)])
def test_a_failed_read_allows_no_write(restarted: Bench, error: RequestFailed) -> None:
    restarted.writer.fail("look WebApp", error)
    assert isinstance(restarted.run().failed, type(error))
    assert restarted.writer.sent == ["look WebApp"]


def test_a_new_webapp_is_not_read_again() -> None:
    bench = Bench()
    # The status has the default value from the schema.
    raw = raw_webapp(status={"observedGeneration": 0})
    bench.store.observe(observe(WEBAPP, {**raw, "spec": SPEC}))
    bench.run()
    assert "look WebApp" not in bench.writer.sent


def test_a_child_without_a_status_proves_earlier_work() -> None:
    bench = Bench()
    bench.webapp()
    bench.store.observe(observed_child(SERVICE))
    bench.run()
    assert bench.writer.sent[0] == "look WebApp"


def test_a_status_without_a_child_proves_earlier_work(restarted: Bench) -> None:
    restarted.writer.version += 1
    for child in restarted.store.objects_of(WEB, *CHILDREN):
        restarted.store.forget(child.kind, Key(child.namespace, child.name), restarted.writer.version)
    restarted.run()
    assert restarted.writer.sent[0] == "look WebApp"


def test_a_recreated_webapp_of_the_same_name_is_read_too(restarted: Bench) -> None:
    restarted.run()
    restarted.webapp(version=restarted.writer.version + 1, uid="uid-2")
    restarted.writer.version += 1
    for child in restarted.store.objects_of(WEB, *CHILDREN):
        restarted.store.forget(child.kind, Key(child.namespace, child.name), restarted.writer.version)
    restarted.run()
    assert restarted.writer.sent[0] == "look WebApp", "the status shows that an operator has worked on it"


def test_a_deleted_webapp_is_forgotten(restarted: Bench) -> None:
    restarted.run()
    restarted.store.forget(WEBAPP, WEB, restarted.writer.version + 1)
    restarted.run()
    restarted.webapp(version=restarted.writer.version + 2, image=LATER["image"])
    restarted.run()
    assert "look WebApp" in restarted.writer.sent


def test_after_a_history_reset_every_webapp_is_read_again(restarted: Bench) -> None:
    restarted.run()
    restarted.reconciler.start_over()
    restarted.store.forget(SERVICE, WEB, restarted.writer.version + 1)
    restarted.writer.version += 1
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "create Service"]


def test_after_a_gap_in_a_watch_the_first_write_reads_the_webapp(restarted: Bench) -> None:
    restarted.run()
    restarted.reconciler.doubt()
    drift(restarted)
    restarted.run()
    assert [sent for sent in restarted.writer.sent if sent != "status"] == ["look WebApp", "update Service"]


@pytest.mark.parametrize("first", [True, False])
def test_after_a_gap_during_the_read_the_webapp_is_read_again(restarted: Bench, first: bool) -> None:
    """The read may be of before the gap. It ended the doubt, and later writes undid a change that no watch reported."""
    if not first:
        restarted.run()
        restarted.reconciler.doubt()
        drift(restarted)
    gaps = ["look WebApp"]

    def deliver(request: str, answer: Projection) -> Projection:
        if request in gaps:
            gaps.remove(request)
            restarted.reconciler.doubt()
        return answer

    restarted.writer.deliver = deliver
    restarted.run()
    assert restarted.writer.sent[:3] == ["look WebApp", "look WebApp", "update Service"]


def test_gaps_during_each_read_neither_prevent_the_write_nor_end_the_doubt(restarted: Bench) -> None:
    """A load balancer may close each watch after a second. The writes must not wait for the end of that."""
    gaps = 10

    def deliver(request: str, answer: Projection) -> Projection:
        nonlocal gaps
        if request == "look WebApp" and gaps:
            gaps -= 1
            restarted.reconciler.doubt()
        return answer

    restarted.writer.deliver = deliver
    restarted.run()
    assert restarted.writer.sent[:3] == ["look WebApp", "look WebApp", "update Service"]
    gaps = 0
    restarted.writer.sent.clear()
    drift(restarted)
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "update Service"]


def test_a_webapp_that_changes_after_the_gap_needs_no_read(restarted: Bench) -> None:
    """Its watch is running, and a server that refuses reads must not delay the writes."""
    restarted.run()
    restarted.reconciler.doubt()
    restarted.webapp(version=restarted.writer.version + 1, generation=2, image="registry.example/web:2")
    restarted.run()
    assert [sent for sent in restarted.writer.sent if sent != "status"] == ["update Deployment"]


def test_after_a_start_no_listed_webapp_came_after_a_gap(restarted: Bench) -> None:
    """Each watch starts with a gap. Other kinds may start before a stale server lists the WebApps."""
    webapp = restarted.store.parent(WEB)
    assert webapp is not None
    children = restarted.store.objects_of(WEB, *CHILDREN)
    restarted.store.clear()
    restarted.reconciler.doubt()
    for observed in (webapp, *children):
        restarted.store.observe(observed)
    restarted.run()
    assert restarted.writer.sent[:2] == ["look WebApp", "update Service"]


def test_after_a_start_a_later_event_may_be_outdated_too(restarted: Bench) -> None:
    restarted.reconciler.doubt()
    restarted.webapp(version=restarted.writer.version + 1, generation=2, image="registry.example/web:2")
    restarted.run()
    assert restarted.writer.sent[0] == "look WebApp"


def test_a_foreign_autoscaler_proves_no_earlier_work() -> None:
    """The autoscaler may exist before the WebApp, and has the kind of a child."""
    bench = Bench()
    bench.store.observe(observed_autoscaler())
    bench.webapp()
    bench.run()
    assert bench.writer.sent[0] == "create ServiceAccount"


@pytest.mark.parametrize("what", ["paused", "deleted", "recreated"])
def test_a_change_during_a_reconcile_ends_its_writes(what: str) -> None:
    """The store learns of the change while the first write waits for its answer."""
    bench = Bench()
    bench.converge()
    bench.webapp(version=bench.writer.version + 1, generation=2, **LATER, labels={"team": "x"})
    bench.writer.answer("look WebApp", bench.webapp_now())

    def meanwhile() -> Projection:
        later = bench.writer.version + 1
        if what == "paused":
            bench.webapp(version=later, generation=3, **LATER, paused=True)
        else:
            bench.store.forget(WEBAPP, WEB, later)
        if what == "recreated":
            bench.webapp(version=later + 1, generation=2, uid="uid-2", **LATER)
        account = bench.store.get(SERVICE_ACCOUNT, WEB)
        assert account is not None
        return account

    bench.writer.answers["update ServiceAccount"] = meanwhile
    with pytest.raises(OutOfDate, match="WebApp shop/web has changed since generation 2"):
        bench.run()
    assert [sent for sent in bench.writer.sent if not sent.startswith("look")] == ["update ServiceAccount"]
