"""Each field of the spec set, changed and removed again: the children follow, and nothing is left of a removed one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.field_table import BASE, FIELDS, Field
from integration.scene import CHILDREN, Scene, manifest, masked

ROOT = Path(__file__).parents[2]
NOT_HERE = {"paused", "conflicts", "service.headless"}
"""Two that no child shows, and one that can't be changed: tests/integration/test_immutable.py."""
NEVER = "without-any"
"""The WebApp that never has one of the fields."""


def test_the_table_names_every_field_of_the_spec() -> None:
    document = yaml.safe_load((ROOT / "crds/webapps.yaml").read_text(encoding="utf-8"))
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert {field.name for field in FIELDS} == _names(schema["properties"]["spec"]["properties"]) - NOT_HERE


def _names(properties: dict[str, Any]) -> set[str]:
    """Return the fields, those of objects that group what becomes different things one by one."""
    grouping = ("service", "serviceAccount", "rollout")
    inner = {f"{group}.{name}" for group in grouping for name in properties[group]["properties"]}
    return (properties.keys() - set(grouping)) | inner


def test_each_field_is_set_changed_and_removed(scene: Scene) -> None:
    """All fields at once, a WebApp for each, in the same few steps."""
    for account in ("one", "two"):
        scene.kubectl("create", "serviceaccount", account)
    bases = {**{field.webapp: field.base for field in FIELDS}, NEVER: BASE}
    fresh = _step(scene, bases)
    for field in FIELDS:
        assert field.base != BASE or fresh[field.webapp] == _renamed(fresh[NEVER], field.webapp)
    for step in (0, 1):
        live = _step(scene, {**{field.webapp: field.spec(step) for field in FIELDS}, NEVER: BASE})
        wrong = [problem for field in FIELDS for problem in _problems(field, step, live[field.webapp])]
        assert not wrong, "\n".join(wrong)
    mark = scene.cluster.audit()
    live = _step(scene, bases)
    # What was removed is gone, and the operator has nothing more to put right.
    left = [text for name in live for text in _differences(fresh[name], live[name], name)]
    assert not left, "\n".join(left)
    scene.settled(mark)


@pytest.mark.parametrize("options", [(), ("--server-side",)], ids=["by kubectl", "on the server"])
def test_an_empty_list_of_spreads_is_no_spread(scene: Scene, options: tuple[str, ...]) -> None:
    """Left out, pods spread over nodes; so an empty list must stay one."""
    first = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    for constraints in ([first], []):
        webapp = manifest("web", {**BASE, "topologySpreadConstraints": constraints})
        scene.kubectl("apply", *options, "-f", "-", input=json.dumps(webapp))
        pod = scene.ready() and scene.get("deployment")["spec"]["template"]["spec"]
        assert len(pod.get("topologySpreadConstraints", [])) == len(constraints)


def _step(scene: Scene, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Apply WebApps and return the children of each once all are Ready."""
    scene.apply_all(specs)
    scene.all_ready(len(specs))
    # A value that is not written as the server writes it would look as if a policy had changed it.
    told = [child for webapp in scene.list("webapp") for child in webapp["status"]["children"] if "message" in child]
    assert not told
    return _children(scene)


def _problems(field: Field, step: int, live: Mapping[str, Any]) -> list[str]:
    return [
        f"{field.name}, step {step}: {place} is {found!r}, not {wanted!r}"
        for place, wanted in field.expected(step).items()
        if (found := _at(live, place)) != wanted
    ]


def _at(live: Mapping[str, Any], place: str) -> Any:
    """Return the value at a place like 'deployment/spec/template/spec/containers/0/image'; None if there is none."""
    value: Any = live
    for part in place.split("/"):
        key = part.replace("~", "/")
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = (value or {}).get(key)
    return value


def _children(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return the children by WebApp and kind, without what differs from object to object."""
    found: dict[str, dict[str, Any]] = {}
    for kind in CHILDREN:
        for child in scene.list(kind, "coxswain.dev/webapp"):
            children = found.setdefault(child["metadata"]["labels"]["coxswain.dev/webapp"], {})
            assert kind not in children, f"more than one {kind} of {child['metadata']['labels']}"
            children[kind] = masked(child)
    return found


def _renamed(children: dict[str, Any], name: str) -> Any:
    return json.loads(json.dumps(children).replace(NEVER, name))


def _differences(before: Any, after: Any, place: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(before.keys() | after.keys())
        return [text for key in keys for text in _differences(before.get(key), after.get(key), f"{place}/{key}")]
    return [] if before == after else [f"{place}: {before!r} has become {after!r}"]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_the_table_can_tell_the_steps_apart(field: Field) -> None:
    assert field.expected(0) != field.expected(1)
    assert field.expected(0).keys() == field.expected(1).keys()
