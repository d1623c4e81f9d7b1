"""Revisions: which were Ready, which have failed, and what is kept for them."""

from typing import Any

import pytest

from coxswain.webapp.kinds import CONTROLLER_REVISION, WEBAPP
from kubectl_coxswain.completion import candidates
from kubectl_coxswain.kubectl import Completed
from unit.model_bench import SPEC
from unit.plugin_bench import PluginBench
from unit.plugin_states import CREATED, healthy, reconciled

ARGO_CD = {"annotations": {"argocd.argoproj.io/tracking-id": "shop:coxswain.dev/WebApp:shop/web"}}
OWNED = "Argo CD (application shop) applies this WebApp and may set the change back: change it in git as well"


@pytest.fixture
def bench() -> PluginBench:
    """A WebApp at its third revision, whose second one has failed."""
    found = PluginBench(replicas=2)
    ready = {"ready_at": CREATED, "ready_revision": "1"}
    found.add_revision(1, {**SPEC, "image": "registry.example/web:0"}, **ready)
    found.add_revision(2, {**SPEC, "image": "registry.example/web:bad"}, failed="ImagePullBackOff: Deployment web: no")
    found.add_revision(3, found.raw["spec"], **ready)
    healthy(found, revision=3, previousRevision=2)
    return found


# history


def test_a_revision_that_came_back_is_not_ready_by_its_former_rollout(bench: PluginBench) -> None:
    first, _, third = bench.json("history", "web")["revisions"]
    assert (first["readyAt"], third["readyAt"]) == (CREATED, "")
    assert bench.run("history", "web") == 0
    assert [line.split()[1] for line in bench.out.splitlines()[1:]] == ["WasReady", "Failed", "RollingOut"]


# undo


def test_undo_to_a_failed_revision_is_told(bench: PluginBench) -> None:
    assert bench.run("undo", "web", "--dry-run") == 0
    assert bench.err == "note: the rollout of revision 2 has failed before: ImagePullBackOff: Deployment web: no\n"
    assert bench.run("undo", "web", "--to", "1", "--dry-run") == 0
    assert bench.err == ""


@pytest.mark.parametrize("words", [("--dry-run",), ("--force", "--yes")])
def test_undo_names_the_tool_that_may_set_it_back(bench: PluginBench, words: tuple[str, ...]) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": ARGO_CD})
    assert bench.run("undo", "web", "--to", "1", *words) == 0
    assert bench.err == f"note: {OWNED}\n"
    assert bench.json("undo", "web", "--to", "2", *words)["notes"][-1] == OWNED


# tree


def test_the_configmap_of_a_kept_revision_is_kept(bench: PluginBench) -> None:
    class Recorded(PluginBench):
        def forget_revisions(self) -> None:
            """Keep those of the operator."""

    bench = Recorded()
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"config": {"B": "3"}}})
    bench.model.reconcile()
    reconciled(bench, children=[{"kind": "ConfigMap", "name": "web-d83c01763b", "health": "Healthy"}])
    stale = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web-0", "labels": {"coxswain.dev/webapp": "web"}},
    }
    bench.model.post("/api/v1/namespaces/shop/configmaps", stale)
    nodes = {
        node["name"]: node for node in bench.json("tree", "web")["tree"]["children"] if node["kind"] == "ConfigMap"
    }
    assert nodes["web-883065987a"]["state"] == "Kept"
    assert nodes["web-883065987a"]["info"] == "revision 1"
    assert nodes["web-0"]["state"] == "NotNeeded"


@pytest.mark.parametrize("account", [{"create": False, "name": "other"}, {"create": False}])
def test_the_service_account_of_a_kept_revision_is_kept(account: dict[str, Any]) -> None:
    class Recorded(PluginBench):
        def forget_revisions(self) -> None:
            """Keep those of the operator."""

    bench = Recorded()
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"serviceAccount": account}})
    bench.model.reconcile()
    reconciled(bench, children=[{"kind": "Deployment", "name": "web", "health": "Healthy"}])
    assert account_in(bench) == ("Kept", "revision 1")
    for revision in bench.model.request("GET", CONTROLLER_REVISION.path("shop"), None, "").body["items"]:
        bench.model.delete(CONTROLLER_REVISION.path("shop", revision["metadata"]["name"]))
    bench.model.reconcile()
    assert account_in(bench) == ("NotNeeded", "")


def account_in(bench: PluginBench) -> tuple[str, str]:
    """Return state and info of the ServiceAccount in the tree."""
    children = bench.json("tree", "web")["tree"]["children"]
    return next((each["state"], each["info"]) for each in children if each["kind"] == "ServiceAccount")


# completion


def answered(*_: Any, **__: Any) -> Completed:
    return Completed(0, "webapp.coxswain.dev/web\n", "")


@pytest.mark.parametrize("words", [["history", "--revision", "3", ""], ["undo", "--to", "3", ""], ["tree", ""]])
def test_a_value_of_an_option_is_no_name(words: list[str]) -> None:
    assert candidates(words, answered) == (["web"], False)


@pytest.mark.parametrize("option", ["--to", "--revision", "--timeout", "--field-manager"])
def test_a_value_that_nobody_can_list_completes_nothing(option: str) -> None:
    assert candidates(["history", option, ""], answered) == ([], False)


def test_adopt_completes_every_kind_that_it_adopts() -> None:
    from coxswain.webapp.workload import WORKLOAD  # noqa: PLC0415

    kinds = {each.kind.kind.lower() for each in WORKLOAD.children if each.history is None}
    assert set(candidates(["adopt", "web", ""], answered)[0]) == kinds
