"""`kubectl coxswain undo`: a later apply, revisions of another schema, autoscaling, and a deleted WebApp."""

import json
from typing import Any

import pytest

from coxswain.webapp.kinds import WEBAPP
from kubectl_coxswain.revisions import restored
from model_cluster.api_server import APPLY
from unit.model_bench import SPEC
from unit.plugin_bench import LAST_APPLIED, PluginBench
from unit.plugin_states import healthy, reconciled

PATH = WEBAPP.path("shop", "web")
V1 = {**SPEC, "image": "registry.example/web:1", "command": ["run", "--debug"]}
V2 = {**SPEC, "image": "registry.example/web:2"}
V3 = {**SPEC, "image": "registry.example/web:3"}
AUTOSCALING = {"minReplicas": 2, "maxReplicas": 9, "cpu": 60}


def manifest(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a WebApp as a user writes it."""
    metadata = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": metadata, "spec": spec}


def applied(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the patch of a client-side apply."""
    return {"spec": spec, "metadata": {"annotations": {LAST_APPLIED: json.dumps(manifest(spec))}}}


def recorded(bench: PluginBench, first: dict[str, Any]) -> PluginBench:
    """Record two revisions: an earlier spec and the present one."""
    bench.model.reconcile()
    bench.forget_revisions()
    bench.add_revision(1, first)
    bench.add_revision(2, {name: value for name, value in bench.raw["spec"].items() if name != "paused"})
    generation = bench.raw["metadata"]["generation"]
    healthy(bench, revision=2, previousRevision=1, observedGeneration=generation)
    return bench


@pytest.fixture
def by_client() -> PluginBench:
    """A WebApp whose second revision was applied by the client. The first one has another command."""
    bench = PluginBench()
    bench.model.patch(PATH, applied(V2))
    return recorded(bench, V1)


def server_side(bench: PluginBench, spec: dict[str, Any], *, force: bool = False, manager: str = "kubectl") -> int:
    """Apply on the server side as kubectl does; return the status code."""
    query = {"fieldManager": manager, "force": str(force).lower()}
    agent = "kubectl/1"
    request = bench.model.api.request
    return request("PATCH", PATH, query=query, body=manifest(spec), content_type=APPLY, user_agent=agent).status


@pytest.fixture
def by_server() -> PluginBench:
    """The same, with server-side applies."""
    bench = PluginBench(reconciled=False)
    bench.model.delete(PATH)
    for spec in (V1, V2):
        assert server_side(bench, spec) in (200, 201)
    return recorded(bench, V1)


# A later apply


def test_a_later_apply_removes_the_fields_of_the_old_revision(by_client: PluginBench) -> None:
    assert by_client.run("undo", "web", "--yes") == 0
    assert by_client.raw["spec"]["command"] == V1["command"]
    by_client.run("plan", "-f", "-", stdin=json.dumps(manifest(V3)))
    assert 'spec.command: ["run", "--debug"] -> (none)' in by_client.out
    assert by_client.err == "" or "command" not in by_client.err


def test_the_last_apply_keeps_its_own_replicas_and_the_rest_of_its_manifest(by_client: PluginBench) -> None:
    by_client.model.patch(PATH, {"spec": {"replicas": 7}})
    assert by_client.run("undo", "web", "--yes") == 0
    last = json.loads(by_client.raw["metadata"]["annotations"][LAST_APPLIED])
    assert last == manifest(V1)
    assert by_client.raw["spec"]["replicas"] == 7


def test_a_later_apply_keeps_the_fields_that_the_undo_does_not_change() -> None:
    """Another tool has set a resource and an entry of a map; both are in both revisions."""
    bench, theirs = PluginBench(), {"resources": {"requests": {"cpu": "2"}}}
    bench.model.patch(PATH, applied(V2))
    bench.model.patch(PATH, {"spec": {**theirs, "config": {"THEIRS": "1"}}})
    recorded(bench, {**V1, **theirs, "config": {"B": "1", "THEIRS": "1"}})
    assert bench.run("undo", "web", "--yes") == 0
    last = json.loads(bench.raw["metadata"]["annotations"][LAST_APPLIED])
    assert last["spec"] == {**V1, "config": {"B": "1"}}
    bench.run("plan", "-f", "-", stdin=json.dumps(manifest(V3)))
    removed = [line.split()[0] for line in bench.out.splitlines() if line.endswith("-> (none)")]
    assert removed
    assert all("command" in place for place in removed), bench.out


def test_a_later_apply_keeps_a_map_of_which_the_undo_only_removes_a_part() -> None:
    """An empty map in the last apply would make kubectl remove the whole map."""
    bench, requests = PluginBench(), {"requests": {"cpu": "2"}}
    bench.model.patch(PATH, applied(V2))
    bench.model.patch(PATH, {"spec": {"resources": {**requests, "limits": {"cpu": "2"}}}})
    recorded(bench, {**V1, "resources": requests})
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["resources"] == requests
    assert json.loads(bench.raw["metadata"]["annotations"][LAST_APPLIED]) == manifest(V1)
    bench.run("plan", "-f", "-", stdin=json.dumps(manifest(V3)))
    assert "spec.command" in bench.out
    assert "spec.resources" not in bench.out


def at_the_limit(first: dict[str, Any]) -> PluginBench:
    """Return a WebApp with so long annotations that an undo to its first revision cannot write the last apply."""
    bench = PluginBench()
    bench.model.patch(PATH, applied(V2))
    recorded(bench, first)
    bench.model.patch(PATH, {"metadata": {"annotations": {"example.dev/note": "y" * 261_000}}})
    return bench


def test_a_last_apply_above_the_limit_of_the_annotations_is_not_written() -> None:
    """The API server would refuse the undo. The note names only the fields that the last apply lacks."""
    ports = [*V1["ports"], {"name": "admin", "containerPort": 9090}]
    bench = at_the_limit({**V1, "ports": ports, "config": {**V1["config"], "OLD": "1"}})
    before = bench.raw["metadata"]["annotations"][LAST_APPLIED]
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["command"] == V1["command"]
    assert bench.raw["metadata"]["annotations"][LAST_APPLIED] == before
    assert bench.err == (
        "note: a later kubectl apply does not remove spec.command, spec.config.OLD if its manifest lacks them: the "
        "annotation of the last apply would exceed the limit of the API server. To remove such a field then: kubectl "
        "edit webapp web -n shop\n"
    )


def test_an_undo_at_the_limit_that_brings_no_field_back_has_no_note() -> None:
    bench = at_the_limit({**V2, "image": "registry.example/web:1"})
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.err == ""


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"spec": null}'])
def test_an_unusable_last_apply_stays_as_it_is(by_client: PluginBench, text: str) -> None:
    by_client.model.patch(PATH, {"metadata": {"annotations": {LAST_APPLIED: text}}})
    assert by_client.run("undo", "web", "--yes") == 0
    assert by_client.raw["metadata"]["annotations"][LAST_APPLIED] == text


