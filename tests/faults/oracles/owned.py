"""O5 for every field: a WebApp must not say Ready for long while a field that the operator owns is not as it should be.

How it should be is read from the run without faults: the fields of the operator's entry in managedFields, as they were
when a WebApp with the same name and spec was Ready there. How it was is what the witness saw.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from faults.evidence import Evidence, Object, Violation, applied, condition, controller
from faults.oracles.hindrances import Hindrances
from faults.oracles.masking import Names
from faults.witness import Change

CHILDREN = ("serviceaccounts", "configmaps", "services", "deployments")
REPLICAS_NOTE = "coxswain.dev/replicas"
"""An annotation that the operator leaves on a Deployment whose replicas an autoscaler has, or has left."""

Path = tuple[str, ...]
Mask = Callable[[str], str]
Fields = Mapping[tuple[str, str], Mapping[Path, Any]]
"""By resource and name of a child, the values of its owned fields."""
_ABSENT = object()


def check(evidence: Evidence, reference: Evidence, correction: float) -> list[Violation]:
    """Judge all WebApps with a spec that the reference had, too."""
    return list(_Judge(evidence, wanted(reference), correction).violations())


def wanted(reference: Evidence) -> dict[tuple[str, str], Fields]:
    """Return by name and spec of a WebApp how its children are while it is Ready."""
    found: dict[tuple[str, str], Fields] = {}
    mask = _mask(reference)
    webapps: dict[str, Object] = {}
    children: dict[tuple[str, str], Object] = {}

    def note(webapp: Object) -> None:
        if _says_ready(webapp):
            uid = webapp["metadata"]["uid"]
            mine = {key: child for key, child in children.items() if (controller(child) or {}).get("uid") == uid}
            found[_key(webapp)] = {key: dict(owned(child, mask)) for key, child in mine.items()}

    for change in reference.changes:
        if change.resource == "webapps":
            before = webapps.get(change.name)
            if before is not None and (change.type == "DELETED" or _key(before) != _key(change.object)):
                note(before)
            _keep(webapps, change.name, change)
        elif change.resource in CHILDREN:
            _keep(children, (change.resource, change.name), change)
    for webapp in webapps.values():
        note(webapp)
    return found


def owned(thing: Object, mask: Mask = str) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of each field that the operator has applied to an object."""
    yield from _owned(applied(thing) or {}, thing, (), mask)


def _owned(fields: Mapping[str, Any], live: Any, path: Path, mask: Mask) -> Iterator[tuple[Path, Any]]:
    for element, inner in fields.items():
        if element == ".":
            continue
        step = mask(element)
        value = _at(live, step, mask)
        if inner and inner.keys() != {"."} and value is not _ABSENT:
            yield from _owned(inner, value, (*path, step), mask)
        else:
            yield (*path, step), _masked(value, mask)


def _at(live: Any, step: str, mask: Mask) -> Any:
    """Return the part of an object that an element of managedFields names."""
    kind, _, text = step.partition(":")
    if kind == "f":
        return live.get(text, _ABSENT) if isinstance(live, Mapping) else _ABSENT
    items = live if isinstance(live, list) else []
    wanted = json.loads(text)
    if kind == "v":
        return next((item for item in items if _masked(item, mask) == wanted), _ABSENT)
    return next((item for item in items if all(_masked(item.get(k), mask) == v for k, v in wanted.items())), _ABSENT)


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: _masked(part, mask) for key, part in value.items()}
    if isinstance(value, list):
        return [_masked(part, mask) for part in value]
    return value


def difference(child: Object, fields: Mapping[Path, Any], mask: Mask) -> str | None:
    """Return the first field of a child that is not as it should be; None for none."""
    by_others = REPLICAS_NOTE in child["metadata"].get("annotations", {})
    for path, value in fields.items():
        if f"f:{REPLICAS_NOTE}" in path or (by_others and path[-1] == "f:replicas"):
            continue
        live: Any = child
        for step in path:
            live = _at(live, step, mask)
        if _masked(live, mask) != value:
            return f"{' '.join(step.removeprefix('f:') for step in path)} is not as it should be"
    return None


