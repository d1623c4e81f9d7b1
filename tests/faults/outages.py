"""What the tests of outages share: a WebApp at rest, what then happens to it, and how soon it was put right."""

import re

from faults.lives import CREATE
from faults.play import Played
from faults.script import Disaster, Script, Settle, Step, kubectl

SOON = Settle(timeout=50)
"""No sweep comes in these runs: what is mended within it is mended because it was noticed."""

ENDS = ("is back", "faults end", ": resume", "resumed", "token rotated", "etcd restored")
"""Of the marks that tell of the end of an outage."""
CUT = Disaster("cut the watches")
CHILD_DELETED = kubectl("delete", "service", "web", "--wait=false", "--ignore-not-found")


def begun(*parts: Step | Script) -> Script:
    """Return a script that goes on, part by part, after a WebApp has come to rest."""
    return (*CREATE, Settle(), *(step for part in parts for step in (part if isinstance(part, tuple) else (part,))))


def tell(played: Played, what: str) -> None:
    """Print how long a recovery took: until the end state, and until each client was answered again."""
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
