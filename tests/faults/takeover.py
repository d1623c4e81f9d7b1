"""Runs a fault of the leader election, and measures the takeover."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from coxswain.settings import ElectionSettings
from fault_engine import oracles
from fault_engine.evidence import Evidence
from fault_engine.lives import CREATE
from fault_engine.run import Case
from fault_engine.script import Script, Settle
from fault_engine.stand import Stand
from faults import terms
from faults.replicas import ELECTED, SETTLED_SECONDS, Pair, await_true, is_true
from faults.workloads.webapp import REVISION

USUAL = ElectionSettings()
REFERENCE: Script = (*CREATE, Settle())
"""The same life with one replica and without edits: they create and delete nothing."""


def expiry(settings: ElectionSettings) -> float:
    """Return the maximum seconds until an edit is applied if the standby waits for the expiry: 17 s unscaled.

    The duration of a reconcile and the load of the machine do not shrink with the scale.
    """
    shrunk = 1 - settings.lease_duration / USUAL.lease_duration
    return settings.lease_duration + settings.retry_period + 2 * shrunk


@dataclass(frozen=True)
class Figures:
    """The measurements of one fault. Times are in seconds from the fault."""

    takeover: float | None
    """Until the standby has acquired the Lease; None if it never did."""
    next_edit: float
    """Until the first edit after the fault is applied."""
    slowest: float
    """The longest time from an edit until it, or a later one, is applied."""
    edits: int
    lost: int
    late: int
    """Writes of the first leader after the end of its leadership."""
    restarts: int

    def line(self, what: str) -> str:
        """Return a line of the table."""
        took = "none" if self.takeover is None else f"{self.takeover:.1f} s"
        return (
            f"| {what} | takeover {took} | next edit applied after {self.next_edit:.1f} s | "
            f"slowest edit {self.slowest:.1f} s | {self.edits} edits, {self.lost} lost | "
            f"{self.late} writes without leadership | {self.restarts} restarts |"
        )


def survive(
    case: Case,
    what: str,
    fault: Callable[[Pair], None],
    *,
    options: Sequence[Sequence[str]] = ((), ()),
    after: float = 2.0,
    replicas: Callable[[Case, Stand, Sequence[Sequence[str]]], Pair] = Pair,
) -> Figures:
    """Run two replicas with one edit per second and a fault; return the figures after a judgement by O1, O2, O3 and O6.

    Args:
        case: the case.
        what: the fault, for the table.
        fault: injects it, and returns after its end.
        options: more options of each replica.
        after: seconds to continue with the edits after the fault and the next applied edit.
        replicas: starts the replicas.

    Raises:
        AssertionError: an oracle found a violation.
    """
    reference = case.reference(REFERENCE).evidence
    assert reference is not None
    with case.stand(options=ELECTED) as stand:
        pair = replicas(case, stand, options)
        editor = pair.editor
        with editor:
            await_true(lambda: len(pair.applied()) >= 3, "the first edits are applied", SETTLED_SECONDS)
            pair.begin_fault()
            fault(pair)
            assert editor.fault_at is not None
            begun = editor.fault_at
            await_true(
                lambda: any(sent >= begun for sent, _ in editor.sent), "an edit after the fault", SETTLED_SECONDS
            )
            following = next(number for sent, number in editor.sent if sent >= begun)
            is_true(lambda: pair.applied()[-1][1] >= following, SETTLED_SECONDS)
            pair.go_on(after)
        found = judged(pair, reference)
        figures = _figures(pair, begun, following)
        print(figures.line(what))
        case.measured.violations += found
        case.measured.recoveries.append(figures.next_edit)
        assert not found, "\n".join(found)
    return figures


def judged(pair: Pair, reference: Evidence) -> list[str]:
    """Wait until everything has settled, and return the violations of O1, O2, O3 and O6."""
    stand, editor = pair.stand, pair.editor
    found: list[str] = []
    last = editor.sent[-1][1]
    if not pair.await_applied(last):
        found.append(f"O1: the last edit is lost: {last} was sent, and {pair.applied()[-1][1]} is applied")
    if not is_true(pair.canary_follows, 5.0):
        found.append("O1: an edit of another WebApp in the time without a leader is lost")
    # Also the controllers of the control plane must have followed, because O2 counts their objects too.
    is_true(pair.settled, SETTLED_SECONDS)
    quiet = stand.workload.quiet(stand.choices.scale)
    if not stand.quiet(quiet, quiet + SETTLED_SECONDS):
        found.append("O3: the replicas do not stop writing")
    histories = {each.name: each.history() for each in pair.replicas}
    found += [str(each) for each in terms.check(histories, pair.settings.renew_deadline, pair.lease_name)]
    evidence = stand.evidence(None)
    found += [str(each) for each in oracles.check(_counted(evidence), _counted(reference), ("O2", "O6"))]
    return found


def _counted(evidence: Evidence) -> Evidence:
    """Return evidence without Leases and revisions: the reference has no Lease, and each edit makes a revision."""
    apart = (terms.LEASES, REVISION.plural)
    audit = [event for event in evidence.audit if event.resource not in apart]
    changes = [change for change in evidence.changes if change.resource not in apart]
    return replace(evidence, audit=audit, changes=changes)


def _figures(pair: Pair, begun: float, following: int) -> Figures:
    applied = pair.applied()
    takeover = terms.acquired(pair.standby.history(), begun, pair.lease_name)
    return Figures(
        takeover=None if takeover is None else takeover - begun,
        next_edit=_delay(applied, begun, following),
        slowest=max(_delay(applied, sent, number) for sent, number in pair.editor.sent),
        edits=len(pair.editor.sent),
        lost=max(0, pair.editor.sent[-1][1] - applied[-1][1]),
        late=len(terms.late_writes(pair.leader.history(), pair.settings.renew_deadline, pair.lease_name)),
        restarts=pair.restarts,
    )


def _delay(applied: Sequence[tuple[float, int]], since: float, number: int) -> float:
    """Return the seconds until an edit, or a later one, was applied; infinity if none was."""
    return next((at - since for at, applied_number in applied if applied_number >= number), float("inf"))
