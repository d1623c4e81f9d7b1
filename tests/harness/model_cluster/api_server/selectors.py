"""Label and field selectors of LIST and WATCH."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from model_cluster.api_server.schema import Object

_SET = re.compile(r"^(\S+)\s+(in|notin)\s+\(([^)]*)\)$")
_PART = re.compile(r",(?![^(]*\))")

Test = Callable[[Object], bool]


@lru_cache(maxsize=1024)
def by_labels(selector: str) -> Test:
    """Return a test of an object's labels."""
    tests = [_requirement(part.strip()) for part in _PART.split(selector) if part.strip()]

    def test(obj: Object) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(each(labels) for each in tests)

    return test


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector of an object's spec selects an object with these labels."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or ()
    return wanted.items() <= labels.items() and all(_holds(each, labels) for each in expressions)


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    return {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[expression["operator"]]


def _requirement(part: str) -> Callable[[dict[str, str]], bool]:
    found = _SET.match(part)
    if found:
        key, how, values = found[1], found[2], {value.strip() for value in found[3].split(",")}
        return lambda labels: (labels.get(key) in values) == (how == "in")
    for sign, equal in (("!=", False), ("==", True), ("=", True)):
        if sign in part:
            key, _, value = (side.strip() for side in part.partition(sign))
            return lambda labels: (labels.get(key) == value) == equal
    if part.startswith("!"):
        return lambda labels: part[1:].strip() not in labels
    return lambda labels: part in labels


@lru_cache(maxsize=1024)
def by_fields(selector: str) -> Test:
    """Return a test of an object's fields, each a dotted path."""
    tests = []
    for part in selector.split(","):
        if not part:
            continue
        equal = "!=" not in part
        path, _, value = part.replace("==", "=").partition("=" if equal else "!=")
        tests.append((path.split("."), value, equal))

    def test(obj: Object) -> bool:
        return all((_at(obj, path) == value) == equal for path, value, equal in tests)

    return test


def _at(obj: Object, path: list[str]) -> str:
    found: Any = obj
    for name in path:
        found = found.get(name, "") if isinstance(found, dict) else ""
    return str(found)
