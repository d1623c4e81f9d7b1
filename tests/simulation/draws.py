"""The parameters of each action, drawn for a script."""

from collections.abc import Callable, Mapping
from typing import Any

from simulation.chance import Chance

Draw = Callable[[Chance, str, str], dict[str, Any]]
"""Draws the parameters of an action on one WebApp."""

IMAGES = ("app:1", "app:2", "app:3", "app:missing", "app:crash")
NAMES = ("web-0", "web-1", "web-2")
CHILDREN = ("serviceaccounts", "configmaps", "services", "deployments")


def _change(chance: Chance, at: str, name: str) -> dict[str, Any]:
    what = chance.weighted(
        {"image": 5, "replicas": 3, "config": 3, "port": 2, "policy": 1, "paused": 1, "no config": 1}, "what"
    )
    specs: dict[str, dict[str, Any]] = {
        "image": {"image": chance.pick(IMAGES[:3] if chance.happens(0.8, "good") else IMAGES, "image")},
        "replicas": {"replicas": chance.whole(0, 4, "replicas")},
        "config": {"config": {"MODE": chance.pick(("a", "b", "c"), "mode")}},
        "port": {"ports": [{"name": "http", "containerPort": chance.whole(8081, 8083, "port")}]},
        "policy": {"conflicts": {"policy": chance.pick(("Enforce", "Yield", "Halt"), "policy")}},
        "paused": {"paused": chance.happens(0.5, "paused")},
        "no config": {"config": None},
    }
    return {"at": at, "name": name, "what": specs[what]}


def _new(chance: Chance, at: str, name: str) -> dict[str, Any]:
    return {
        "at": at,
        "name": name,
        "size": chance.whole(0, 3, "size"),
        "image": chance.pick(IMAGES[:2], "image"),
        "replicas": chance.whole(1, 2, "replicas"),
    }


_FIELDS: Mapping[str, tuple[Any, ...]] = {
    "image": ("other:1", "other:2"),
    "replicas": (4, 5),
    "label": ("theirs",),
    "webapp label": (None,),
    "service label": (None, "web-0"),
    "port": (9090,),
    "account label": ("Helm",),
    "config label": ("theirs",),
}


def _drift(chance: Chance, at: str, name: str) -> dict[str, Any]:
    field = chance.pick(tuple(_FIELDS), "field")
    value = chance.pick(_FIELDS[field], "value")
    return {"at": at, "name": name, "field": field, "value": value, "manager": chance.pick(("kubectl", "helm"), "who")}


def _fight(chance: Chance, at: str, name: str) -> dict[str, Any]:
    found = _drift(chance, at, name)
    if found["field"] in ("image", "replicas") and chance.happens(0.3, "another operator"):
        found["manager"] = "coxswain"
    seconds, pause = chance.delay(5, 300, "seconds"), chance.delay(0.02, 5, "pause")
    return {**found, "seconds": round(seconds, 2), "pause": round(pause, 3)}


