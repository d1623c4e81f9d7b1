"""A script: the steps of a run, of users and of faults, as data.

A script without its faults is its reference, the run for comparison. A failed run stores its script by `to_json`, and
the replay command reads it by `from_json`.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fault_engine.plan import Plan, Rule


@dataclass(frozen=True)
class Kubectl:
    """A user's command in the namespace of the run, straight to the API server."""

    arguments: tuple[str, ...]
    object: Any = None
    """Passed to its standard input, as JSON."""


@dataclass(frozen=True)
class Life:
    """A user's change of a custom resource: a step of `fault_engine.workload.LIFE`, the same for each workload."""

    what: str
    number: int = 0
    name: str = "web"
    """The name of the custom resource."""


@dataclass(frozen=True)
class Settle:
    """Wait until the run equals the reference at the same step. The reference itself waits until nothing changes."""

    timeout: float = 60.0
    """Seconds from the start of this step."""


@dataclass(frozen=True)
class Wait:
    """Wait while a fault lasts. `table` is the duration in the table of faults, in seconds; the scale shortens it."""

    table: float


@dataclass(frozen=True)
class Inject:
    """Set a plan in the proxy."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Met:
    """Wait until the plan has matched a request of the operator, because the next step must not run earlier."""


@dataclass(frozen=True)
class Lift:
    """End the faults of the proxy."""


@dataclass(frozen=True)
class Operator:
    """Send a signal to the operator's process, or start it."""

    what: Literal["kill", "stop", "pause", "resume", "start"]
    """SIGKILL, SIGTERM, SIGSTOP, SIGCONT; `start` waits for readiness, as far as the faults allow."""


@dataclass(frozen=True)
class Program:
    """Send a signal to a program of the control plane, or start it: kube-apiserver, etcd ..."""

    name: str
    what: Literal["kill", "stop", "pause", "resume", "start"]


@dataclass(frozen=True)
class Disaster:
    """Run one of `fault_engine.disasters`, or of `Workload.disasters`, on the cluster: compact, save etcd ..."""

    what: str


@dataclass(frozen=True)
class Cut:
    """Reset (RST) the operator's open watches. The current plan applies when they reopen."""

    resource: str = "*"
    """The plural, as a shell pattern."""


@dataclass(frozen=True)
class Remember:
    """Record the current resourceVersion for `Behind(REMEMBERED)` in later plans. It differs from run to run."""


REMEMBERED = 0


@dataclass(frozen=True)
class Edit:
    """A patch by another writer, directly to the API server, under its own field manager."""

    resource: str
    """The plural."""
    name: str
    patch: Any
    way: Literal["merge", "json", "strategic", "apply"] = "merge"
    manager: str = "another"
    refusable: bool = False
    """Whether the API server may refuse it. `Played.refused` has the refusals."""


@dataclass(frozen=True)
class Storm:
    """Several concurrent writers. Each repeats its edits, and sends its last edit last."""

    writers: tuple[tuple[Edit, ...], ...]
    table: float
    """Seconds, as for `Wait`."""
    every: float = 0.0
    """Seconds between two edits of a writer; 0 for no pause."""
    rounds: int = 1
    """The minimum number of rounds of each writer, regardless of the time. A round is all of its edits."""


@dataclass(frozen=True)
class Fight:
    """Start a controller that repeats an edit whenever another writer undoes it, until `Peace`."""

    edit: Edit


@dataclass(frozen=True)
class Peace:
    """End all fights. The last written values stay."""


@dataclass(frozen=True)
class Probe:
    """Wait until a dry-run create returns a text, because an admission policy takes effect with a delay."""

    object: Any
    shows: str
    """The text in the response or refusal."""
    there: bool = True
    """False: wait until the response no longer contains the text."""


@dataclass(frozen=True)
class Procedure:
    """Run a function of `Workload.procedures`, for tests that a list of steps cannot express."""

    name: str
    arguments: tuple[int, ...] = ()


Step = (
    Kubectl
    | Life
    | Settle
    | Wait
    | Inject
    | Met
    | Lift
    | Operator
    | Program
    | Disaster
    | Cut
    | Remember
    | Edit
    | Storm
    | Fight
    | Peace
    | Probe
    | Procedure
)
STEPS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Kubectl,
        Life,
        Settle,
        Wait,
        Inject,
        Met,
        Lift,
        Operator,
        Program,
        Disaster,
        Cut,
        Remember,
        Edit,
        Storm,
        Fight,
        Peace,
        Probe,
        Procedure,
    )
}

Script = tuple[Step, ...]


def without_faults(script: Script) -> Script:
    """Return the steps of a script that inject no fault: user commands and waits."""
    return tuple(step for step in script if isinstance(step, Kubectl | Life | Settle | Probe))


def kubectl(*arguments: str, object: Any = None) -> Kubectl:  # noqa: A002 - kubectl's own word
    """Return a step that runs kubectl."""
    return Kubectl(arguments, object)


def apply(thing: Any) -> Kubectl:
    """Return a step that applies an object."""
    return Kubectl(("apply", "-f", "-"), thing)


def patch(kind: str, name: str, change: Any, *, way: str = "merge") -> Kubectl:
    """Return a step that sends a merge patch, or a JSON patch for `way="json"`. A string is the text of the patch."""
    text = change if isinstance(change, str) else json.dumps(change)
    return Kubectl(("patch", kind, name, f"--type={way}", "--patch", text))


def inject(*rules: Rule) -> Inject:
    """Return a step that sets rules."""
    return Inject(rules)


def to_json(script: Script) -> list[dict[str, Any]]:
    """Return a script as JSON data."""
    data: list[dict[str, Any]] = []
    for step in script:
        said: dict[str, Any] = {"step": type(step).__name__}
        if isinstance(step, Inject):
            said["rules"] = Plan(step.rules).to_json()
        else:
            said |= json.loads(json.dumps(dataclasses.asdict(step)))
        data.append(said)
    return data


def from_json(data: Sequence[dict[str, Any]]) -> Script:
    """Return the script from the data of `to_json`.

    Raises:
        ValueError: the data is invalid. The message names the step and the valid values.
    """
    return tuple(_step(number, dict(said)) for number, said in enumerate(data, start=1))


def _step(number: int, said: dict[str, Any]) -> Step:
    kind = STEPS.get(str(said.pop("step", None)))
    if kind is None:
        raise ValueError(f"step {number}: `step` must be one of {', '.join(STEPS)}")
    if kind is Inject:
        return Inject(Plan.from_json(said.get("rules", [])).rules)
    if "arguments" in said:
        said["arguments"] = tuple(said["arguments"])
    if kind is Fight:
        said["edit"] = Edit(**said["edit"])
    if "writers" in said:
        said["writers"] = tuple(tuple(Edit(**edit) for edit in edits) for edits in said["writers"])
    try:
        made: Step = kind(**said)
    except TypeError as error:
        raise ValueError(f"step {number}: {error}") from error
    return made
