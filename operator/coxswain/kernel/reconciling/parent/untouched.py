"""Health of the children of a parent that is not written, because something about it cannot be listed or read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.failures import next_step
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.status.health import DIFFERS, Child, Health, Level, held_back, not_listed


def untouched(compared: Sequence[Result], unlisted: Mapping[str, str]) -> list[Result]:
    """Return the children with their known health; `unlisted` maps kinds that cannot be listed to the cause."""
    return [replace(each, child=replace(each.child, health=_health(each, unlisted))) for each in compared]


def unread(compared: Sequence[Result], record: Projection, error: RequestFailed) -> list[Result]:
    """Return the children with their known health; the recorded state that is to run cannot be read."""
    kind, name = record.kind.kind, record.name
    read = f"Check that the API server answers: kubectl get {kind.lower()} {name} -n {record.namespace}"
    problem = f"cannot be read: {error}. The operator writes no child until it can, and retries with backoff"
    failed = Child(kind, name, not_listed(f"{problem}. {next_step(error, record.namespace) or read}"))
    others = [
        _waiting(each, f"{kind} {name}") for each in compared if (each.child.kind, each.child.name) != (kind, name)
    ]
    return [*others, Result(failed, record, failed=error)]


def _waiting(compared: Result, record: str) -> Result:
    """Return a child that waits for a record. Its desired state is unknown, so a difference means nothing."""
    if _is_known(compared) and compared.child.health.reason != DIFFERS:
        return compared
    return replace(compared, child=replace(compared.child, health=_held_back(compared, record)))


def _health(compared: Result, unlisted: Mapping[str, str]) -> Health:
    child = compared.child
    if child.kind in unlisted:
        return not_listed(unlisted[child.kind])
    if not _is_known(compared):
        return _held_back(compared, f"a LIST of {' and '.join(unlisted)} objects")
    # The parent may need no child of the unlisted kind, so this child reports why the drift is not corrected.
    return not_listed("; ".join(unlisted.values())) if child.health.reason == DIFFERS else child.health


def _is_known(compared: Result) -> bool:
    """Tell whether the health holds without a write: not of an object that would be created or adopted now."""
    return compared.live is not None or compared.child.health.level not in (Level.MISSING, Level.PROGRESSING)


def _held_back(compared: Result, needed: str) -> Health:
    return held_back(needed, there=compared.child.health.level is not Level.MISSING)
