"""Fields of other managers that make the pods fail Pod Security `restricted` are told."""

import json

from integration.scene import Scene, eventually


def test_a_foreign_field_that_is_not_restricted_is_told_with_its_manager(scene: Scene) -> None:
    scene.apply_ready()
    patch = {"spec": {"template": {"spec": {"hostNetwork": True, "initContainers": [{"name": "i", "image": "i"}]}}}}
    scene.kubectl("patch", "deployment", "web", "--field-manager=evil", "--patch", json.dumps(patch))
    found = eventually(lambda: scene.condition("PodSecurityViolated"), "it is told")
    assert (found["status"], found["reason"]) == ("True", "NotRestricted")
    for field in ("hostNetwork", "initContainers[name=i].securityContext.allowPrivilegeEscalation"):
        assert f"spec.template.spec.{field} is set by evil" in found["message"]
    told = [event for event in scene.events() if event["reason"] == "PodSecurityViolated"]
    assert [event["type"] for event in told] == ["Warning"]
    scene.json_patch(
        "deployment",
        {"op": "remove", "path": "/spec/template/spec/hostNetwork"},
        {"op": "remove", "path": "/spec/template/spec/initContainers"},
    )
    eventually(lambda: not scene.condition("PodSecurityViolated"), "it is gone")
    scene.ready()


def test_what_is_told_is_what_the_admission_plugin_warns_of(scene: Scene) -> None:
    """The rules are those of the API server: a namespace that warns does so for our template's neighbours alone."""
    scene.kubectl("label", "namespace", scene.namespace, "pod-security.kubernetes.io/enforce=restricted")
    scene.apply_ready()
    assert not scene.condition("PodSecurityViolated")