@dataclass
class _Told:
    """One WebApp as the witness saw it, through time."""

    webapp: Object
    problems: dict[tuple[str, str], str | None] = field(default_factory=dict)
    untrue_since: float | None = None
    told: bool = False


class _Judge:
    def __init__(self, evidence: Evidence, expected: Mapping[tuple[str, str], Fields], correction: float) -> None:
        self._evidence = evidence
        self._expected = expected
        self._correction = correction
        self._mask = _mask(evidence)
        self._hindrances = Hindrances()
        self._told: dict[str, _Told] = {}
        self._children: dict[tuple[str, str], Object] = {}

    def violations(self) -> Iterator[Violation]:
        moments: list[tuple[float, Change | str]] = [(change.at, change) for change in self._evidence.changes]
        moments += [(mark.at, mark.what) for mark in self._evidence.history.marks]
        moments.sort(key=lambda moment: moment[0])
        for at, what in moments:
            yield from self._overdue(at)
            if isinstance(what, str):
                self._hindrances.heed(what)
            else:
                self._take(what)
            for told in self._told.values():
                self._look(told, at)
        if moments:
            yield from self._overdue(max(moments[-1][0], self._evidence.quiet_since or 0.0))

    def _take(self, change: Change) -> None:
        if change.resource == "webapps":
            if change.type == "DELETED":
                self._told.pop(change.uid, None)
                return
            told = self._told.setdefault(change.uid, _Told(change.object))
            if _key(told.webapp) != _key(change.object) or not told.problems:
                told.webapp = change.object
                for place in self._expected.get(_key(change.object), {}):
                    self._compare(told, place)
            told.webapp = change.object
        elif change.resource in CHILDREN:
            place = (change.resource, change.name)
            _keep(self._children, place, change)
            for told in self._told.values():
                self._compare(told, place)

    def _compare(self, told: _Told, place: tuple[str, str]) -> None:
        fields = self._expected.get(_key(told.webapp), {})
        told.problems = {known: problem for known, problem in told.problems.items() if known in fields}
        if place not in fields:
            return
        child = self._children.get(place)
        missing = child is None or (controller(child) or {}).get("uid") != told.webapp["metadata"]["uid"]
        problem = "it is not there" if child is None or missing else difference(child, fields[place], self._mask)
        told.problems[place] = problem and f"{'/'.join(place)}: {problem}"

    def _look(self, told: _Told, at: float) -> None:
        problem = any(told.problems.values())
        if not problem or not _says_ready(told.webapp) or _tells(told.webapp) or self._hindrances:
            told.untrue_since, told.told = None, False
        elif told.untrue_since is None:
            told.untrue_since = at

    def _overdue(self, now: float) -> Iterator[Violation]:
        for told in self._told.values():
            if told.untrue_since is None or told.told or now - told.untrue_since <= self._correction:
                continue
            told.told = True
            what = next(problem for problem in told.problems.values() if problem)
            sentence = f"WebApp {told.webapp['metadata']['name']} says Ready for more than {self._correction:.0f} s"
            yield Violation("O5", f"{sentence}; {what}")


def _keep(there: dict[Any, Object], key: Any, change: Change) -> None:
    if change.type == "DELETED":
        there.pop(key, None)
    else:
        there[key] = change.object


def _key(webapp: Object) -> tuple[str, str]:
    return webapp["metadata"]["name"], json.dumps(webapp["spec"], sort_keys=True)


def _mask(evidence: Evidence) -> Mask:
    return functools.cache(Names(evidence).mask)


def _says_ready(webapp: Object) -> bool:
    ready = condition(webapp, "Ready")
    current = ready.get("observedGeneration") == webapp["metadata"]["generation"]
    return ready.get("status") == "True" and current and "deletionTimestamp" not in webapp["metadata"]


def _tells(webapp: Object) -> bool:
    """Tell whether a status says that fields are left to others: which ones, tests of policies judge."""
    said = {condition(webapp, kind).get("status") for kind in ("Contested", "Conflicted")}
    return "True" in said or bool(webapp.get("status", {}).get("conflicts"))
