"""The schema and the typed view have the same fields, compared in both directions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from coxswain.kernel.status.health import Level
from coxswain.webapp.spec import GROUP, KIND, PLURAL, VERSION, Spec, Status
from coxswain.webapp.status import RULES
from yaml_files import webapp_crd, webapp_schema

CRD = webapp_crd()
SCHEMA = webapp_schema()


def typed_leaves(hint: Any, path: str) -> set[str]:
    """Return the paths of all fields of a type of the typed view."""
    if get_origin(hint) is NotRequired:
        return typed_leaves(get_args(hint)[0], path)
    if is_typeddict(hint):
        hints = get_type_hints(hint)
        return {
            leaf for name, inner in hints.items() for leaf in {f"{path}.{name}"} | typed_leaves(inner, f"{path}.{name}")
        }
    if get_origin(hint) in (Sequence, list):
        return typed_leaves(get_args(hint)[0], f"{path}[]")
    if get_origin(hint) is Mapping:
        return typed_leaves(get_args(hint)[1], f"{path}{{}}")
    assert hint in (str, int, bool) or get_origin(hint) is not None or isinstance(hint, UnionType), (path, hint)
    return set()


def schema_leaves(schema: Mapping[str, Any], path: str) -> set[str]:
    """Return the paths of all fields of a schema."""
    found = set()
    for name, inner in schema.get("properties", {}).items():
        found |= {f"{path}.{name}"} | schema_leaves(inner, f"{path}.{name}")
    if "items" in schema:
        found |= schema_leaves(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        found |= schema_leaves(schema["additionalProperties"], f"{path}{{}}")
    return found


def test_the_spec_has_the_fields_of_the_schema_and_no_others() -> None:
    assert typed_leaves(Spec, "spec") == schema_leaves(SCHEMA["spec"], "spec")


def test_the_status_has_the_fields_of_the_schema_and_no_others() -> None:
    assert typed_leaves(Status, "status") == schema_leaves(SCHEMA["status"], "status")


def test_the_required_fields_are_the_same() -> None:
    def check(hint: Any, schema: Mapping[str, Any], path: str) -> None:
        if get_origin(hint) in (NotRequired, Sequence):
            check(get_args(hint)[0], schema.get("items", schema) if get_origin(hint) is Sequence else schema, path)
        elif is_typeddict(hint):
            assert set(hint.__required_keys__) <= set(schema.get("required", [])) | defaulted(schema), path
            for name, inner in get_type_hints(hint, include_extras=True).items():
                check(inner, schema["properties"][name], f"{path}.{name}")

    def defaulted(schema: Mapping[str, Any]) -> set[str]:
        return {name for name, inner in schema["properties"].items() if "default" in inner}

    check(Spec, SCHEMA["spec"], "spec")


def test_names() -> None:
    names = CRD["spec"]["names"]
    version = CRD["spec"]["versions"][0]["name"]
    assert (CRD["spec"]["group"], version, names["kind"], names["plural"]) == (GROUP, VERSION, KIND, PLURAL)
    assert (names["shortNames"], names["categories"]) == (["wa"], ["all"])


def test_health_levels_are_those_of_the_schema() -> None:
    assert {level.text for level in Level} == set(
        SCHEMA["status"]["properties"]["children"]["items"]["properties"]["health"]["enum"]
    )


def test_condition_types_are_told_in_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "webapp.md").read_text()
    assert [name for name in RULES.types if name not in text] == []


DEFAULTS = {
    "conflicts.policy",
    "ingress.hosts[].paths[].pathType",
    "network.egress[].ports[].protocol",
    "network.ingress[].ports[].protocol",
    "paused",
    "ports[].protocol",
    "replicas",
    "rollout.strategy",
    "routes[].rules[].headers[].type",
    "routes[].rules[].path.type",
    "service.ports[].protocol",
    "serviceAccount.automountServiceAccountToken",
    "serviceAccount.create",
    "sidecars[].ports[].protocol",
}


def test_no_further_field_of_the_spec_has_a_schema_default() -> None:
    """The API server would add it to each stored spec, and each WebApp would get a new revision (decision 40)."""

    def defaults(schema: Any, path: str) -> Iterator[str]:
        if path and "default" in schema:
            yield path
        for name, inner in schema.get("properties", {}).items():
            yield from defaults(inner, f"{path}.{name}".lstrip("."))
        for inner in (schema.get("items"), schema.get("additionalProperties")):
            yield from defaults(inner, f"{path}[]") if isinstance(inner, dict) else ()

    assert set(defaults(webapp_schema()["spec"], "")) == DEFAULTS
