"""`kubectl coxswain plan`, `drift` and `conflicts`: what would change, what has changed, and who owns it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, SERVICE, WEBAPP
from coxswain.webapp.releases import render
from kubectl_coxswain.fields import displayed, leaves
from kubectl_coxswain.proposal import defaulted, merged
from unit.model_bench import SPEC
from unit.plugin_bench import LAST_APPLIED, PluginBench
from unit.plugin_golden import assert_golden
from unit.plugin_states import reconciled


def manifest(name: str = "web", **spec: Any) -> str:
    """Return a WebApp as a user writes it."""
    full = {**SPEC, **spec}
    given = {"name": name, "namespace": "shop"}
    return json.dumps({"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": given, "spec": full})


def bench_spec(bench: PluginBench) -> str:
    """Return the WebApp as last applied."""
    return json.dumps({"spec": bench.raw["spec"]})


@pytest.fixture
def bench() -> PluginBench:
    found = PluginBench()
    applied = {LAST_APPLIED: manifest()}
    found.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": applied}})
    found.model.reconcile()
    return found


def test_without_differences_it_ends_with_0(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", stdin=manifest()) == 0
    assert bench.out == "web: no differences\n"


def test_a_new_image_restarts_the_pods(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", stdin=manifest(image="registry.example/web:2")) == 1
    assert_golden("plan-image", bench.out)
    found = bench.json("plan", "-f", "-", stdin=manifest(image="registry.example/web:2"))["items"][0]
    assert found["restart"] == {
        "restarts": True,
        "because": "the pod template changes: spec.containers[name=app].image",
        "fields": ["spec.template.spec.containers[name=app].image"],
    }


def test_a_changed_spec_gets_the_newest_defaults(bench: PluginBench, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {**render.VERSIONS, "2": replace(render.VERSIONS["1"], pre_stop_sleep_seconds=9)}
    monkeypatch.setattr(render, "VERSIONS", versions)
    reconciled(bench)
    assert bench.run("plan", "-f", "-", stdin=manifest()) == 0
    [kept] = bench.json("plan", "-f", "-", stdin=manifest(replicas=3))["items"]
    assert (kept["notes"], kept["restart"]["restarts"]) == ([], False)
    [changed] = bench.json("plan", "-f", "-", stdin=manifest(image="registry.example/web:2"))["items"]
    assert changed["notes"] == ["the defaults of the pods of web change: render version 2 instead of 1"]
    assert "spec.template.spec.containers[name=app].lifecycle" in " ".join(changed["restart"]["fields"])
    [new] = bench.json("plan", "-f", "-", stdin=manifest("other"))["items"]
    assert new["notes"] == []


def test_a_renamed_port_has_a_note(bench: PluginBench) -> None:
    reconciled(bench)
    ports = [{**SPEC["ports"][0], "name": "front"}]
    [found] = bench.json("plan", "-f", "-", stdin=manifest(ports=ports))["items"]
    assert found["notes"] == [
        "during the rollout of web the Service leads to the numbers of front, and to the names afterwards"
    ]


def test_more_replicas_restart_nothing(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", stdin=manifest(replicas=3)) == 1
    assert_golden("plan-replicas", bench.out)


def test_a_new_config_creates_a_configmap_and_keeps_that_of_the_revision(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", width=100, glyphs=True, stdin=manifest(config={"B": "3"})) == 1
    assert_golden("plan-config-terminal", bench.out)


def test_a_new_webapp(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", stdin=manifest("other")) == 1
    assert_golden("plan-new", bench.out)
    assert ("create", WEBAPP.plural) not in bench.kubectl.calls
    assert bench.model.request("GET", WEBAPP.path("shop", "other"), None, "").status == 404, "nothing was stored"


def test_several_documents_and_other_kinds(bench: PluginBench) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}}
    documents = "\n---\n".join([manifest(replicas=2), json.dumps(secret), manifest("other")])
    assert bench.run("plan", "-f", "-", stdin=documents) == 1
    assert "WebApp web in namespace shop changes." in bench.out
    assert "WebApp other in namespace shop is new." in bench.out
    assert "1 other objects of the files are not planned" in bench.err
    assert "hunter2" not in bench.out + bench.err


def test_no_value_of_a_probable_secret_is_shown(bench: PluginBench) -> None:
    env = [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "URL", "value": "https://me:hunter2@db"}]
    changes: dict[str, Any] = {"env": env, "config": {"API_TOKEN": "hunter2"}, "args": ["--password", "hunter2"]}
    for output in ((), ("-o", "json")):
        assert bench.run("plan", "-f", "-", *output, stdin=manifest(**changes)) == 1
        assert "hunter2" not in bench.out
        assert "API_TOKEN" in bench.out
        assert "(hidden)" in bench.out


def test_a_file_without_a_webapp_is_an_error(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", stdin='{"kind": "Secret", "apiVersion": "v1", "metadata": {}}') == 1
    assert "there is no WebApp" in bench.err


def test_an_invalid_webapp_is_refused_by_the_api_server(bench: PluginBench) -> None:
    assert bench.run("plan", "-f", "-", stdin=manifest(replicas=-1)) == 1
    assert "replicas" in bench.err
    assert "next: correct the named field" in bench.err


def test_a_paused_webapp_restarts_nothing(bench: PluginBench) -> None:
    found = bench.json("plan", "-f", "-", stdin=manifest(image="other:1", paused=True))["items"][0]
    assert found["restart"]["because"] == "spec.paused is true, so the operator writes only the status"
    assert {child["action"] for child in found["children"]} == {"None", "Paused"}


def test_a_paused_deployment_restarts_nothing(bench: PluginBench) -> None:
    bench.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"paused": True}})
    [found] = bench.json("plan", "-f", "-", stdin=manifest(image="registry.example/web:2"))["items"]
    assert found["restart"] == {
        "restarts": False,
        "because": "somebody paused Deployment/web; they restart after: kubectl rollout resume deployment web -n shop",
        "fields": ["spec.template.spec.containers[name=app].image"],
    }


def test_a_policy_that_refuses_a_child_is_part_of_the_plan(bench: PluginBench) -> None:
    from model_cluster.api_server import Refusal  # noqa: PLC0415

    def no_deployments(_: str, new: Any, __: Any, ___: str) -> Any:
        kind = (new or {}).get("kind")
        return Refusal(403, "Forbidden", "ValidatingAdmissionPolicy denied it") if kind == "Deployment" else None

    bench.model.api.admission.append(no_deployments)
    found = bench.json("plan", "-f", "-", stdin=manifest(image="other:1"))["items"][0]
    deployment = next(child for child in found["children"] if child["object"] == "Deployment/web")
    assert deployment["action"] == "Blocked"
    assert "denied" in deployment["message"]
    assert not found["restart"]["restarts"]


def test_a_removed_value_that_is_the_default_restarts_nothing() -> None:
    """The API server sets the default again. The operator's own comparison cannot know that."""
    bench = PluginBench(terminationGracePeriodSeconds=30)
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {LAST_APPLIED: bench_spec(bench)}}})
    text = manifest()
    found = bench.json("plan", "-f", "-", stdin=text)["items"][0]["restart"]
    assert (found["restarts"], found["because"]) == (False, "the pod template stays the same")
    bench.kubectl.forbidden.add(("patch", "deployments"))
    assert bench.json("plan", "-f", "-", stdin=text)["items"][0]["restart"]["restarts"]


