"""Revisions: which changes make one, their numbers, what they record, which ones stay."""

from typing import Any

import pytest

from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.content import spec_hash
from coxswain.webapp.kinds import CONTROLLER_REVISION, WEBAPP
from coxswain.webapp.releases.spec_changes import last_change
from unit.model_bench import SPEC
from unit.release_bench import ReleaseBench

pytestmark = pytest.mark.model

CAUSE = "kubernetes.io/change-cause"
ONE, TWO, THREE = (f"registry.example/web:{number}" for number in (1, 2, 3))


@pytest.fixture
def bench() -> ReleaseBench:
    """Return a bench with a Ready WebApp."""
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    assert bench.condition("Ready") == ("True", "Ready", "all children match the spec and are healthy")
    return bench


def test_a_revision_records_the_spec_and_its_outcome(bench: ReleaseBench) -> None:
    (revision,) = bench.live("ControllerRevision")
    uid = bench.live("Deployment")[0]["metadata"]["ownerReferences"][0]["uid"]
    reference = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": uid, "controller": True}
    metadata = revision["metadata"]
    assert revision["revision"] == 1
    assert revision["data"] == {"spec": {**SPEC, "replicas": 1, "ports": [{**SPEC["ports"][0], "protocol": "TCP"}]}}
    assert metadata["name"] == f"web-{spec_hash(revision['data']['spec'])}"
    assert metadata["ownerReferences"] == [reference]
    assert metadata["labels"]["coxswain.dev/webapp"] == "web"
    assert bench.note(1, "changed-by") == "kubectl-edit"
    assert bench.note(1, "changed-at") == "2026-01-01T00:00:00Z"
    assert bench.note(1, "render") == "1"
    assert str(bench.note(1, "ready-at")).startswith("2026-01-01T00:0")
    assert bench.status["revision"] == 1
    assert "previousRevision" not in bench.status


def test_a_creation_costs_two_writes_more_and_then_nothing() -> None:
    bench = ReleaseBench()
    bench.settle()
    assert [sent for sent in bench.transport.sent if "controllerrevisions" in sent] == [
        f"PATCH controllerrevisions/{bench.revisions[1]['metadata']['name']}"
    ]
    bench.roll_out()
    assert len([sent for sent in bench.transport.sent if "controllerrevisions" in sent]) == 1
    assert bench.settle() == 0


def test_each_change_of_the_spec_has_the_next_number(bench: ReleaseBench) -> None:
    bench.release(image=TWO)
    bench.release(image=THREE)
    assert bench.images == {1: ONE, 2: TWO, 3: THREE}
    assert (bench.status["revision"], bench.status["previousRevision"]) == (3, 2)


def test_an_earlier_spec_takes_its_revision_to_the_newest_number(bench: ReleaseBench) -> None:
    bench.release(image=TWO)
    name = bench.revisions[1]["metadata"]["name"]
    bench.release(image=ONE)
    assert bench.images == {2: TWO, 3: ONE}
    assert bench.revisions[3]["metadata"]["name"] == name
    assert (bench.status["revision"], bench.status["previousRevision"]) == (3, 2)


def test_of_two_revisions_with_one_number_the_current_one_gets_the_next(bench: ReleaseBench) -> None:
    """After a restore of etcd, a revision is made before the old ones are listed."""
    bench.release(image=TWO)
    bench.patch(CONTROLLER_REVISION.path("shop", bench.revisions[1]["metadata"]["name"]), {"revision": 2})
    bench.settle()
    assert bench.images == {2: ONE, 3: TWO}
    assert (bench.status["revision"], bench.status["previousRevision"]) == (3, 2)
    assert bench.settle() == 0


@pytest.mark.parametrize("change", [{"replicas": 3}, {"paused": True}, {"paused": False}])
def test_scaling_and_pausing_make_no_revision(bench: ReleaseBench, change: Any) -> None:
    before = bench.revisions
    bench.release(**change)
    assert bench.revisions == before
    assert bench.status["revision"] == 1


def test_scaled_before_it_is_ready_the_recorded_replicas_stay() -> None:
    """The data of a ControllerRevision is immutable: an apply with other replicas would be rejected."""
    bench = ReleaseBench()
    bench.settle()
    bench.release(replicas=3)
    assert bench.revisions[1]["data"]["spec"]["replicas"] == 1
    assert bench.note(1, "ready-at") is not None


