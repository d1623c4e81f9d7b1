"""Random parameters for the Secrets and ConfigMaps in `spec.restartOn`."""

from typing import Any

from model_cluster.chance import Chance
from simulation.scripts import Draw

OBJECTS = (("secrets", "db"), ("configmaps", "flags"))
"""Resource and name of the objects of others that WebApps name."""
RESTARTS: tuple[Any, ...] = (
    None,
    {"secrets": ["db"]},
    {"secrets": ["db"], "configMaps": ["flags"]},
    {"secrets": ["missing"], "configMaps": ["flags"]},
)


def _object(chance: Chance, at: str) -> dict[str, Any]:
    plural, what = chance.pick(OBJECTS, "object")
    return {"at": at, "plural": plural, "what": what}


def _restart_on(chance: Chance, at: str, name: str) -> dict[str, Any]:
    # The merge patch must remove the other kind.
    wanted = chance.pick(RESTARTS, "restartOn")
    given = wanted if wanted is None else {"secrets": None, "configMaps": None, **wanted}
    return {"at": at, "name": name, "what": {"restartOn": given}}


def _data(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    times, pause = chance.pick((1, 1, 3), "times"), round(chance.delay(0.05, 10, "pause"), 3)
    return {**_object(chance, at), "times": times, "pause": pause}


def _label(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    return _object(chance, at)


def _recreate(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    return {**_object(chance, at), "pause": round(chance.delay(0.001, 60, "pause"), 3)}


def _revoke(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    return {
        "verbs": chance.pick((["watch"], ["list", "watch"]), "verbs"),
        "seconds": round(chance.delay(5, 300, "s"), 2),
    }


DRAWS: dict[str, Draw] = {
    "change restartOn": _restart_on,
    "change data": _data,
    "label object": _label,
    "recreate object": _recreate,
    "revoke watch of Secrets": _revoke,
}
WEIGHTS = {
    "change restartOn": 4.0,
    "change data": 4.0,
    "label object": 1.0,
    "recreate object": 1.5,
    "revoke watch of Secrets": 1.0,
}
"""They replace no other weights: only scripts that watch metadata have them."""
