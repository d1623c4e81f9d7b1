"""The object that all write to: a counter that all share, and a list in which each writer has an entry of its own.

It is a PodTemplate: a built-in kind with a list that has merge keys, which no controller of Kubernetes acts upon.
"""

import copy
from collections.abc import Mapping
from typing import Any

API_VERSION = "v1"
KIND = "PodTemplate"
COUNTER = "counter"
CONTAINER = "app"

Thing = Mapping[str, Any]


def manifest(name: str) -> dict[str, Any]:
    """Return the object as it is created: without the counter, which then belongs to who applies it first."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "template": {
            "spec": {"containers": [{"name": CONTAINER, "image": "app", "env": [{"name": "FIRST", "value": "0"}]}]}
        },
    }


def counter(thing: Thing) -> int:
    """Return what the shared counter says."""
    return int(thing["metadata"].get("annotations", {}).get(COUNTER, 0))


def entries(thing: Thing) -> dict[str, int]:
    """Return the list: the number of each writer that has an entry."""
    return {item["name"]: int(item["value"]) for item in _list(thing)}


def index(thing: Thing, writer: str) -> int | None:
    """Return where in the list a writer's entry is."""
    names = [item["name"] for item in _list(thing)]
    return names.index(writer) if writer in names else None


def version(thing: Thing) -> str:
    """Return the resourceVersion."""
    found: str = thing["metadata"]["resourceVersion"]
    return found


def containers(thing: Thing) -> list[dict[str, Any]]:
    """Return the list of containers, of which the list of entries is a part."""
    found: list[dict[str, Any]] = thing["template"]["spec"]["containers"]
    return found


def with_counter(thing: Thing, value: int) -> dict[str, Any]:
    """Return the object with another counter."""
    edited = copy.deepcopy(dict(thing))
    edited["metadata"].setdefault("annotations", {})[COUNTER] = str(value)
    return edited


def with_entry(thing: Thing, writer: str, value: int) -> dict[str, Any]:
    """Return the object with another number in a writer's entry, or with that entry at the end of the list."""
    edited = copy.deepcopy(dict(thing))
    at = index(edited, writer)
    if at is None:
        _list(edited).append({"name": writer, "value": str(value)})
    else:
        _list(edited)[at]["value"] = str(value)
    return edited


def _list(thing: Thing) -> list[dict[str, str]]:
    found: list[dict[str, str]] = containers(thing)[0]["env"]
    return found
