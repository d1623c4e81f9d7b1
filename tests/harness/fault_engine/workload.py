"""The operator under test, as data: everything that the engine and the oracles know about it.

Scripts name its resources by placeholders:

| placeholder | replaced by |
|---|---|
| `{namespace}` | the namespace of the run |
| `{parents}` | the plural of the custom resource |
| `{main}` | the plural of the main child |
| `{child}` | the plural of a child that can be deleted alone, and is called like its parent |
| `{label}` | the label of all children; its value is the name of the parent |
| `{agent}`, `{watch_agent}` | the User-Agent of requests, and of watches with their LIST |
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from cluster import ControlPlane
from fault_engine.objects import Object, Resource, applied, controller, is_settled
from fault_engine.placeholders import filled
from fault_engine.scale import QUIET_MARGIN_SECONDS, Scale
from fault_engine.script import Kubectl, Life

if TYPE_CHECKING:
    from fault_engine.evidence import Evidence, Violation
    from fault_engine.stand import Stand

LIFE = ("create", "change", "edit", "edit main", "drift", "switch", "lose", "recreate", "delete", "canary")
"""The steps of a life that each workload defines.

- `create` applies the parent. `change` applies it with a change of the main child and of another child. The first
  command of these two, and of `canary`, has the whole parent as its object.
- `edit` sets a field of the parent to `{number}`, and `edit main` the corresponding field of the main child. After
  `create` its value is 2.
- `drift` deletes and changes children. `switch` is a change of a child that an apply alone cannot correct.
- `lose` deletes a child by its label, without waiting. It is another child than `{child}`.
- `recreate` applies the parent, changed, after its deletion.

