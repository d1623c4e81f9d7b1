"""Each field of the spec is set, changed and removed: the children follow, and no value of a removed field remains."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from integration.field_table import BASE, Field
from integration.field_table import FIELDS as OTHER_FIELDS
from integration.field_table_pods import POD_FIELDS
from integration.scene import CHILDREN, GUARDS, Scene, manifest, masked
from yaml_files import webapp_schema

ROOT = Path(__file__).parents[2]
FIELDS = [*OTHER_FIELDS, *POD_FIELDS]
NOT_HERE = {
    *("paused", "conflicts", "rollout.onFailure", "service.replace", "routes", "ingress", "restartOn"),
    *("service.headless", "service.loadBalancerClass", "service.externalName", "autoscaling.minReplicas"),
}
"""Four fields without effect on healthy children; two that need other controllers (test_routes.py); one that needs
rights of its own (test_restart_on.py); two immutable ones and one that cannot be removed (test_service_types.py); one
whose count remains (test_spec_autoscaling.py)."""
NEVER = "without-any"
"""The WebApp without any of the fields."""


def test_the_table_names_every_field_of_the_spec() -> None:
    assert {field.name for field in FIELDS} == _names(webapp_schema()["spec"]["properties"]) - NOT_HERE


def _names(properties: dict[str, Any]) -> set[str]:
    """Return the names of the fields; an object that only groups fields counts by the names of its members."""
    grouping = ("service", "serviceAccount", "rollout", "autoscaling", "disruption", "network")
    inner = {f"{group}.{name}" for group in grouping for name in properties[group]["properties"]}
    return (properties.keys() - set(grouping)) | inner


@pytest.mark.slow
def test_each_field_is_set_changed_and_removed(scene: Scene) -> None:
    """All fields in the same few steps, with one WebApp for each field."""
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
    # Removed fields are gone, and the operator has nothing left to correct.
    left = [text for name in live for text in _differences(fresh[name], live[name], name)]
    assert not left, "\n".join(left)
    scene.settled(mark)


@pytest.mark.parametrize("options", [(), ("--server-side",)], ids=["by kubectl", "on the server"])
def test_an_empty_list_of_spreads_is_no_spread(scene: Scene, options: tuple[str, ...]) -> None:
    """Without the field, pods are spread over nodes; so an empty list must stay an empty list."""
    first = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    for constraints in ([first], []):
        webapp = manifest("web", {**BASE, "topologySpreadConstraints": constraints})
        scene.kubectl("apply", *options, "-f", "-", input=json.dumps(webapp))
        pod = scene.ready() and scene.get("deployment")["spec"]["template"]["spec"]
        assert len(pod.get("topologySpreadConstraints", [])) == len(constraints)


def _step(scene: Scene, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Apply WebApps and return the children of each after all are Ready."""
    scene.apply_all(specs)
    scene.all_ready(len(specs))
    # A value in another form than the server's would look like a change by a policy.
    told = [child for webapp in scene.list("webapp") for child in webapp["status"]["children"] if "message" in child]
    # This cluster has no metrics and no load balancer.
    told = [child for child in told if child["kind"] != "HorizontalPodAutoscaler"]
    assert not [child for child in told if not child["message"].startswith("waiting for an address")]
    return _children(scene)


def _problems(field: Field, step: int, live: Mapping[str, Any]) -> list[str]:
    return [
        f"{field.name}, step {step}: {place} is {found!r}, not {wanted!r}"
        for place, wanted in field.expected(step).items()
        if (found := _at(live, place)) != wanted
    ]


def _at(live: Mapping[str, Any], place: str) -> Any:
    """Return the value at a place like 'deployment/spec/template/spec/containers/0/image', or None."""
    value: Any = live
    for part in place.split("/"):
        key = part.replace("~", "/")
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = (value or {}).get(key)
    return value


def _children(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return the children by WebApp and kind, without the fields that differ between objects."""
    found: dict[str, dict[str, Any]] = {}
    deployments = scene.list("deployment", "coxswain.dev/webapp")
    accounts = {deployment["spec"]["template"]["spec"]["serviceAccountName"] for deployment in deployments}
    used = {"configmap": json.dumps(deployments), "serviceaccount": accounts}
    for kind in (*CHILDREN, *GUARDS):
        for child in scene.list(kind, "coxswain.dev/webapp"):
            if kind in used and child["metadata"]["name"] not in used[kind]:
                continue  # kept for an earlier revision
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
