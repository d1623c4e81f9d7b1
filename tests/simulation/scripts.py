"""The script elements of one workload: actions, their parameters, profiles and recipes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model_cluster.chance import Chance
from model_cluster.cluster import MERGE
from model_cluster.objects import Object

JSON_PATCH = "application/json-patch+json"

Draw = Callable[[Chance, str, str], dict[str, Any]]
"""Draws the parameters of an action on a parent with this namespace and name."""
Spec = dict[str, Any]
Manifest = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A field of a child written by other managers."""

    plural: str
    read: Callable[[Object], Any]
    patch: Callable[[Any], Any]
    """Returns the patch for a value."""
    values: tuple[Any, ...]
    content_type: str = MERGE
    in_manifest: Callable[[Manifest, Any], Manifest] | None = None
    """Returns an applied manifest with another value, as from another operator version."""


def label_field(plural: str, key: str, *values: Any) -> Field:
    """Return the field for a child's label."""
    return Field(
        plural,
        lambda thing: (thing["metadata"].get("labels") or {}).get(key),
        lambda value: {"metadata": {"labels": {key: value}}},
        values,
    )


def replace_at(path: str) -> Callable[[Any], Any]:
    """Return a function that makes the JSON Patch for a value."""
    return lambda value: [{"op": "replace", "path": path, "value": value}]


@dataclass(frozen=True)
class Samples:
    """Fields and values for recipes. Each value differs from the desired one."""

    smallest: Mapping[str, Any]
    """The parameters of `create` for the cheapest parent."""
    drifts: Sequence[tuple[str, str, Any]]
    """Resource, field and value; the first belongs to the main child."""
    side: tuple[str, str, Any]
    """The same, for a child needed by the main child."""
    labels: Sequence[str]
    """Fields with the label of the parent."""
    wars: Sequence[tuple[str, Any, Mapping[str, Any]]]
    """Field, value, and a spec change that requests a third value."""
    every_child: Mapping[str, Any]
    """A spec change that affects each of the drifting children."""
    removal: tuple[str, Mapping[str, Any]]
    """The resource of a child, and a spec change that makes the child obsolete."""
    deleted: Sequence[str]
    """Resources of children deleted by others."""
    all_drifts: Sequence[tuple[str, Any]]
    """A field and a value of each child."""
    held_label: tuple[str, str]
    """A label, and the value that a mutating policy forces."""


@dataclass(frozen=True)
class Scripts:
    """The script elements of one workload."""

    names: tuple[str, ...]
    """The names of parents."""
    spec: Callable[..., Spec]
    """Returns the spec for the parameters of `create`."""
    often: Callable[[int], Spec]
    """Returns the nth of many spec changes."""
    fields: Mapping[str, Field]
    """Fields written by other managers, by their names in scripts."""
    applied: Callable[[str, str], tuple[str, Manifest]]
    """Returns the field and the manifest that a GitOps tool applies to a child; takes name and image."""
    named: tuple[str, ...]
    """Resources of children with the name of their parent."""
    foreign: Callable[[str, str, bool], Manifest]
    """Returns the spec of a foreign object; takes resource, name, and whether its pods have our label."""
    draws: Mapping[str, Draw]
    profiles: Mapping[str, dict[str, float]]
    recipes: Mapping[str, Callable[[Any], None]]
    """Each takes a `RecipeBuilder`."""
    samples: Samples
    further_recipes: Mapping[str, Callable[[Any], None]] = field(default_factory=dict)
    """Recipes of some even seeds, so that the odd seeds keep theirs."""
    weights_of_metadata: Mapping[str, float] = field(default_factory=dict)
    """The weights of further actions in each profile if the script watches metadata."""

    def numbered(self, number: int) -> str:
        """Return the nth name."""
        return f"{self.names[0].rpartition('-')[0]}-{number}"