A step without commands is allowed. In the commands, `{name}` is the name of the parent, and `{number}` a number.
"""

Children = Mapping[str, list[Object] | None]
"""By plural, the live children of one parent; None if the operator has not received any data about them."""


@dataclass(frozen=True)
class Workload:
    """An operator of one custom resource."""

    name: str
    parent: Resource
    main: Resource
    """The child that has the content of the parent."""
    child: Resource
    """A child that can be deleted alone, and that is called like its parent."""
    children: tuple[Resource, ...]
    """All children, `main` and `child` included."""
    label: str
    manager: str
    """The field manager of the operator."""
    account: tuple[str, str]
    """Namespace and name of its ServiceAccount."""
    program: tuple[str, ...]
    """A Python module with its first options. It takes `--kubeconfig`, `--listen`, `--metrics-listen`, `--namespace`,
    `--log-level`, `--scale`, `--never-resync` and `--break NAME`, and logs `probes at http://HOST:PORT` and `metrics at
    http://HOST:PORT`."""
    crd: Path
    role: Path
    """The ClusterRole of the operator."""
    install: Callable[[ControlPlane], object]
    """Grants the rights in a cluster that has the CRD."""
    life: Mapping[str, tuple[Kubectl, ...]]
    """The steps of `LIFE`."""
    follows: Callable[[Object, Object], bool]
    """Tells whether a main child has the content of a parent."""
    problem: Callable[[Object, Children], str | None]
    """Returns the first difference between a parent and its children; None if there is none."""
    longest_retry: Callable[[float], float]
    """Returns the longest delay before a retry, in seconds, at a time scale."""
    agent: str = "*"
    watch_agent: str = "*"
    adopt_annotation: str = ""
    """The annotation with which the owner of an object allows its adoption."""
    others: tuple[Resource, ...] = ()
    """Further resources to record. Pods and Events are compared by their number only, and not at all."""
    incomplete: Callable[[Object], str | None] = lambda _: None
    """Returns the first reason why the main child has not taken effect; None without one."""
    settled: Callable[[Object], bool] = is_settled
    """Tells whether the status of a parent is final."""
    is_left: Callable[[Object, tuple[str, ...]], bool] = lambda *_: False
    """Tells whether a field of a child, a path as in managedFields, may belong to another manager."""
    rules: tuple[Callable[["Evidence"], Iterable["Violation"]], ...] = ()
    """Rules of O6 for this workload only."""
    masks: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """Fields that O1 ignores for this workload only, with the reason."""
    probe: Mapping[str, Any] = field(default_factory=dict)
    """The manifest of a `child` without a parent, for a dry run."""
    disasters: Mapping[str, Callable[["Stand"], object]] = field(default_factory=dict)
    """Further disasters for scripts."""
    procedures: Mapping[str, Callable[..., tuple[list[str], str]]] = field(default_factory=dict)
    """Functions for `Procedure` steps. They take the stand and the arguments of the step, and return violations of O1
    and a line for the report."""

    def __post_init__(self) -> None:
        missing = set(LIFE) - set(self.life)
        if missing:
            raise ValueError(f"workload {self.name}: the life lacks the steps {', '.join(sorted(missing))}")

    @property
    def user(self) -> str:
        """The user name of the operator in the audit log."""
        namespace, name = self.account
        return f"system:serviceaccount:{namespace}:{name}"

    @property
    def crd_name(self) -> str:
        """The name of the CRD."""
        return f"{self.parent.plural}.{self.parent.group}"

    @property
    def cluster_role(self) -> dict[str, Any]:
        """The manifest of the ClusterRole."""
        role: dict[str, Any] = next(yaml.safe_load_all(self.role.read_text(encoding="utf-8")))
        return role

    @property
    def resources(self) -> dict[str, str]:
        """All recorded resources: plural to the path of group and version."""
        return {each.plural: each.path for each in (self.parent, *self.children, *self.others)}

    @property
    def plurals(self) -> tuple[str, ...]:
        """The plurals of the children."""
        return tuple(each.plural for each in self.children)

    @property
    def words(self) -> dict[str, str]:
        """The placeholders that are the same in each run."""
        return {
            "parents": self.parent.plural,
            "main": self.main.plural,
            "child": self.child.plural,
            "label": self.label,
            "agent": self.agent,
            "watch_agent": self.watch_agent,
        }

    def steps(self, life: Life) -> tuple[Kubectl, ...]:
        """Return the commands of a step of a life.

        Raises:
            KeyError: the workload does not define this step.
        """
        words = {**self.words, "name": life.name, "number": str(life.number)}
        return tuple(filled(step, words) for step in self.life[life.what])

    def quiet(self, scale: Scale) -> float:
        """Return for how many seconds an idle operator writes nothing: longer than its longest retry (O3)."""
        return self.longest_retry(scale.factor) + QUIET_MARGIN_SECONDS

    def is_parent(self, reference: Mapping[str, Any] | None) -> bool:
        """Tell whether an owner reference names a parent."""
        if reference is None or reference["kind"] != self.parent.kind:
            return False
        return str(reference["apiVersion"]).startswith(f"{self.parent.group}/")

    def applied(self, thing: Object) -> Mapping[str, Any] | None:
        """Return the fields of an object, except those of the status, that the operator has applied and owns."""
        return applied(thing, self.manager)

    def is_foreign(self, thing: Object) -> bool:
        """Tell whether another controller owns an object, or nobody does and the operator has not applied it.

        An object without an owner may be adopted if it has the annotation.
        """
        owner = controller(thing)
        if owner is not None:
            return not self.is_parent(owner)
        return self.applied(thing) is None and self.adopt_annotation not in thing["metadata"].get("annotations", {})

    def follows_life(self, life: Life, things: Iterable[Object]) -> str | None:
        """Return how the main child differs from the parent that a step applies; None if it follows it.

        Args:
            life: a step whose first command applies the whole parent.
            things: all objects of the kind of the main child.
        """
        parent = self.steps(life)[0].object
        name = parent["metadata"]["name"]
        found = [thing for thing in things if thing["metadata"]["name"] == name]
        if len(found) != 1:
            return f"there are {len(found)} {self.main.plural} called {name}"
        return None if self.follows(parent, found[0]) else f"{self.main.plural}/{name} does not follow {life}"