def test_a_webapp_without_a_last_apply_gets_none(by_client: PluginBench) -> None:
    by_client.model.patch(PATH, {"metadata": {"annotations": None}})
    assert by_client.run("undo", "web", "--yes") == 0
    assert list(by_client.raw["metadata"]["annotations"]) == ["kubernetes.io/change-cause"]


def test_the_plan_names_the_fields_that_a_server_side_apply_does_not_remove(by_server: PluginBench) -> None:
    assert by_server.run("undo", "web", "--yes") == 0
    assert by_server.err == (
        "note: only kubectl-coxswain will own spec.command, spec.image. A later kubectl apply --server-side needs "
        "--force-conflicts, and does not remove a field that its manifest lacks. To remove such a field then: kubectl "
        "edit webapp web -n shop\n"
    )
    assert server_side(by_server, V2) == 409
    assert server_side(by_server, V2, force=True) == 200
    assert by_server.raw["spec"]["command"] == V1["command"], "as the note says"


def test_a_client_side_applier_gets_no_such_note(by_client: PluginBench) -> None:
    assert by_client.run("undo", "web", "--yes") == 0
    assert by_client.err == ""


def test_plan_names_the_fields_of_an_undo_that_stay(by_server: PluginBench) -> None:
    assert by_server.run("undo", "web", "--yes") == 0
    reconciled(by_server)
    words = ("plan", "-f", "-", "--server-side", "--force-conflicts")
    assert by_server.run(*words, stdin=json.dumps(manifest(V3))) == 1
    assert "spec.command" not in by_server.out
    assert by_server.err == (
        "note: kubectl-coxswain owns spec.command, and the manifest lacks it: this apply does not remove it. To remove "
        "it: kubectl edit webapp web -n shop\n"
    )
    assert by_server.run(*words, stdin=json.dumps(manifest({**V3, "command": ["run"]}))) == 1
    assert by_server.err == ""


