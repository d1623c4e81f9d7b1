"""O2: each object was created and deleted as often as in the run without faults."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from fault_engine.evidence import Evidence, Violation
from fault_engine.objects import Object, controller

_GENERATED = ("pods",)
"""Resources with generated names: counted by their controller."""
_NOT_COUNTED = ("events",)
"""Events are not state: their number depends on the number of retries."""


def check(evidence: Evidence, reference: Evidence) -> list[Violation]:
    """Compare creations and deletions, as seen by the witness, and those of the operator in the audit log."""
    return [
        *_compared(_lives(evidence), _lives(reference)),
        *_compared(_acts(evidence), _acts(reference)),
        *(
            Violation("O2", f"the operator tried to delete {what}; in the reference it never did")
            for what in sorted(_deletions_tried(evidence) - _deletions_tried(reference))
        ),
    ]


def _compared(found: Counter[str], expected: Counter[str]) -> Iterator[Violation]:
    for what in sorted({*found, *expected}):
        if found[what] != expected[what]:
            yield Violation("O2", f"{what} {_times(found[what])}; in the reference {_times(expected[what])}")


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def _lives(evidence: Evidence) -> Counter[str]:
    created: defaultdict[str, set[str]] = defaultdict(set)
    for change in evidence.changes:
        if change.resource in _NOT_COUNTED:
            continue
        name = _name(change.resource, change.name, change.object)
        created[f"{name} was created"].add(change.uid)
        if change.type == "DELETED":
            created[f"{name} was deleted"].add(change.uid)
    return Counter({what: len(uids) for what, uids in created.items()})


def _name(resource: str, name: str, thing: Object) -> str:
    if resource not in _GENERATED:
        return f"{resource}/{name}"
    owner = controller(thing)
    owned_by = f"of {owner['kind']} {owner['name']}" if owner else "without a controller"
    return f"one of {resource} {owned_by}"


def _acts(evidence: Evidence) -> Counter[str]:
    acts: Counter[str] = Counter()
    for event in evidence.audit:
        if event.user != evidence.user or event.resource in _NOT_COUNTED or event.subresource:
            continue
        if event.code == 201:  # a create, or an apply of a new object
            acts[f"{event.resource}/{event.name} was created by the operator"] += 1
        elif event.verb in ("delete", "deletecollection") and 200 <= event.code < 300:
            acts[f"{event.resource}/{event.name} was deleted by the operator"] += 1
    return acts


def _deletions_tried(evidence: Evidence) -> set[str]:
    """Return the objects that the operator tried to delete. The number of attempts is random, so it is not counted."""
    return {
        f"{event.resource}/{event.name}"
        for event in evidence.audit
        if event.user == evidence.user and event.verb in ("delete", "deletecollection")
    }