def _requests(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    kind = chance.pick(
        ("slow", "lost request", "lost answer", "time-out", "too many requests", "internal error", "unavailable"),
        "kind",
    )
    return {
        "kind": kind,
        "seconds": round(chance.delay(1, 120, "seconds"), 2),
        "methods": chance.pick(("all", "all", "writes", "reads"), "methods"),
        "plural": chance.pick((None, None, *CHILDREN, "webapps"), "plural"),
        "probability": chance.pick((1.0, 0.5, 0.2), "probability"),
        "pause": chance.pick((1.0, 5.0, 20.0), "pause") if kind in ("too many requests", "slow") else 0.0,
    }


def _persistent(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    kinds = ("garbled", "hidden", "always a conflict", "always not found", "time-out", "internal error")
    return {
        "kind": chance.pick(kinds, "kind"),
        "seconds": round(chance.delay(250, 600, "seconds"), 2),
        "methods": "writes",
        "plural": chance.pick(CHILDREN, "plural"),
        "subresource": "",
    }


def _reads_paused(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    seconds = round(chance.delay(30, 700, "seconds"), 2)
    return {"kind": "reads paused", "seconds": seconds, "methods": "reads", "pause": chance.pick((20.0, 50.0), "pause")}


def _close(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    why = chance.weighted({"timed out": 3, "expired": 3, "error": 2}, "why")
    plural = chance.pick((None, "webapps", *CHILDREN), "plural")
    return {"why": why, "plural": plural, "seconds": chance.pick((0.0, 0.0, 5.0, 60.0), "shut")}


def _silent(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    plural = chance.pick((None, "webapps", "pods", "horizontalpodautoscalers", *CHILDREN), "plural")
    return {"plural": plural, "seconds": round(chance.delay(5, 400, "s"), 2), "hang": chance.happens(0.3, "hang")}


def _right(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    verb = chance.pick(("create", "patch", "delete", "get", "list", "watch"), "verb")
    plural = chance.pick((*CHILDREN, "webapps", "webapps/status"), "plural")
    if verb in ("list", "watch", "create", "delete"):
        plural = plural.partition("/")[0]
    return {"verb": verb, "plural": plural, "at": None, "seconds": round(chance.delay(5, 600, "s"), 2)}


def _refuse(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    operations = chance.pick((["CREATE"], ["UPDATE"], ["DELETE"], ["CREATE", "UPDATE"]), "operations")
    webhook = chance.happens(0.5, "webhook")
    seconds = round(chance.delay(5, 600, "seconds"), 2)
    plural = chance.pick(CHILDREN, "plural")
    return {"plural": plural, "operations": operations, "seconds": seconds, "webhook": webhook}


def _take(chance: Chance, at: str, name: str) -> dict[str, Any]:
    plural = chance.pick(("services", "deployments", "serviceaccounts"), "plural")
    label = chance.pick((None, None, name, NAMES[0]), "label")
    ours, adopt = chance.happens(0.7, "ours"), chance.happens(0.3, "adopt")
    return {"at": at, "name": name, "plural": plural, "label": label, "ours": ours, "adopt": adopt}


_LAGS = ("webapps", "deployments", "services", "pods")

DRAWS: Mapping[str, Draw] = {
    "create": _new,
    "change": _change,
    "delete": lambda chance, at, name: {
        "at": at,
        "name": name,
        "how": chance.pick(("Background", "Foreground"), "how"),
    },
    "recreate": lambda chance, at, name: {
        **_new(chance, at, name),
        "pause": round(chance.delay(0.001, 10, "pause"), 3),
    },
    "annotate": lambda chance, at, name: {"at": at, "name": name},  # noqa: ARG005
    "change config again and again": lambda chance, at, name: {
        "at": at,
        "name": name,
        "times": 30,
        "pause": chance.pick((0.3, 3.0), "pause"),
    },
    "drift": _drift,
    "fight": _fight,
    "apply": lambda chance, at, name: {
        "at": at,
        "name": name,
        "image": chance.pick(("other:1", *IMAGES[:2]), "image"),
        "manager": "argocd",
    },
    "delete child": lambda chance, at, name: {
        "at": at,
        "name": name,
        "plural": chance.pick(CHILDREN, "plural"),
        "how": chance.pick(("Background", "Background", "Foreground", "Orphan"), "how"),
    },
    "delete child again and again": lambda chance, at, name: {
        "at": at,
        "name": name,
        "plural": chance.pick(("services", "deployments", "serviceaccounts"), "plural"),
        "seconds": round(chance.delay(5, 120, "seconds"), 2),
        "pause": round(chance.delay(0.02, 5, "pause"), 3),
    },
    "take name": _take,
    "allow adoption": lambda chance, at, name: {"at": at, "name": name},  # noqa: ARG005
    "give name back": lambda chance, at, name: {"at": at, "name": name},  # noqa: ARG005
    "other content": lambda chance, at, name: {"at": at, "name": name},  # noqa: ARG005
    "autoscale": lambda chance, at, name: {"at": at, "name": name},  # noqa: ARG005
    "scale by autoscaler": lambda chance, at, name: {"at": at, "name": name, "replicas": chance.whole(1, 6, "n")},
    "stop autoscaling": lambda chance, at, name: {"at": at, "name": name},  # noqa: ARG005
    "requests": _requests,
    "requests that always fail": _persistent,
    "reads paused": _reads_paused,
    "close watches": _close,
    "flapping watch": lambda chance, at, name: {  # noqa: ARG005
        "plural": chance.pick(("webapps", "webapps", "deployments"), "plural"),
        "every": round(chance.delay(20, 400, "every"), 1),
        "times": 12,
    },
    "silent watch": _silent,
    "late watch": lambda chance, at, name: {  # noqa: ARG005
        "plural": chance.pick(_LAGS, "plural"),
        "seconds": round(chance.delay(5, 200, "seconds"), 2),
        "late": round(chance.delay(0.5, 40, "late"), 2),
    },
    "take right": _right,
    "refusing policy": _refuse,
    "changing policy": lambda chance, at, name: {  # noqa: ARG005
        "plural": chance.pick(CHILDREN, "plural"),
        "seconds": round(chance.delay(5, 600, "seconds"), 2),
    },
    "end namespace": lambda chance, at, name: {"at": at, "pause": round(chance.delay(0.1, 30, "pause"), 2)},  # noqa: ARG005
    "back up": lambda chance, at, name: {},  # noqa: ARG005
    "restore": lambda chance, at, name: {},  # noqa: ARG005
    "compact": lambda chance, at, name: {"keep": chance.pick((0, 5, 50), "keep")},  # noqa: ARG005
    "restart": lambda chance, at, name: {  # noqa: ARG005
        "hard": chance.happens(0.6, "hard"),
        "pause": round(chance.delay(0.01, 30, "pause"), 2),
    },
}
