"""B8: the leader of two replicas ends, is killed or stopped, while a user edits a WebApp each second."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from signal import Signals

from bench.lives import line
from bench.replica_group import ReplicaGroup
from bench.results import COXSWAIN, Measured
from bench.rig import READS, Rig, counted, writes
from cluster import AuditEvent
from cluster.operator_process import OperatorProcess
from cluster.progress import Progress
from cluster.readiness import wait_until

SIZE = 200
EDITS: Mapping[str, int] = {"SIGTERM": 20, "SIGKILL": 35, "SIGSTOP for 60 s": 85}
"""The edits of each case, one each second, each of another WebApp."""
STOPPED_SECONDS = 60.0
BEFORE_SECONDS = 5.0
END_SECONDS = 10.0
"""Until a leader that continues has ended."""


def failovers(number: int, progress: Progress) -> list[Measured]:
    """Measure each case, in round `number`."""
    found, first = [], 0
    with ExitStack() as stack:
        rig = stack.enter_context(Rig(COXSWAIN, SIZE))
        group = stack.enter_context(ReplicaGroup(rig, 2))
        group.await_balance()
        rig.load("create", SIZE)
        for case, edits in EDITS.items():
            one = _failover(rig, group, case, first, number)
            found.append(one)
            progress(line(one))
            first += edits
    return found


def _failover(rig: Rig, group: ReplicaGroup, case: str, first: int, number: int) -> Measured:
    mark, leader = rig.mark(), group.leader()
    load = rig.start_load("edit", EDITS[case], first=first, timeout=60)
    time.sleep(BEFORE_SECONDS)  # edits before the fault
    at, wall = time.monotonic(), datetime.now(UTC)
    _fault(case, leader)
    answer = rig.loaded(load)
    events, within = rig.quiet(mark)
    figures = {**of_edits(answer["edits"], at), **of_requests(events, wall.timestamp())}
    # Renewals of the Lease never end.
    within = [each for each in within if each.resource != "leases"]
    void = [*rig.differences()[:3], *([f"{counted(within)}"] if writes(within) else [])]
    leader.start()
    group.await_balance()
    return Measured("B8", COXSWAIN, SIZE, number, case, figures, counted(events), tuple(void))


def _fault(case: str, leader: OperatorProcess) -> None:
    if case == "SIGTERM":
        leader.stop()
    elif case == "SIGKILL":
        leader.stop(Signals.SIGKILL)
    else:
        leader.send(Signals.SIGSTOP)
        time.sleep(STOPPED_SECONDS)  # the length of the stop
        leader.send(Signals.SIGCONT)
        wait_until("the old leader has ended", lambda: not leader.running, [], END_SECONDS)


def of_edits(edits: Sequence[tuple[float, float | None]], at: float) -> dict[str, float]:
    """Return the figures of edits: when each was sent, and when it was written, or None.

    `at` is the time of the fault. All times are in seconds of one clock.
    """
    written = [(sent, done) for sent, done in edits if done is not None]
    after = [done - at for sent, done in written if sent >= at]
    return {
        **({"next edit": after[0]} if after else {}),
        "slowest edit": max((done - sent for sent, done in written), default=0.0),
        "edits": len(edits),
        "lost": len(edits) - len(written),
    }


def of_requests(events: Sequence[AuditEvent], at: float) -> dict[str, float]:
    """Return the seconds until the takeover, and the writes of the old leader after it.

    `events` are the requests of both replicas, each with a credential of its own. `at` is the time of the fault, in
    seconds since the epoch. Only a leader updates the Lease.
    """
    updates = [each for each in events if (each.verb, each.resource, each.code) == ("update", "leases", 200)]
    old = [each.credential for each in updates if _at(each) < at][-1]
    taken = [each for each in updates if each.credential != old and _at(each) >= at]
    if not taken:
        return {}
    late = [each for each in events if each.credential == old and each.verb not in READS and each.time > taken[0].time]
    return {"takeover": _at(taken[0]) - at, "writes of the old leader": len(late)}


def _at(event: AuditEvent) -> float:
    return datetime.fromisoformat(event.time).timestamp()
