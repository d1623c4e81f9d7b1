"""Reconciling a WebApp with spec.autoscaling: the order of writes, and an unchanged replica count at each transfer."""

from dataclasses import replace
from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import HEALTHY, Child
from coxswain.kernel.workload import ChildReport, Observations
from coxswain.webapp import replicas
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from coxswain.webapp.spec import WebApp
from unit.bench import WEB, Bench
from unit.objects import observed_autoscaler
from unit.server import refusal
from unit.test_reconcile_scaling import NOTE, SCALER, Autoscaled

MANY = {"maxReplicas": 8}


def autoscaling(bench: Autoscaled, **fields: Any) -> None:
    """Set spec.autoscaling as the user."""
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=1, autoscaling={"maxReplicas": 8, **fields})


def hpa(bench: Autoscaled) -> Projection | None:
    return bench.store.get(HORIZONTAL_POD_AUTOSCALER, WEB)


@pytest.fixture
def bench() -> Autoscaled:
    return Autoscaled()


def test_a_new_webapp_with_autoscaling_begins_with_its_least_count() -> None:
    """One reconcile is enough. It transfers the replicas before the autoscaler exists."""
    bench = Bench()
    bench.webapp(autoscaling={"minReplicas": 3, "maxReplicas": 8})
    bench.run()
    last = [sent for sent in bench.writer.sent if sent != "status"][-4:]
    assert last == ["create Deployment", "keep 3", "update Deployment", "create HorizontalPodAutoscaler"]
    assert "replicas" not in bench.writer.manifests["Deployment"]["spec"]
    assert [told.reason for told in bench.events.told] == ["Created"]


@pytest.mark.parametrize(("generation", "reasons"), [(1, []), (2, ["Autoscaled"])])
def test_a_transfer_is_no_news_for_a_webapp_that_always_had_autoscaling(generation: int, reasons: list[str]) -> None:
    """A conflict delayed the transfer to a reconcile after the creation."""
    web = WebApp("shop", "web", "uid-1", generation, {"image": "web:1", "autoscaling": {"maxReplicas": 8}})
    path = ("f:metadata", "f:annotations", "f:coxswain.dev/replicas")
    noted = Difference(path, "autoscaled-by-spec", None)
    report = ChildReport(Child("Deployment", "web", HEALTHY), corrected=(noted,))
    assert [told.reason for told in replicas.events(web, Observations([report]))] == reasons


@pytest.mark.parametrize(("decided", "count"), [(7, 7), (20, 8), (1, 3), (0, 3), (None, 3)])
def test_a_recreated_deployment_has_the_count_of_its_autoscaler(
    bench: Autoscaled, decided: int | None, count: int
) -> None:
    """A former process may have deleted the Deployment to replace it, so no memory has its count."""
    autoscaling(bench, minReplicas=3)
    bench.run()
    live = hpa(bench)
    assert live is not None
    bench.writer.version += 1
    status = {} if decided is None else {"desiredReplicas": decided}
    bench.store.observe(replace(live, version=bench.writer.version, content={**live.content, "status": status}))
    bench.restart()
    bench.lose_deployment()
    assert [sent for sent in bench.applied() if "look" not in sent][:2] == ["create Deployment", f"keep {count}"]


def decide(bench: Autoscaled, count: int) -> None:
    """Create an autoscaler of a user that has decided the count."""
    bench.come()
    live = bench.store.get(HORIZONTAL_POD_AUTOSCALER, SCALER)
    assert live is not None
    bench.writer.version += 1
    content = {"spec": {**live.content["spec"], "maxReplicas": 6}, "status": {"desiredReplicas": count}}
    bench.store.observe(replace(live, version=bench.writer.version, content={**live.content, **content}))


def created(bench: Autoscaled) -> tuple[Any, Any]:
    """Return the replicas and the annotation of the live Deployment."""
    content = bench.deployment.content
    return content["spec"]["replicas"], content["metadata"].get("annotations", {}).get(NOTE)


def test_a_recreated_deployment_has_the_count_of_the_autoscaler_of_a_user(bench: Autoscaled) -> None:
    decide(bench, 5)
    bench.run()
    bench.restart()
    bench.lose_deployment()
    assert [sent for sent in bench.applied() if "look" not in sent][:2] == ["create Deployment", "keep 5"]


def test_a_recreated_deployment_keeps_its_count_while_autoscalers_are_unknown(bench: Autoscaled) -> None:
    """The annotation of the new Deployment records the owner. Without it the next reconcile applied spec.replicas."""
    decide(bench, 5)
    bench.run()
    bench.restart()
    bench.lose_deployment()
    bench.coverage.doubtful = True
    assert [sent for sent in bench.applied() if "look" not in sent] == ["create Deployment"]
    assert created(bench) == (5, "autoscaled")
    assert bench.applied() == []
    bench.coverage.doubtful = False
    assert bench.applied() == ["keep 5", "update Deployment"]
    assert bench.says() == (None, "autoscaled")


def test_a_recreated_deployment_records_that_spec_autoscaling_owns_its_count(bench: Autoscaled) -> None:
    decide(bench, 5)
    autoscaling(bench)
    bench.run()
    bench.restart()
    bench.lose_deployment()
    bench.writer.fail("keep 5", refusal(500))
    bench.run()
    assert created(bench) == (5, "autoscaled-by-spec")