def test_a_change_of_metadata_makes_no_revision(bench: ReleaseBench) -> None:
    bench.annotate(team="blue")
    assert bench.settle() == 0
    assert list(bench.revisions) == [1]


def test_the_change_cause_follows_the_annotation_as_in_a_deployment(bench: ReleaseBench) -> None:
    changed = bench.time
    bench.release(image=TWO)
    bench.annotate(**{CAUSE: "new shop window"})
    bench.settle()
    assert causes(bench) == {1: None, 2: "new shop window"}
    assert bench.note(2, "changed-at") == changed.strftime("%Y-%m-%dT%H:%M:%SZ")


def undo(bench: ReleaseBench, cause: str, **spec: Any) -> None:
    """Change the spec and its cause in one request, as `kubectl coxswain undo` does."""
    answer = bench.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {CAUSE: cause}}, "spec": spec})
    assert answer.status == 200, answer.body
    bench.settle()
    bench.roll_out()


def test_a_later_change_does_not_repeat_the_cause(bench: ReleaseBench) -> None:
    """The annotation stays on the WebApp, so a plain edit after an undo had "undo" as its cause."""
    bench.release(image=TWO)
    undo(bench, "undo web --to 1", image=ONE)
    bench.release(image=THREE)
    bench.restart()
    bench.release(env=[{"name": "A", "value": "2"}])
    assert causes(bench) == {2: None, 3: "undo web --to 1", 4: None, 5: None}
    undo(bench, "undo web --to 4", image=TWO)
    assert causes(bench)[6] == "undo web --to 4"
    bench.annotate(**{CAUSE: "the shop needs it"})
    bench.settle()
    assert causes(bench)[6] == "the shop needs it"
    assert bench.settle() == 0


def test_the_cause_does_not_come_back_after_its_revision_is_pruned(bench: ReleaseBench) -> None:
    bench.change(rollout={"revisionHistoryLimit": 0})
    bench.settle()
    undo(bench, "undo web --to 1", image=TWO)
    assert causes(bench) == {3: "undo web --to 1"}
    for number, image in ((4, THREE), (5, ONE)):
        bench.release(image=image)
        assert causes(bench) == {number: None}
    bench.restart()
    assert bench.settle() == 0


def test_a_cause_that_is_removed_and_set_again_is_recorded(bench: ReleaseBench) -> None:
    undo(bench, "as before", image=TWO)
    bench.release(image=THREE)
    bench.annotate(**{CAUSE: None})
    bench.settle()
    bench.annotate(**{CAUSE: "as before"})
    bench.settle()
    assert causes(bench) == {1: None, 2: "as before", 3: "as before"}


def causes(bench: ReleaseBench) -> dict[int, str | None]:
    """Return the change cause of each revision by its number."""
    found = sorted(bench.revisions.items())
    return {number: each["metadata"]["annotations"].get(CAUSE) for number, each in found}


def test_a_revision_that_comes_back_is_ready_only_when_it_is_ready_again(bench: ReleaseBench) -> None:
    first = bench.note(1, "ready-at")
    bench.pass_time(3600)
    bench.release(image=TWO)
    bench.change(image=ONE)
    bench.settle()
    assert bench.note(3, "ready-revision") is None
    bench.roll_out()
    assert (bench.note(3, "ready-revision"), bench.note(3, "ready-at")) == ("3", first)


def test_a_change_without_a_rollout_costs_one_request_for_its_revision(bench: ReleaseBench) -> None:
    bench.change(service={"sessionAffinity": "ClientIP"})
    bench.settle()
    assert len([sent for sent in bench.transport.sent if "controllerrevisions" in sent]) == 1
    assert bench.note(2, "ready-revision") == "2"


def test_as_many_revisions_are_kept_as_the_limit_says(bench: ReleaseBench) -> None:
    bench.change(rollout={"revisionHistoryLimit": 2})
    bench.settle()
    for number in range(2, 6):
        bench.release(image=f"registry.example/web:{number}")
    assert list(bench.images) == [4, 5, 6]


@pytest.mark.thorough
def test_ten_revisions_are_kept_by_default(bench: ReleaseBench) -> None:
    for number in range(2, 15):
        bench.release(image=f"registry.example/web:{number}")
    assert list(bench.images) == list(range(4, 15))


