"""What the status tells of other writers: fields that they hold, and what of theirs was put back.

Nothing in it is a time, and a value only in the ledger of what was put back, so that a field which is left to another
manager costs no write however often that one changes it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.managed_fields import UNKNOWN
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.quote import clean
from coxswain.kernel.objects.status_fields import ConflictStatus, DriftStatus, Status

COUNT_LIMIT = 100
"""Where the count of a ledger's entry stays: so often, or oftener."""

FIELD_LIMIT = 4096
"""Characters of a field's place, as in the schema."""
MANAGER_LIMIT = 128
"""Characters of a manager's name, as in the schema."""

_ENTRIES = 20
_CONFLICTS = 50
_VALUE_LIMIT = 200
_HIDDEN = "(hidden)"

_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)?|secret|token|credential|private|api[-_.]?key|access[-_.]?key|auth|cert|dsn|conn(ection)?[-_.]?str|pwd"
    r"|(^|[-_./])key([-_.]|$)|salt|signature|cookie|session",
    re.IGNORECASE,
)
"""Names that something secret usually bears."""
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN |(^|[^a-z])(password|passwd|pwd|secret|token)\s*[=:]", re.IGNORECASE
)
"""A URL with a password in it; a key in PEM; `password=...` in a connection string."""
_NAME = re.compile(r"\[name=([^\]]*)\]|\[([^\]=]*)\]|metadata\.(?:labels|annotations)\.(.*)")


@dataclass(frozen=True)
class Conflict:
    """A field that the WebApp desires and another manager holds."""

    object: str
    """Kind and name: Deployment/web."""
    field: str
    """The place, as a person writes it: spec.template.spec.containers[name=app].image; empty for the whole object."""
    manager: str
    policy: Policy
    differs: bool
    """Whether that manager holds it at another value."""
    contested: bool = False
    """Whether it is left alone for a while, since the other manager took it again and again."""

    def __post_init__(self) -> None:
        """Make texts of others valid."""
        _make_valid(self)


@dataclass(frozen=True)
class Repair:
    """A field that someone had changed and that was put back."""

    object: str
    field: str
    manager: str
    wanted: Any
    found: Any

    def __post_init__(self) -> None:
        """Make texts of others valid."""
        _make_valid(self)


def conflicts(previous: Status, held: Sequence[Conflict]) -> list[ConflictStatus]:
    """Return the conflicts to tell: a field that another manager holds at another value than the WebApp says.

    Once told it stays while that manager holds it, also at times at the very value.
    """
    told = [{**entry} for entry in previous.get("conflicts", [])]
    shown: dict[tuple[str, str, str], ConflictStatus] = {}
    for found in held:
        entry: ConflictStatus = {
            "object": found.object,
            "field": found.field,
            "manager": found.manager,
            "policy": found.policy.value,
        }
        if not found.contested and (found.differs or entry in told):
            shown[_place(entry)] = entry
    return sorted(shown.values(), key=_place)[:_CONFLICTS]


def drift(previous: Status, repairs: Sequence[Repair]) -> list[DriftStatus]:
    """Return the ledger with these repairs added, what is new at its end; the oldest of too many are dropped."""
    entries = {_place(entry): entry for entry in previous.get("drift", [])}
    for repair in repairs:
        entry: DriftStatus = {
            "object": repair.object,
            "field": repair.field,
            "manager": repair.manager,
            "wanted": shown(repair.field, repair.wanted),
            "found": shown(repair.field, repair.found),
            "count": 1,
        }
        known = entries.get(_place(entry))
        if known is not None and known["count"] >= COUNT_LIMIT:
            continue
        if known is not None:
            entry["count"] = known["count"] + 1
        entries[_place(entry)] = entry
    return list(entries.values())[-_ENTRIES:]


def shown(field: str, value: Any) -> str:
    """Return a value as a person may see it: nothing secret, nothing long, and of a structure only that it is one."""
    if value is None:
        return "(none)"
    if isinstance(value, Mapping):
        return "(a structure)"
    if isinstance(value, (list, tuple)):
        return "(a list)"
    if any(_SECRET_NAME.search(name) for pair in _NAME.findall(field) for name in pair if name):
        return _HIDDEN
    text = clean(str(value).lower() if isinstance(value, bool) else str(value))
    if _SECRET_VALUE.search(text):
        return _HIDDEN
    return text if len(text) <= _VALUE_LIMIT else text[:_VALUE_LIMIT] + " ..."


def _make_valid(found: Conflict | Repair) -> None:
    object.__setattr__(found, "field", clean(found.field, FIELD_LIMIT))
    object.__setattr__(found, "manager", clean(found.manager, MANAGER_LIMIT) or UNKNOWN)


def _place(entry: ConflictStatus | DriftStatus) -> tuple[str, str, str]:
    return entry["object"], entry["field"], entry["manager"]
