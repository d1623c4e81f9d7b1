"""Disasters for WebApps only: an operator of another version, and hostile objects."""

import signal
from collections.abc import Callable

from fault_engine.disasters import deletion
from fault_engine.stand import Stand
from faults.hostile import create_all, hostile_objects

ANOTHER_VERSION = "renders-another-value"
ROUNDS = 5
"""The number of corrections by each of two operators before both stop enforcing a field. O7 allows another fault for
each."""


def _start_another_version(stand: Stand) -> None:
    other = stand.launch("other.log", ANOTHER_VERSION)
    stand.closing.append(lambda: other.stop(signal.SIGKILL))
    stand.rival = other
    stand.faults += ROUNDS
    stand.proxy.mark("another version started")
    other.start(wait=False)


def _stop_another_version(stand: Stand) -> None:
    assert stand.rival is not None
    stand.rival.stop()
    stand.proxy.mark("another version stopped")


def _make_hostile_objects(stand: Stand) -> None:
    """Fill the other namespaces with objects that have the operator's label and no owner."""
    for name in stand.besides:
        stand.cluster.kubectl("create", "namespace", name)
        stand.closing.append(deletion(stand.cluster, name, "true"))
        for version, plural, things in hostile_objects():
            create_all(stand.cluster.pykube, name, version, plural, things)


DISASTERS: dict[str, Callable[[Stand], object]] = {
    "start another version": _start_another_version,
    "stop the other version": _stop_another_version,
    "create hostile objects": _make_hostile_objects,
}
"""The disasters by their names in scripts."""
