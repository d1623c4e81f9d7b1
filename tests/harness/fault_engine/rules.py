"""Chooses the action for each request, from a plan and counters: no randomness, no clock."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from fault_engine.plan import Action, Behind, Doubled, Hide, Match, Plan, Stream
from fault_engine.proxy_requests import RequestInfo
from fault_engine.stream import AsOf, Faulty, Hidden, Hiding, Repeating, Unchanged


class Rules:
    """The current plan with its counters.

    Each rule counts its matching requests, also those that an earlier rule decides.
    """

    def __init__(self, plan: Plan) -> None:
        self._rules = plan.rules
        self._counts = [0] * len(plan.rules)
        self._hidden: dict[int, Hidden] = {}

    def decide(self, info: RequestInfo) -> Action | None:
        """Return the action for a request; None if no rule matches. Call it once for each request."""
        decision: Action | None = None
        for index, rule in enumerate(self._rules):
            if not _concerns(rule.action, info) or not _fits(rule.match, info):
                continue
            self._counts[index] += 1
            if decision is None and _is_due(rule.match, self._counts[index]):
                decision = rule.action
        return decision

    def shape(self, action: Action | None) -> Unchanged:
        """Return the stream filter of an action for one watch."""
        match action:
            case Stream():
                return Faulty(action)
            case Behind():
                return AsOf(action.version)
            case Hide():
                return Hiding(self._hidden.setdefault(id(action), Hidden(action)))
            case Doubled():
                return Repeating(action)
            case _:
                return Unchanged()


def _concerns(action: Action, info: RequestInfo) -> bool:
    """Tell whether an action applies to requests of this verb."""
    match action:
        case Stream() | Hide() | Doubled():
            return info.is_watch
        case Behind():
            return info.verb in ("list", "watch")
        case _:
            return True


def _fits(match: Match, info: RequestInfo) -> bool:
    return (
        _any_fits(match.verb.split("|"), info.verb)
        and _any_fits(match.resource.split("|"), info.resource)
        and fnmatchcase(info.name, match.name)
        and fnmatchcase(info.namespace, match.namespace)
        and fnmatchcase(info.agent, match.agent)
        and fnmatchcase(info.query_text, match.query)
        and fnmatchcase(info.body_text, match.body)
    )


def _any_fits(patterns: Sequence[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _is_due(match: Match, number: int) -> bool:
    """Tell whether a rule applies to its n-th matching request, counted from 1."""
    place = number - match.first + 1
    return place >= 1 and (match.count is None or place <= match.count) and place % match.every == 0
