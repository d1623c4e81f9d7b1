"""The parts of the demo: the tree of objects, the wait conditions, and what it needs for public URLs."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from cluster.catalog import CONTOUR, ENVOY
from demo import public
from demo.__main__ import TRIALS, _propose
from demo.tree import readiness, tree


def item(kind: str, name: str, owner: str | None = None, **rest: Any) -> dict[str, Any]:
    references = [{"uid": owner, "controller": True}] if owner else []
    return {"kind": kind, "metadata": {"name": name, "uid": f"{kind}/{name}", "ownerReferences": references}, **rest}


def webapp(conditions: list[dict[str, Any]], *, observed: int = 2) -> dict[str, Any]:
    metadata = {"name": "web", "uid": "WebApp/web", "generation": 2}
    status = {"observedGeneration": observed, "conditions": conditions, "url": "http://web.default.svc"}
    return {"kind": "WebApp", "metadata": metadata, "status": status}


READY = {"type": "Ready", "status": "True", "reason": "Ready", "message": "all well"}
ROLLING_OUT = {"type": "Ready", "status": "False", "reason": "RollingOut", "message": "0 of 1 pods ready"}


def test_the_tree_follows_the_owner_references_whatever_the_order_of_the_objects() -> None:
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    objects = [
        item("Pod", "web-1-b", "ReplicaSet/web-1", spec={"nodeName": "node-1"}, status=running),
        item("Pod", "web-1-a", "ReplicaSet/web-1", spec={}, status={"phase": "Pending"}),
        item("ReplicaSet", "web-1", "Deployment/web", spec={"replicas": 2}, status={"readyReplicas": 1}),
        item("Deployment", "web", "WebApp/web", spec={"replicas": 2}, status={"readyReplicas": 1}),
        item("EndpointSlice", "web-x", "Service/web", endpoints=[{"addresses": ["10.0.0.1"]}]),
        item(
            "Service",
            "web",
            "WebApp/web",
            spec={"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": [{"port": 80, "protocol": "TCP"}]},
        ),
        item("ServiceAccount", "web", "WebApp/web"),
        item("ServiceAccount", "default"),
        webapp([READY]),
    ]
    assert tree(objects) == [
        "WebApp web  (Ready: all well; http://web.default.svc)",
        "├─ ServiceAccount web",
        "├─ Service web  (ClusterIP 10.96.0.9, 80/TCP)",
        "│  └─ EndpointSlice web-x  (10.0.0.1)",
        "└─ Deployment web  (1 of 2 ready)",
        "   └─ ReplicaSet web-1  (1 of 2 ready)",
        "      ├─ Pod web-1-a  (Pending, not ready, on no node yet)",
        "      └─ Pod web-1-b  (Running, ready, on node-1)",
    ]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (webapp([READY]), None),
        (webapp([READY], observed=1), "not reconciled yet"),
        (webapp([ROLLING_OUT]), "RollingOut: 0 of 1 pods ready"),
        ({"metadata": {"name": "web", "generation": 1}}, "not reconciled yet"),
    ],
    ids=["ready", "ready before it was changed", "not ready", "without status"],
)
def test_a_webapp_is_waited_for_until_it_is_ready_at_its_generation(found: dict[str, Any], why: str | None) -> None:
    assert readiness(found) == ("web", why)


def test_the_watch_is_proposed_but_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    """`make demo ARGS=--try` runs each of TRIALS, and a watch never ends."""
    _propose()
    assert "kubectl get webapps --watch\n" in capsys.readouterr().out
    assert not any("--watch" in trial.command for trial in TRIALS)


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_public_urls_need_programs_that_are_there_and_a_namespace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(public, "gateway_crds", list)
    assert public.obstacle() == "contour and envoy: not in the cache of programs"
    program(tmp_path / "contour", f"echo Version: {CONTOUR.version}")
    program(tmp_path / "envoy", f"echo envoy  version: 1/{str(ENVOY.version).removeprefix('v')}/Clean/RELEASE")
    program(tmp_path / "unshare", "echo unshare: unshare failed: Operation not permitted >&2; exit 1")
    assert public.obstacle() == "no network namespace: unshare: unshare failed: Operation not permitted"
    program(tmp_path / "unshare", "exit 0")
    assert public.obstacle() == ""


def test_what_is_proposed_to_try_are_single_commands_of_kubectl() -> None:
    assert all(shlex.split(trial.command)[0] == "kubectl" for trial in TRIALS)
