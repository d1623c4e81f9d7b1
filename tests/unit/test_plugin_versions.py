"""A plugin beside a newer operator: it does not know how the pods are rendered, so it gives no verdict."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from coxswain.webapp.kinds import CONTROLLER_REVISION, DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, WEBAPP
from coxswain.webapp.releases import render
from kubectl_coxswain.problems import problem_of
from model_cluster.api_server import APPLY
from unit.model_bench import SPEC
from unit.plugin_bench import PluginBench

NEWER = (
    "error: the operator is newer than this plugin: it renders WebApp web by version 2, which the plugin does not "
    "know, so its children cannot be compared\n"
    "next: install the plugin of the operator's version: kubectl coxswain version\n"
)
HEAD = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": "web", "namespace": "shop"}}


class Recorded(PluginBench):
    """A WebApp with the revisions of the operator."""

    def forget_revisions(self) -> None:
        """Keep them."""

    def recorded(self) -> list[Any]:
        """Return the revisions, the oldest first."""
        items = self.model.request("GET", CONTROLLER_REVISION.path("shop"), None, "").body["items"]
        return sorted(items, key=lambda item: item["revision"])

    def note(self, revision: Any, **notes: str) -> None:
        """Annotate a revision as the operator."""
        metadata = {name: revision["metadata"][name] for name in ("name", "namespace", "labels", "ownerReferences")}
        own = {f"coxswain.dev/{name.replace('_', '-')}": value for name, value in notes.items()}
        metadata["annotations"] = {**revision["metadata"].get("annotations", {}), **own}
        path = CONTROLLER_REVISION.path("shop", metadata["name"])
        options = {"fieldManager": "coxswain", "force": "true"}
        head = {"apiVersion": CONTROLLER_REVISION.api_version, "kind": CONTROLLER_REVISION.kind}
        answer = self.model.request("PATCH", path, {**head, **revision, "metadata": metadata}, APPLY, **options)
        assert answer.status == 200, answer.body


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Recorded]:
    """Return a WebApp that a newer operator has rolled out."""

    def made() -> Recorded:
        known = render.VERSIONS
        monkeypatch.setattr(render, "VERSIONS", {**known, "2": replace(known["1"], pre_stop_sleep_seconds=9)})
        bench = Recorded()
        bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"image": "registry.example/web:2"}})
        bench.model.reconcile()
        monkeypatch.setattr(render, "VERSIONS", known)
        return bench

    return made


@pytest.mark.parametrize(
    "words", [("drift", "web"), ("plan", "-f", "-"), ("undo", "web", "--to", "1"), ("adopt", "web")]
)
def test_a_newer_operator_is_a_problem(newer: Callable[[], Recorded], words: tuple[str, ...]) -> None:
    bench = newer()
    manifest = json.dumps({**HEAD, "spec": {**SPEC, "labels": {"team": "blue"}}})
    assert bench.run(*words, stdin=manifest) == 1
    assert (bench.out, bench.err) == ("", NEWER)


@pytest.mark.parametrize("words", [("drift",), ("drift", "-A")])
def test_it_leaves_the_other_webapps_their_drift(newer: Callable[[], Recorded], words: tuple[str, ...]) -> None:
    bench = newer()
    for name in ("another", "zoo"):
        bench.model.post(WEBAPP.path("shop"), {**HEAD, "metadata": {"name": name, "namespace": "shop"}, "spec": SPEC})
    assert bench.run(*words) == 1
    assert [line.split(" ")[0].rpartition("/")[2] for line in bench.out.splitlines() if " differs from " in line] == [
        "another",
        "zoo",
    ]
    assert bench.err.endswith(NEWER)
    assert [each["name"] for each in bench.json(*words)["items"]] == ["another", "zoo"]
    assert bench.err == NEWER


def test_it_leaves_the_other_webapps_of_a_file_their_plan(newer: Callable[[], Recorded]) -> None:
    bench = newer()
    other = {**HEAD, "metadata": {"name": "another", "namespace": "shop"}, "spec": SPEC}
    documents = "\n---\n".join(json.dumps(each) for each in ({**HEAD, "spec": SPEC}, other))
    assert bench.run("plan", "-f", "-", stdin=documents) == 2
    assert bench.out.startswith("WebApp another in namespace shop is new.\n")
    assert bench.err.endswith(NEWER)


def test_an_error_about_one_webapp_leaves_the_others_of_a_file_their_plan() -> None:
    bench = PluginBench()

    def before(words: Sequence[str]) -> None:
        if words[-1].endswith("/webapps/large"):
            raise problem_of("Error from server (RequestEntityTooLarge): Request entity too large: limit is 3145728")

    bench.kubectl.before = before
    made = [{**HEAD, "metadata": {"name": name, "namespace": "shop"}, "spec": SPEC} for name in ("large", "other")]
    assert bench.run("plan", "-f", "-", stdin="\n---\n".join(map(json.dumps, made))) == 2
    assert bench.out.startswith("WebApp other in namespace shop is new.\n")
    assert bench.err.startswith("error: Request entity too large: limit is 3145728\n")


def test_a_cluster_without_an_answer_is_asked_for_no_other_webapp() -> None:
    bench = PluginBench()
    bench.model.post(WEBAPP.path("shop"), {**HEAD, "metadata": {"name": "another", "namespace": "shop"}, "spec": SPEC})

    def before(words: Sequence[str]) -> None:
        if "/webapps" not in words[-1]:
            bench.kubectl.stderr = "Unable to connect to the server: net/http: TLS handshake timeout"

    bench.kubectl.before = before
    assert bench.run("drift", "-A") == 1
    assert bench.out == ""
    assert bench.err.count("error: the cluster cannot be reached: ") == 1


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_webapp_that_is_deleted_meanwhile_has_no_drift(comes_back: bool) -> None:
    bench = PluginBench()

    def before(words: Sequence[str]) -> None:
        if words[0] == "get" and "/webapps" not in words[-1]:
            bench.kubectl.before = lambda _: None
            for kind in (DEPLOYMENT, SERVICE, SERVICE_ACCOUNT):
                bench.model.delete(kind.path("shop", "web"))
            bench.model.delete(WEBAPP.path("shop", "web"))
            if comes_back:
                bench.model.post(WEBAPP.path("shop"), {**HEAD, "spec": SPEC})

    bench.kubectl.before = before
    assert bench.run("drift", "web") == 1
    assert bench.out == ""
    assert bench.err == (
        "error: WebApp web in namespace shop was deleted while its children were read\n"
        "next: kubectl coxswain status -n shop\n"
    )


def test_it_is_one_also_where_the_webapp_asks_for_the_newest_version(newer: Callable[[], Recorded]) -> None:
    bench = newer()
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {"coxswain.dev/render": "latest"}}})
    assert bench.run("drift", "web") == 1
    assert bench.err == NEWER


def test_it_is_one_if_the_target_of_a_rollback_is_of_a_newer_operator() -> None:
    bench = Recorded()
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"rollout": {"onFailure": "Rollback"}}})
    bench.model.reconcile()
    before, present = bench.recorded()
    bench.note(before, ready_at="2026-01-01T00:00:00Z", render="2")
    bench.note(present, failed="ImagePullBackOff: Deployment web")
    assert bench.run("drift", "web") == 1
    assert bench.err == NEWER


def test_an_operator_of_the_same_version_is_none() -> None:
    bench = Recorded()
    assert bench.run("drift", "web") == 0
    assert bench.run("plan", "-f", "-", stdin=json.dumps({**HEAD, "spec": SPEC})) == 0


# Children that the user may not read


def test_without_the_deployment_nobody_knows_whether_pods_restart() -> None:
    bench = PluginBench()
    bench.kubectl.forbidden |= {("list", "deployments"), ("get", "deployments")}
    manifest = json.dumps({**HEAD, "spec": {**SPEC, "image": "registry.example/web:9"}})
    assert bench.run("plan", "-f", "-", stdin=manifest) == 1
    assert "Pods restart: unknown, because the Deployment cannot be read\n" in bench.out
    [found] = bench.json("plan", "-f", "-", stdin=manifest)["items"]
    assert found["restart"] == {"because": "the Deployment cannot be read", "fields": []}


def test_a_child_that_is_not_compared_is_no_difference() -> None:
    bench = PluginBench()
    bench.kubectl.forbidden |= {("list", "deployments"), ("get", "deployments")}
    assert bench.run("plan", "-f", "-", stdin=json.dumps({**HEAD, "spec": SPEC})) == 0
    assert bench.out == "web: no differences in the objects that you may read\n"
    assert "note: Deployment is not compared: you are not allowed to list deployments.apps" in bench.err
