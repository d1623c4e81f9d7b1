"""Disasters for WebApps only: an operator of another version, hostile objects, and the CRD of HTTPRoutes."""

import signal
from collections.abc import Callable

from cluster.gateway_api import CRD, GROUP
from cluster.readiness import wait_until
from fault_engine.disasters import SERVED_SECONDS, deletion
from fault_engine.stand import Stand
from faults.hostile import create_all, hostile_objects
from integration import gateways

ANOTHER_VERSION = "renders-another-value"
ROUNDS = 5
"""The number of corrections by each of two operators before both stop enforcing a field. For O7, each correction by
either is a fault: O7 counts the writes of both."""


def _start_another_version(stand: Stand) -> None:
    other = stand.launch("other.log", ANOTHER_VERSION)
    stand.closing.append(lambda: other.stop(signal.SIGKILL))
    stand.rival = other
    stand.faults += 2 * ROUNDS
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


def _install_gateway_api(stand: Stand) -> None:
    """Install the CRD of HTTPRoutes, and wait until kubectl finds the kind."""
    gateways.install(stand.cluster)
    listed = ("api-resources", f"--api-group={GROUP}", "--output=name")
    wait_until(f"{CRD} to be served", lambda: CRD in stand.cluster.kubectl(*listed, check=False), [], SERVED_SECONDS)
    stand.proxy.mark("HTTPRoutes are served")


def _remove_gateway_api(stand: Stand) -> None:
    gateways.uninstall(stand.cluster)
    stand.proxy.mark("HTTPRoutes are no longer served")


DISASTERS: dict[str, Callable[[Stand], object]] = {
    "start another version": _start_another_version,
    "stop the other version": _stop_another_version,
    "create hostile objects": _make_hostile_objects,
    "install the Gateway API": _install_gateway_api,
    "remove the Gateway API": _remove_gateway_api,
}
"""The disasters by their names in scripts."""
