"""Reconciling a WebApp whose Deployment is scaled by an autoscaler: requests, their order, and reports."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from unit.bench import WEB, Bench
from unit.objects import observed_autoscaler
from unit.server import refusal

NOTE = "coxswain.dev/replicas"
SCALER = Key("shop", "scaler")


class Autoscaled(Bench):
    """A converged WebApp of two replicas."""

    def __init__(self) -> None:
        super().__init__()
        self.webapp(replicas=2)
        self.run()
        self.roll_out()
        self.run()
        self.events.told.clear()

    @property
    def deployment(self) -> Projection:
        found = self.store.get(DEPLOYMENT, WEB)
        assert found is not None
        return found

    def come(self, target: str = "web") -> None:
        """Create an autoscaler."""
        self.writer.version += 1
        self.store.observe(observed_autoscaler(target, version=self.writer.version))

    def go(self) -> None:
        """Delete the autoscaler."""
        self.writer.version += 1
        self.store.forget(HORIZONTAL_POD_AUTOSCALER, SCALER, self.writer.version)

    def scale(self, count: int) -> None:
        """Scale through the scale subresource, as the autoscaler. It becomes the owner of the field."""
        live = self.deployment
        self.writer.version += 1
        owned = {**(live.owned or {}), "f:spec": dict((live.owned or {})["f:spec"])}
        owned["f:spec"].pop("f:replicas", None)
        entry = ManagedFieldsEntry("kube-controller-manager", {"f:spec": {"f:replicas": {}}})
        content = {**live.content, "spec": {**live.content["spec"], "replicas": count}}
        self.store.observe(
            dataclasses.replace(live, version=self.writer.version, content=content, owned=owned, others=(entry,))
        )

    def lose_deployment(self) -> None:
        """Delete the Deployment, as another process."""
        self.writer.version += 1
        self.store.forget(DEPLOYMENT, WEB, self.writer.version)

    def applied(self) -> list[str]:
        """Reconcile. Return the requests except those for the status."""
        self.run()
        return [request for request in self.writer.sent if request != "status"]

    def says(self) -> tuple[Any, Any]:
        """Return the replicas and the annotation of the last applied manifest."""
        manifest = self.writer.manifests["Deployment"]
        return manifest["spec"].get("replicas"), manifest["metadata"].get("annotations", {}).get(NOTE)

    def status(self) -> Any:
        """Return the status of the WebApp."""
        observed = self.store.parent(WEB)
        assert observed is not None
        return observed.content["status"]

    def reasons(self) -> list[str]:
        found = [occurrence.reason for occurrence in self.events.told]
        self.events.told.clear()
        return found


@pytest.fixture
def bench() -> Autoscaled:
    return Autoscaled()


def test_the_live_count_is_kept_before_it_is_left_out(bench: Autoscaled) -> None:
    bench.come()
    assert bench.applied() == ["keep 2", "update Deployment"]
    assert bench.says() == (None, "autoscaled")
    assert bench.reasons() == ["Autoscaled"]
    assert bench.applied() == []


def test_fields_of_others_need_no_reassignment(bench: Autoscaled) -> None:
    bench.come()
    bench.scale(5)
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (None, "autoscaled")


def test_once_kept_it_is_not_kept_again(bench: Autoscaled) -> None:
    """The operator stopped between the two writes, or the second one failed."""
    bench.come()
    bench.writer.fail("update Deployment", refusal(500))
    bench.run(failures=3)
    assert [request for request in bench.writer.sent if request != "status"] == ["keep 2", "update Deployment"]
    bench.writer.answers.clear()
    assert bench.applied() == ["update Deployment"]


def test_after_a_conflict_of_the_first_write_the_deployment_is_read(bench: Autoscaled) -> None:
    bench.come()
    bench.writer.fail("keep 2", refusal(409))
    assert bench.run().failed is not None
    assert bench.writer.sent[:2] == ["keep 2", "look Deployment"]


def test_the_replicas_are_transferred_back_in_one_write_at_the_live_count(bench: Autoscaled) -> None:
    bench.come()
    bench.applied()
    bench.scale(5)
    assert bench.applied() == []
    bench.reasons()
    bench.go()
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (5, "kept=5,spec=2")
    assert bench.reasons() == ["ReplicasKept"]
    assert bench.applied() == []
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=3)
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (3, None)


def test_the_count_after_an_autoscaler_is_no_drift(bench: Autoscaled) -> None:
    """The autoscaler's entry in managedFields stays after its deletion, beside ours."""
    bench.come()
    bench.scale(5)
    theirs = bench.deployment.others
    bench.applied()
    bench.go()
    bench.applied()
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(bench.deployment, version=bench.writer.version, others=theirs))
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=3)
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (3, None)
    observed = bench.store.parent(WEB)
    assert observed is not None
    assert "drift" not in observed.content["status"]


