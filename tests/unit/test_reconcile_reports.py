"""Reports of a reconcile: each failure and each write is reported once, also if another write fails."""

import dataclasses
from typing import Any, cast

import pytest

from coxswain.kernel.api.errors import OutOfDate, ReadRejected, RequestFailed, Unreachable
from coxswain.kernel.objects.edit import with_value
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, Path, minus_path, plus
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.webapp.identity import ADOPT_ANNOTATION, FAILED_ANNOTATION
from coxswain.webapp.kinds import CONTROLLER_REVISION, DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, WEBAPP
from rendered import observe
from unit.bench import SPEC, WEB, Bench
from unit.model_bench import ModelBench
from unit.objects import raw_webapp
from unit.server import refusal

pytestmark = pytest.mark.model

TYPE: Path = ("f:spec", "f:type")


@pytest.fixture
def bench() -> Bench:
    """A reconciler with an empty store."""
    return Bench()


def told(bench: Bench) -> list[tuple[str, str]]:
    """Return the reason and the subject of each Event."""
    return [(event.reason, event.note.partition(":")[0]) for event in bench.events.told]


def test_each_failing_child_gets_its_event(bench: Bench) -> None:
    """Only the first of two refused children got an Event; the second one and Created never did."""
    bench.webapp()
    bench.writer.fail("create ServiceAccount", refusal(403))
    bench.writer.fail("create Service", refusal(403))
    bench.run()
    assert told(bench) == [
        ("Refused", "ServiceAccount web"),
        ("Refused", "Service web"),
        ("Created", "created ConfigMap, ControllerRevision"),
    ]
    bench.run(failures=1)
    assert len(bench.events.told) == 3, "both are in the status"


def drifted(bench: Bench, kind: Kind, path: Path, value: Any) -> None:
    """Let another manager change a field of a child."""
    live = bench.store.get(kind, WEB)
    assert live is not None
    bench.writer.version += 1
    changed = dataclasses.replace(
        live,
        version=bench.writer.version,
        content=with_value(live.content, path, value),
        owned=minus_path(live.owned or {}, path),
        others=(ManagedFieldsEntry("kubectl-edit", plus({}, path, {})),),
    )
    bench.store.observe(changed)


def lose_answer(bench: Bench, request: str) -> list[Projection]:
    """Let the answer of a request be lost after the server has carried it out. Return the stored object."""
    lost = list[Projection]()

    def reset(sent: str, answer: Projection) -> Projection:
        if sent == request and not lost:
            lost.append(answer)
            raise Unreachable("PATCH: the connection was reset")
        return answer

    bench.writer.deliver = reset
    return lost


def drift(bench: Bench) -> list[tuple[str, str]]:
    """Return object and field of each entry of the drift ledger."""
    return [(entry["object"], entry["field"]) for entry in bench.webapp_now().content["status"].get("drift", [])]


def test_a_correction_is_reported_although_the_reconcile_ends_early(bench: Bench) -> None:
    """The Service is corrected, then the Deployment's conflict shows that the WebApp has changed."""
    bench.converge()
    drifted(bench, SERVICE, TYPE, "NodePort")
    drifted(bench, DEPLOYMENT, ("f:spec", "f:replicas"), 5)
    bench.writer.version += 10
    status = bench.webapp_now().content["status"]
    newer = raw_webapp(version=bench.writer.version, uid="uid-1", metadata={"generation": 2}, status=status)
    bench.writer.answer("look WebApp", observe(WEBAPP, {**newer, "spec": SPEC}))
    bench.writer.fail("update Deployment", refusal(409, "the object has been modified"))
    with pytest.raises(OutOfDate):
        bench.run()
    assert [reason for reason, _ in told(bench)] == ["DriftCorrected"]
    bench.writer.answers.clear()
    bench.run()
    assert drift(bench) == [("Service/web", "spec.type")]
    assert [reason for reason, _ in told(bench)] == ["DriftCorrected"]


def test_an_adoption_is_reported_although_the_release_fails() -> None:
    bench = adopting()
    fail_once(bench, "release")
    (result,) = [each for each in bench.reconcile() if each.child.kind == "ServiceAccount"]
    assert result.failed is not None
    assert result.writes.adopted
    bench.now += 60
    assert not any(each.writes.adopted for each in bench.reconcile()), "it is reported once"


