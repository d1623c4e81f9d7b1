"""The plugin about WebApps whose status does not describe the present spec: it states no fact that it has not read."""

import json
from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, SERVICE, WEBAPP
from unit.model_bench import SPEC
from unit.plugin_bench import PluginBench
from unit.plugin_golden import assert_golden
from unit.plugin_states import CAUSE, condition, failing, healthy, reconciled, replica_set

NEVER = "the operator has not reported on WebApp web in namespace shop yet"
STALE = "the status of WebApp web in namespace shop is of generation 1; the operator has not reconciled generation 2"
ENTRY = {"object": "Deployment/web", "field": "spec.replicas", "manager": "kubectl", "policy": "Yield"}


@pytest.fixture
def unseen() -> PluginBench:
    """A WebApp without a status whose children exist: after a restore, or an operator that died early."""
    return PluginBench(replicas=2)


@pytest.fixture
def changed() -> PluginBench:
    """A WebApp whose spec has changed since the operator reported on it."""
    found = PluginBench(replicas=2)
    failing(found)
    change(found, {"image": "registry.example/web:3"})
    return found


def change(bench: PluginBench, spec: dict[str, Any]) -> None:
    """Change the spec while the operator does not run."""
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": spec})


def rows(text: str) -> dict[str, str]:
    """Return the state of each object of a tree in text."""
    lines = [line.lstrip("|-` ").split() for line in text.splitlines() if "/" in line]
    return {words[0]: words[1] for words in lines}


# tree and status


def test_the_tree_of_a_webapp_that_was_never_reconciled_has_its_children(unseen: PluginBench) -> None:
    replica_set(unseen, "web-5d9c", 1, 2)
    assert unseen.run("tree", "web") == 0
    assert_golden("tree-not-reported", unseen.out)
    found = unseen.json("tree", "web")["tree"]
    assert (found["state"], found["level"], found["info"]) == ("Pending", "unknown", "not yet reconciled")
    assert {(each["state"], each["level"]) for each in found["children"]} == {("NotReported", "unknown")}


def test_the_tree_of_a_webapp_without_children() -> None:
    bench = PluginBench(reconciled=False)
    assert bench.run("tree", "web") == 0
    assert bench.out.splitlines()[1].split() == ["WebApp/web", "Pending", "10m", "not", "yet", "reconciled"]


def test_the_children_of_a_deleted_namesake_are_not_in_the_tree(unseen: PluginBench) -> None:
    owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "another", "controller": True}
    unseen.model.patch(SERVICE.path("shop", "web"), {"metadata": {"ownerReferences": [owner]}})
    assert unseen.run("tree", "web") == 0
    assert "Deployment/web" in rows(unseen.out)
    assert "Service/web" not in rows(unseen.out)


def test_a_child_that_an_earlier_status_lacks_is_not_called_needless(changed: PluginBench) -> None:
    assert changed.run("tree", "web") == 0
    assert rows(changed.out)["PodDisruptionBudget/web"] == "NotReported"
    assert "generation 2 is not yet reconciled; the status is of generation 1" in changed.out
    assert rows(changed.out)["Deployment/web"] == "Degraded", "as reported"


def test_the_status_of_a_webapp_that_was_never_reconciled(unseen: PluginBench) -> None:
    assert unseen.run("status", "web") == 0
    assert "is Pending: the operator has not reconciled generation 1; it has reconciled none yet" in unseen.out
    assert rows(unseen.out)["Deployment/web"] == "NotReported"


def test_a_status_without_the_condition_ready_is_no_verdict(unseen: PluginBench) -> None:
    unseen.status(observedGeneration=1)
    verdict = unseen.json("status", "web")["verdict"]
    assert verdict["message"] == "the operator has not reported the condition Ready yet"


def test_the_configmap_of_a_kept_revision_is_kept_without_a_report_too(unseen: PluginBench) -> None:
    unseen.add_revision(1, SPEC)
    nodes = {each["kind"]: each for each in unseen.json("tree", "web")["tree"]["children"]}
    kept = nodes["ConfigMap"]
    assert (kept["state"], kept["level"], kept["info"]) == ("Kept", "none", "revision 1")


# conflicts


def test_conflicts_of_a_webapp_that_was_never_reconciled_are_not_known(unseen: PluginBench) -> None:
    assert unseen.run("conflicts", "web") == 0
    why = "To find the cause: kubectl coxswain why web -n shop"
    assert unseen.out == f"The present conflicts are not known: {NEVER}. {why}\n"
    found = unseen.json("conflicts", "web")
    assert (found["reconciled"], len(found["notes"])) == (False, 1)


