"""A script: what a user and the world do in a run, step by step, as data.

Without its faults a script is its own reference: the run that it is compared with. `to_json` and `from_json` carry it
from a failed run to the command that replays it.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from faults.plan import Plan, Rule


@dataclass(frozen=True)
class Kubectl:
    """A user's command in the namespace of the run, straight to the API server."""

    arguments: tuple[str, ...]
    object: Any = None
    """What goes to its standard input, as JSON."""


@dataclass(frozen=True)
class Settle:
    """Wait until the run is where the reference was at its same step; there, until nothing happens any more."""

    timeout: float = 60.0
    """Seconds, counted from here."""


@dataclass(frozen=True)
class Wait:
    """Let time pass: a fault lasts. `table` is what the table of faults says, in seconds; the scale shortens it."""

    table: float


@dataclass(frozen=True)
class Inject:
    """Put a plan in force in the proxy."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Met:
    """Wait until the plan in force has met a request of the operator: what comes next must not come before."""


@dataclass(frozen=True)
class Lift:
    """End what the proxy does."""


@dataclass(frozen=True)
class Operator:
    """Do something to the operator's process."""

    what: Literal["kill", "stop", "pause", "resume", "start"]
    """SIGKILL, SIGTERM, SIGSTOP, SIGCONT; `start` waits until it is ready, as far as faults allow."""


@dataclass(frozen=True)
class Program:
    """Do something to a program of the control plane: kube-apiserver, etcd, kube-controller-manager ..."""

    name: str
    what: Literal["kill", "stop", "pause", "resume", "start"]


@dataclass(frozen=True)
class Disaster:
    """Do one of `faults.disasters` to the cluster: compact, save, restore, rotate-key, rotate-certificate ..."""

    what: str


@dataclass(frozen=True)
class Cut:
    """Break the operator's open watches by a RST: they are opened again under the plan in force."""

    resource: str = "*"
    """The plural, a shell pattern."""


@dataclass(frozen=True)
class Remember:
    """Note the present version: later plans mean it by `Behind(REMEMBERED)`, for it differs from run to run."""


REMEMBERED = 0


@dataclass(frozen=True)
class Edit:
    """What another writer does to an object: a patch straight to the API server, under the name of its own manager."""

    resource: str
    """The plural."""
    name: str
    patch: Any
    way: Literal["merge", "json", "strategic", "apply"] = "merge"
    manager: str = "another"
    refusable: bool = False
    """Whether the API server may refuse it. What it refused is counted, in `Played.refused`."""


@dataclass(frozen=True)
class Storm:
    """Several writers at the same time: each makes its edits over and over, and ends with the last of them."""

    writers: tuple[tuple[Edit, ...], ...]
    table: float
    """Seconds, as for `Wait`."""
    every: float = 0.0
    """Seconds from one edit of a writer to its next; 0 for as fast as it can."""
    rounds: int = 1
    """How often each writer makes all of its edits at least, however long that takes."""


@dataclass(frozen=True)
class Fight:
    """From here on until `Peace` another controller sees to it that an edit stays: it makes it again at once."""

    edit: Edit


@dataclass(frozen=True)
class Peace:
    """End all fights. What was set last stays."""


@dataclass(frozen=True)
class Probe:
    """Wait until the API server, asked in a dry run to create an object, says something: a policy is in force later."""

    object: Any
    shows: str
    """What its answer, or its refusal, must hold."""
    there: bool = True
    """False: must no longer hold."""


@dataclass(frozen=True)
class Walk:
    """Walk the schema, or the `part`-th of `parts` equal parts of the way: see `faults.walk`."""

    part: int = 1
    parts: int = 1


Step = (
    Kubectl
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
    | Walk
)
STEPS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Kubectl,
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
        Walk,
    )
}

Script = tuple[Step, ...]


def without_faults(script: Script) -> Script:
    """Return what is left of a script when nothing goes wrong: what the user does, and what it waits for."""
    return tuple(step for step in script if isinstance(step, Kubectl | Settle | Probe))


def kubectl(*arguments: str, object: Any = None) -> Kubectl:  # noqa: A002 - kubectl's own word
    """Return a step of kubectl."""
    return Kubectl(arguments, object)


def apply(thing: Any) -> Kubectl:
    """Return a step that applies an object."""
    return Kubectl(("apply", "-f", "-"), thing)


def patch(kind: str, name: str, change: Any, *, way: str = "merge") -> Kubectl:
    """Return a step that patches an object: a merge patch, or `way="json"`."""
    return Kubectl(("patch", kind, name, f"--type={way}", "--patch", json.dumps(change)))


def inject(*rules: Rule) -> Inject:
    """Return a step that puts rules in force."""
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
    """Return the script that `to_json` gave.

    Raises:
        ValueError: naming the step and what would be right.
    """
    return tuple(_step(number, dict(said)) for number, said in enumerate(data, start=1))


def _step(number: int, said: dict[str, Any]) -> Step:
    kind = STEPS.get(str(said.pop("step", None)))
    if kind is None:
        raise ValueError(f"step {number}: `step` is none of {', '.join(STEPS)}")
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
