"""Builds the steps of a recipe."""

from typing import Any

from model_cluster.chance import Chance
from model_cluster.objects import Place
from simulation.conditions import Conditions
from simulation.script import Step
from simulation.workloads import Workload


class RecipeBuilder:
    """Builds the steps of one recipe for one parent."""

    def __init__(self, workload: Workload, chance: Chance, now: float, where: Place, conditions: Conditions) -> None:
        self.workload, self.scripts, self.samples = workload, workload.scripts, workload.scripts.samples
        self.chance, self.now, (self.at, self.name) = chance, now, where
        self.conditions = conditions
        """The conditions of the run; a recipe may replace them."""
        self.steps: list[Step] = []
        self.finale = False
        """Whether the run must end with a check of the operator's memory."""

    def pause(self, low: float, high: float) -> None:
        """Add time before the next step."""
        self.now += self.chance.delay(low, high, "recipe")

    def do(self, action: str, **parameters: Any) -> None:
        """Add a step at the current time."""
        self.steps.append(Step(round(self.now, 3), action, parameters))

    def to_parent(self, action: str, **parameters: Any) -> None:
        """Add a step for the parent at the current time, with random values for missing parameters."""
        drawn = self.scripts.draws[action](self.chance, self.at, self.name)
        self.do(action, **{**drawn, **parameters})

    def create(self, size: int, name: str | None = None) -> None:
        """Add the creation of a parent."""
        self.to_parent("create", name=name or self.name, size=size, image="app:1")

    def create_smallest(self, name: str) -> None:
        """Add the creation of the cheapest parent."""
        self.do("create", at=self.at, name=name, **self.samples.smallest)

    def change(self, **what: Any) -> None:
        """Add a change of its spec."""
        self.do("change", at=self.at, name=self.name, what=what)

    def requests(self, kind: str, seconds: float, **parameters: Any) -> None:
        """Add a fault of requests."""
        self.do("requests", kind=kind, seconds=seconds, **parameters)
