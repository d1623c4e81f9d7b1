"""Readiness checks for the servers of a starting cluster."""

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path

import requests

from cluster.clients import direct_session
from cluster.processes import Service

POLL_SECONDS = 0.05
REQUEST_TIMEOUT_SECONDS = 5.0


def wait_until(
    what: str, condition: Callable[[], object], services: Collection[Service], timeout_seconds: float
) -> None:
    """Wait until the condition is true.

    Raises ProgramExitedError if a service exits meanwhile, and TimeoutError with the ends of the logs.
    """
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        for service in services:
            service.check()
        if time.monotonic() > deadline:
            tails = "\n".join(f"--- {service.name}\n{service.tail(5)}" for service in services)
            raise TimeoutError(f"{what}: not ready after {timeout_seconds:.0f} s\n{tails}")
        time.sleep(POLL_SECONDS)


def fetch(url: str, ca_file: Path | None = None, token: str = "") -> str | None:
    """Return the body of a 200 response; None for any other status or without a response."""
    with direct_session(ca_file, token) as session:
        try:
            answer = session.get(url, timeout=REQUEST_TIMEOUT_SECONDS)
        except requests.RequestException:
            return None
    return answer.text if answer.ok else None


def count_ready_nodes(node_list: str) -> int:
    """Count the nodes of a NodeList (JSON) that are Ready and have no taints."""
    return sum(
        1
        for node in json.loads(node_list)["items"]
        if not node["spec"].get("taints")
        and any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", []))
    )