def test_a_webhook_that_changes_the_pods_is_part_of_the_verdict(bench: PluginBench) -> None:
    def inject(_: str, new: Any, __: Any, agent: str) -> Any:
        if agent != "kubectl/1" or (new or {}).get("kind") != "Deployment":
            return None
        changed: dict[str, Any] = json.loads(json.dumps(new))
        changed["spec"]["template"]["metadata"].setdefault("annotations", {})["sidecar"] = "2"
        return changed

    bench.model.api.admission.append(inject)
    found = bench.json("plan", "-f", "-", stdin=manifest(replicas=3))["items"][0]["restart"]
    assert found["restarts"]
    assert found["fields"] == ["spec.template.metadata.annotations[sidecar] (changed by admission)"]


def test_without_the_right_to_try_children_the_operators_diff_counts(bench: PluginBench) -> None:
    bench.kubectl.forbidden |= {("patch", kind) for kind in ("deployments", "configmaps", "services")}
    assert bench.run("plan", "-f", "-", stdin=manifest(image="registry.example/web:2")) == 1
    assert "Pods restart: yes, because the pod template changes: spec.containers[name=app].image" in bench.out
    assert "Deployment/web is compared without a dry-run: you are not allowed to patch deployments.apps" in bench.err


def test_without_the_right_to_try_the_webapp_it_is_merged_as_kubectl_does(bench: PluginBench) -> None:
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"replicas": 4}})
    bench.kubectl.forbidden.add(("patch", "webapps"))
    changed = {**SPEC, "image": "registry.example/web:2"}
    del changed["labels"]
    text = json.dumps({**json.loads(manifest()), "spec": changed})
    found = bench.json("plan", "-f", "-", stdin=text)["items"][0]
    assert {each["field"] for each in found["spec"]} == {"spec.image", "spec.labels[team]"}, "replicas stay"
    assert any("without the API server" in note for note in found["notes"])


def test_the_local_merge_fills_in_the_defaults_of_the_schema() -> None:
    schema = {
        "properties": {
            "replicas": {"default": 1},
            "ports": {"items": {"properties": {"protocol": {"default": "TCP"}}}},
            "rollout": {"properties": {"strategy": {"default": "RollingUpdate"}}},
        }
    }
    given = {"ports": [{"port": 1}], "rollout": {}}
    assert defaulted(given, schema) == {
        "replicas": 1,
        "ports": [{"port": 1, "protocol": "TCP"}],
        "rollout": {"strategy": "RollingUpdate"},
    }
    new = merged({"metadata": {"name": "a", "namespace": "b"}, "spec": {}}, None, schema)
    assert (new["spec"], new["metadata"]["generation"]) == ({"replicas": 1}, 1)


