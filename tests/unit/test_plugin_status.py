"""`kubectl coxswain status`, `tree`, `why` and `history`: their text, and the fields for programs."""

from typing import Any

import pytest

from coxswain.kernel.status.health import differs
from coxswain.webapp.kinds import DEPLOYMENT, POD, WEBAPP
from kubectl_coxswain.names import CONTROLLER_REVISION
from model_cluster.api_server import MERGE_PATCH
from unit.objects import COMMANDS
from unit.plugin_bench import EVENTS, PluginBench
from unit.plugin_golden import assert_golden
from unit.plugin_states import CHANGED, WAITING, condition, event, failing, healthy, pod

STATES: dict[str, tuple[dict[str, Any], str]] = {
    "RolledBack": (condition("RolledBack", "True", "ImagePullBackOff", "revision 2 failed; revision 1 runs"), "bad"),
    "Stalled": (condition("Stalled", "True", "ProgressDeadlineExceeded", "no progress"), "bad"),
    "Contested": (condition("Contested", "True", "WriteWar", "another manager keeps overwriting"), "bad"),
}


@pytest.fixture
def bench() -> PluginBench:
    return PluginBench(replicas=2)


def test_a_healthy_webapp(bench: PluginBench) -> None:
    healthy(bench, url="http://web.shop.svc", revision=1)
    assert bench.run("status", "web") == 0
    assert_golden("status-healthy", bench.out)
    assert bench.err == ""


def test_a_failing_one_in_a_terminal(bench: PluginBench) -> None:
    failing(bench, revision=2, previousRevision=1)
    assert bench.run("status", "web", width=100, glyphs=True) == 0
    assert_golden("status-failing-terminal", bench.out)
    assert bench.run("status", "web", width=40, glyphs=True, colour=True) == 0
    assert_golden("status-failing-narrow", bench.out)


def test_all_webapps_as_a_table(bench: PluginBench) -> None:
    failing(bench)
    assert bench.run("status", "-A") == 0
    assert_golden("status-table", bench.out)
    assert bench.run("status", "-o", "wide") == 0
    assert_golden("status-table-wide", bench.out)


def test_no_webapp_is_told_on_the_standard_error(bench: PluginBench) -> None:
    assert bench.run("status", "-n", "empty") == 0
    assert (bench.out, bench.err) == ("", "No WebApps found in namespace empty.\n")


def test_why_names_cause_evidence_and_the_next_command(bench: PluginBench) -> None:
    failing(bench, revision=2, previousRevision=1)
    assert bench.run("why", "web") == 0
    assert_golden("why-failing", bench.out)
    found = bench.json("why", "web")
    assert [each["source"] for each in found["evidence"]] == ["Condition", "Container", "Event"]
    assert found["evidence"][-1]["times"] == 4, "the same Event of both is one observation"
    assert found["next"] == ["kubectl edit webapp web -n shop", "kubectl coxswain undo web -n shop"]


def test_a_paused_webapp_is_explained_without_the_advice_of_the_operator_to_resume(bench: PluginBench) -> None:
    """The sentence of the plugin and its next command say it already."""
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"paused": True}})
    told = differs("spec.replicas", COMMANDS).message
    child = {"kind": "Deployment", "name": "web", "health": "Degraded", "message": told}
    ready = condition("Ready", "False", "Differs", f"Deployment web: {told}")
    healthy(bench, observedGeneration=2, conditions=[ready], children=[child])
    found = bench.json("why", "web")
    assert found["cause"] == (
        "spec.paused is true, so the operator writes only the status. "
        "At present: Deployment web: differs from the spec: spec.replicas"
    )
    assert [(each["object"], each["message"]) for each in found["evidence"]] == [("Ready", "")]
    assert "kubectl coxswain resume web -n shop" in found["next"]


