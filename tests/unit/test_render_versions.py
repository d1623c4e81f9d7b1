"""Render versions: an upgrade and a downgrade of the operator restart no pod of an unchanged WebApp.

The made-up version 2 has other defaults.
"""

from dataclasses import asdict, replace
from typing import Any

import pytest

from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.releases import render
from unit.objects import webapp
from unit.release_bench import ReleaseBench

pytestmark = pytest.mark.model

ONE, TWO, BAD = (f"registry.example/web:{tag}" for tag in ("1", "2", "bad"))
V1 = render.VERSIONS["1"]
V2 = replace(V1, max_surge="50%", pre_stop_sleep_seconds=9, termination_message_policy="File", topology_spread=())


@pytest.fixture
def bench() -> ReleaseBench:
    """Return a bench with a Ready WebApp, rolled out by version 1."""
    bench = ReleaseBench(rollout={"onFailure": "Rollback"})
    bench.settle()
    bench.roll_out()
    return bench


def operator_of(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch, **versions: render.Rendering) -> None:
    """Start an operator that knows these render versions."""
    monkeypatch.setattr(render, "VERSIONS", {name.removeprefix("v"): each for name, each in versions.items()})
    bench.restart()


def template(bench: ReleaseBench) -> Any:
    return bench.deployment["spec"]["template"]


def sleep(bench: ReleaseBench) -> int:
    """Return the preStop sleep of the pods in seconds."""
    seconds: int = template(bench)["spec"]["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    return seconds


def test_upgrade_and_downgrade_write_nothing(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bench.deployment
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    assert bench.settle() == 0
    operator_of(bench, monkeypatch, v1=V1)
    assert bench.settle() == 0
    assert bench.deployment == before


def test_a_changed_spec_has_the_new_defaults(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.release(image=TWO)
    assert (sleep(bench), bench.note(1, "render"), bench.note(2, "render")) == (9, "1", "2")
    assert bench.deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == "50%"


@pytest.mark.parametrize("change", [{"replicas": 3}, {"paused": False}])
def test_scaling_changes_no_defaults(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    before = template(bench)
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.release(**change)
    assert template(bench) == before


def test_a_webapp_may_ask_for_the_newest_version(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.annotate(**{"coxswain.dev/render": "latest"})
    bench.settle()
    bench.roll_out()
    assert (sleep(bench), bench.note(1, "render")) == (9, "2")
    bench.annotate(**{"coxswain.dev/render": None})
    assert bench.settle() == 0, "it stays"


def test_a_rollback_renders_as_the_earlier_revision_was(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    before = template(bench)
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.change(image=BAD)
    bench.settle()
    bench.time_out()
    assert template(bench) == before


def test_a_version_of_a_newer_operator_is_left_alone(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.release(image=TWO)
    before = bench.deployment
    operator_of(bench, monkeypatch, v1=V1)
    bench.settle()
    assert bench.deployment == before
    assert (bench.note(2, "render"), bench.note(2, "ready-revision")) == ("2", "2")
    status, reason, message = bench.condition("Ready") or ("", "", "")
    assert (status, reason) == ("False", "RenderUnknown")
    assert message.endswith("kubectl annotate webapp web -n shop coxswain.dev/render=latest --overwrite")
    bench.change(image=ONE)
    bench.settle()
    bench.roll_out()
    assert (sleep(bench), bench.note(3, "render")) == (5, "1")
    assert (bench.condition("Ready") or "")[0] == "True"


@pytest.mark.parametrize("version", ["2", "x", "1" * 5000])
def test_any_text_may_be_the_version_of_a_newer_operator(version: str) -> None:
    assert render.usable(version) == version
    assert render.rendering(version) == render.rendering(render.newest())


def test_a_removed_version_is_replaced_by_the_newest_one(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v2=V2)
    bench.settle()
    bench.roll_out()
    assert (sleep(bench), bench.note(1, "render"), (bench.condition("Ready") or "")[0]) == (9, "2", "True")


def test_a_rollback_to_an_unknown_version_runs_all_of_the_revision(
    bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.release(image=TWO)
    operator_of(bench, monkeypatch, v1=V1)
    bench.change(image=BAD)
    bench.settle()
    bench.time_out()
    assert (bench.running, sleep(bench)) == (TWO, 5)


def test_a_downgrade_during_a_rollback_restarts_no_pod(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.release(image=TWO)
    bench.change(image=BAD)
    bench.settle()
    bench.time_out()
    bench.roll_out()
    before = bench.deployment
    assert (bench.running, sleep(bench)) == (TWO, 9)
    operator_of(bench, monkeypatch, v1=V1)
    bench.settle()
    assert bench.deployment == before
    assert "by render version 2, which this one does not know" in str(bench.status["children"])
    bench.annotate(**{"coxswain.dev/render": "latest"})
    bench.settle()
    assert (bench.running, sleep(bench)) == (TWO, 5)


def test_a_rollback_may_ask_for_the_newest_version(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.change(image=BAD)
    bench.settle()
    bench.time_out()
    assert (bench.running, sleep(bench)) == (ONE, 5), "as the revision was rolled out"
    bench.annotate(**{"coxswain.dev/render": "latest"})
    bench.settle()
    assert (bench.running, sleep(bench)) == (ONE, 9)


def test_the_annotation_releases_what_is_left_alone(bench: ReleaseBench, monkeypatch: pytest.MonkeyPatch) -> None:
    operator_of(bench, monkeypatch, v1=V1, v2=V2)
    bench.release(image=TWO)
    operator_of(bench, monkeypatch, v1=V1)
    bench.annotate(**{"coxswain.dev/render": "latest"})
    bench.settle()
    bench.roll_out()
    assert (sleep(bench), bench.note(2, "render"), (bench.condition("Ready") or "")[0]) == (5, "1", "True")


def test_version_1_stays_as_it_was_released() -> None:
    """Whoever changes this test restarts the pods of every WebApp: add a version instead."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "matchLabelKeys": ["pod-template-hash"],
    }
    assert asdict(render.VERSIONS["1"]) == {
        "max_surge": "25%",
        "max_unavailable": 0,
        "pre_stop_sleep_seconds": 5,
        "termination_message_policy": "FallbackToLogsOnError",
        "topology_spread": (spread,),
        "removable_in": None,
    }


def test_each_default_of_a_version_has_an_effect() -> None:
    """Otherwise a version could not change it."""
    app = webapp(ports=[{"name": "http", "containerPort": 8080}])
    usual = deployment(app)
    others: dict[str, Any] = {
        "max_surge": 3,
        "max_unavailable": 1,
        "pre_stop_sleep_seconds": 1,
        "termination_message_policy": "File",
        "topology_spread": (),
    }
    assert {*others, "removable_in"} == set(asdict(V1))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in others.items():
            patch.setattr(render, "VERSIONS", {"1": replace(V1, **{name: value})})
            assert deployment(app) != usual, name


def test_old_versions_name_the_release_in_which_they_may_go() -> None:
    *old, last = render.VERSIONS.values()
    assert all(each.removable_in for each in old)
    assert last.removable_in is None