def test_a_name_that_is_taken_blocks_the_plan(bench: PluginBench) -> None:
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "other"}, "spec": {"ports": [{"port": 80}]}}
    bench.model.post(SERVICE.path("shop"), made)
    assert bench.run("plan", "-f", "-", stdin=manifest("other")) == 1
    assert "! Service/other: blocked: the name is taken" in bench.out


def test_kinds_that_may_not_be_read_are_no_differences(bench: PluginBench) -> None:
    bench.kubectl.forbidden |= {("list", "services"), ("get", "services")}
    assert bench.run("plan", "-f", "-", stdin=manifest()) == 0
    assert "note: Service is not compared: you are not allowed to list services in namespace shop" in bench.err
    assert bench.run("plan", "-f", "-", stdin=manifest(replicas=3)) == 1
    assert "? Service/web: not compared: you are not allowed to list services in namespace shop" in bench.out


# drift and conflicts


def test_drift_names_the_field_and_its_manager(bench: PluginBench) -> None:
    containers = [{"name": "app", "image": "theirs:1"}]
    bench.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"template": {"spec": {"containers": containers}}}})
    bench.status(
        drift=[
            {
                "object": "Service/web",
                "field": "spec.selector",
                "manager": "kubectl-edit",
                "wanted": "(a structure)",
                "found": "(a structure)",
                "count": 2,
            }
        ]
    )
    assert bench.run("drift", "web") == 0
    assert_golden("drift", bench.out)
    assert bench.json("drift", "web")["drifted"]


def test_no_drift(bench: PluginBench) -> None:
    assert bench.run("drift") == 0
    assert bench.out == "web is as desired\n"
    assert bench.run("drift", "web", "-o", "wide") == 0
    assert "Deployment/web: InSync" in bench.out


def test_a_missing_child_is_drift(bench: PluginBench) -> None:
    bench.model.delete(SERVICE.path("shop", "web"))
    assert bench.run("drift", "web") == 0
    assert "Service/web: Missing" in bench.out


def test_a_child_that_is_being_deleted_is_drift(bench: PluginBench) -> None:
    bench.model.patch(SERVICE.path("shop", "web"), {"metadata": {"finalizers": ["example.com/wait"]}})
    bench.model.delete(SERVICE.path("shop", "web"))
    assert bench.run("drift", "web") == 0
    assert "Service/web: Terminating: is being deleted" in bench.out


def test_a_field_that_a_policy_leaves_to_another_manager_is_no_drift(bench: PluginBench) -> None:
    rules = [{"kind": "Deployment", "path": "spec.replicas", "policy": "Yield"}]
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"conflicts": {"rules": rules}}})
    bench.model.reconcile()
    bench.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 7}})
    found = bench.json("drift", "web")
    deployment = next(child for child in found["children"] if child["object"] == "Deployment/web")
    assert (deployment["state"], deployment["fields"]) == ("InSync", [])
    assert [each["field"] for each in deployment["left"]] == ["spec.replicas"]


def test_conflicts(bench: PluginBench) -> None:
    reconciled(bench)
    assert bench.run("conflicts") == 0
    assert bench.out == "No other field manager owns a field of the spec.\n"
    entry = {"object": "Deployment/web", "field": "spec.replicas", "manager": "kubectl", "policy": "Yield"}
    bench.status(conflicts=[entry])
    assert bench.run("conflicts", "-A") == 0
    assert_golden("conflicts", bench.out)
    assert bench.json("conflicts", "web")["conflicts"] == [entry]


# Fields


def test_items_are_matched_by_their_names() -> None:
    before = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    after = [{"name": "C", "value": "3"}, {"name": "B", "value": "4"}]
    assert list(leaves("env", before, after)) == [
        ("env[name=A].value", "1", None),
        ("env[name=B].value", "2", "4"),
        ("env[name=C].value", None, "3"),
    ]


def test_items_with_the_same_key_are_not_matched() -> None:
    """Of two ports with the same number, one would hide the other."""
    tcp, udp = ({"port": 53, "protocol": protocol} for protocol in ("TCP", "UDP"))
    assert list(leaves("ports", [udp, tcp], [tcp])) == [("ports", [udp, tcp], [tcp])]


def test_a_changed_order_is_a_difference() -> None:
    one, two = {"name": "A"}, {"name": "B"}
    assert list(leaves("env", [one, two], [two, one])) == [("env (order)", ["A", "B"], ["B", "A"])]


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        ("spec.image", "a:1", "a:1"),
        ("spec.paused", True, "true"),
        ("spec.args", ["-v", "x"], '["-v", "x"]'),
        ("spec.args", ["--token=abc"], "(hidden)"),
        ("spec.args", ["--token", "abc"], "(hidden)"),
        ("spec.env[name=DB_PASSWORD].value", "abc", "(hidden)"),
        ("spec.config[SECRET]", "abc", "(hidden)"),
        ("spec.image", None, "(none)"),
        ("spec.rollout", {}, "{}"),
        ("spec.image", "a\x1b[31mb", "ab"),
    ],
)
def test_displayed_values(place: str, value: Any, text: str) -> None:
    assert displayed(place, value) == text
