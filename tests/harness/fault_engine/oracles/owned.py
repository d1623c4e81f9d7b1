"""O5 for every field: a parent must not stay Ready while a field that the operator owns differs from the reference.

The expected values come from the run without faults: the fields of the operator's entry in managedFields while a
parent with the same name and spec was Ready. The actual values come from the witness.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fault_engine.evidence import Evidence, Violation
from fault_engine.objects import Object, condition, controller, says_ready
from fault_engine.oracles.hindrances import Hindrances
from fault_engine.oracles.masking import Names
from fault_engine.witness import Change
from fault_engine.workload import Workload

Path = tuple[str, ...]
Mask = Callable[[str], str]
Fields = Mapping[tuple[str, str], Mapping[Path, Any]]
"""The values of the owned fields, by resource and name of the child."""
_ABSENT = object()


def check(evidence: Evidence, reference: Evidence, correction: float) -> list[Violation]:
    """Judge all parents whose name and spec also occur in the reference."""
    return list(_Judge(evidence, wanted(reference), correction).violations())


def wanted(reference: Evidence) -> dict[tuple[str, str], Fields]:
    """Return the children of each Ready parent, by the parent's name and spec.

    Changes are read in the order of their resourceVersions, not of their arrival: each resource has a watch of its own,
    so the child of an edited parent may arrive before the parent. All resources are in one etcd, so they share its
    revisions.
    """
    found: dict[tuple[str, str], Fields] = {}
    mask, workload = _mask(reference), reference.workload
    parents: dict[str, Object] = {}
    children: dict[tuple[str, str], Object] = {}

    def note(parent: Object) -> None:
        if _is_ready(parent):
            uid = parent["metadata"]["uid"]
            mine = {key: child for key, child in children.items() if (controller(child) or {}).get("uid") == uid}
            found[_key(parent)] = {key: dict(owned(child, workload, mask)) for key, child in mine.items()}

    for change in sorted(reference.changes, key=lambda change: change.version):
        if change.resource == reference.parents:
            before = parents.get(change.name)
            if before is not None and (change.type == "DELETED" or _key(before) != _key(change.object)):
                note(before)
            _keep(parents, change.name, change)
        elif change.resource in workload.plurals:
            _keep(children, (change.resource, change.name), change)
    for parent in parents.values():
        note(parent)
    return found


def owned(thing: Object, workload: Workload, mask: Mask = str) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of each field that the operator has applied to an object."""
    yield from _owned(workload.applied(thing) or {}, thing, (), mask)


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


def difference(child: Object, fields: Mapping[Path, Any], workload: Workload, mask: Mask) -> str | None:
    """Return the first field of a child that differs from the reference; None if all are equal."""
    for path, value in fields.items():
        if workload.is_left(child, path):
            continue
        live: Any = child
        for step in path:
            live = _at(live, step, mask)
        if _masked(live, mask) != value:
            return f"{' '.join(step.removeprefix('f:') for step in path)} differs from the reference"
    return None


@dataclass
class _ParentView:
    """One parent over time, as seen by the witness."""

    parent: Object
    problems: dict[tuple[str, str], str | None] = field(default_factory=dict)
    wrong_since: float | None = None
    reported: bool = False


class _Judge:
    def __init__(self, evidence: Evidence, expected: Mapping[tuple[str, str], Fields], correction: float) -> None:
        self._evidence = evidence
        self._expected = expected
        self._correction = correction
        self._mask = _mask(evidence)
        self._hindrances = Hindrances()
        self._views: dict[str, _ParentView] = {}
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
            for view in self._views.values():
                self._look(view, at)
        if moments:
            yield from self._overdue(max(moments[-1][0], self._evidence.quiet_since or 0.0))

    def _take(self, change: Change) -> None:
        if change.resource == self._evidence.parents:
            if change.type == "DELETED":
                self._views.pop(change.uid, None)
                return
            view = self._views.setdefault(change.uid, _ParentView(change.object))
            if _key(view.parent) != _key(change.object) or not view.problems:
                view.parent = change.object
                for place in self._expected.get(_key(change.object), {}):
                    self._compare(view, place)
            view.parent = change.object
        elif change.resource in self._evidence.workload.plurals:
            place = (change.resource, change.name)
            _keep(self._children, place, change)
            for view in self._views.values():
                self._compare(view, place)

    def _compare(self, view: _ParentView, place: tuple[str, str]) -> None:
        fields = self._expected.get(_key(view.parent), {})
        view.problems = {known: problem for known, problem in view.problems.items() if known in fields}
        if place not in fields:
            return
        child = self._children.get(place)
        missing = child is None or (controller(child) or {}).get("uid") != view.parent["metadata"]["uid"]
        workload = self._evidence.workload
        problem = (
            "it does not exist" if child is None or missing else difference(child, fields[place], workload, self._mask)
        )
        view.problems[place] = problem and f"{'/'.join(place)}: {problem}"

    def _look(self, view: _ParentView, at: float) -> None:
        problem = any(view.problems.values())
        if not problem or not _is_ready(view.parent) or _reports_conflicts(view.parent) or self._hindrances:
            view.wrong_since, view.reported = None, False
        elif view.wrong_since is None:
            view.wrong_since = at

    def _overdue(self, now: float) -> Iterator[Violation]:
        for view in self._views.values():
            if view.wrong_since is None or view.reported or now - view.wrong_since <= self._correction:
                continue
            view.reported = True
            what = next(problem for problem in view.problems.values() if problem)
            kind, name = self._evidence.workload.parent.kind, view.parent["metadata"]["name"]
            sentence = f"{kind} {name} has been Ready for more than {self._correction:.0f} s"
            yield Violation("O5", f"{sentence}; {what}")


def _keep(there: dict[Any, Object], key: Any, change: Change) -> None:
    if change.type == "DELETED":
        there.pop(key, None)
    else:
        there[key] = change.object


def _key(parent: Object) -> tuple[str, str]:
    return parent["metadata"]["name"], json.dumps(parent["spec"], sort_keys=True)


def _mask(evidence: Evidence) -> Mask:
    return functools.cache(Names(evidence).mask)


def _is_ready(parent: Object) -> bool:
    return says_ready(parent) and "deletionTimestamp" not in parent["metadata"]


def _reports_conflicts(parent: Object) -> bool:
    """Tell whether a status reports fields left to other managers. The tests of policies judge the reported fields."""
    said = {condition(parent, kind).get("status") for kind in ("Contested", "Conflicted")}
    return "True" in said or bool(parent.get("status", {}).get("conflicts"))