def test_plan_takes_a_pause_by_the_plugin_for_no_undo(by_client: PluginBench) -> None:
    assert by_client.run("pause", "web") == 0
    reconciled(by_client)
    by_client.run("plan", "-f", "-", stdin=json.dumps(manifest(V2)))
    assert by_client.err == ""


SERVER_SIDE = ("plan", "-f", "-", "--server-side")


def test_a_server_side_apply_takes_over_the_fields_of_the_client(by_client: PluginBench) -> None:
    """kubectl migrates them between two applies. Its dry-run stores nothing between them, and keeps the fields."""
    by_client.model.patch(PATH, applied(V1))
    reconciled(by_client)
    by_client.model.reconcile()
    assert (
        by_client.run(*SERVER_SIDE, "--force-conflicts", stdin=json.dumps(manifest({**V2, "image": V1["image"]}))) == 1
    )
    assert "spec.command: " in by_client.out
    assert "Pods restart: yes" in by_client.out


def test_a_server_side_apply_after_an_undo_removes_its_fields(by_client: PluginBench) -> None:
    """The undo has written the annotation, so kubectl takes over the fields of the plugin."""
    assert by_client.run("undo", "web", "--yes") == 0
    reconciled(by_client)
    without = {name: value for name, value in V1.items() if name != "command"}
    assert "command" in by_client.raw["spec"]
    assert by_client.run(*SERVER_SIDE, "--force-conflicts", stdin=json.dumps(manifest(without))) == 1
    assert "does not remove" not in by_client.err
    assert "spec.command: " in by_client.out


@pytest.mark.parametrize("manager", ["kubectl", "ci"])
def test_without_the_right_to_patch_a_server_side_apply_removes_its_own_fields(
    by_server: PluginBench, manager: str
) -> None:
    by_server.kubectl.forbidden.add(("patch", "webapps"))
    reconciled(by_server)
    without = {name: value for name, value in V2.items() if name != "config"}
    code = by_server.run(*SERVER_SIDE, f"--field-manager={manager}", stdin=json.dumps(manifest(without)))
    assert (code, "spec.config" in by_server.out) == ((1, True) if manager == "kubectl" else (0, False))


@pytest.mark.parametrize("may_patch", [True, False])
def test_a_server_side_apply_keeps_the_fields_of_another_manager(by_client: PluginBench, *, may_patch: bool) -> None:
    by_client.model.patch(PATH, applied(V1))
    assert server_side(by_client, {"image": V1["image"], "command": V1["command"]}, manager="ci") == 200
    reconciled(by_client)
    by_client.model.reconcile()
    if not may_patch:
        by_client.kubectl.forbidden.add(("patch", "webapps"))
    wanted = json.dumps(manifest({**V2, "image": V1["image"]}))
    assert by_client.run(*SERVER_SIDE, "--force-conflicts", stdin=wanted) == 0
    assert by_client.out == "web: no differences\n"