@pytest.mark.parametrize(("spec", "count"), [({"replicas": 0}, 0), ({"replicas": 0, "autoscaling": MANY}, 5)])
def test_a_stopped_webapp_starts_no_pods_beside_an_old_autoscaler(spec: dict[str, Any], count: int) -> None:
    """A rollback brings back spec.autoscaling, but leaves spec.replicas as it is."""
    bench = Bench()
    bench.webapp(**spec)
    scaler = observed_autoscaler(version=5)
    decision = {**scaler.content, "status": {"desiredReplicas": 5}}
    bench.store.observe(replace(scaler, content=decision))
    bench.run()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    assert live.content["spec"]["replicas"] == count


def test_autoscaling_is_switched_on_at_the_live_count(bench: Autoscaled) -> None:
    autoscaling(bench)
    assert bench.applied() == ["keep 2", "update Deployment", "create HorizontalPodAutoscaler"]
    assert bench.says() == (None, "autoscaled-by-spec")
    assert bench.reasons() == ["Autoscaled"]
    assert bench.applied() == []
    bench.scale(5)
    assert bench.applied() == []


def test_autoscaling_starts_what_was_stopped(bench: Autoscaled) -> None:
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=0)
    bench.applied()
    autoscaling(bench, minReplicas=2)
    sent = bench.applied()
    assert sent[-4:] == ["update Deployment", "keep 2", "update Deployment", "create HorizontalPodAutoscaler"]


@pytest.mark.parametrize("restarted", [False, True])
def test_switched_off_the_count_stays_and_is_taken_back_after_the_autoscaler(
    bench: Autoscaled, restarted: bool
) -> None:
    autoscaling(bench)
    bench.applied()
    bench.scale(5)
    bench.applied()
    bench.reasons()
    bench.webapp(version=bench.writer.version + 1, generation=3, replicas=1)
    if restarted:
        bench.restart()
        bench.writer.answers["look WebApp"] = bench.webapp_now
    sent = bench.applied()
    assert [each for each in sent if each != "look WebApp"] == ["remove HorizontalPodAutoscaler"]
    live = hpa(bench)
    assert live is not None, "it may scale until its DELETED event arrives"
    bench.scale(6)
    assert bench.applied() == []
    bench.writer.version += 1
    bench.store.forget(HORIZONTAL_POD_AUTOSCALER, WEB, bench.writer.version)
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (6, "kept=6,spec=1")
    assert bench.events.told[-1].note.endswith(
        "keeps 6 replicas until spec.replicas (1) changes. To apply 1 now: "
        "kubectl annotate deployment web -n shop coxswain.dev/replicas-"
    )
    assert bench.reasons() == ["ReplicasKept"]
    assert bench.applied() == []


def test_switched_off_with_a_count_that_count_is_applied(bench: Autoscaled) -> None:
    autoscaling(bench)
    bench.applied()
    bench.scale(5)
    bench.webapp(version=bench.writer.version + 1, generation=3, replicas=3)
    bench.applied()
    bench.writer.version += 1
    bench.store.forget(HORIZONTAL_POD_AUTOSCALER, WEB, bench.writer.version)
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (3, None)


def test_while_autoscalers_are_unknown_spec_autoscaling_decides(bench: Autoscaled) -> None:
    bench.coverage.doubtful = True
    autoscaling(bench)
    assert bench.applied() == ["keep 2", "update Deployment", "create HorizontalPodAutoscaler"]
    bench.webapp(version=bench.writer.version + 1, generation=3, replicas=1)
    assert bench.applied() == ["remove HorizontalPodAutoscaler"]
    bench.writer.version += 1
    bench.store.forget(HORIZONTAL_POD_AUTOSCALER, WEB, bench.writer.version)
    assert bench.applied() == [], "another autoscaler may exist"


@pytest.mark.parametrize("name", ["scaler", "web"])
def test_beside_an_autoscaler_of_the_user_none_is_created(bench: Autoscaled, name: str) -> None:
    """Two autoscalers disable each other. One with the WebApp's name stays in the cache, so its replicas are kept."""
    bench.writer.version += 1
    bench.store.observe(observed_autoscaler("web", version=bench.writer.version, name=name))
    bench.applied()
    autoscaling(bench)
    assert "create HorizontalPodAutoscaler" not in bench.applied()
    assert bench.says() == (None, "autoscaled-by-spec")
    reason = "NameTaken" if name == "web" else "AutoscalerConflict"
    assert bench.conditions()["Ready"] == ("False", reason)
    assert bench.conditions()["Stalled"] == ("True", reason)
    if name == "scaler":
        assert "or delete the other autoscaler: kubectl delete hpa scaler -n shop" in bench.message_of("Ready")
    bench.writer.version += 1
    bench.store.forget(HORIZONTAL_POD_AUTOSCALER, Key("shop", name), bench.writer.version)
    assert bench.applied() == ["create HorizontalPodAutoscaler"]
    bench.now += 60
    bench.applied()
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")


def test_an_autoscaler_of_the_user_that_comes_later_is_reported(bench: Autoscaled) -> None:
    autoscaling(bench)
    bench.applied()
    bench.come()
    assert bench.applied() == []
    assert bench.conditions()["Ready"] == ("False", "AutoscalerConflict")
    bench.go()
    bench.applied()
    bench.now += 60
    bench.applied()
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")


def test_an_autoscaler_waits_for_its_deployment() -> None:
    """If the Deployment cannot be created, the autoscaler would later scale any Deployment with this name."""
    bench = Bench()
    bench.webapp(autoscaling={"maxReplicas": 8})
    bench.writer.fail("create Deployment", refusal(403))
    bench.run()
    assert "create HorizontalPodAutoscaler" not in bench.writer.sent
    bench.writer.answers.clear()
    bench.run()
    assert "create HorizontalPodAutoscaler" in bench.writer.sent
