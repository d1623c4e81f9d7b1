"""The numbers of pods that `kubectl coxswain status` shows, and the autoscalers that set the desired one."""

from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from kubectl_coxswain.names import DEPLOYMENT as READ_DEPLOYMENT
from kubectl_coxswain.names import HORIZONTAL_POD_AUTOSCALER as READ_AUTOSCALER
from kubectl_coxswain.replicas import Scales, counts_text
from kubectl_coxswain.reports import Counts
from unit.plugin_bench import PluginBench
from unit.plugin_golden import assert_golden
from unit.plugin_states import condition, healthy

READY = {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Ready")]}
COUNTED = {"updatedReplicas": 4, "readyReplicas": 3}
TO_DEPLOYMENT = ("apps/v1", "Deployment", "web")


def autoscaler(api_version: str, kind: str, name: str, *, called: str = "mine", namespace: str = "shop") -> Any:
    """Return an autoscaler as `kubectl autoscale` makes it."""
    reference = {"apiVersion": api_version, "kind": kind, "name": name}
    return {"metadata": {"name": called, "namespace": namespace}, "spec": {"scaleTargetRef": reference}}


def deployment(replicas: int, uid: str = "u", **status: Any) -> Any:
    """Return the Deployment of a WebApp."""
    owner = {"kind": "WebApp", "name": "web", "uid": uid, "controller": True}
    metadata = {"name": "web", "namespace": "shop", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {"replicas": replicas}, "status": status}


def counts(spec: Any, status: Any, deployments: list[Any], *autoscalers: Any) -> Counts:
    """Return the counts of the WebApp web."""
    webapp = {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "generation": 1},
        "spec": spec,
        "status": status,
    }
    found = Scales({READ_DEPLOYMENT: deployments, READ_AUTOSCALER: list(autoscalers)}).counts(webapp)
    return found._replace(autoscalers=list(found.autoscalers))


STALE = {**READY, "observedGeneration": 0}


@pytest.mark.parametrize(
    ("spec", "status", "deployments", "autoscalers", "expected"),
    [
        ({"replicas": 2}, {**READY, **COUNTED}, [deployment(5)], [autoscaler(*TO_DEPLOYMENT)], (5, 4, 3, ["mine"])),
        ({"replicas": 2}, {**STALE, **COUNTED}, [deployment(5)], [autoscaler(*TO_DEPLOYMENT)], (5, 4, 3, ["mine"])),
        # Kept after the end of an autoscaler, or left to another manager.
        ({"replicas": 2}, {**READY, **COUNTED}, [deployment(5)], [], (5, 4, 3, [])),
        ({"replicas": 2}, {**STALE, **COUNTED}, [deployment(5)], [], (2, 4, 3, [])),
        ({"replicas": 2}, {**READY, **COUNTED}, [deployment(5, "another")], [], (2, 4, 3, [])),
        ({"autoscaling": {}}, {**READY, **COUNTED}, [deployment(5)], [], (5, 4, 3, [])),
        ({"autoscaling": {}}, {**READY, **COUNTED}, [], [], (None, 4, 3, [])),
        ({"replicas": 2}, {}, [], [], (2, None, None, [])),
        ({"replicas": 2}, {}, [deployment(2, readyReplicas=1)], [], (2, 0, 1, [])),
        # An autoscaler does not start a Deployment of 0 pods.
        ({"replicas": 2}, {**READY, **COUNTED}, [deployment(0)], [autoscaler(*TO_DEPLOYMENT)], (0, 4, 3, [])),
    ],
)
def test_counts(spec: Any, status: Any, deployments: Any, autoscalers: Any, expected: Any) -> None:
    assert counts(spec, status, deployments, *autoscalers) == Counts(*expected)


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (autoscaler("apps/v1", "Deployment", "web"), True),
        (autoscaler("coxswain.dev/v1", "WebApp", "web"), True),
        (autoscaler("apps/v1", "Deployment", "other"), False),
        (autoscaler("apps/v1", "StatefulSet", "web"), False),
        (autoscaler("example.com/v1", "Deployment", "web"), False),
        (autoscaler("apps/v1", "Deployment", "web", namespace="other"), False),
    ],
)
def test_the_target_of_an_autoscaler(found: Any, named: bool) -> None:
    assert counts({"replicas": 2}, READY, [deployment(5)], found).autoscalers == (["mine"] if named else [])


def test_text() -> None:
    assert counts_text(Counts(5, 4, 3)) == "5 desired, 4 updated, 3 ready"
    by = " (set by HorizontalPodAutoscaler a, b)"
    assert counts_text(Counts(None, None, None, ["a", "b"])) == f"? desired{by}, ? updated, ? ready"


@pytest.fixture
def bench() -> PluginBench:
    """A WebApp that an autoscaler of the user has scaled from 2 to 5 pods."""
    found = PluginBench(replicas=2)
    healthy(found)
    made = autoscaler(*TO_DEPLOYMENT, called="shop-load")
    found.model.post(
        HORIZONTAL_POD_AUTOSCALER.path("shop"),
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", **made},
    )
    found.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 5}})
    found.status(readyReplicas=5, updatedReplicas=5)
    return found


def test_status_names_the_autoscaler_and_the_live_count(bench: PluginBench) -> None:
    assert bench.run("status", "web") == 0
    assert_golden("status-autoscaled", bench.out)
    assert bench.json("status", "web")["replicas"] == {
        "desired": 5,
        "updated": 5,
        "ready": 5,
        "autoscalers": ["shop-load"],
    }


@pytest.mark.parametrize("words", [[], ["-A", "-n", "another"]])
def test_the_table_has_the_live_count(bench: PluginBench, words: list[str]) -> None:
    assert bench.run("status", *words) == 0
    assert "5/5" in bench.out
    assert bench.json("status", *words)["items"][0]["replicas"]["autoscalers"] == ["shop-load"]


def test_watch_has_the_live_count(bench: PluginBench) -> None:
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 5)
    bench.model.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": counts})
    bench.model.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": {"observedGeneration": 99}})
    assert bench.run("status", "web", "--watch") == 0
    assert "5 desired (set by HorizontalPodAutoscaler shop-load), 5 updated, 5 ready" in bench.out


def test_an_autoscaler_of_the_user_is_no_child(bench: PluginBench) -> None:
    bench.status(observedGeneration=None, conditions=[], children=[])
    nodes = bench.json("status", "web")["tree"]["children"]
    assert [each["kind"] for each in nodes] == ["Deployment"]


def test_without_the_right_to_list_them_the_desired_count_is_unknown_and_a_note_says_so(bench: PluginBench) -> None:
    bench.kubectl.forbidden |= {("list", "deployments"), ("list", "horizontalpodautoscalers")}
    assert bench.run("status") == 0
    assert "5/?" in bench.out
    assert bench.err.count("are missing here: you are not allowed to list") == 2
    found = bench.json("status")["items"][0]
    assert (len(found["notes"]), "desired" in found["replicas"]) == (2, False)


def test_a_webapp_without_a_status_has_unknown_counts() -> None:
    bench = PluginBench(reconciled=False, replicas=2)
    assert bench.run("status") == 0
    assert "?/2" in bench.out
    assert bench.json("status", "web")["replicas"] == {"desired": 2, "autoscalers": []}
