"""A rule of spec.conflicts can name each field written by Coxswain, except the fields that identify a child."""

import re
from pathlib import Path
from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import all_fields
from coxswain.kernel.objects.field_paths import text
from rendered import comparable, desired, is_identity
from unit.objects import fields_of, stored
from unit.test_children import GOLDEN, golden_names, read
from yaml_files import webapp_schema

ROOT = Path(__file__).parents[2]
SPEC = webapp_schema()["spec"]["properties"]
RULES = SPEC["conflicts"]["properties"]["rules"]["items"]["x-kubernetes-validations"]


def accepted(kind: str, path: str) -> bool:
    """Tell whether the CEL rules accept a path. Their expressions have the same meaning in Python's `re`."""
    for rule in RULES:
        expressions = re.findall(r"self\.path\.matches\(r'([^']*)'\)", rule["rule"])
        assert expressions, "each rule must match the path"
        if "!self.path.matches" in rule["rule"]:
            holds = not any(re.search(expression, path) for expression in expressions)
        else:
            kinds = re.findall(r"'(\w+)'", rule["rule"].partition("||")[0])
            holds = kind not in kinds or any(re.search(expression, path) for expression in expressions)
        if not holds:
            return False
    return True


@pytest.mark.parametrize("name", golden_names())
def test_each_field_that_is_written_can_be_named(name: str) -> None:
    for manifest in desired(read(GOLDEN / "in" / f"{name}.yaml")):
        kind, live = manifest["kind"], stored(manifest)
        found = [place.text for place in all_fields(comparable(manifest), live, fields_of(manifest))]
        # Another manager cannot own an immutable field with another value.
        mutable = [path for path in found if not (kind == "ConfigMap" and path.startswith(("data.", "immutable")))]
        refused = [path for path in mutable if accepted(kind, path) == is_identity(kind, path)]
        assert refused == []
        assert mutable


@pytest.mark.parametrize("name", golden_names())
def test_so_can_all_that_it_is_in(name: str) -> None:
    for manifest in desired(read(GOLDEN / "in" / f"{name}.yaml")):
        kind = manifest["kind"]
        within: set[str] = set()
        for place in all_fields(comparable(manifest), stored(manifest), fields_of(manifest)):
            if not is_identity(kind, place.text) and not place.text.startswith(("data.", "immutable")):
                within |= {text(place.path[:end]) for end in range(1, len(place.path))}
        assert [path for path in sorted(within) if not accepted(kind, path)] == []


def test_what_none_of_ours_is_can_not_be_named() -> None:
    wrong: list[Any] = [
        ("Deployment", "spec.template.spec.containers[name=proxy].image"),
        ("Deployment", "spec.selector"),
        ("Service", "spec.externalIPs"),
        ("ConfigMap", "data.A"),
        ("ServiceAccount", "spec"),
        ("Service", "metadata.labels[coxswain.dev/webapp]"),
    ]
    assert [path for kind, path in wrong if accepted(kind, path)] == []
