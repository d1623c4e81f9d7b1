"""The results of the commands, as `-o json` prints them. docs/plugin.md describes each field.

They are named tuples: the same number of dataclasses takes 40 ms at each start.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kubectl_coxswain.screen import Level

API_VERSION = "plugin.coxswain.dev/v1"
"""The version of the output for programs."""


class Verdict(NamedTuple):
    """The state of a WebApp in one word, with its reason and a sentence."""

    state: str
    reason: str
    message: str
    level: Level
    """How to judge it; the colour."""


class Node(NamedTuple):
    """An object in a tree."""

    kind: str
    name: str
    state: str = ""
    level: Level = "none"
    info: str = ""
    created: str = ""
    children: Sequence["Node"] = ()


class ConditionReport(NamedTuple):
    """A condition of the WebApp."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class Counts(NamedTuple):
    """Numbers of pods; None if unknown."""

    desired: int | None
    """The live number of the Deployment; before the operator has reconciled the spec, that of the spec."""
    updated: int | None
    ready: int | None
    autoscalers: Sequence[str] = ()
    """The HorizontalPodAutoscalers that set the desired number."""


class StatusReport(NamedTuple):
    """`status`: the state of one WebApp. `tree` is left out of lists."""

    namespace: str
    name: str
    verdict: Verdict
    generation: int
    observed_generation: int
    image: str
    paused: bool
    replicas: Counts
    created: str
    revision: int | None = None
    previous_revision: int | None = None
    running_revision: int | None = None
    urls: Sequence[str] = ()
    conditions: Sequence[ConditionReport] = ()
    tree: Node | None = None
    notes: Sequence[str] = ()


class TreeReport(NamedTuple):
    """`tree`: the WebApp with everything that belongs to it."""

    namespace: str
    name: str
    tree: Node
    notes: Sequence[str] = ()


class Evidence(NamedTuple):
    """One observation: a condition, a child, a container or an Event."""

    source: str
    object: str
    reason: str
    message: str
    times: int = 1
    last: str = ""


class WhyReport(NamedTuple):
    """`why`: the cause, the evidence and the next commands."""

    namespace: str
    name: str
    verdict: Verdict
    cause: str
    evidence: Sequence[Evidence] = ()
    next: Sequence[str] = ()
    notes: Sequence[str] = ()


class FieldChange(NamedTuple):
    """A field with two values. Structures are only named; probable secrets are hidden."""

    field: str
    live: str
    wanted: str
    managers: Sequence[str] = ()
    """The other field managers of the field."""


class ChildDrift(NamedTuple):
    """A child and its difference from the desired state."""

    object: str
    state: str
    """InSync, Differs, Missing, NotNeeded, Foreign, Terminating, Immutable or Unknown."""
    message: str = ""
    fields: Sequence[FieldChange] = ()
    left: Sequence[FieldChange] = ()
    """Fields that a policy leaves to other managers."""


class Correction(NamedTuple):
    """A field reverted by the operator: an entry of status.drift."""

    object: str
    field: str
    manager: str
    wanted: str
    found: str
    times: int


class DriftReport(NamedTuple):
    """`drift`: the differences of the children at present, and the corrected ones."""

    namespace: str
    name: str
    drifted: bool | None
    """None if no read child differs, and others cannot be read."""
    children: Sequence[ChildDrift] = ()
    corrections: Sequence[Correction] = ()
    notes: Sequence[str] = ()


class ConflictEntry(NamedTuple):
    """A field of the spec that another field manager owns: an entry of status.conflicts."""

    object: str
    field: str
    manager: str
    policy: str


class ConflictsReport(NamedTuple):
    """`conflicts`: the fields that other field managers own."""

    namespace: str
    name: str
    conflicts: Sequence[ConflictEntry] = ()
    contested: str = ""
    """The message of the condition Contested while it is True."""
    reconciled: bool = True
    """Whether the status describes the present spec."""
    notes: Sequence[str] = ()


class RevisionReport(NamedTuple):
    """A revision."""

    number: int
    name: str
    running: bool | None
    """None if the status names no revision."""
    current: bool
    """Whether it is the spec of the WebApp."""
    image: str
    changed_at: str = ""
    changed_by: str = ""
    cause: str = ""
    ready_at: str = ""
    failed: str = ""
    render: str = ""


class HistoryReport(NamedTuple):
    """`history`: the kept revisions, the oldest first."""

    namespace: str
    name: str
    revisions: Sequence[RevisionReport] = ()
    notes: Sequence[str] = ()


class Restart(NamedTuple):
    """Whether pods restart."""

    restarts: bool | None
    """None if nobody knows."""
    because: str
    fields: Sequence[str] = ()
    """The changing fields of the pod template."""


class ChildChange(NamedTuple):
    """The planned change of one child."""

    object: str
    action: str
    """Create, Change, Replace, Remove, Adopt, Blocked, Paused, Unknown or None."""
    message: str = ""
    fields: Sequence[FieldChange] = ()


class PlanReport(NamedTuple):
    """`plan` and `undo`: the consequences of a changed spec."""

    namespace: str
    name: str
    action: str
    """Create, Change or None."""
    restart: Restart
    spec: Sequence[FieldChange] = ()
    children: Sequence[ChildChange] = ()
    notes: Sequence[str] = ()

    @property
    def differs(self) -> bool:
        """Whether anything changes, as far as it can be compared."""
        return self.action != "None" or any(child.action not in ("None", "Unknown") for child in self.children)


class Done(NamedTuple):
    """`adopt`, `pause`, `resume`, `restart` and `undo`: the change."""

    namespace: str
    name: str
    done: str
    notes: Sequence[str] = ()


class VersionReport(NamedTuple):
    """`version`: the versions of the plugin and of its surroundings; empty if unknown."""

    plugin: str
    kubectl: str = ""
    server: str = ""
    operator: Sequence[str] = ()
    api: str = ""
    notes: Sequence[str] = ()


def document(kind: str, report: Any) -> dict[str, Any]:
    """Return a report, or a list of reports, as JSON values."""
    head = {"apiVersion": API_VERSION, "kind": kind if not isinstance(report, list) else f"{kind}List"}
    return (
        {**head, "items": [plain(each) for each in report]} if isinstance(report, list) else {**head, **plain(report)}
    )


def plain(value: Any) -> Any:
    """Return a value in JSON values. Names are in camelCase; unset numbers and objects are left out."""
    if hasattr(value, "_asdict"):
        found = ((camel(name), item) for name, item in value._asdict().items())
        return {name: plain(item) for name, item in found if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def camel(name: str) -> str:
    """Return a name in camelCase."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
