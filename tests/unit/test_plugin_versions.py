"""A plugin beside a newer operator: it does not know how the pods are rendered, so it gives no verdict."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coxswain.webapp.kinds import CONTROLLER_REVISION, WEBAPP
from coxswain.webapp.releases import render
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