def test_a_field_reassigned_before_a_conflict_is_not_of_another_coxswain() -> None:
    bench = ModelBench()
    bench.reconcile()
    source = {"name": "A", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    template = {"spec": {"containers": [{"name": "app", "env": [source]}]}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": template}}
    assert bench.apply(f"{DEPLOYMENT.path('shop')}/web", body).status == 200
    fail_once(bench, "update")
    assert any(each.failed for each in bench.reconcile())
    bench.now += 60
    authors = [each.changed_by for result in bench.reconcile() for each in result.writes.corrections]
    assert authors == ["flux"]


def test_an_adoption_is_reported_although_its_answer_is_lost() -> None:
    bench = adopting()
    fail_once(bench, "update", answer_lost=True)
    assert not any(each.writes.adopted for each in bench.reconcile())
    bench.now += 60
    assert [each.child.kind for each in bench.reconcile() if each.writes.adopted] == ["ServiceAccount"]


def adopting() -> ModelBench:
    """A WebApp that may adopt a ServiceAccount of another client."""
    bench = ModelBench()
    account = {"name": "web", "namespace": "shop", "annotations": {ADOPT_ANNOTATION: "web"}}
    bench.post(
        SERVICE_ACCOUNT.path("shop"),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account, "automountServiceAccountToken": False},
    )
    return bench


def fail_once(bench: ModelBench, request: str, *, answer_lost: bool = False) -> None:
    """Let the first request of the writer's method `request` conflict, or lose its answer."""
    writer = bench.children._executor._writer
    usual, failed = getattr(writer, request), list[str]()

    async def conflicting(*arguments: Any, **named: Any) -> Projection:
        if not failed:
            failed.append(request)
            if not answer_lost:
                raise refusal(409, "the object has been modified")
            await usual(*arguments, **named)
            raise Unreachable("PATCH: the connection was reset")
        return cast("Projection", await usual(*arguments, **named))

    setattr(writer, request, conflicting)
    writer.checking = lambda _: writer  # type: ignore[method-assign,assignment]


def test_a_correction_is_reported_although_its_answer_is_lost(bench: Bench) -> None:
    bench.converge()
    drifted(bench, SERVICE, TYPE, "NodePort")
    lost = lose_answer(bench, "update Service")
    assert bench.run().failed is not None
    assert bench.events.told == []
    bench.store.observe(lost[0])
    bench.now += 60
    bench.run(failures=1)
    assert [reason for reason, _ in told(bench)] == ["DriftCorrected"]
    assert drift(bench) == [("Service/web", "spec.type")]
    assert len(bench.memory.child("Service/web").wars) == 1, "it is a round of a write war"
    bench.run()
    assert len(bench.events.told) == 1


def test_a_lost_answer_is_counted_once_if_the_next_apply_conflicts_with_it(bench: Bench) -> None:
    """The watch is slow, so the apply is sent again for the old object."""
    bench.converge()
    drifted(bench, SERVICE, TYPE, "NodePort")
    lost = lose_answer(bench, "update Service")
    bench.run()
    bench.writer.fail("update Service", refusal(409, "the object has been modified"))
    bench.writer.answer("look Service", lost[0])
    assert bench.run(failures=1).failed is not None
    bench.now += 60
    bench.run(failures=2)
    assert bench.writer.sent == ["status"]
    assert drift(bench) == [("Service/web", "spec.type")]


def deleted(bench: Bench) -> None:
    """Delete the Service as someone else."""
    bench.writer.version += 1
    bench.store.forget(SERVICE, WEB, bench.writer.version)


def test_a_creation_is_reported_although_its_answer_is_lost(bench: Bench) -> None:
    bench.converge()
    deleted(bench)
    lost = lose_answer(bench, "create Service")
    assert bench.run().failed is not None
    assert bench.events.told == []
    bench.store.observe(lost[0])
    bench.run(failures=1)
    assert told(bench) == [("DriftCorrected", "recreated Service web after its deletion")]
    assert bench.memory.child("Service/web").deletions._war is not None, "it is a round of a write war"
    bench.run()
    assert len(bench.events.told) == 1


def test_a_creation_without_an_answer_is_reported_once_if_the_next_one_conflicts_with_it(bench: Bench) -> None:
    """The watch is slow, so the creation is sent again."""
    bench.converge()
    deleted(bench)
    lost = lose_answer(bench, "create Service")
    bench.run()
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", lost[0])
    bench.run(failures=1)
    assert told(bench) == [("DriftCorrected", "recreated Service web after its deletion")]
    bench.run()
    assert len(bench.events.told) == 1


def test_a_refused_creation_is_not_reported(bench: Bench) -> None:
    """The cache lags behind, so it lacks a Service that exists."""
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    deleted(bench)
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", dataclasses.replace(live, version=bench.writer.version + 1))
    bench.run()
    bench.run()
    assert bench.events.told == []


@pytest.mark.parametrize("change", [{"owned": None}, {"controller": Controller("WebApp", "web", "uid-0")}])
def test_an_object_of_someone_else_is_no_creation_without_an_answer(bench: Bench, change: Any) -> None:
    """The creation did not arrive. Someone restores the Service: without managedFields, or that of an old WebApp."""
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    deleted(bench)
    bench.writer.fail("create Service", Unreachable("PATCH: the connection was reset"))
    bench.run()
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, uid="restored", **change))
    bench.now += 60
    bench.run(failures=1)
    assert "recreated Service web after its deletion" not in [note for _, note in told(bench)]


