"""The operators under test, and the facts that the simulation needs. Only this package imports the operators."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from coxswain.kernel.workload import Workload as Operator
from model_cluster.api_server import Admission
from model_cluster.objects import Object, Place, controller, place
from simulation.judge import Gap, Objects
from simulation.scripts import Scripts

ROOT = Path(__file__).parents[3]
MODULES = {"webapp": "simulation.workloads.webapp", "scheduled-task": "simulation.workloads.scheduled_task"}
DEFAULT = "webapp"


@dataclass(frozen=True)
class Workload:
    """A workload of the kernel: its kinds, and the functions that judge its children and its status."""

    name: str
    """Its name on the command line."""
    operator: Operator[Any]
    """The operator that runs in the simulation."""
    crds: tuple[Path, ...]
    """The files of the CustomResourceDefinitions of the parent and of children."""
    group: str
    kind: str
    """The kind of the parent."""
    parent: str
    """The plural name of the parent; names below are plural as well."""
    children: tuple[str, ...]
    """In write order."""
    label: str
    """The label with the name of the parent."""
    adopt: str
    """The annotation that allows an adoption."""
    manager: str
    """The field manager of the operator."""
    scripts: Scripts
    gaps: Callable[[Object, Objects], list[Gap]]
    """The differences between a parent's spec and its children."""
    status_gaps: Callable[[Object, Objects, list[Gap]], list[Gap]]
    """The differences between the children, with their gaps, and the status."""
    explains: Callable[[Any, Object, Gap], bool]
    """Returns whether an `Explanations` finds a reason for a gap specific to this workload."""
    spec_part: Callable[[Object, Gap], str]
    """The part of the spec for a gap."""
    spec_parts: tuple[str, ...]
    """All parts of the spec."""
    main: str
    """The main child. Without our label it is not watched, and the status cannot report it."""
    other_version: Operator[Any] | None = None
    """Another version of the operator, with another value in the main child."""
    unready: Callable[[Object, Objects], str] = lambda _parent, _objects: ""
    """The reason why a parent is not ready although no child has a gap; empty if it is."""
    related: tuple[str, ...] = ()
    """Read-only resources."""
    decisive: tuple[str, ...] = ()
    """Related resources on which the children depend."""
    named: tuple[str, ...] = ()
    """Resources of others, besides those of children, that parents name. A script may watch their metadata."""
    metadata: tuple[str, ...] = ()
    """All resources whose metadata a script may watch."""
    policies: Sequence[Admission] = ()
    """Admission policies in place of the CEL rules of the CRD, which the model does not evaluate."""
    optional: Mapping[str, str] = field(default_factory=dict)
    """Children that other children do not wait for if their kind is not served or not listed, and the part of the spec
    that asks for each."""
    depends: Callable[[Gap], bool] = lambda _: False
    """Whether a gap depends on decisive resources."""
    target: Callable[[Object], str | None] = lambda _: None
    """The name of the parent to which a decisive object refers."""
    invariants: Sequence[Callable[[Any], object]] = ()
    """Invariants and counts specific to this workload: each is called with the World and registers itself."""
    happenings: tuple[str, ...] = ()
    """The counted events that must occur in many seeds, as the actions must."""

    @property
    def resources(self) -> tuple[str, ...]:
        """All watched resources."""
        return (self.parent, *self.children, *self.related)

    def concerns(self, thing: Object, where: Place) -> bool:
        """Return whether an object is relevant for the parent with this namespace and name."""
        if place(thing)[0] != where[0]:
            return False
        labels: Mapping[str, str] = thing["metadata"].get("labels") or {}
        names = {place(thing)[1], labels.get(self.label), controller(thing).get("name")}
        return where[1] in names | {self.target(thing)}


@cache
def workload(name: str) -> Workload:
    """Return the workload with this name."""
    found = importlib.import_module(MODULES[name]).WORKLOAD
    assert isinstance(found, Workload)
    return found
