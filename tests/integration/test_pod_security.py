"""The status reports fields of other managers that violate Pod Security `restricted`."""

import json

from integration.scene import Scene, eventually


def test_a_foreign_field_that_violates_restricted_is_reported_with_its_manager(scene: Scene) -> None:
    scene.apply_ready()
    patch = {"spec": {"template": {"spec": {"hostNetwork": True, "initContainers": [{"name": "i", "image": "i"}]}}}}
    scene.kubectl("patch", "deployment", "web", "--field-manager=evil", "--patch", json.dumps(patch))
    found = eventually(lambda: scene.condition("PodSecurityViolated"), "it is reported")
    assert (found["status"], found["reason"]) == ("True", "NotRestricted")
    escalation = "initContainers[name=i].securityContext.allowPrivilegeEscalation must be false (manager evil)"
    for problem in ("hostNetwork is set by evil", escalation):
        assert f"spec.template.spec.{problem}" in found["message"]
    assert [event["type"] for event in scene.awaited_events("PodSecurityViolated")] == ["Warning"]
    scene.json_patch(
        "deployment",
        {"op": "remove", "path": "/spec/template/spec/hostNetwork"},
        {"op": "remove", "path": "/spec/template/spec/initContainers"},
    )
    eventually(lambda: not scene.condition("PodSecurityViolated"), "the condition is removed")
    scene.ready()


def test_the_report_agrees_with_the_warning_of_the_admission_plugin(scene: Scene) -> None:
    """The rules equal those of the API server: a namespace with warnings warns only about the foreign containers."""
    scene.kubectl("label", "namespace", scene.namespace, "pod-security.kubernetes.io/enforce=restricted")
    scene.apply_ready()
    assert not scene.condition("PodSecurityViolated")
