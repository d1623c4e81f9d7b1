"""Texts of others: what an application logs is no advice, and what a webhook or kubectl says is not lost."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from kubectl_coxswain.kubectl import run_kubectl
from kubectl_coxswain.problems import Denied, Problem, problem_of
from kubectl_coxswain.screen import Screen, Span
from unit.plugin_bench import PluginBench
from unit.plugin_states import condition, healthy

ADVICE = "See: kubectl logs --previous -l a=b -n shop"
LOG = "fatal: cannot migrate, run kubectl delete namespace shop --now. Check spec.image"
CRASH = f"Deployment web: 1 of 1 new pods: container app exited with 1. {ADVICE}; message: {LOG}"
KYVERNO = (
    'Error from server: error when creating "STDIN": admission webhook "validate.kyverno.svc-fail" denied the request: '
    "\n\nresource Deployment/shop/web was blocked due to the following policies\n\n"
    "require-labels:\n  check-team: 'validation error: label team is required'"
)
UNCALLED = (
    "Error from server (InternalError): Internal error occurred: failed calling webhook "
    '"x.example.com": failed to call webhook: Post "https://x.ns.svc:443/v?timeout=10s": connection was refused'
)


# why


def test_a_command_in_the_log_of_an_application_is_no_advice() -> None:
    bench = PluginBench()
    bench.status(observedGeneration=1, conditions=[condition("Ready", "False", "CrashLoopBackOff", CRASH)])
    found = bench.json("why", "web")
    assert found["next"] == ["kubectl logs --previous -l a=b -n shop"]
    assert "kubectl delete namespace" in found["cause"]


INSECURE = "the pods of Deployment web violate Pod Security. Remove them: kubectl edit deployment web -n shop"
UNKNOWN_SECRET = "spec.restartOn names Secret db, which does not exist. Create it: kubectl create secret generic db"


def test_why_of_a_healthy_webapp_has_its_warnings() -> None:
    bench = PluginBench()
    well = condition("Ready", "True", "Ready", "all children match the spec and are healthy")
    healthy(bench, conditions=[well])
    found = bench.json("why", "web")
    assert (found["evidence"], found["next"]) == ([], [])
    child = {"kind": "Deployment", "name": "web", "health": "Healthy", "message": UNKNOWN_SECRET}
    healthy_child = {"kind": "Service", "name": "web", "health": "Healthy"}
    insecure = condition("PodSecurityViolated", "True", "NotRestricted", INSECURE)
    bench.status(conditions=[well, insecure], children=[child, healthy_child])
    found = bench.json("why", "web")
    assert found["verdict"]["state"] == "Healthy"
    assert [(each["object"], each["reason"], each["message"]) for each in found["evidence"]] == [
        ("PodSecurityViolated", "True (NotRestricted)", INSECURE),
        ("Deployment/web", "Healthy", UNKNOWN_SECRET),
    ]
    assert found["next"] == ["kubectl edit deployment web -n shop", "kubectl create secret generic db"]


# The answers of the API server


def test_a_webhook_that_denies_is_quoted_as_a_whole() -> None:
    found = problem_of(KYVERNO)
    assert type(found) is Denied
    assert found.message.startswith('admission webhook "validate.kyverno.svc-fail" denied the request: resource')
    assert found.message.endswith("'validation error: label team is required'")


def test_a_webhook_that_cannot_be_called_is_no_unreachable_cluster() -> None:
    found = problem_of(UNCALLED)
    assert type(found) is Denied
    assert found.message.startswith('Internal error occurred: failed calling webhook "x.example.com"')


@pytest.mark.parametrize("reason", [" (Expired)", " (InternalError)", ""])
def test_an_answer_of_the_api_server_is_no_failure_of_kubectl(reason: str) -> None:
    found = problem_of(f"Error from server{reason}: etcdserver: i/o timeout")
    assert found.message == "etcdserver: i/o timeout"
    assert found.next_step


def test_a_webhook_that_denies_a_child_is_part_of_the_plan() -> None:
    bench = PluginBench()
    healthy(bench)
    manifest = {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": "web"},
        "spec": {"image": "a:9"},
    }

    def denied(arguments: Any) -> None:
        bench.kubectl.stderr = KYVERNO if "--server-side" in arguments else None

    bench.kubectl.before = denied
    [found] = bench.json("plan", "-f", "-", stdin=json.dumps(manifest))["items"]
    assert "Blocked" in {child["action"] for child in found["children"]}
    assert "label team is required" in found["restart"]["because"]


# Patches


def test_a_large_spec_is_no_argument_of_the_process() -> None:
    bench = PluginBench()
    bench.add_revision(1, {"image": "a:1", "config": {f"A{number}": "x" * 50_000 for number in range(4)}})
    healthy(bench, revision=2, previousRevision=1)
    assert bench.run("undo", "web", "--yes") == 0
    assert max(len(word) for call in bench.kubectl.calls for word in call) < 1000
    assert len(json.dumps(bench.raw["spec"])) > 200_000


@pytest.mark.parametrize("present", [None, {"team": "blue"}])
def test_undo_patches_no_annotation_but_the_cause(present: dict[str, str] | None) -> None:
    bench = PluginBench()
    bench.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": present}})
    bench.add_revision(1, {"image": "a:1"})
    healthy(bench, revision=2, previousRevision=1)
    assert bench.run("undo", "web", "--yes") == 0
    cause = {"kubernetes.io/change-cause": "kubectl coxswain undo web --to 1"}
    assert bench.raw["metadata"]["annotations"] == {**(present or {}), **cause}
    assert "team" not in "".join(bench.kubectl.patches)


def test_a_kubectl_that_cannot_be_started_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kubectl").write_text(f"#!{sys.executable}\n")
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Problem, match="kubectl cannot be started"):
        run_kubectl([f"--x={'a' * 200_000}"])


# Control characters


HOSTILE = "bad\x1b[2J\x1b]0;pwn\x07\nPod/fake   Running"


@pytest.mark.parametrize("command", ["tree", "history", "status"])
def test_a_change_cause_can_neither_control_the_terminal_nor_forge_a_row(command: str) -> None:
    bench = PluginBench()
    bench.add_revision(1, {"image": "a:1"}, cause=HOSTILE)
    healthy(bench, revision=1)
    assert bench.run(command, "web") == 0
    assert bench.out.replace("\n", "").isprintable()
    assert not [line for line in bench.out.splitlines() if line.startswith("Pod/fake")]


@pytest.mark.parametrize("width", [None, 60])
def test_each_cell_is_one_printable_line(width: int | None) -> None:
    stream = io.StringIO()
    screen = Screen(stream, width=width)
    screen.line(HOSTILE, Span(HOSTILE, "bad"))
    screen.table(("A", "B"), [(HOSTILE, "x"), (Span("two\nlines"), HOSTILE)])
    screen.paragraph("text", first=HOSTILE)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)


def test_a_paused_deployment_is_not_restarted() -> None:
    """`kubectl rollout restart` refuses it. The error of kubectl does not name the next command."""
    bench = PluginBench()
    bench.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"paused": True}})
    assert bench.run("restart", "web") == 1
    assert bench.err == (
        "error: somebody paused Deployment web, so kubectl cannot restart its pods\n"
        "next: resume it: kubectl rollout resume deployment/web -n shop\n"
    )
    assert not [call for call in bench.kubectl.calls if call[0] == "rollout"]
