"""A plan of faults, as data: rules that map requests to actions.

A plan is deterministic: the same requests get the same actions. A failed run stores its plan by `to_json`, and the
replay command reads it by `from_json`.
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
    """The requests of a rule. All fields must match. Names are shell patterns."""

    verb: str = "*"
    """The verb as in audit logs: get, list, watch, create, update, patch, delete. `|` separates alternatives."""
    resource: str = "*"
    """The plural, with the subresource if any (`webapps/status`). `|` separates alternatives."""
    name: str = "*"
    namespace: str = "*"
    agent: str = "*"
    """User-Agent."""
    query: str = "*"
    """The query string, decoded."""
    body: str = "*"
    """The text of the body."""
    first: int = 1
    """The first matching request for the rule, counted from 1 since the plan was set."""
    count: int | None = 1
    """The number of matching requests from there on; None for all."""
    every: int = 1
    """Only each k-th of these requests."""

    def __post_init__(self) -> None:
        _demand(self.first >= 1, "first must be at least 1")
        _demand(self.count is None or self.count >= 1, "count must be at least 1, or None for all")
        _demand(self.every >= 1, "every must be at least 1")


@dataclass(frozen=True)
class Answer:
    """Respond in place of the server."""

    status: int
    body: dict[str, Any] | None = None
    """None for a Status object with this code."""
    retry_after: int | None = None
    """The value of the Retry-After header, in seconds."""
    instead: bool = True
    """False: forward the request, and replace only the response."""


@dataclass(frozen=True)
class Delay:
    """Delay a request or its response."""

    seconds: float
    answered: bool = False
    """True: forward the request at once, and delay the response."""


@dataclass(frozen=True)
class Drop:
    """Close the connection without a response."""

    answered: bool = False
    """True: forward the request first, and discard the response."""


@dataclass(frozen=True)
class Kill:
    """Kill the operator, and close the connection without a response."""

    answered: bool = False
    """True: wait for the server's response first."""
    forwarded: bool = True
    """False: kill without forwarding the request."""


@dataclass(frozen=True)
class Behind:
    """Respond like a stale API server: LIST and WATCH at a resourceVersion, and no later data until lifted."""

    version: int


Line = str | dict[str, Any]
"""A line of a watch: an object to serialize as JSON, or the raw text."""


@dataclass(frozen=True)
class Stream:
    """A fault in the stream of a watch, after its first `after` lines."""

    after: int = 0
    inject: tuple[Line, ...] = ()
    """Lines to send first: an ERROR, an event of unknown type, half a line."""
    then: str = "go on"
    """`go on`; `close` (like the server); `reset` (RST); `freeze` (silent until lifted); `truncate` (half of the
    next line, then close)."""
    drop: tuple[str, ...] = ()
    """Types of events to drop from there on: BOOKMARK, ADDED, MODIFIED or DELETED."""

    def __post_init__(self) -> None:
        _demand(self.after >= 0, "after must be at least 0")
        _demand(self.then in ENDS, f"then must be one of {', '.join(ENDS)}")


@dataclass(frozen=True)
class Hide:
    """Hide the events of one object, from a first event until an event that is delivered again."""

    name: str
    """The name of the object, a shell pattern."""
    event: str = "*"
    """The type of the first hidden event."""
    until: str = "*"
    """The type of the first delivered event."""
    events: int = 1
    """The minimum number of hidden events. After them, the next event of type `until` is delivered."""

    def __post_init__(self) -> None:
        _demand(self.events >= 1, "events must be at least 1")


@dataclass(frozen=True)
class Doubled:
    """Send each event of a watch twice, or swap each pair of events."""

    swapped: bool = False


Action = Answer | Delay | Drop | Kill | Behind | Stream | Hide | Doubled
ACTIONS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Answer, Delay, Drop, Kill, Behind, Stream, Hide, Doubled)
}


@dataclass(frozen=True)
class Rule:
    """An action for matching requests."""

    match: Match
    action: Action


@dataclass(frozen=True)
class Plan:
    """Rules in order of precedence: the first matching rule decides."""

    rules: tuple[Rule, ...] = field(default=())

    def to_json(self) -> list[dict[str, Any]]:
        """Return the plan as JSON data."""
        return [
            {
                "match": _said(rule.match),
                "action": {"kind": type(rule.action).__name__, **_said(rule.action)},
            }
            for rule in self.rules
        ]

    @classmethod
    def from_json(cls, rules: Sequence[dict[str, Any]]) -> "Plan":
        """Return the plan from the data of `to_json`.

        Raises:
            ValueError: the data is invalid. The message names the rule and the valid values.
        """
        return cls(tuple(_rule(number, data) for number, data in enumerate(rules, start=1)))


def described(action: Action) -> str:
    """Return a short description of an action: its kind, and the fields with other values than the default."""
    return f"{type(action).__name__}({', '.join(f'{name}={value!r}' for name, value in _said(action).items())})"


def _said(part: Any) -> dict[str, Any]:
    """Return the fields of a dataclass with other values than their defaults, as JSON data."""
    made: dict[str, Any] = {}
    for each in dataclasses.fields(part):
        value = getattr(part, each.name)
        if each.default is dataclasses.MISSING or value != each.default:
            made[each.name] = value
    said: dict[str, Any] = json.loads(json.dumps(made))
    return said


def _rule(number: int, data: Any) -> Rule:
    if not isinstance(data, Mapping) or not set(data) <= {"match", "action"}:
        raise ValueError(f"rule {number}: it must have a match and an action, and no other key")
    action = data.get("action")
    kind = ACTIONS.get(str(action.get("kind"))) if isinstance(action, Mapping) else None
    if kind is None or not isinstance(action, Mapping):
        raise ValueError(f"rule {number}: action.kind must be one of {', '.join(ACTIONS)}")
    said = {name: value for name, value in action.items() if name != "kind"}
    match: Match = _made(Match, data.get("match", {}), f"rule {number}: match")
    return Rule(match, _made(kind, said, f"rule {number}: action"))


def _made(kind: type[Any], said: Any, where: str) -> Any:
    """Return a dataclass from the given fields. Each must be one of its fields, with a value of its type."""
    if not isinstance(said, Mapping):
        raise ValueError(f"{where} is not an object")
    types = get_type_hints(kind)
    for name, value in said.items():
        if name not in types:
            raise ValueError(f"{where}.{name}: {kind.__name__} has only the fields {', '.join(types)}")
        if not _is_of(types[name], value):
            wanted = getattr(types[name], "__name__", types[name])
            raise ValueError(f"{where}.{name}: {value!r} is not of type {wanted}")
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
