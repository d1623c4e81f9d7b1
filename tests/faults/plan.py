"""A plan of faults, as data: rules that say which requests meet with what.

The same plan over the same requests does the same: there is no chance in it. `to_json` and `from_json` carry it from a
failed run to the command that replays it.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

ENDS = ("go on", "close", "reset", "freeze", "truncate")


@dataclass(frozen=True)
class Match:
    """Which requests a rule is for: all that is said must hold. Names are shell patterns."""

    verb: str = "*"
    """As audit logs call it: get, list, watch, create, update, patch, delete; several with `|`."""
    resource: str = "*"
    """The plural, with the subresource if there is one (`webapps/status`); several with `|`."""
    name: str = "*"
    namespace: str = "*"
    agent: str = "*"
    """User-Agent."""
    query: str = "*"
    """The query string, decoded."""
    first: int = 1
    """The first of the matching requests that the rule is for, counted from 1 since the plan was set."""
    count: int | None = 1
    """How many from there on; None for all."""
    every: int = 1
    """Of these only each k-th."""

    def __post_init__(self) -> None:
        _demand(self.first >= 1, "first counts from 1")
        _demand(self.count is None or self.count >= 1, "count is at least 1, or None for all")
        _demand(self.every >= 1, "every is at least 1")


@dataclass(frozen=True)
class Answer:
    """Answer instead of the server."""

    status: int
    body: dict[str, Any] | None = None
    """None for a Status object that fits."""
    retry_after: int | None = None
    """Seconds for Retry-After."""
    instead: bool = True
    """False: the server is asked and does what it is asked; only its answer is replaced."""


@dataclass(frozen=True)
class Delay:
    """Wait, then go on."""

    seconds: float
    answered: bool = False
    """True: the server answers first, and the answer waits."""


@dataclass(frozen=True)
class Drop:
    """Close the connection without an answer."""

    answered: bool = False
    """True: the server has done what it was asked."""


@dataclass(frozen=True)
class Kill:
    """Kill the operator, and close the connection without an answer."""

    answered: bool = False
    """True: the server has done what it was asked."""
    forwarded: bool = True
    """False: killed before the server hears of it."""


@dataclass(frozen=True)
class Behind:
    """Answer as an API server that is behind: LIST and WATCH as of a version, and nothing later until lifted."""

    version: int


Line = str | dict[str, Any]
"""A line of a watch: an object to be sent as JSON, or the text as it is."""


@dataclass(frozen=True)
class Stream:
    """What befalls a watch's stream, once it has passed `after` lines."""

    after: int = 0
    inject: tuple[Line, ...] = ()
    """Lines to send first: an ERROR, an unknown event, half a line."""
    then: str = "go on"
    """`go on`; `close` (as the server does); `reset` (the connection breaks); `freeze` (open and silent until lifted);
    `truncate` (half of the next line, then close)."""
    drop: tuple[str, ...] = ()
    """Types of events that are not passed on from there on: BOOKMARK, or ADDED, MODIFIED, DELETED."""

    def __post_init__(self) -> None:
        _demand(self.after >= 0, "after is at least 0")
        _demand(self.then in ENDS, f"then is one of {', '.join(ENDS)}")


@dataclass(frozen=True)
class Hide:
    """Hold back the events of one object from one on until another one comes, which is passed on alone."""

    name: str
    """Of the object, a shell pattern."""
    event: str = "*"
    """The type of the event that is hidden first."""
    until: str = "*"
    """The type of the event that ends it."""
    events: int = 1
    """How many are hidden at least: the next one after them that fits `until` is passed on, any other is hidden."""

    def __post_init__(self) -> None:
        _demand(self.events >= 1, "events is at least 1")


@dataclass(frozen=True)
class Doubled:
    """Send each event of a watch twice, or out of order: each pair swapped."""

    swapped: bool = False


Action = Answer | Delay | Drop | Kill | Behind | Stream | Hide | Doubled
ACTIONS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Answer, Delay, Drop, Kill, Behind, Stream, Hide, Doubled)
}


@dataclass(frozen=True)
class Rule:
    """Requests and what they meet with."""

    match: Match
    action: Action


@dataclass(frozen=True)
class Plan:
    """Rules in their order: the first that is for a request decides."""

    rules: tuple[Rule, ...] = field(default=())

    def to_json(self) -> list[dict[str, Any]]:
        """Return it as JSON data."""
        return [
            {
                "match": _said(rule.match),
                "action": {"kind": type(rule.action).__name__, **_said(rule.action)},
            }
            for rule in self.rules
        ]

    @classmethod
    def from_json(cls, rules: Sequence[dict[str, Any]]) -> "Plan":
        """Return the plan that `to_json` gave.

        Raises:
            ValueError: naming the rule and what would be right.
        """
        return cls(tuple(_rule(number, data) for number, data in enumerate(rules, start=1)))


def described(action: Action) -> str:
    """Return an action in a few words: its kind, and what is not at its default."""
    return f"{type(action).__name__}({', '.join(f'{name}={value!r}' for name, value in _said(action).items())})"


def _said(part: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not at their defaults, as JSON data."""
    made: dict[str, Any] = {}
    for each in dataclasses.fields(part):
        value = getattr(part, each.name)
        if each.default is dataclasses.MISSING or value != each.default:
            made[each.name] = value
    said: dict[str, Any] = json.loads(json.dumps(made))
    return said


def _rule(number: int, data: Any) -> Rule:
    if not isinstance(data, Mapping) or not set(data) <= {"match", "action"}:
        raise ValueError(f"rule {number}: it has a match and an action, nothing else")
    action = data.get("action")
    kind = ACTIONS.get(str(action.get("kind"))) if isinstance(action, Mapping) else None
    if kind is None or not isinstance(action, Mapping):
        raise ValueError(f"rule {number}: action.kind is none of {', '.join(ACTIONS)}")
    said = {name: value for name, value in action.items() if name != "kind"}
    match: Match = _made(Match, data.get("match", {}), f"rule {number}: match")
    return Rule(match, _made(kind, said, f"rule {number}: action"))


def _made(kind: type[Any], said: Any, where: str) -> Any:
    """Return a dataclass of the fields that are said, each of which must be one of its fields, and of its type."""
    if not isinstance(said, Mapping):
        raise ValueError(f"{where} is no object")
    types = get_type_hints(kind)
    for name, value in said.items():
        if name not in types:
            raise ValueError(f"{where}.{name}: {kind.__name__} has only {', '.join(types)}")
        if not _is_of(types[name], value):
            raise ValueError(f"{where}.{name}: {value!r} is no {getattr(types[name], '__name__', types[name])}")
    for each in dataclasses.fields(kind):
        if each.default is dataclasses.MISSING and each.name not in said:
            raise ValueError(f"{where}.{each.name} is missing")
    try:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in said.items()})
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from error


def _is_of(kind: Any, value: Any) -> bool:
    if isinstance(kind, UnionType):
        return any(_is_of(each, value) for each in get_args(kind))
    if get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and all(_is_of(get_args(kind)[0], each) for each in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
