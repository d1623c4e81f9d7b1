"""B4: a foreign edit or deletion of a child each second, and the time until its correction."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.api import CHILDREN, MERGE_PATCH, Api, path

Place = tuple[str, str, str]
"""Kind, namespace, name."""
Object = Mapping[str, Any]

TIMEOUT = 30.0
_LABEL = "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Drift:
    """One type of drift: a merge patch and the path of the changed value, or None for a deletion."""

    kind: str
    patch: Mapping[str, Any] | None
    field: tuple[str, ...] = ()


DRIFTS = (
    Drift("Deployment", {"spec": {"replicas": 3}}, ("spec", "replicas")),
    Drift("Service", {"metadata": {"labels": {_LABEL: "drifted"}}}, ("metadata", "labels", _LABEL)),
    Drift("Service", None),
    Drift("ConfigMap", {"metadata": {"labels": {_LABEL: None}}}, ("metadata", "labels", _LABEL)),
    Drift("Deployment", {"metadata": {"labels": {_LABEL: "drifted"}}}, ("metadata", "labels", _LABEL)),
    Drift("ConfigMap", None),
)
"""Used in turn, each on another WebApp."""


class Children:
    """The children, kept up to date by watches."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.found: dict[Place, Object] = {}
        self.changed = asyncio.Condition()

    async def follow(self, kind: str, synced: asyncio.Event) -> None:
        """Follow all objects of a kind until cancelled."""
        async for event in self._api.follow(path(kind), CHILDREN):
            if event["type"] == "SYNCED":
                synced.set()
                continue
            metadata = event["object"]["metadata"]
            place = (kind, metadata["namespace"], metadata["name"])
            async with self.changed:
                if event["type"] == "DELETED":
                    self.found.pop(place, None)
                else:
                    # A LIST omits kind and apiVersion in its items.
                    self.found[place] = event["object"]
                self.changed.notify_all()

    def of(self, kind: str, webapp: tuple[str, str]) -> Place:
        """Return the place of a WebApp's child of a kind."""
        return next(
            place
            for place, found in self.found.items()
            if place[:2] == (kind, webapp[0]) and found["metadata"]["labels"]["coxswain.dev/webapp"] == webapp[1]
        )


def _value(found: Object, field: tuple[str, ...]) -> Any:
    value: Any = found
    for name in field:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _healed(drift: Drift, before: Object, version: int, now: Object | None) -> bool:
    if now is None:
        return False
    if drift.patch is None:
        return bool(now["metadata"]["uid"] != before["metadata"]["uid"])
    newer = int(now["metadata"]["resourceVersion"]) > version
    return newer and _value(now, drift.field) == _value(before, drift.field)


async def heal(api: Api, webapps: Sequence[tuple[str, str]], seconds: float) -> dict[str, Any]:
    """Cause drift each second for a time; return the seconds until each correction, and the number of missing ones."""
    children = Children(api)
    watches = []
    for kind in ("Deployment", "Service", "ConfigMap"):
        synced = asyncio.Event()
        watches.append(asyncio.create_task(children.follow(kind, synced)))
        await synced.wait()
    async with asyncio.TaskGroup() as tasks:
        healing = []
        for number in range(int(seconds)):
            drift, webapp = DRIFTS[number % len(DRIFTS)], webapps[number * 7 % len(webapps)]
            healing.append(tasks.create_task(_one(api, children, drift, webapp)))
            await asyncio.sleep(1)  # the rate of the drift
    for watch in watches:
        watch.cancel()
    await asyncio.gather(*watches, return_exceptions=True)
    found = [task.result() for task in healing]
    latencies = [seconds for seconds in found if seconds is not None]
    return {"missing": [], "latencies": latencies, "unhealed": len(found) - len(latencies)}


async def _one(api: Api, children: Children, drift: Drift, webapp: tuple[str, str]) -> float | None:
    place = children.of(drift.kind, webapp)
    before = children.found[place]
    version = 0
    # Before the edit is sent: the operator may correct it before the sender receives its response.
    begun = time.monotonic()
    if drift.patch is None:
        await api.accepted("DELETE", path(*place))
    else:
        answer = await api.accepted("PATCH", path(*place) + "?fieldManager=someone", drift.patch, MERGE_PATCH)
        version = int(answer["metadata"]["resourceVersion"])
    async with children.changed:
        back = children.changed.wait_for(lambda: _healed(drift, before, version, children.found.get(place)))
        try:
            await asyncio.wait_for(back, TIMEOUT)
        except TimeoutError:
            return None
    return time.monotonic() - begun
