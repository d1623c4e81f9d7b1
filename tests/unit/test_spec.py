"""Schema and typed view have the same fields: walked both ways."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import yaml

from coxswain.kernel.status.health import Level
from coxswain.webapp.spec import GROUP, KIND, PLURAL, VERSION, Spec, Status
from coxswain.webapp.status import RULES

CRD = yaml.safe_load((Path(__file__).parents[2] / "crds" / "webapps.yaml").read_text())
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]


def typed_leaves(hint: Any, path: str) -> set[str]:
    """The paths of all fields of a type of the typed view."""
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
    """The paths of all fields of a schema."""
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
    assert [name for name in RULES.types[:-1] if name not in text] == []
