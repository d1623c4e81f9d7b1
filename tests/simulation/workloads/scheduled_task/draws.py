"""Random parameters for actions on ScheduledTasks, and the list of actions."""

from typing import Any

from model_cluster.chance import Chance
from simulation.draws import Draws, drift_of, named
from simulation.profiles import profiles
from simulation.scripts import Draw, Spec
from simulation.workloads.scheduled_task.fields import FIELDS
from simulation.workloads.scheduled_task.judge import CHILDREN, MANAGER, PARENT

IMAGES = ("app:1", "app:2", "app:3")
NAMES = ("task-0", "task-1", "task-2")
_SCHEDULES = ("*/5 * * * *", "0 3 * * *", "30 4 * * 1")

_DRAWS = Draws(
    parent=PARENT,
    children=CHILDREN,
    named=CHILDREN,
    main="cronjobs",
    first_name=NAMES[0],
    silent=(),
    late=(PARENT, *CHILDREN),
)


def spec(*, size: int, image: str) -> Spec:
    """Return the spec of a ScheduledTask: 0 and 2 have no arguments, 3 has no config."""
    found: Spec = {"schedule": _SCHEDULES[0], "image": image}
    if size % 2:
        found["args"] = ["run"]
    if size < 3:
        found["config"] = {"MODE": "production"}
    return found


def often(number: int) -> Spec:
    """Return the nth of many changes."""
    return {"config": {"MODE": f"mode-{number}"}, "schedule": f"{number % 60} * * * *"}


def _change(chance: Chance, at: str, name: str) -> dict[str, Any]:
    weights: dict[str, float] = {
        "image": 5,
        "schedule": 3,
        "config": 3,
        "args": 2,
        "policy": 1,
        "paused": 1,
        "no config": 1,
    }
    what = chance.weighted(weights, "what")
    specs: dict[str, Spec] = {
        "image": {"image": chance.pick(IMAGES, "image")},
        "schedule": {"schedule": chance.pick(_SCHEDULES, "schedule")},
        "config": {"config": {"MODE": chance.pick(("a", "b"), "mode"), "MORE": chance.pick((None, "1"), "more")}},
        "args": {"args": chance.pick((None, ["run"], ["run", "fast"]), "args")},
        "policy": {"conflicts": {"policy": chance.pick(("Enforce", "Yield", "Halt"), "policy")}},
        "paused": {"paused": chance.happens(0.5, "paused")},
        "no config": {"config": None},
    }
    return {"at": at, "name": name, "what": specs[what]}


def _new(chance: Chance, at: str, name: str) -> dict[str, Any]:
    return {"at": at, "name": name, "size": chance.whole(0, 3, "size"), "image": chance.pick(IMAGES[:2], "image")}


def _fighter(chance: Chance, field: str) -> str:
    another = FIELDS[field].in_manifest is not None and chance.happens(0.3, "another operator")
    return MANAGER if another else ""


DRAWS: dict[str, Draw] = {
    **_DRAWS.of_objects(_new, _change, drift_of(FIELDS), ("other:1", *IMAGES[:2]), fighter=_fighter),
    **_DRAWS.of_faults(),
    "run": named,
}
PROFILES = profiles({"drift": 4, "apply": 1, "delete child": 3}, {"run": 3})