def test_the_last_ready_revision_stays_until_another_one_is_ready(bench: ReleaseBench) -> None:
    bench.change(rollout={"revisionHistoryLimit": 0}, image=TWO)
    bench.settle()
    assert bench.images == {1: ONE, 2: TWO}
    bench.change(image=THREE)
    bench.settle()
    assert bench.images == {1: ONE, 3: THREE}
    bench.roll_out()
    assert bench.images == {3: THREE}


def test_config_stays_as_long_as_a_kept_revision_needs_it(bench: ReleaseBench) -> None:
    bench.change(rollout={"revisionHistoryLimit": 1})
    bench.settle()
    bench.release(config={"B": "3"})
    bench.release(config={"B": "4"})
    assert sorted(each["data"]["B"] for each in bench.live("ConfigMap")) == ["3", "4"]
    bench.release(image=TWO)
    assert [each["data"]["B"] for each in bench.live("ConfigMap")] == ["4"]


def test_edits_of_the_current_revision_are_reverted_and_its_deletion_is_repaired(bench: ReleaseBench) -> None:
    bench.release(image=TWO)
    name = bench.revisions[2]["metadata"]["name"]
    path = CONTROLLER_REVISION.path("shop", name)
    before = bench.revisions[2]
    bench.patch(path, {"revision": 7, "metadata": {"labels": {"app.kubernetes.io/name": "x"}}})
    bench.settle()
    after = bench.live("ControllerRevision")[-1]
    assert {each["revision"] for each in bench.live("ControllerRevision")} == {1, 7}, "numbers only grow"
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    bench.delete(path)
    bench.settle()
    assert list(bench.images) == [1, 2]
    assert bench.note(2, "ready-at") is not None


def test_a_paused_webapp_records_nothing() -> None:
    bench = ReleaseBench(paused=True)
    bench.settle()
    assert bench.live("ControllerRevision") == []
    assert "revision" not in bench.status


def test_the_cache_keeps_hashes_instead_of_the_spec() -> None:
    bench = ReleaseBench(config={"B": "2" * 50_000, "C": "3" * 50_000})
    bench.settle()
    bench.observe_all()
    (revision,) = objects_of(bench)
    assert len(repr(revision)) < 2_500
    assert revision.content["data"].keys() == {"hash", "config", "replicas"}
    (config,) = bench.live("ConfigMap")
    assert config["metadata"]["name"] == f"web-{revision.content['data']['config']}"


def objects_of(bench: ReleaseBench) -> list[Projection]:
    """Return the revisions in the cache."""
    return bench.store.objects_of(bench.world.key, CONTROLLER_REVISION)


def entry(manager: str, time: str, *fields: str, **more: str) -> dict[str, Any]:
    """Return an entry of managedFields for fields of the spec."""
    return {"manager": manager, "time": time, "fieldsV1": {"f:spec": {f"f:{name}": {} for name in fields}}, **more}


def test_the_last_change_is_that_of_the_spec_without_the_replicas() -> None:
    entries = [
        entry("helm", "2026-01-01T00:00:00Z", "image", "replicas"),
        entry("kubectl-edit", "2026-01-02T00:00:00Z", "image"),
        entry("autoscaler", "2026-01-03T00:00:00Z", "replicas", subresource="scale"),
        {"manager": "labeller", "time": "2026-01-04T00:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
    ]
    assert last_change(entries) == {"changed": {"by": "kubectl-edit", "at": "2026-01-02T00:00:00Z"}}
    assert last_change([]) == {"changed": {"by": "", "at": ""}}


@pytest.mark.parametrize("field", ["paused", "replicas"])
def test_a_change_that_makes_no_revision_is_no_change_of_the_spec(field: str) -> None:
    def entry(manager: str, minute: int, field: str) -> dict[str, Any]:
        return {"manager": manager, "time": f"2026-01-01T00:0{minute}:00Z", "fieldsV1": {"f:spec": {f"f:{field}": {}}}}

    found = last_change([entry("kubectl", 1, "image"), entry("kubectl-coxswain", 2, field)])
    assert found == {"changed": {"by": "kubectl", "at": "2026-01-01T00:01:00Z"}}