def test_conflicts_of_an_earlier_generation_are_shown_as_such(changed: PluginBench) -> None:
    changed.status(conflicts=[ENTRY])
    assert changed.run("conflicts") == 0
    assert changed.out.splitlines()[1].split() == ["web", "Deployment/web", "spec.replicas", "kubectl", "Yield"]
    assert STALE in changed.out
    assert not changed.json("conflicts")["items"][0]["reconciled"]


def test_no_conflict_of_a_reconciled_webapp_beside_an_unreconciled_one(unseen: PluginBench) -> None:
    other = {"name": "other", "namespace": "shop"}
    made = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": other, "spec": SPEC}
    unseen.model.post(WEBAPP.path("shop"), made)
    reconciled(unseen)
    assert unseen.run("conflicts") == 0
    assert unseen.out.startswith("No other field manager owns a field of the spec of the other WebApps.\n")
    assert "The present conflicts are not known: the operator has not reported on WebApp other" in unseen.out


def test_no_conflict_of_a_paused_webapp_is_no_statement_about_drift(unseen: PluginBench) -> None:
    change(unseen, {"paused": True})
    reconciled(unseen)
    assert unseen.run("conflicts", "web") == 0
    assert "No other field manager" not in unseen.out
    assert "To see all differences: kubectl coxswain drift web -n shop" in unseen.out


# why and drift


def test_why_says_of_which_generation_the_evidence_is(changed: PluginBench) -> None:
    assert changed.run("why", "web") == 0
    assert changed.err == (
        "note: the conditions of WebApp web in namespace shop and its children are those of generation 1\n"
    )
    assert CAUSE.partition(". ")[0] in changed.out


def test_why_of_a_webapp_that_was_never_reconciled_has_no_such_note(unseen: PluginBench) -> None:
    assert unseen.run("why", "web") == 0
    assert unseen.err == ""
    assert "kubectl get deployments -A -l app.kubernetes.io/name=coxswain" in unseen.out


def test_drift_of_a_webapp_that_is_not_reconciled(unseen: PluginBench, changed: PluginBench) -> None:
    assert unseen.json("drift", "web")["notes"] == [NEVER]
    assert changed.run("drift", "web") == 0
    assert changed.err == f"note: {STALE}\n"


def test_no_drift_is_told_of_children_that_cannot_be_read(unseen: PluginBench) -> None:
    reconciled(unseen)
    unseen.kubectl.forbidden |= {("list", "services"), ("get", "services")}
    assert unseen.run("drift", "web") == 0
    assert unseen.out.startswith("web is as desired in the objects that you may read\n")
    assert "drifted" not in unseen.json("drift", "web")
    unseen.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 7}})
    assert unseen.json("drift", "web")["drifted"] is True


# history and undo


def revised(*specs: dict[str, Any], **status: Any) -> PluginBench:
    """Return a WebApp with these revisions. Its spec is that of the last one."""
    bench = PluginBench()
    full = [{**bench.raw["spec"], **spec} for spec in specs]
    change(bench, full[-1])
    for number, spec in enumerate(full, 1):
        bench.add_revision(number, spec, ready_at="2026-01-01T00:00:00Z", ready_revision=str(number))
    healthy(bench, observedGeneration=bench.raw["metadata"]["generation"], **status)
    return bench


IMAGES = [{"image": f"registry.example/web:{number}"} for number in range(1, 4)]


def test_history_marks_no_revision_as_the_present_spec_before_the_operator_has_seen_it() -> None:
    bench = revised(*IMAGES, revision=3, previousRevision=2)
    change(bench, {"image": "registry.example/web:4"})
    found = bench.json("history", "web")
    assert [(each["running"], each["current"]) for each in found["revisions"]] == [
        (False, False),
        (False, False),
        (True, False),
    ]
    assert ["the operator has not reconciled generation" in note for note in found["notes"]] == [True]
    change(bench, {"image": "registry.example/web:2"})
    assert [each["current"] for each in bench.json("history", "web")["revisions"]] == [False, True, False]


def test_history_without_a_status_names_no_running_revision() -> None:
    bench = revised(*IMAGES)
    assert bench.run("history", "web") == 0
    assert "Running" not in bench.out
    assert bench.err == "note: the status names no revision, so it is not known which one runs\n"
    assert all("running" not in each for each in bench.json("history", "web")["revisions"])


def test_without_revisions_it_says_why(unseen: PluginBench) -> None:
    for command in ("history", "undo"):
        assert unseen.run(command, "web") == 1
        assert unseen.err == (
            "error: WebApp web has no revisions: the operator has not reconciled it yet\n"
            "next: kubectl coxswain why web -n shop\n"
        )
    change(unseen, {"paused": True})
    reconciled(unseen)
    assert unseen.run("history", "web") == 1
    assert "the operator records none while spec.paused is true" in unseen.err


