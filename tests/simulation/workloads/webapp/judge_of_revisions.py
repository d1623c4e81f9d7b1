"""Compares WebApps with the records of their specs."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from model_cluster.objects import Object, is_terminating, place
from simulation.judge import Gap, Objects, child_gaps, is_child

REVISIONS = "controllerrevisions"
_MOST = 12
"""Ten old revisions, the current one, and one that was Ready."""
_UNRECORDED = ("paused", "replicas")


def revisions(webapp: Object, objects: Objects) -> list[Object]:
    """Return the revisions of a WebApp, the newest first."""
    namespace = place(webapp)[0]
    found = [
        thing
        for (where, _), thing in objects[REVISIONS].items()
        if where == namespace and is_child(thing, webapp) and not is_terminating(thing)
    ]
    return sorted(found, key=lambda each: int(each["revision"]), reverse=True)


def revision_gaps(webapp: Object, objects: Objects, labels: dict[str, str]) -> Iterator[Gap]:
    """Yield a gap if the newest revision does not record the spec."""
    found = revisions(webapp, objects)
    current = next((each for each in chain(found, _namesakes(webapp, objects)) if _records(each, webapp)), None)
    name = f"{place(webapp)[1]}-?" if current is None else current["metadata"]["name"]
    yield from child_gaps(webapp, REVISIONS, current, name, labels)
    if current in found and current is not found[0]:
        yield Gap(REVISIONS, name, "revision", "the newest", str(current["revision"]))
    if len(found) > _MOST:
        yield Gap(REVISIONS, name, "leftover", f"{_MOST} at most", str(len(found)))


def needed_config(webapp: Object, objects: Objects) -> list[Any]:
    """Return the data of the ConfigMaps that revisions need."""
    return [each["data"]["spec"]["config"] for each in revisions(webapp, objects) if "config" in each["data"]["spec"]]


def needs_account(webapp: Object, objects: Objects) -> bool:
    """Return whether pods of the spec or of a revision use the WebApp's own ServiceAccount."""
    return _uses_account(webapp["spec"]) or any(
        _uses_account(each["data"]["spec"]) for each in revisions(webapp, objects)
    )


def _uses_account(spec: Object) -> bool:
    return bool(spec.get("serviceAccount", {}).get("create", True))


def _namesakes(webapp: Object, objects: Objects) -> Iterator[Object]:
    """Yield the revisions of an earlier WebApp with this name. The garbage collector deletes them."""
    namespace, name = place(webapp)
    for (where, each), thing in objects[REVISIONS].items():
        if where == namespace and each.rpartition("-")[0] == name:
            yield thing


def _records(revision: Object, webapp: Object) -> bool:
    return _recorded(revision["data"]["spec"]) == _recorded(webapp["spec"])


def _recorded(spec: Object) -> Object:
    return {name: value for name, value in spec.items() if name not in _UNRECORDED}


def running(webapp: Object, objects: Objects) -> Object:
    """Return a WebApp with the spec that must run: after a failed rollout that of an earlier revision."""
    target = _target(webapp, objects)
    if target is None:
        return webapp
    written = webapp["spec"]
    kept = {name: written[name] for name in ("paused", "conflicts", "replicas") if name in written}
    earlier = {name: value for name, value in target["data"]["spec"].items() if name not in ("conflicts", "replicas")}
    if "autoscaling" in earlier:
        kept.pop("replicas", None)
    return {**webapp, "spec": {**earlier, **kept}}


def is_rolled_back(webapp: Object, objects: Objects) -> bool:
    """Tell whether an earlier revision must run."""
    return _target(webapp, objects) is not None


def _target(webapp: Object, objects: Objects) -> Object | None:
    if webapp["spec"].get("rollout", {}).get("onFailure") != "Rollback":
        return None
    found = revisions(webapp, objects)
    if not found:
        return None
    current, *older = found
    if _recorded(current["data"]["spec"]) != _recorded(webapp["spec"]) or not _note(current, "failed"):
        return None
    return next((each for each in older if _note(each, "ready-at") and not _note(each, "failed")), None)


def _note(revision: Object, name: str) -> str:
    return str((revision["metadata"].get("annotations") or {}).get(f"coxswain.dev/{name}", ""))
