"""Scripts: timed steps as data, generated from a seed, stored as JSON, and shrunk after a failure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from simulation.conditions import Conditions
from simulation.workloads import DEFAULT


@dataclass(frozen=True)
class Step:
    """One action at a virtual time."""

    time: float
    do: str
    parameters: Mapping[str, Any]

    @property
    def end(self) -> float:
        """The end of its known effects."""
        known = self.parameters
        times = known.get("times", 0) * known.get("every", known.get("pause", 0.0))
        return self.time + float(max(known.get("seconds", 0.0), times))

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.time:8.3f}  {self.do}: {shown}"


@dataclass(frozen=True)
class Script:
    """The steps and conditions of one run."""

    seed: int
    profile: str
    conditions: Conditions
    steps: tuple[Step, ...]
    finale: bool = False
    """Whether the run ends with the deletion of all parents and a check of the operator's memory."""
    workload: str = DEFAULT

    def of(self, steps: tuple[Step, ...]) -> "Script":
        """Return a script with other steps."""
        return replace(self, steps=steps)

    @property
    def end(self) -> float:
        """The end of its last step."""
        return max((step.end for step in self.steps), default=0.0)

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self), indent=1)


def from_json(text: str) -> Script:
    """Return a script from its text.

    Raises:
        ValueError: it is not JSON, or not a script.
    """
    read = json.loads(text)
    try:
        known = read["conditions"]
        lists = {name: tuple(known[name]) for name in ("namespaces", "metadata") if name in known}
        conditions = Conditions(**{**known, **lists})
        steps = tuple(Step(each["time"], each["do"], each["parameters"]) for each in read["steps"])
        return Script(read["seed"], read["profile"], conditions, steps, read["finale"], read.get("workload", DEFAULT))
    except (KeyError, TypeError) as error:
        raise ValueError(f"it is no script of the simulation: {error!r}") from error
