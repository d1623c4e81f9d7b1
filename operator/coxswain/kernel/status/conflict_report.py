"""The status fields `conflicts` and `drift`: fields owned by other managers, and reverted changes of others.

They contain no times, and `conflicts` contains no values. So a field under policy Yield causes no status write when its
manager changes it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.managed_fields import shown_manager
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.quote import clean
from coxswain.kernel.objects.status_fields import ConflictStatus, DriftStatus, Status

COUNT_LIMIT = 100
"""The maximum of `count` in an entry of `drift`. Further reverts cause no status write."""

FIELD_LIMIT = 4096
"""Maximum length of a field path, as in the CRD."""

_ENTRIES = 20
_CONFLICTS = 50
_VALUE_LIMIT = 200
_HIDDEN = "(hidden)"

_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)?|secret|token|credential|private|api[-_.]?key|access[-_.]?key|auth|cert|dsn|conn(ection)?[-_.]?str|pwd"
    r"|(^|[-_./])key([-_.]|$)|salt|signature|cookie|session",
    re.IGNORECASE,
)
"""Field names of probable secrets."""
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN |(^|[^a-z])(password|passwd|pwd|secret|token|api[-_]?key)[\"'\\]*\s*[=:]",
    re.IGNORECASE,
)
"""A URL with a password in it; a key in PEM; `password=...` in a connection string; `"password": ...` in JSON."""
_NAME = re.compile(r"\[\w+=([^\]]*)\]|\[([^\]=]*)\]|metadata\.(?:labels|annotations)\.(.*)")


@dataclass(frozen=True)
class Conflict:
    """A desired field owned by another manager."""

    object: str
    """Kind and name: Deployment/web."""
    field: str
    """Field path such as spec.template.spec.containers[name=app].image. Empty for the whole object."""
    manager: str
    policy: Policy
    differs: bool
    """Whether the live value differs from the desired value."""
    contested: bool = False
    """Whether the field is not enforced for now, because the other manager keeps overwriting it."""

    def __post_init__(self) -> None:
        """Make external texts valid."""
        _make_valid(self)


@dataclass(frozen=True)
class Repair:
    """A reverted change of a field."""

    object: str
    field: str
    manager: str
    wanted: Any
    found: Any

    def __post_init__(self) -> None:
        """Make external texts valid."""
        _make_valid(self)


def conflicts(previous: Status, held: Sequence[Conflict]) -> list[ConflictStatus]:
    """Return the entries of `conflicts`: desired fields owned by another manager at another value.

    A reported entry stays while the manager owns the field, even if the values become equal for a time.
    """
    reported = [{**entry} for entry in previous.get("conflicts", [])]
    entries: dict[tuple[str, str, str], ConflictStatus] = {}
    for conflict in held:
        entry: ConflictStatus = {
            "object": conflict.object,
            "field": conflict.field,
            "manager": conflict.manager,
            "policy": conflict.policy.value,
        }
        if not conflict.contested and (conflict.differs or entry in reported):
            entries[_key(entry)] = entry
    return sorted(entries.values(), key=_key)[:_CONFLICTS]


def drift(previous: Status, repairs: Sequence[Repair]) -> list[DriftStatus]:
    """Return the entries of `drift` with these repairs added, the latest one last. The oldest entries are dropped."""
    entries = {_key(entry): entry for entry in previous.get("drift", [])}
    for repair in repairs:
        entry: DriftStatus = {
            "object": repair.object,
            "field": repair.field,
            "manager": repair.manager,
            "wanted": shown(repair.field, repair.wanted),
            "found": shown(repair.field, repair.found),
            "count": 1,
        }
        known = entries.get(_key(entry))
        if known is not None and known["count"] >= COUNT_LIMIT:
            continue
        if known is not None:
            entry["count"] = known["count"] + 1
            del entries[_key(entry)]
        entries[_key(entry)] = entry
    return list(entries.values())[-_ENTRIES:]


def shown(field: str, value: Any) -> str:
    """Return a value for display: secrets are hidden, long texts are cut, structures and lists are only named."""
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


def _make_valid(item: Conflict | Repair) -> None:
    object.__setattr__(item, "field", clean(item.field, FIELD_LIMIT))
    object.__setattr__(item, "manager", shown_manager(item.manager))


def _key(entry: ConflictStatus | DriftStatus) -> tuple[str, str, str]:
    return entry["object"], entry["field"], entry["manager"]