def test_why_leaves_out_pods_that_end(bench: PluginBench) -> None:
    failing(bench)
    pod(bench, "web-77aa-ddddd", "web-77aa", WAITING, ready=False)
    waits = {"metadata": {"finalizers": ["example.com/wait"]}}
    bench.model.patch(POD.path("shop", "web-77aa-ddddd"), waits)
    bench.model.delete(POD.path("shop", "web-77aa-ddddd"))
    [found] = [each for each in bench.json("why", "web")["evidence"] if each["source"] == "Container"]
    assert found["object"] == "app Pod/web-77aa-ccccc"


def test_why_leaves_out_events_of_a_deleted_webapp_of_the_same_name(bench: PluginBench) -> None:
    failing(bench)
    bench.kubectl.more[EVENTS].clear()
    for when in ("2025-12-31T23:59:59Z", CHANGED):
        event(bench, "Deployment", "web", "FailedCreate", f"at {when}")
        bench.kubectl.more[EVENTS][-1]["lastTimestamp"] = when
    found = [each["message"] for each in bench.json("why", "web")["evidence"] if each["source"] == "Event"]
    assert found == [f"at {CHANGED}"]


def test_why_without_a_name_explains_only_what_is_not_healthy(bench: PluginBench) -> None:
    healthy(bench)
    assert bench.run("why") == 0
    assert bench.out == "All 1 WebApps are healthy.\n"
    bench = PluginBench(replicas=2)
    failing(bench)
    assert bench.run("why", "-A") == 0
    assert bench.out.startswith("shop/web is Degraded (ImagePullBackOff)\n")


def test_the_tree_has_old_replica_sets_configmaps_and_revisions(bench: PluginBench) -> None:
    failing(bench)
    bench.add_revision(1, {"image": "registry.example/web:1"})
    assert bench.run("tree", "web") == 0
    assert_golden("tree", bench.out)


def test_history(bench: PluginBench) -> None:
    healthy(bench, revision=3, previousRevision=2)
    times = {"changed_at": CHANGED, "changed_by": "kubectl-client-side-apply", "render": "1"}
    bench.add_revision(
        3, {"image": "registry.example/web:3"}, "new logo", ready_at=CHANGED, ready_revision="3", **times
    )
    bench.add_revision(1, {"image": "registry.example/web:1"}, failed="ImagePullBackOff", **times)
    bench.add_revision(2, {"image": "registry.example/web:2"}, ready_at=CHANGED, ready_revision="2", **times)
    assert bench.run("history", "web") == 0
    assert_golden("history", bench.out)
    assert bench.run("history", "web", "--revision", "2") == 0
    assert bench.out == 'image: "registry.example/web:2"\n'


def test_history_of_an_operator_without_revisions(bench: PluginBench) -> None:
    healthy(bench)
    assert bench.run("history", "web") == 1
    assert "keeps none" in bench.err
    assert "next: check the version of the operator: kubectl coxswain version" in bench.err


def test_revisions_of_a_deleted_namesake_do_not_count(bench: PluginBench) -> None:
    healthy(bench, revision=1)
    bench.add_revision(1, {"image": "a"})
    bench.add_revision(7, {"image": "b"})
    path = f"{CONTROLLER_REVISION.path('shop')}/web-{7:010x}"
    owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "another", "controller": True}
    assert bench.model.patch(path, {"metadata": {"ownerReferences": [owner]}}).status == 200
    assert [each["number"] for each in bench.json("history", "web")["revisions"]] == [1]


@pytest.mark.parametrize("state", STATES)
def test_a_state_that_needs_a_person(bench: PluginBench, state: str) -> None:
    found, level = STATES[state]
    ready = condition("Ready", "False", "ImagePullBackOff", "waits")
    bench.status(observedGeneration=1, conditions=[ready, found])
    verdict = bench.json("status", "web")["verdict"]
    assert (verdict["state"], verdict["message"], verdict["level"]) == (state, found["message"], level)


def test_a_stalled_rollout_of_a_paused_webapp_waits_for_the_end_of_the_pause(bench: PluginBench) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"paused": True}})
    ready = condition("Ready", "False", "ProgressDeadlineExceeded", "waits")
    bench.status(observedGeneration=2, conditions=[ready, STATES["Stalled"][0]])
    assert bench.json("status", "web")["verdict"]["state"] == "Paused"