# Revisions of another schema


def test_undo_names_the_fields_that_the_present_api_lacks() -> None:
    bench = recorded(PluginBench(), {**SPEC, "image": "registry.example/web:0", "oldProxy": {"x": 1}})
    assert bench.run("undo", "web", "--yes") == 0
    assert "note: the present API has no spec.oldProxy.x, so the WebApp does not get it back" in bench.err
    assert "oldProxy" not in bench.raw["spec"]


def test_undo_to_a_revision_that_differs_only_by_a_field_that_the_api_lacks() -> None:
    bench = PluginBench()
    recorded(bench, {**bench.raw["spec"], "oldProxy": {"x": 1}})
    version = bench.raw["metadata"]["resourceVersion"]
    assert bench.run("undo", "web", "--yes") == 1
    assert "error: the spec of WebApp web is that of revision 1 already" in bench.err
    assert bench.raw["metadata"]["resourceVersion"] == version


# Autoscaling: the API server stores its default, replicas: 1, beside it


def autoscaled(**first: Any) -> PluginBench:
    """Return an autoscaled WebApp with another first revision."""
    bench = PluginBench(autoscaling=AUTOSCALING)
    present = {name: value for name, value in bench.raw["spec"].items() if name != "paused"}
    return recorded(bench, {**present, "image": "old:1", **first})


def test_the_present_revision_is_recognized_beside_autoscaling() -> None:
    bench = autoscaled()
    bench.kubectl.forbidden.add(("patch", "webapps"))
    assert bench.run("undo", "web", "--to", "2", "--yes") == 1
    assert "error: the spec of WebApp web is that of revision 2 already" in bench.err


def test_undo_of_an_autoscaled_webapp_that_the_operator_has_not_seen() -> None:
    bench = autoscaled()
    bench.model.patch(PATH, {"spec": {"paused": True}})
    assert [each["current"] for each in bench.json("history", "web")["revisions"]] == [False, True]
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["image"] == "old:1"


def test_undo_of_autoscaling_returns_the_recorded_replicas() -> None:
    spec = restored({"image": "a", "replicas": 5}, {"image": "b", "replicas": 1, "autoscaling": AUTOSCALING})
    assert spec == {"image": "a", "replicas": 5}


def test_autoscaling_can_be_applied_again_after_its_undo() -> None:
    """The API server refuses other replicas beside it. The last apply has them, so the next one removes them."""
    bench = PluginBench()
    wanted = {**V2, "autoscaling": AUTOSCALING}
    bench.model.patch(PATH, applied(wanted))
    recorded(bench, {**V1, "replicas": 5})
    assert bench.run("undo", "web", "--yes") == 0
    assert bench.raw["spec"]["replicas"] == 5
    assert bench.run("plan", "-f", "-", stdin=json.dumps(manifest(wanted))) == 1
    assert "spec.replicas: 5 -> 1" in bench.out


# Agreement, and deletion


def test_undo_for_programs_asks_nothing(by_client: PluginBench) -> None:
    by_client.answers = ["y"]
    for output in ("json", "yaml"):
        assert by_client.run("undo", "web", "-o", output) == 1
        assert by_client.err == (
            f"error: with -o {output} there is no plan to agree to, so nothing was changed\n"
            "next: give --yes to agree in advance\n"
        )
    assert (by_client.questions, by_client.raw["spec"]["image"]) == ([], V2["image"])


def test_undo_of_a_webapp_that_is_being_deleted(by_client: PluginBench) -> None:
    by_client.model.patch(PATH, {"metadata": {"finalizers": ["example.com/wait"]}})
    by_client.model.delete(PATH)
    assert by_client.run("undo", "web", "--yes") == 1
    assert by_client.err == (
        "error: WebApp web is being deleted, so the operator would not roll out revision 1\n"
        "next: save the spec for a new WebApp: kubectl coxswain history web --revision 1 -n shop\n"
    )
    assert by_client.raw["spec"]["image"] == V2["image"]