def test_the_replicas_are_transferred_back_at_the_count_of_the_spec(bench: Autoscaled) -> None:
    bench.come()
    bench.applied()
    bench.reasons()
    bench.go()
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (2, None)
    assert bench.reasons() == ["ReplicasKept"]


def test_an_autoscaler_of_another_deployment_changes_nothing(bench: Autoscaled) -> None:
    bench.come("other")
    assert bench.applied() == []


def test_an_uncached_deployment_is_handed_over_unchanged(bench: Autoscaled) -> None:
    """Without our label, no watch reports the Deployment. The manifest must not be the one for a new Deployment."""
    bench.come()
    bench.scale(5)
    bench.applied()
    live = bench.deployment
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    content = {**live.content, "metadata": {**live.content["metadata"], "labels": {}}}
    bench.writer.fail("create Deployment", refusal(409))
    bench.writer.answer("look Deployment", dataclasses.replace(live, version=bench.writer.version, content=content))
    assert bench.applied()[-2:] == ["look Deployment", "update Deployment"]
    assert bench.says() == (None, "autoscaled")


def test_while_autoscalers_are_unknown_a_count_of_others_is_left_alone(bench: Autoscaled) -> None:
    """The watch of autoscalers is silent, so a new one may be missing from the store (K28)."""
    bench.coverage.doubtful = True
    bench.scale(5)
    assert bench.applied() == []
    assert "drift" not in bench.status()
    bench.coverage.doubtful = False
    bench.come()
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (None, "autoscaled")


def test_once_autoscalers_are_listed_and_absent_the_count_is_drift(bench: Autoscaled) -> None:
    bench.coverage.doubtful = True
    bench.scale(5)
    bench.applied()
    bench.coverage.doubtful = False
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (2, None)
    assert bench.reasons() == ["DriftCorrected"]


@pytest.mark.parametrize("scaled", [True, False])
def test_while_autoscalers_are_unknown_the_note_stays(bench: Autoscaled, scaled: bool) -> None:
    """The autoscaler is gone from the store, but the watch may be behind (K28)."""
    bench.come()
    bench.applied()
    if scaled:
        bench.scale(5)
        bench.applied()
    bench.coverage.doubtful = True
    bench.go()
    assert bench.applied() == []
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=3, image="registry.example/web:2")
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (None, "autoscaled")
    bench.coverage.doubtful = False
    bench.webapp(version=bench.writer.version + 1, generation=3, replicas=2)
    bench.applied()
    assert bench.says() == ((5, "kept=5,spec=2") if scaled else (2, None))


def test_while_autoscalers_are_unknown_nothing_is_handed_over(bench: Autoscaled) -> None:
    bench.coverage.doubtful = True
    bench.come()
    assert bench.applied() == []


def test_while_autoscalers_are_unknown_a_count_that_is_ours_follows_the_spec(bench: Autoscaled) -> None:
    bench.coverage.doubtful = True
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=3)
    assert bench.applied() == ["update Deployment"]
    assert bench.says() == (3, None)


def test_a_replacement_while_autoscalers_are_unknown_keeps_the_count(bench: Autoscaled) -> None:
    bench.coverage.doubtful = True
    bench.scale(5)
    live = bench.deployment
    bench.writer.version += 1
    spec = {**live.content["spec"], "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, content={**live.content, "spec": spec}))
    assert bench.applied() == ["remove Deployment but not its pods"]
    bench.writer.version += 1
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version)
    assert bench.applied() == ["create Deployment"]
    assert bench.deployment.content["spec"]["replicas"] == 5
    assert bench.applied() == []
