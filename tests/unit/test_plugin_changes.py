"""`undo`, `adopt`, `pause`, `resume` and `restart`: what they change, as whom, and when they refuse."""

from collections.abc import Sequence
from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, WEBAPP
from kubectl_coxswain.gitops import owner_of
from kubectl_coxswain.kubectl import Kubectl
from kubectl_coxswain.revisions import restored
from unit.model_bench import SPEC
from unit.plugin_bench import PluginBench
from unit.plugin_golden import assert_golden
from unit.plugin_states import healthy

OLD: dict[str, Any] = {"image": "registry.example/web:0"}


@pytest.fixture
def bench() -> PluginBench:
    """A WebApp at its second revision."""
    found = PluginBench()
    found.add_revision(1, {**OLD, "replicas": 7})
    found.add_revision(2, found.raw["spec"])
    healthy(found, revision=2, previousRevision=1)
    return found


def test_undo_replaces_the_spec_exactly(bench: PluginBench) -> None:
    bench.answers = ["y"]
    assert bench.run("undo", "web") == 0
    present = {"replicas": 1, "paused": False}
    assert bench.raw["spec"] == {**OLD, **present}, "fields that the old revision lacks are gone"
    assert bench.questions == ["Return WebApp web in namespace shop to revision 1?"]
    assert_golden("undo", bench.out)
    metadata = bench.raw["metadata"]
    assert metadata["annotations"]["kubernetes.io/change-cause"] == "kubectl coxswain undo web --to 1"
    managers = {entry["manager"] for entry in metadata["managedFields"]}
    assert "kubectl-coxswain" in managers
    assert "coxswain" not in managers, "the operator never writes a spec"


@pytest.mark.parametrize(
    ("recorded", "present", "spec"),
    [
        ({"image": "a", "replicas": 1}, {"image": "b", "replicas": 5}, {"image": "a", "replicas": 5}),
        ({"image": "a"}, {"image": "b", "paused": True, "replicas": 2}, {"image": "a", "paused": True, "replicas": 2}),
        ({"image": "a", "autoscaling": {}}, {"image": "b", "replicas": 5}, {"image": "a", "autoscaling": {}}),
        (
            {"image": "a", "autoscaling": {}},
            {"image": "b", "autoscaling": {}, "replicas": 1},
            {"image": "a", "autoscaling": {}},
        ),
        (
            {"image": "a", "replicas": 3},
            {"image": "b", "autoscaling": {}, "replicas": 1},
            {"image": "a", "replicas": 3},
        ),
    ],
)
def test_undo_neither_scales_nor_pauses(recorded: Any, present: Any, spec: Any) -> None:
    assert restored(recorded, present) == spec


def test_undo_asks_before_it_changes_anything(bench: PluginBench) -> None:
    before = bench.raw
    bench.answers = ["n"]
    assert bench.run("undo", "web") == 1
    assert bench.run("undo", "web") == 1
    assert "nobody answers the question" in bench.err
    assert bench.run("undo", "web", "--dry-run") == 0
    assert bench.raw == before


def test_undo_fails_if_somebody_else_changes_the_webapp(bench: PluginBench) -> None:
    def meanwhile() -> None:
        bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"replicas": 9}})

    bench.answers = ["y"]
    bench.asked = meanwhile
    assert bench.run("undo", "web") == 1
    assert bench.raw["spec"]["replicas"] == 9
    assert bench.raw["spec"]["image"] == SPEC["image"]
    assert "error: WebApp web was changed by somebody else meanwhile, so nothing was undone" in bench.err


def test_a_new_status_during_the_question_does_not_hinder_an_undo(bench: PluginBench) -> None:
    bench.answers = ["y"]
    bench.asked = lambda: bench.status(revision=3)
    assert bench.run("undo", "web") == 0, bench.err
    assert bench.raw["spec"]["image"] == OLD["image"]
    assert bench.raw["status"]["revision"] == 3