@pytest.mark.parametrize(
    ("spec", "target"),
    [
        ({"image": "registry.example/web:4"}, 3),
        ({"image": "registry.example/web:1"}, 3),
        ({"replicas": 5}, 2),
    ],
)
def test_undo_of_a_change_that_the_operator_has_not_seen(spec: dict[str, Any], target: int) -> None:
    """The previous revision of the status is two changes back."""
    bench = revised(*IMAGES, revision=3, previousRevision=2)
    change(bench, spec)
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["image"] == f"registry.example/web:{target}"
    assert f"web returned to revision {target}." in bench.out
    assert "the operator has not reconciled generation" in bench.err


def test_undo_of_a_paused_webapp_whose_change_is_not_recorded() -> None:
    bench = revised(*IMAGES, revision=3, previousRevision=2)
    change(bench, {"image": "registry.example/web:4", "paused": True})
    reconciled(bench, revision=None, previousRevision=None)
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["image"] == "registry.example/web:3"
    assert bench.out.endswith(
        "web returned to revision 3. It is paused. To roll it out: kubectl coxswain resume web -n shop\n"
    )


# plan


def test_plan_says_that_changes_of_an_earlier_apply_may_be_part_of_it(changed: PluginBench) -> None:
    assert changed.run("plan", "-f", "-", stdin=_manifest(changed)) == 1, "the last apply has not reached the pods"
    assert changed.err == f"note: {STALE}\n"
    assert "WebApp web in namespace shop stays as it is, but its children change." in changed.out


def test_plan_of_a_reconciled_webapp_has_no_note(unseen: PluginBench) -> None:
    reconciled(unseen)
    unseen.model.delete(SERVICE.path("shop", "web"))
    assert unseen.run("plan", "-f", "-", stdin=_manifest(unseen)) == 1
    assert unseen.err == ""


def _manifest(bench: PluginBench) -> str:
    given = {"name": "web", "namespace": "shop"}
    return json.dumps({"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": given, "spec": bench.raw["spec"]})


def test_a_condition_of_an_earlier_generation_is_no_failure(changed: PluginBench) -> None:
    changed.status(conditions=[condition("Stalled", "True", "Rejected", "old"), condition("Ready", "False", "x")])
    assert changed.json("status", "web")["verdict"]["state"] == "Pending"


# Deletion


def test_of_a_webapp_that_is_being_deleted_nothing_is_written(unseen: PluginBench) -> None:
    reconciled(unseen)
    unseen.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"finalizers": ["example.com/wait"]}})
    unseen.model.delete(WEBAPP.path("shop", "web"))
    reconciled(unseen)
    note = (
        "WebApp web in namespace shop is being deleted, so the operator writes none of its children. To see what the "
        "deletion waits for: kubectl get webapp web -n shop -o jsonpath={.metadata.finalizers}"
    )
    changed = json.loads(_manifest(unseen))
    changed["spec"]["image"] = "registry.example/web:2"
    unseen.kubectl.forbidden.add(("patch", "deployments"))
    [found] = unseen.json("plan", "-f", "-", stdin=json.dumps(changed))["items"]
    assert found["restart"] == {"restarts": False, "because": "the WebApp is being deleted", "fields": []}
    assert {each["action"] for each in found["children"]} == {"None"}
    assert found["notes"] == [note], "no write of a child is tried"
    assert unseen.json("drift", "web")["notes"] == [note]


@pytest.mark.parametrize("paused", [False, True])
def test_the_next_step_of_a_deletion_is_its_finalizers(unseen: PluginBench, *, paused: bool) -> None:
    """`status --watch` ends at once, and `resume` changes nothing."""
    unseen.model.patch(
        WEBAPP.path("shop", "web"), {"metadata": {"finalizers": ["example.com/wait"]}, "spec": {"paused": paused}}
    )
    unseen.model.delete(WEBAPP.path("shop", "web"))
    reconciled(unseen)
    command = "kubectl get webapp web -n shop -o jsonpath={.metadata.finalizers}"
    assert unseen.json("why", "web")["next"] == [command]
    assert unseen.run("restart", "web") == 0
    assert unseen.out == "The pods of web restart. To follow them: kubectl rollout status deployment/web -n shop\n"
    for words in (("restart",), ("resume",), ("pause",)):
        assert unseen.run(*words, "web") == 0
        assert "note: WebApp web in namespace shop is being deleted, so the operator writes none" in unseen.err
