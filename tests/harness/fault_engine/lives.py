"""Scripts of the life of a custom resource. They are the same for each workload."""

from collections.abc import Mapping

from fault_engine.script import Kubectl, Life, Script, Settle

CREATE: tuple[Life, ...] = (Life("create"),)
CHANGE: tuple[Life, ...] = (Life("change"),)
DRIFT: tuple[Life, ...] = (Life("drift"),)
SWITCH: tuple[Life, ...] = (Life("switch"),)
DELETE: tuple[Life, ...] = (Life("delete"),)

Steps = Mapping[str, tuple[Kubectl | Life, ...]]
STEPS: Steps = {"create": CREATE, "change": CHANGE, "drift": DRIFT, "switch": SWITCH, "delete": DELETE}
"""The steps of a life, in their order."""

PEACE: Script = (*CREATE, Settle(), *CHANGE, Settle(), *DELETE, Settle())
"""A custom resource is created, changed and deleted, without faults and other writers."""


def life(until: str = "delete", steps: Steps = STEPS) -> Script:
    """Return the steps of a life up to `until`, with a Settle after each."""
    script: Script = ()
    for name, step in steps.items():
        script += (*step, Settle())
        if name == until:
            break
    return script
