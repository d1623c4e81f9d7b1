"""Random parameters for actions common to all workloads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model_cluster.chance import Chance
from simulation.scripts import Draw, Field

ACTION_OF = {"requests that always fail": "requests", "reads paused": "requests"}
"""The action of a draw with another name."""


@dataclass(frozen=True)
class Draws:
    """Draws parameters for the resources of one workload. Its attributes are plural names."""

    parent: str
    children: tuple[str, ...]
    named: tuple[str, ...]
    """Children with the name of their parent."""
    main: str
    """The main child."""
    first_name: str
    """The first name of a parent."""
    silent: tuple[str, ...]
    """Resources besides parent and children whose watch may become silent."""
    late: tuple[str, ...]
    """Resources whose watch may be delayed."""

    def of_faults(self) -> dict[str, Draw]:
        """Return the draws of requests, watches, rights, policies, namespaces, history and restarts."""
        return {
            "requests": self._requests,
            "requests that always fail": self._persistent,
            "reads paused": _reads_paused,
            "close watches": self._close,
            "flapping watch": self._flapping,
            "silent watch": self._silent,
            "late watch": self._late,
            "take right": self._right,
            "refusing policy": self._refuse,
            "changing policy": self._mutate,
            "end namespace": lambda chance, at, name: {"at": at, "pause": round(chance.delay(0.1, 30, "pause"), 2)},  # noqa: ARG005
            "back up": lambda chance, at, name: {},  # noqa: ARG005
            "restore": lambda chance, at, name: {},  # noqa: ARG005
            "compact": lambda chance, at, name: {"keep": chance.pick((0, 5, 50), "keep")},  # noqa: ARG005
            "restart": _restart,
        }

    def of_objects(
        self, new: Draw, change: Draw, drift: Draw, images: tuple[str, ...], *, fighter: Callable[[Chance, str], str]
    ) -> dict[str, Draw]:
        """Return the draws of users and of other writers of children.

        Args:
            new: draws the parameters of `create`.
            change: draws those of `change`.
            drift: draws those of `drift`.
            images: images for `apply`.
            fighter: returns the manager of a fight about a field, or "" for the manager of the drift.
        """

        def fight(chance: Chance, at: str, name: str) -> dict[str, Any]:
            found = drift(chance, at, name)
            manager = fighter(chance, found["field"]) or found["manager"]
            seconds, pause = chance.delay(5, 300, "seconds"), chance.delay(0.02, 5, "pause")
            return {**found, "manager": manager, "seconds": round(seconds, 2), "pause": round(pause, 3)}

        def recreate(chance: Chance, at: str, name: str) -> dict[str, Any]:
            return {**new(chance, at, name), "pause": round(chance.delay(0.001, 10, "pause"), 3)}

        def apply(chance: Chance, at: str, name: str) -> dict[str, Any]:
            return {"at": at, "name": name, "image": chance.pick(images, "image"), "manager": "argocd"}

        return {
            "create": new,
            "change": change,
            "delete": _delete,
            "recreate": recreate,
            "annotate": named,
            "edit status": named,
            "clear managedFields": named,
            "change config again and again": _often,
            "drift": drift,
            "fight": fight,
            "apply": apply,
            "delete child": self._delete_child,
            "delete child again and again": self._delete_often,
            "take name": self._take,
            "allow adoption": named,
            "give name back": named,
        }

    def _requests(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        kind = chance.pick(
            ("slow", "lost request", "lost answer", "time-out", "too many requests", "internal error", "unavailable"),
            "kind",
        )
        return {
            "kind": kind,
            "seconds": round(chance.delay(1, 120, "seconds"), 2),
            "methods": chance.pick(("all", "all", "writes", "reads"), "methods"),
            "plural": chance.pick((None, None, *self.children, self.parent), "plural"),
            "probability": chance.pick((1.0, 0.5, 0.2), "probability"),
            "pause": chance.pick((1.0, 5.0, 20.0), "pause") if kind in ("too many requests", "slow") else 0.0,
        }

    def _persistent(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        kinds = ("garbled", "hidden", "always a conflict", "always not found", "time-out", "internal error")
        return {
            "kind": chance.pick(kinds, "kind"),
            "seconds": round(chance.delay(250, 600, "seconds"), 2),
            "methods": "writes",
            "plural": chance.pick(self.children, "plural"),
            "subresource": "",
        }

    def _close(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        why = chance.weighted({"timed out": 3, "expired": 3, "error": 2}, "why")
        plural = chance.pick((None, self.parent, *self.children), "plural")
        return {"why": why, "plural": plural, "seconds": chance.pick((0.0, 0.0, 5.0, 60.0), "shut")}

    def _flapping(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        plural = chance.pick((self.parent, self.parent, self.main), "plural")
        return {"plural": plural, "every": round(chance.delay(20, 400, "every"), 1), "times": 12}

    def _silent(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        plural = chance.pick((None, self.parent, *self.silent, *self.children), "plural")
        return {"plural": plural, "seconds": round(chance.delay(5, 400, "s"), 2), "hang": chance.happens(0.3, "hang")}

    def _late(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        return {
            "plural": chance.pick(self.late, "plural"),
            "seconds": round(chance.delay(5, 200, "seconds"), 2),
            "late": round(chance.delay(0.5, 40, "late"), 2),
        }

    def _right(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        verb = chance.pick(("create", "patch", "delete", "get", "list", "watch"), "verb")
        plural = chance.pick((*self.children, self.parent, f"{self.parent}/status"), "plural")
        if verb in ("list", "watch", "create", "delete"):
            plural = plural.partition("/")[0]
        return {"verb": verb, "plural": plural, "at": None, "seconds": round(chance.delay(5, 600, "s"), 2)}

    def _refuse(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        operations = chance.pick((["CREATE"], ["UPDATE"], ["DELETE"], ["CREATE", "UPDATE"]), "operations")
        webhook = chance.happens(0.5, "webhook")
        seconds = round(chance.delay(5, 600, "seconds"), 2)
        plural = chance.pick(self.children, "plural")
        return {"plural": plural, "operations": operations, "seconds": seconds, "webhook": webhook}

    def _mutate(self, chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG002
        return {
            "plural": chance.pick(self.children, "plural"),
            "seconds": round(chance.delay(5, 600, "seconds"), 2),
        }

    def _take(self, chance: Chance, at: str, name: str) -> dict[str, Any]:
        plural = chance.pick(self.named, "plural")
        label = chance.pick((None, None, name, self.first_name), "label")
        ours, adopt = chance.happens(0.7, "ours"), chance.happens(0.3, "adopt")
        return {"at": at, "name": name, "plural": plural, "label": label, "ours": ours, "adopt": adopt}

    def _delete_child(self, chance: Chance, at: str, name: str) -> dict[str, Any]:
        plural = chance.pick(self.children, "plural")
        how = chance.pick(("Background", "Background", "Foreground", "Orphan"), "how")
        return {"at": at, "name": name, "plural": plural, "how": how}

    def _delete_often(self, chance: Chance, at: str, name: str) -> dict[str, Any]:
        return {
            "at": at,
            "name": name,
            "plural": chance.pick(self.named, "plural"),
            "seconds": round(chance.delay(5, 120, "seconds"), 2),
            "pause": round(chance.delay(0.02, 5, "pause"), 3),
        }


def named(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    """Return the parameters of an action without further ones."""
    return {"at": at, "name": name}


def drift_of(fields: dict[str, Field]) -> Draw:
    """Return a draw of a child's field, another value and its writer."""

    def drift(chance: Chance, at: str, name: str) -> dict[str, Any]:
        field = chance.pick(tuple(fields), "field")
        value = chance.pick(fields[field].values, "value")
        manager = chance.pick(("kubectl", "helm"), "who")
        return {"at": at, "name": name, "field": field, "value": value, "manager": manager}

    return drift


def _delete(chance: Chance, at: str, name: str) -> dict[str, Any]:
    return {"at": at, "name": name, "how": chance.pick(("Background", "Foreground"), "how")}


def _often(chance: Chance, at: str, name: str) -> dict[str, Any]:
    return {"at": at, "name": name, "times": 30, "pause": chance.pick((0.3, 3.0), "pause")}


def _reads_paused(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    seconds = round(chance.delay(30, 700, "seconds"), 2)
    return {"kind": "reads paused", "seconds": seconds, "methods": "reads", "pause": chance.pick((20.0, 50.0), "pause")}


def _restart(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    return {"hard": chance.happens(0.6, "hard"), "pause": round(chance.delay(0.01, 30, "pause"), 2)}
