"""Random parameters for the faults of several replicas."""

from typing import Any

from model_cluster.chance import Chance

_WHICH = ("leader", "leader", "leader", "standby", "all")
_SHARE_OF_TWO, _SHARE_OF_THREE = 0.06, 0.03
"""The shares of seeds with two and with three replicas. Most seeds have one: its defects need many seeds."""

_SHARE_OF_SLOTS = 0.4
"""The share of seeds with slots among those with several replicas: they cost several times the time of the others."""
_SLOTS = (2, 4, 4, 8)


def replicas(chance: Chance) -> int:
    """Return the number of replicas of a seed."""
    drawn = chance.draw("operator replicas")
    if drawn < _SHARE_OF_THREE:
        return 3
    return 2 if drawn < _SHARE_OF_THREE + _SHARE_OF_TWO else 1


def slots(chance: Chance) -> int:
    """Return the number of slots of a seed with several replicas."""
    return chance.pick(_SLOTS, "number of slots") if chance.happens(_SHARE_OF_SLOTS, "slots") else 1


def with_slot(chance: Chance, do: str, parameters: dict[str, Any], slots: int) -> dict[str, Any]:
    """Add a random slot to the parameters of a fault of Leases; None is the Lease that all replicas share."""
    if slots == 1 or do not in ("lease requests", "change lease"):
        return parameters
    return {**parameters, "slot": chance.pick((None, *range(slots)), "slot")}


def _pause(chance: Chance) -> dict[str, Any]:
    what = chance.pick(("process", "process", "machine", "main loop"), "paused")
    return {"which": chance.pick(_WHICH, "which"), "seconds": _seconds(chance, 1, 90), "what": what}


def _end(chance: Chance) -> dict[str, Any]:
    hard = chance.happens(0.5, "hard end")
    return {"which": chance.pick(_WHICH, "which"), "hard": hard, "pause": _seconds(chance, 0.1, 30)}


def _lease_requests(chance: Chance) -> dict[str, Any]:
    kind = chance.pick(("lost answer", "lost request", "time-out", "unavailable", "internal error", "slow"), "lease")
    return {
        "which": chance.pick(_WHICH, "which"),
        "kind": kind,
        "seconds": _seconds(chance, 1, 60),
        "methods": chance.pick(("all", "all", "writes", "reads"), "lease methods"),
        "probability": chance.pick((1.0, 1.0, 0.5), "lease probability"),
        "pause": chance.pick((1.0, 4.0, 20.0), "lease pause") if kind == "slow" else 0.0,
    }


def _hang(chance: Chance) -> dict[str, Any]:
    return {"seconds": _seconds(chance, 2, 60)}


def _step_clock(chance: Chance) -> dict[str, Any]:
    seconds = chance.pick((-3600.0, -20.0, 20.0, 3600.0, 0.0), "clock error")
    return {"which": chance.pick(_WHICH, "which"), "seconds": seconds, "stands": chance.happens(0.3, "clock stands")}


def _change_lease(chance: Chance) -> dict[str, Any]:
    return {"how": chance.pick(("delete", "delete", "take", "clear"), "lease change")}


def _seconds(chance: Chance, low: float, high: float) -> float:
    return round(chance.delay(low, high, "seconds of a replica"), 2)


DRAWS = {
    "pause replica": _pause,
    "end replica": _end,
    "lease requests": _lease_requests,
    "hang API server": _hang,
    "step clock": _step_clock,
    "change lease": _change_lease,
}
WEIGHTS: dict[str, float] = {
    "pause replica": 4,
    "end replica": 4,
    "lease requests": 4,
    "hang API server": 1,
    "step clock": 2,
    "change lease": 2,
}
