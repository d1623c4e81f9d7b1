"""Removed fields: a field removed from the spec is removed from the children, unless another manager owns it too."""

import json
from typing import Any

from integration.scene import CHILDREN, SPEC, Scene, eventually

OURS = {"example.com/team": "storefront", "example.com/tier": "front"}
OTHERS = "other.example/kept"


def test_labels_and_annotations_removed_from_the_spec_go_everywhere(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "labels": OURS, "annotations": OURS})
    names = [f"{kind}/{child['metadata']['name']}" for kind, child in scene.children().items()]
    scene.kubectl("label", *names, f"{OTHERS}=yes")
    scene.kubectl("annotate", *names, f"{OTHERS}=yes")
    template = {"metadata": {"labels": {OTHERS: "yes"}, "annotations": {OTHERS: "yes"}}}
    scene.patch("deployment", {"spec": {"template": template}})
    scene.apply_ready(spec={**SPEC, "labels": {"example.com/tier": "back"}})
    things = scene.children()
    for thing in [*(things[kind] for kind in CHILDREN), things["deployment"]["spec"]["template"]]:
        labels, annotations = thing["metadata"]["labels"], thing["metadata"]["annotations"]
        assert {key: labels.get(key) for key in OURS} == {"example.com/team": None, "example.com/tier": "back"}
        assert OURS.keys().isdisjoint(annotations)
        assert labels[OTHERS] == annotations[OTHERS] == "yes"
    eventually(lambda: len(scene.names("pod")) == 1, "the old pods are gone")
    pod = scene.child("pod")["metadata"]
    assert "example.com/team" not in pod["labels"]
    assert OURS.keys().isdisjoint(pod["annotations"])
    assert pod["labels"][OTHERS] == "yes"


def test_a_field_that_another_manager_holds_too_is_given_up(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "labels": OURS, "workingDir": "/srv"})
    _apply_as_other(scene)
    mark = scene.cluster.audit()
    scene.apply_ready()
    requests = scene.settled(mark)
    assert requests["patch deployments"] == 1
    deployment = scene.get("deployment")
    assert deployment["metadata"]["labels"]["example.com/team"] == "storefront"
    assert deployment["spec"]["template"]["spec"]["containers"][0]["workingDir"] == "/srv"
    assert "example.com/tier" not in deployment["metadata"]["labels"]
    assert _holds(deployment, "coxswain") == (False, False)
    assert _holds(deployment, "other") == (True, True)


def test_a_field_that_another_manager_holds_too_is_still_ours_to_set(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "labels": OURS, "workingDir": "/srv"})
    _apply_as_other(scene)
    mark = scene.cluster.audit()
    scene.apply_ready(spec={**SPEC, "labels": OURS, "workingDir": "/var"})
    assert scene.settled(mark)["patch deployments"] == 1
    assert scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]["workingDir"] == "/var"


def _apply_as_other(scene: Scene) -> None:
    """Let another field manager apply the existing values."""
    container = {"name": "app", "workingDir": "/srv"}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"example.com/team": "storefront"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    scene.kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", input=json.dumps(manifest))


def _holds(deployment: dict[str, Any], manager: str) -> tuple[bool, bool]:
    """Return whether a manager owns the label and the working directory."""
    entries = [entry for entry in deployment["metadata"]["managedFields"] if entry["operation"] == "Apply"]
    (fields,) = [entry["fieldsV1"] for entry in entries if entry["manager"] == manager]
    containers = fields["f:spec"]["f:template"]["f:spec"]["f:containers"]
    return (
        "f:example.com/team" in fields["f:metadata"]["f:labels"],
        "f:workingDir" in containers['k:{"name":"app"}'],
    )
