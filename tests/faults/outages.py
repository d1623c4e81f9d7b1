"""Helpers for the tests of outages: a settled WebApp, the steps of the outage, and the recovery times."""

import re

from fault_engine.lives import CREATE
from fault_engine.play import Played
from fault_engine.script import Disaster, Script, Settle, Step, kubectl

SOON = Settle(timeout=50)
"""No resync happens in these runs, so the operator must notice each problem by other means."""

ENDS = ("is back", "faults end", ": resume", "resumed", "token rotated", "etcd restored")
"""The ends of marks that end an outage."""
CUT = Disaster("cut the watches")
CHILD_DELETED = kubectl("delete", "{child}", "web", "--wait=false", "--ignore-not-found")


def begun(*parts: Step | Script) -> Script:
    """Return a script that creates a WebApp, waits until it has settled, and continues with the given parts."""
    return (*CREATE, Settle(), *(step for part in parts for step in (part if isinstance(part, tuple) else (part,))))


def print_recovery(played: Played, what: str) -> None:
    """Print the recovery times: of the end state, and of the first successful request of each client."""
    assert played.evidence is not None
    history = played.evidence.history
    back = max(mark.at for mark in history.marks if mark.what.endswith(ENDS))
    first: dict[str, float] = {}
    for request in history.requests:
        if request.at > back and request.status == 200 and request.verb in ("watch", "patch"):
            first.setdefault(f"{request.verb} {request.resource}", request.at - back)
    answered = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in first.items())
    delays = [float(seconds) for seconds in re.findall(r"(?:retrying|requeued) in ([\d.]+) s", played.evidence.logs)]
    seconds = ", ".join(f"{each:.1f} s" for each in played.recoveries)
    print(f"{what}: recovered in {seconds}; longest delay {max(delays, default=0)} s; answered: {answered}")
