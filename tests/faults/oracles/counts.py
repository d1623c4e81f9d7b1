"""O2: each object was created and deleted as often as in the run without faults."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from faults.evidence import Evidence, Object, Violation, controller

_GENERATED = ("pods",)
"""Resources whose names are made up by the server: counted by their controller."""
_NOT_COUNTED = ("events",)
"""News, not state: how much is told depends on how often things had to be tried."""


def check(evidence: Evidence, reference: Evidence) -> list[Violation]:
    """Compare what came and went, as the witness saw it, and what the operator did, as the audit log has it."""
    return [
        *_compared(_lives(evidence), _lives(reference)),
        *_compared(_acts(evidence), _acts(reference)),
        *(
            Violation("O2", f"the operator tried to delete {what}, which in the reference it never did")
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
        created[f"{name} came to be"].add(change.uid)
        if change.type == "DELETED":
            created[f"{name} went"].add(change.uid)
    return Counter({what: len(uids) for what, uids in created.items()})


def _name(resource: str, name: str, thing: Object) -> str:
    if resource not in _GENERATED:
        return f"{resource}/{name}"
    owner = controller(thing)
    return f"one of {resource} of {owner['kind']} {owner['name']}" if owner else f"one of {resource} of nobody"


def _acts(evidence: Evidence) -> Counter[str]:
    acts: Counter[str] = Counter()
    for event in evidence.audit:
        if event.user != evidence.user or event.resource in _NOT_COUNTED or event.subresource:
            continue
        if event.code == 201:  # a create, and an apply that creates
            acts[f"{event.resource}/{event.name} was created by the operator"] += 1
        elif event.verb in ("delete", "deletecollection") and 200 <= event.code < 300:
            acts[f"{event.resource}/{event.name} was deleted by the operator"] += 1
    return acts


def _deletions_tried(evidence: Evidence) -> set[str]:
    """Return what the operator tried to delete, whatever came of it: how often is chance, but not whether."""
    return {
        f"{event.resource}/{event.name}"
        for event in evidence.audit
        if event.user == evidence.user and event.verb in ("delete", "deletecollection")
    }
