"""Models of the controllers of Gateways and of Ingress classes, that report about HTTPRoutes and Ingresses."""

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from model_cluster.chance import Chance
from model_cluster.cluster import MERGE, Cluster
from model_cluster.objects import Object, Place, is_terminating, place

ROUTES, INGRESSES = "httproutes", "ingresses"
_CONTROLLER = "example.com/gateway"
_FORMER = "example.com/former-gateway"


class Answer(StrEnum):
    """The answer of a Gateway about its routes, or of the controller of an Ingress class about its Ingresses."""

    ACCEPT = "accept"
    """An Ingress gets an address."""
    REFUSE = "refuse"
    UNRESOLVED = "unresolved"
    PARTIAL = "partial"
    SILENT = "silent"
    """It reports nothing new."""
    WITHDRAW = "withdraw"
    """It removes its report, or the address."""
    TAKE_OVER = "take over"
    """It accepts, beside the refusal of a former controller."""


_CONDITIONS: Mapping[Answer, Mapping[str, tuple[str, str]]] = {
    Answer.ACCEPT: {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")},
    Answer.REFUSE: {"Accepted": ("False", "NotAllowedByListeners"), "ResolvedRefs": ("True", "ResolvedRefs")},
    Answer.UNRESOLVED: {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("False", "BackendNotFound")},
    Answer.PARTIAL: {
        "Accepted": ("True", "Accepted"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
        "PartiallyInvalid": ("True", "UnsupportedValue"),
    },
}
_OTHER = ("False", "NoMatchingParent")


class RouteControllers:
    """Reports about HTTPRoutes for each of their Gateways, and assigns addresses to Ingresses."""

    def __init__(self, cluster: Cluster, chance: Chance, *, slowest: float) -> None:
        """Report within `slowest` seconds after most changes, and within a few minutes after some."""
        self._cluster = cluster
        self._chance = chance
        self._slowest = slowest
        self._loop = asyncio.get_running_loop()
        self._answers: dict[str, Answer] = {}
        """By name of the Gateway or Ingress class. The others accept."""
        cluster.listeners.append(self.take)

    def take(self, plural: str, change: str, thing: Object) -> None:
        """Handle a change."""
        if plural in (ROUTES, INGRESSES) and change != "DELETED":
            self._look_soon(plural, place(thing))

    def decide(self, name: str, answer: Answer) -> bool:
        """Let a Gateway or Ingress class answer otherwise from now on; return whether anything refers to it."""
        self._answers[name] = answer
        found = [(plural, thing) for plural in (ROUTES, INGRESSES) for thing in self._referring(plural, name)]
        for plural, thing in found:
            self._look_soon(plural, place(thing))
        return bool(found)

    def look_at_all(self) -> None:
        """Report on everything again after a reset of the history."""
        for plural in (ROUTES, INGRESSES):
            for where in self._cluster.objects.get(plural, ()):
                self._look_soon(plural, where)

    def _referring(self, plural: str, name: str) -> list[Object]:
        things = self._cluster.objects.get(plural, {}).values()
        if plural == INGRESSES:
            return [thing for thing in things if thing["spec"].get("ingressClassName") == name]
        return [thing for thing in things if any(each["name"] == name for each in thing["spec"].get("parentRefs", ()))]

    def _look_soon(self, plural: str, where: Place) -> None:
        late = self._chance.happens(0.05, "late report")
        delay = self._chance.delay(5, 200, "late report") if late else self._chance.delay(0.01, self._slowest, "report")
        self._loop.call_later(delay, self._look, plural, where)

    def _look(self, plural: str, where: Place) -> None:
        thing = self._cluster.get(plural, where)
        if thing is None or is_terminating(thing):
            return
        status = thing.get("status", {})
        if plural == ROUTES:
            before = status.get("parents", [])
            found: Sequence[Object] = self._about_route(thing, before)
            body: dict[str, Any] = {"parents": found}
        else:
            before = status.get("loadBalancer", {}).get("ingress", [])
            found = self._about_ingress(thing, before)
            body = {"loadBalancer": {"ingress": found or None}}
        if found != before:
            path = self._cluster.path(plural, *where, "status")
            query = {"fieldManager": "gateway"}
            self._cluster.request("gateway", "PATCH", path, {"status": body}, query=query, content_type=MERGE)

    def _about_route(self, route: Object, before: Sequence[Object]) -> list[Object]:
        found: list[Object] = []
        for parent in route["spec"].get("parentRefs", ()):
            answer = self._answers.get(parent["name"], Answer.ACCEPT)
            if answer is Answer.SILENT:
                found += [entry for entry in before if entry["parentRef"] == parent]
            elif answer is Answer.TAKE_OVER:
                found.append(_entry(route, parent, _FORMER, {"Accepted": _OTHER}))
                found.append(_entry(route, parent, _CONTROLLER, _CONDITIONS[Answer.ACCEPT]))
            elif answer is not Answer.WITHDRAW:
                found.append(_entry(route, parent, _CONTROLLER, _CONDITIONS[answer]))
        return found

    def _about_ingress(self, ingress: Object, before: Sequence[Object]) -> Sequence[Object]:
        answer = self._answers.get(ingress["spec"].get("ingressClassName", ""), Answer.ACCEPT)
        return {Answer.ACCEPT: [{"ip": "192.0.2.1"}], Answer.WITHDRAW: []}.get(answer, before)


def _entry(route: Object, parent: Object, controller: str, conditions: Mapping[str, tuple[str, str]]) -> Object:
    made = [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "",
            "observedGeneration": route["metadata"]["generation"],
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind, (status, reason) in conditions.items()
    ]
    return {"parentRef": parent, "controllerName": controller, "conditions": made}
