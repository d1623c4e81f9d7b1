"""The actions of a script: one function for each action name."""

from collections.abc import Callable, Mapping
from typing import Any

from simulation.world import World

Action = Callable[..., bool]

ACTIONS: dict[str, Action] = {}
"""By name. Each returns whether it had an effect: there may be nothing to act on."""


def action(name: str) -> Callable[[Action], Action]:
    """Register an action."""

    def register(act: Action) -> Action:
        ACTIONS[name] = act
        return act

    return register


def act(world: World, name: str, parameters: Mapping[str, Any]) -> None:
    """Run the action of a step, and count it if it had an effect."""
    shown = ", ".join(f"{key}={value}" for key, value in parameters.items())
    world.trace.add(f"step: {name} {shown}")
    world.last_step = world.clock()
    if ACTIONS[name](world, **parameters):
        world.occurred[name] += 1
    else:
        world.trace.add(f"step: {name} had nothing to act on")