def test_undo_gives_up_if_the_status_never_rests(bench: PluginBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request meets a new status."""
    requests = 0
    send = Kubectl.patch

    def late(kubectl: Kubectl, *arguments: Any, **options: Any) -> Any:
        nonlocal requests
        requests += 1
        bench.status(revision=requests)
        return send(kubectl, *arguments, **options)

    monkeypatch.setattr(Kubectl, "patch", late)
    assert bench.run("undo", "web", "--yes") == 1
    assert requests == 5
    assert "so nothing was undone" in bench.err
    assert bench.raw["spec"]["image"] == SPEC["image"]


def test_undo_after_a_rollback_returns_to_the_running_revision(bench: PluginBench) -> None:
    bench.add_revision(3, {**OLD, "image": "bad"})
    bench.status(revision=3, previousRevision=2, runningRevision=1)
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["image"] == OLD["image"]


def test_undo_to_an_unknown_or_the_present_revision(bench: PluginBench) -> None:
    assert bench.run("undo", "web", "--to", "9") == 1
    assert "revision 9 of WebApp web is not kept. There are: 1, 2" in bench.err
    assert bench.run("undo", "web", "--to", "2") == 1
    assert "the spec of WebApp web is that of revision 2 already" in bench.err


def test_undo_without_an_earlier_revision(bench: PluginBench) -> None:
    bench.status(previousRevision=None)
    assert bench.run("undo", "web") == 1
    assert "has no earlier revision" in bench.err


OWNED: dict[str, dict[str, Any]] = {
    "Argo CD (application shop)": {
        "annotations": {"argocd.argoproj.io/tracking-id": "shop:coxswain.dev/WebApp:shop/web"}
    },
    "Flux (Kustomization flux-system/apps)": {
        "labels": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    },
    "Flux (HelmRelease shop)": {"labels": {"helm.toolkit.fluxcd.io/name": "shop"}},
}


@pytest.mark.parametrize("owner", OWNED)
def test_undo_refuses_what_git_owns(bench: PluginBench, owner: str) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": OWNED[owner]})
    assert bench.run("undo", "web", "--yes") == 1
    assert f"error: {owner} applies WebApp web and would set an undo back" in bench.err
    assert "revert the change in git" in bench.err
    assert bench.raw["spec"]["image"] == SPEC["image"]
    assert bench.run("undo", "web", "--yes", "--force") == 0
    assert bench.raw["spec"]["image"] == OLD["image"]


@pytest.mark.parametrize(
    ("manager", "fields", "tool"),
    [
        ("argocd-controller", {"f:spec": {}}, "Argo CD (field manager argocd-controller)"),
        ("kustomize-controller", {"f:spec": {}}, "Flux (field manager kustomize-controller)"),
        ("kustomize-controller", {"f:metadata": {}}, None),
        ("kubectl", {"f:spec": {}}, None),
    ],
)
def test_a_field_manager_gives_a_tool_away(manager: str, fields: Any, tool: str | None) -> None:
    found = owner_of({"metadata": {"managedFields": [{"manager": manager, "fieldsV1": fields}]}})
    assert (None if found is None else str(found)) == tool


def test_a_label_of_helm_charts_is_no_owner() -> None:
    assert owner_of({"metadata": {"labels": {"app.kubernetes.io/instance": "shop"}}}) is None


def test_undo_without_the_right_to_change_shows_the_plan_and_names_the_right(bench: PluginBench) -> None:
    bench.kubectl.forbidden.add(("patch", "webapps"))
    assert bench.run("undo", "web", "--yes") == 1
    assert "Pods restart: yes" in bench.out
    assert "error: you are not allowed to patch webapps.coxswain.dev in namespace shop" in bench.err


# pause and resume


def test_pause_and_resume(bench: PluginBench) -> None:
    assert bench.run("pause", "web") == 0
    assert bench.raw["spec"]["paused"] is True
    assert bench.out == "WebApp web paused.\n"
    assert bench.run("pause", "web") == 0
    assert bench.out == "WebApp web was paused already.\n"
    assert bench.run("resume", "web") == 0
    assert bench.raw["spec"]["paused"] is False
    assert bench.run("resume", "web") == 0
    assert bench.out == "WebApp web was not paused.\n"


def test_pause_of_what_git_owns_is_told(bench: PluginBench) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": OWNED["Argo CD (application shop)"]})
    assert bench.run("pause", "web") == 0
    assert "note: Argo CD (application shop) applies this WebApp and may set the change back" in bench.err


# restart


def test_restart_is_that_of_kubectl(bench: PluginBench) -> None:
    assert bench.run("restart", "web") == 0
    assert bench.kubectl.calls[-1] == ("rollout", "restart", "deployment/web", "--namespace=shop")
    assert bench.out == "The pods of web restart. To follow them: kubectl coxswain status web -n shop --watch\n"


def test_a_restart_of_a_paused_webapp_is_followed_with_kubectl(bench: PluginBench) -> None:
    """The Deployment is not paused, so its pods restart. `status --watch` ends at once with Paused."""
    assert bench.run("pause", "web") == 0
    assert bench.run("restart", "web") == 0
    assert bench.kubectl.calls[-1] == ("rollout", "restart", "deployment/web", "--namespace=shop")
    assert bench.out == "The pods of web restart. To follow them: kubectl rollout status deployment/web -n shop\n"


def test_a_deployment_of_somebody_else_is_not_restarted(bench: PluginBench) -> None:
    other = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": "another", "controller": True}
    for references in (None, [other]):
        bench.model.patch(DEPLOYMENT.path("shop", "web"), {"metadata": {"ownerReferences": references}})
        assert bench.run("restart", "web") == 1
        assert "Deployment web does not belong to WebApp web" in bench.err
    bench.model.delete(DEPLOYMENT.path("shop", "web"))
    assert bench.run("restart", "web") == 1
    assert "there is nothing to restart" in bench.err


# adopt


def foreign() -> PluginBench:
    """Return a WebApp beside a ServiceAccount of its name that belongs to nobody."""
    bench = PluginBench(reconciled=False)
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
    bench.model.post(SERVICE_ACCOUNT.path("shop"), {**made, "automountServiceAccountToken": True})
    bench.model.reconcile()
    return bench


def test_adopt_shows_the_changes_and_annotates_the_object() -> None:
    bench = foreign()
    bench.answers = ["y"]
    assert bench.run("adopt", "web") == 0
    assert bench.questions == ["Let WebApp web adopt ServiceAccount/web?"]
    assert_golden("adopt", bench.out)
    stored = bench.model.request("GET", SERVICE_ACCOUNT.path("shop", "web"), None, "").body
    assert stored["metadata"]["annotations"] == {"coxswain.dev/adopt": "web"}
    bench.model.now += 61  # the operator reads a foreign object again after a minute
    bench.model.reconcile()
    stored = bench.model.request("GET", SERVICE_ACCOUNT.path("shop", "web"), None, "").body
    assert stored["metadata"]["ownerReferences"][0]["name"] == "web"


def test_adopt_of_a_paused_webapp_waits_for_its_end() -> None:
    bench = foreign()
    assert bench.run("pause", "web") == 0
    assert bench.run("adopt", "web", "--yes") == 0
    assert bench.out.endswith(
        "WebApp web may adopt ServiceAccount/web. It is paused. To let it adopt: kubectl coxswain resume web -n shop\n"
    )


def test_adopt_for_programs_has_its_notes_and_asks_nothing() -> None:
    bench = foreign()
    bench.kubectl.forbidden |= {("list", "services"), ("get", "services")}
    bench.answers = ["y"]
    assert bench.run("adopt", "web", "-o", "json") == 1
    assert "next: give --yes to agree in advance" in bench.err
    assert bench.questions == []
    found = bench.json("adopt", "web", "--yes")
    assert len(found["notes"]) == 1
    assert "you are not allowed to list services" in found["notes"][0]


def test_adopt_changes_nothing_without_agreement() -> None:
    bench = foreign()
    bench.answers = ["n"]
    assert bench.run("adopt", "web", "serviceaccount") == 1
    stored = bench.model.request("GET", SERVICE_ACCOUNT.path("shop", "web"), None, "").body
    assert "annotations" not in stored["metadata"]


def test_adopt_names_what_it_does_not_find(bench: PluginBench) -> None:
    assert bench.run("adopt", "web") == 1
    assert "there is nothing to adopt for WebApp web" in bench.err
    bench = foreign()
    assert bench.run("adopt", "web", "ingress") == 1
    assert bench.err.endswith("to adopt for WebApp web\nnext: kubectl coxswain adopt web -n shop\n")


def interrupted() -> PluginBench:
    """Return a WebApp beside two objects of its name, whose second one is changed just before it is annotated."""
    bench = foreign()
    bench.model.delete(SERVICE.path("shop", "web"))
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    bench.model.post(SERVICE.path("shop"), made)

    def before(words: Sequence[str]) -> None:
        if words[:2] == ("annotate", "services"):
            bench.kubectl.before = lambda _: None
            bench.model.patch(SERVICE.path("shop", "web"), {"metadata": {"labels": {"x": "y"}}})

    bench.kubectl.before = lambda words: before(tuple(words))
    return bench


@pytest.mark.parametrize("kinds", [(), ("serviceaccount", "service")])
def test_an_adoption_that_stops_half_way_names_what_is_done_and_can_be_repeated(kinds: tuple[str, ...]) -> None:
    bench = interrupted()
    assert bench.run("adopt", "web", *kinds, "--yes") == 1
    assert bench.err.startswith(
        "error: Service/web was changed by somebody else meanwhile, so it is not adopted. "
        "WebApp web may adopt ServiceAccount/web already\nnext: run kubectl coxswain adopt web -n shop again\n"
    )
    assert bench.run("adopt", "web", *kinds, "--yes") == 0
    assert bench.out.endswith(
        "WebApp web may adopt Service/web. The operator looks for the annotation within a minute.\n"
    )
    assert bench.err.count("note: ServiceAccount/web may be adopted already\n") == (1 if kinds else 0)


def test_an_adoption_of_children_has_nothing_to_do(bench: PluginBench) -> None:
    assert bench.run("adopt", "web", "deployment") == 0
    assert (bench.out, bench.err) == (
        "WebApp web has nothing more to adopt.\n",
        "note: Deployment/web belongs to WebApp web already\n",
    )
    found = bench.json("adopt", "web", "deployment")
    assert (found["done"], found["notes"]) == (
        "has nothing more to adopt",
        ["Deployment/web belongs to WebApp web already"],
    )


def test_an_object_with_a_controller_is_not_adoptable() -> None:
    bench = foreign()
    owner = {"apiVersion": "apps/v1", "kind": "Other", "name": "x", "uid": "1", "controller": True}
    bench.model.patch(SERVICE_ACCOUNT.path("shop", "web"), {"metadata": {"ownerReferences": [owner]}})
    assert bench.run("adopt", "web", "--yes") == 1
    assert "there is nothing to adopt for WebApp web" in bench.err