def test_an_old_status_is_no_verdict(bench: PluginBench) -> None:
    healthy(bench)
    bench.model.patch("/apis/coxswain.dev/v1/namespaces/shop/webapps/web", {"spec": {"replicas": 3}})
    verdict = bench.json("status", "web")["verdict"]
    assert (verdict["state"], verdict["reason"]) == ("Pending", "NotReconciled")


def test_a_forbidden_kind_is_a_note_and_the_rest_is_shown(bench: PluginBench) -> None:
    healthy(bench)
    bench.kubectl.forbidden.add(("list", "pods"))
    assert bench.run("status", "web") == 0
    assert "ReplicaSet/web-5d9c" in bench.out
    assert "Pod/" not in bench.out
    assert bench.err == "note: pods are missing here: you are not allowed to list pods in namespace shop\n"


# --watch


def test_watch_ends_when_the_rollout_is_finished(bench: PluginBench) -> None:
    failing(bench)
    bench.slept = lambda: bench.status(conditions=[condition("Ready", "True", "Ready", "healthy")])
    assert bench.run("status", "web", "--watch") == 0
    assert [line.partition(" ")[0] for line in bench.out.splitlines()] == ["Degraded", "Healthy"]


def test_watch_fails_when_the_rollout_fails(bench: PluginBench) -> None:
    failing(bench)
    stalled = condition("Stalled", "True", "ProgressDeadlineExceeded", "no progress in 600 s")
    bench.slept = lambda: bench.status(conditions=[condition("Ready", "False", "x", "y"), stalled])
    assert bench.run("status", "web", "--watch") == 1
    assert bench.err == "error: web is Stalled: no progress in 600 s\nnext: kubectl coxswain why web -n shop\n"


def test_watch_ends_at_its_timeout(bench: PluginBench) -> None:
    failing(bench)
    assert bench.run("status", "web", "--watch", "--timeout", "30") == 1
    assert "web is still Degraded after 30 s" in bench.err


ROLLING = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 1}
"""A Deployment that is ahead of the status: after `kubectl rollout restart` the WebApp is unchanged and still Ready."""

DONE = {**ROLLING, "updatedReplicas": 2, "availableReplicas": 2}


def rolling(bench: PluginBench, *counts: dict[str, int]) -> list[dict[str, int]]:
    """Report these counts of the Deployment, one for each look of `--watch`; returns the rest of them."""
    path, left = DEPLOYMENT.path("shop", "web", "status"), list(counts)

    def slept() -> None:
        if left:
            assert bench.model.request("PATCH", path, {"status": left.pop(0)}, MERGE_PATCH).status == 200

    bench.slept = slept
    slept()
    return left


def test_watch_waits_for_a_deployment_that_is_ahead_of_the_status(bench: PluginBench) -> None:
    healthy(bench)
    left = rolling(bench, ROLLING, {**ROLLING, "updatedReplicas": 2}, {**DONE, "replicas": 3}, DONE)
    assert bench.run("status", "web", "--watch") == 0
    assert left == []


def test_watch_waits_until_the_new_pods_are_available(bench: PluginBench) -> None:
    """With the strategy Recreate no old pod is left while the new ones start."""
    healthy(bench)
    left = rolling(bench, {**DONE, "availableReplicas": 0}, DONE)
    assert bench.run("status", "web", "--watch") == 0
    assert left == []
    rolling(bench, {**DONE, "availableReplicas": 0})
    assert bench.run("status", "web", "--watch", "--timeout", "5s") == 1
    assert bench.err == (
        "error: the Deployment of web still rolls out after 5 s\nnext: kubectl coxswain tree web -n shop\n"
    )


def test_watch_of_a_paused_webapp_says_so(bench: PluginBench) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"paused": True}})
    healthy(bench, observedGeneration=2)
    assert bench.run("status", "web", "--watch") == 1
    assert "next: kubectl coxswain resume web -n shop" in bench.err
