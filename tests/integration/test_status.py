"""The status during errors, and after their resolution."""

import json
from typing import Any

import pytest

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.status.conflict_report import Conflict, Repair
from coxswain.kernel.status.health import Child, Health, Level
from coxswain.webapp.spec import WebApp
from coxswain.webapp.status import status
from integration.scene import SPEC, Scene, eventually, manifest
from rendered import observations

NEVER_READY = {"kwok.test/fate": "never-ready"}


def statuses(scene: Scene) -> dict[str, str]:
    """Return the conditions, except those about other writers."""
    conditions = scene.get("webapp").get("status", {}).get("conditions", [])
    return {found["type"]: found["status"] for found in conditions if found["type"] not in ("Conflicted", "Contested")}


def test_pods_that_never_get_ready_stall_the_rollout(scene: Scene) -> None:
    scene.apply(spec={**SPEC, "annotations": NEVER_READY, "rollout": {"progressDeadlineSeconds": 3}})
    scene.not_ready("RollingOut")
    assert statuses(scene) == {"Ready": "False", "Available": "False", "Progressing": "True", "Stalled": "False"}
    ready = scene.not_ready("ProgressDeadlineExceeded")
    assert "Deployment web" in ready["message"]
    assert statuses(scene) == {"Ready": "False", "Available": "False", "Progressing": "False", "Stalled": "True"}
    assert scene.condition("Stalled")["reason"] == "ProgressDeadlineExceeded"
    scene.apply_ready(spec={**SPEC, "rollout": {"progressDeadlineSeconds": 3}})
    assert statuses(scene) == {"Ready": "True", "Available": "True", "Progressing": "False", "Stalled": "False"}


@pytest.mark.parametrize(
    ("resource", "kind", "reason", "cause"),
    [
        ("count/services", "Service web", "Forbidden", "exceeded quota: none"),
        ("count/configmaps", "ConfigMap web-", "Forbidden", "exceeded quota: none"),
        ("pods", "Deployment web", "FailedCreate", "ResourceQuota none is exceeded: pods 0 of 0 used"),
    ],
)
def test_an_exceeded_quota_is_reported_and_recovered_from(
    scene: Scene, resource: str, kind: str, reason: str, cause: str
) -> None:
    scene.kubectl("create", "quota", "none", f"--hard={resource}=0")
    hard = "jsonpath={.status.hard}"
    eventually(lambda: scene.kubectl("get", "quota", "none", "-o", hard), "the quota is in force")
    scene.apply()
    ready = scene.not_ready(reason)
    assert kind in ready["message"]
    assert cause in ready["message"]
    assert scene.condition("Stalled")["status"] == "False", "it is retried"
    scene.kubectl("delete", "quota", "none")
    scene.ready()


def test_a_rejected_child_stalls_until_it_is_corrected(scene: Scene) -> None:
    # The schema counts characters, the API server counts bytes: three for each of these.
    large = {**SPEC, "files": [{"path": "/etc/web/large", "content": "€" * 400_000}]}
    _apply_on_server(scene, large)
    ready = scene.not_ready("Rejected")
    assert "ConfigMap web-" in ready["message"]
    assert "1048576" in ready["message"]
    stalled = scene.condition("Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "Rejected")
    scene.awaited_events("Rejected")
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=1.0), "it is not retried"
    assert scene.find("deployment") is None, "no pod is started without it"
    _apply_on_server(scene, SPEC)
    scene.ready()


def _apply_on_server(scene: Scene, spec: dict[str, Any]) -> None:
    """Apply without kubectl's last-applied annotation, which has a size limit."""
    webapp = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": "web"}, "spec": spec}
    scene.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(webapp))


def test_a_condition_of_another_writer_stays(scene: Scene) -> None:
    scene.apply_ready()
    condition = {
        "type": "Foreign",
        "status": "True",
        "reason": "Checked",
        "message": "by another controller",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    manifest = {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": "web"},
        "status": {"conditions": [condition]},
    }
    arguments = ("apply", "--server-side", "--subresource=status", "--field-manager=other", "-f", "-")
    mark = scene.cluster.audit()
    scene.kubectl(*arguments, input=json.dumps(manifest))
    assert not scene.settled(mark, seconds=1.0), "it causes no write"
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    assert scene.condition("Foreign") == condition


def test_the_api_server_takes_a_status_with_any_text_of_others(scene: Scene) -> None:
    """K6: the property that the unit test checks against the schema, checked against the server."""
    scene.apply_ready()
    texts = [
        "image must come from registry.corp",
        "",
        "A" * 2000,
        "x" * 40_000,
        "é" * 40_000,
        "\x1b[31m\u202e\x00\udc80",
    ]
    for text in texts:
        held = [
            Conflict("Deployment/web", text, text, Policy.YIELD, differs=True, contested=fought)
            for fought in (False, True)
        ]
        children = [Child("Deployment", "web", Health(Level.DEGRADED, text, text, stalled=True))]
        found = observations(children, held=held, repairs=[Repair("Service/web", text, text, text, text)])
        app = WebApp(scene.namespace, "web", "uid", 1, {"image": "web"})
        body = {**manifest("web", SPEC), "status": status(app, found, {}, "2026-01-01T00:00:00Z")}
        del body["spec"]
        arguments = (
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "--subresource=status",
            "-f",
            "-",
        )
        scene.kubectl(*arguments, "--field-manager=coxswain", input=json.dumps(body))
