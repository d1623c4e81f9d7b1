"""The maker of a recipe's steps."""

from typing import Any

from simulation.chance import Chance
from simulation.draws import DRAWS
from simulation.script import Step
from simulation.world import Conditions


class Cook:
    """Makes the steps of one recipe for one WebApp."""

    def __init__(self, chance: Chance, now: float, at: str, name: str, conditions: Conditions) -> None:
        self.chance, self.now, self.at, self.name = chance, now, at, name
        self.conditions = conditions
        """Of the run; a recipe may need others."""
        self.steps: list[Step] = []

    def pause(self, low: float, high: float) -> None:
        """Let time pass."""
        self.now += self.chance.delay(low, high, "recipe")

    def do(self, action: str, **parameters: Any) -> None:
        """Do something now."""
        self.steps.append(Step(round(self.now, 3), action, parameters))

    def to_webapp(self, action: str, **parameters: Any) -> None:
        """Do something to the WebApp now, with what is not given drawn."""
        drawn = DRAWS[action](self.chance, self.at, self.name)
        self.do(action, **{**drawn, **parameters})

    def create(self, size: int, name: str | None = None) -> None:
        """Create a WebApp."""
        self.to_webapp("create", name=name or self.name, size=size, image="app:1")

    def change(self, **what: Any) -> None:
        """Change its spec."""
        self.do("change", at=self.at, name=self.name, what=what)

    def requests(self, kind: str, seconds: float, **parameters: Any) -> None:
        """Let requests meet a trouble."""
        self.do("requests", kind=kind, seconds=seconds, **parameters)