def test_a_planned_correction_is_not_that_of_another_object(bench: Bench) -> None:
    """The apply fails, and then someone restores the object from a backup, with our entry in managedFields."""
    bench.converge()
    before = bench.store.get(SERVICE, WEB)
    assert before is not None
    drifted(bench, SERVICE, TYPE, "NodePort")
    bench.writer.fail("update Service", Unreachable("PATCH: the connection was reset"))
    assert bench.run().failed is not None
    bench.writer.answers.clear()
    bench.writer.version += 1
    content = with_value(before.content, TYPE, "NodePort")
    bench.store.observe(dataclasses.replace(before, version=bench.writer.version, uid="restored", content=content))
    bench.now += 60
    bench.run(failures=1)
    (entry,) = bench.webapp_now().content["status"]["drift"]
    assert (entry["field"], entry["manager"]) == ("spec.type", "another operator")


def test_a_refused_apply_is_no_correction(bench: Bench) -> None:
    """The other manager itself takes its change back, and then coxswain's value is there without a write."""
    bench.converge()
    before = bench.store.get(SERVICE, WEB)
    assert before is not None
    drifted(bench, SERVICE, TYPE, "NodePort")
    bench.writer.fail("update Service", refusal(403))
    assert bench.run().failed is not None
    bench.events.told.clear()
    bench.store.observe(dataclasses.replace(before, version=bench.writer.version + 1))
    bench.run(failures=1)
    assert bench.events.told == []
    assert drift(bench) == []


@pytest.mark.parametrize(
    "error",
    [
        refusal(403, "controllerrevisions.apps is forbidden"),
        ReadRejected("GET /apis/apps/v1/namespaces/shop/controllerrevisions/web-1: 400 BadRequest: no"),
    ],
)
def test_a_rollback_that_cannot_be_read_is_reported(error: RequestFailed) -> None:
    """The record is read before everything else, so a GET that kept failing left no trace but in the log."""
    bench = Bench()
    bench.converge()
    bench.webapp(version=500, generation=2, image="registry.example/web:2", rollout={"onFailure": "Rollback"})
    bench.run()
    target, failed = sorted(bench.store.objects_of(WEB, CONTROLLER_REVISION), key=lambda each: each.content["revision"])
    path = ("f:metadata", "f:annotations", f"f:{FAILED_ANNOTATION}")
    bench.writer.version += 1
    content, owned = with_value(failed.content, path, "x: y"), plus(failed.owned or {}, path, {})
    bench.store.observe(dataclasses.replace(failed, version=bench.writer.version, content=content, owned=owned))
    bench.events.told.clear()

    async def read_whole(_: Projection) -> Any:
        raise error

    bench.writer.read_whole = read_whole  # type: ignore[method-assign,assignment]
    with pytest.raises(type(error)):
        bench.run(failures=0)
    bench.now += 60
    assert bench.run(failures=3).failed is error
    assert bench.writer.sent == ["status"], "no child is written"
    assert bench.conditions()["Ready"] == ("False", "NotListed")
    assert bench.message_of("Ready").startswith(f"ControllerRevision {target.name}: cannot be read: {error}")
    assert told(bench) == [("NotListed", f"ControllerRevision {target.name}")]
    bench.run(failures=4)
    assert (bench.writer.sent, len(bench.events.told)) == ([], 1)


def test_a_foreign_change_of_the_deployment_is_reported_after_its_controller_observed_it(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    content = {**live.content, "metadata": {**live.content["metadata"], "generation": 2}}
    bench.store.observe(dataclasses.replace(live, version=500, content=content))
    assert bench.run() == Outcome(after=1.0)
    assert bench.writer.sent == []
    bench.now += 1
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "RollingOut")
