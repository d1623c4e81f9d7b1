"""Characters of a spec arrive in the children, whatever JSON, YAML and managedFields make of them."""

from typing import Any

from integration.scene import SPEC, Scene, eventually

TEXT = "Grüße 漢字 🎉 <&> \x7f \x85 \u2028 \u2029 \ufeff \ufffd \\ud83c\\udf89 \t'\"#: -"
PATHS = ["/größe", "/a&b<c>", "/🎉"]
VOLUMES = [{"name": f"v{number}", "mountPath": path, "emptyDir": {}} for number, path in enumerate(PATHS)]


def _mounted(scene: Scene) -> set[str]:
    [container] = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
    return {mount["mountPath"] for mount in container.get("volumeMounts", [])}


def test_all_characters_arrive(scene: Scene) -> None:
    """An emoji was escaped as JSON does it, which YAML refuses: no child could be written."""
    spec: dict[str, Any] = {**SPEC, "config": {"GREETING": TEXT}, "annotations": {"example.com/note": "🎉"}}
    scene.apply_ready(spec={**spec, "volumes": VOLUMES})
    assert scene.child("configmap")["data"] == {"GREETING": TEXT}
    assert scene.get("deployment")["metadata"]["annotations"]["example.com/note"] == "🎉"
    assert _mounted(scene) >= set(PATHS)


def test_an_item_with_such_a_key_is_removed(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "volumes": VOLUMES})
    for left in (PATHS[1:], PATHS[2:], []):
        scene.apply_ready(spec={**SPEC, "volumes": [volume for volume in VOLUMES if volume["mountPath"] in left]})
        assert _mounted(scene) & set(PATHS) == set(left)


def test_a_changed_item_with_such_a_key_is_healed(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "volumes": VOLUMES})
    [container] = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
    numbers = [n for n, mount in enumerate(container["volumeMounts"]) if mount["mountPath"] in PATHS]
    assert len(numbers) == len(PATHS)
    at = "/spec/template/spec/containers/0/volumeMounts"
    scene.json_patch("deployment", *({"op": "remove", "path": f"{at}/{number}"} for number in reversed(numbers)))
    eventually(lambda: _mounted(scene) >= set(PATHS), "the mounts are back")
    scene.ready()
