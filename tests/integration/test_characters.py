"""Characters of a spec arrive in the children, whatever JSON, YAML and managedFields make of them."""

from typing import Any

from integration.scene import SPEC, Scene, eventually

TEXT = "Grüße 漢字 🎉 <&> \x7f \x85 \u2028 \u2029 \ufeff \ufffd \\ud83c\\udf89 \t'\"#: -"
PATHS = ["/größe", "/a&b<c>", "/🎉"]


def _mounted(scene: Scene) -> set[str]:
    [container] = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
    return {mount["mountPath"] for mount in container.get("volumeMounts", [])}


def test_all_characters_arrive(scene: Scene) -> None:
    """An emoji was escaped as JSON does it, which YAML refuses: no child could be written."""
    volumes = [{"name": f"v{number}", "mountPath": path, "emptyDir": {}} for number, path in enumerate(PATHS)]
    spec: dict[str, Any] = {**SPEC, "config": {"GREETING": TEXT}, "annotations": {"example.com/note": "🎉"}}
    scene.apply_ready(spec={**spec, "volumes": volumes})
    assert scene.child("configmap")["data"] == {"GREETING": TEXT}
    assert scene.get("deployment")["metadata"]["annotations"]["example.com/note"] == "🎉"
    assert _mounted(scene) >= set(PATHS)


def test_an_item_with_such_a_key_is_removed(scene: Scene) -> None:
    volumes = [{"name": f"v{number}", "mountPath": path, "emptyDir": {}} for number, path in enumerate(PATHS)]
    scene.apply_ready(spec={**SPEC, "volumes": volumes})
    for left in (volumes[1:], volumes[2:], []):
        scene.apply(spec={**SPEC, "volumes": left})
        wanted = {volume["mountPath"] for volume in left}
        eventually(lambda wanted=wanted: _mounted(scene) & set(PATHS) == wanted, f"mounted at {wanted} only")


def test_a_changed_item_with_such_a_key_is_healed(scene: Scene) -> None:
    volumes = [{"name": f"v{number}", "mountPath": path, "emptyDir": {}} for number, path in enumerate(PATHS)]
    scene.apply_ready(spec={**SPEC, "volumes": volumes})
    [container] = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
    numbers = [n for n, mount in enumerate(container["volumeMounts"]) if mount["mountPath"] in PATHS]
    assert len(numbers) == len(PATHS)
    at = "/spec/template/spec/containers/0/volumeMounts"
    scene.json_patch("deployment", *({"op": "remove", "path": f"{at}/{number}"} for number in reversed(numbers)))
    eventually(lambda: _mounted(scene) >= set(PATHS), "the mounts are back")
    scene.ready()
