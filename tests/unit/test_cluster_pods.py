"""The stand-in for the containers of KWOK's pods: at which addresses it answers, and until when."""

import os
from typing import Any

import pytest

from cluster.network_namespace import ADDRESS, command_in_namespace
from cluster.pod_server import Containers

ADDRESS_OF_A_POD = "10.244.0.7"


def event(kind: str, name: str = "web-1", *, ready: bool = True, terminating: bool = False) -> dict[str, Any]:
    """A watch event of a pod with the default preStop sleep."""
    container = {"image": "registry.example:5000/web:v1", "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}
    metadata = {"name": name, "uid": name, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {})}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"podIP": ADDRESS_OF_A_POD, "conditions": conditions}
    return {"type": kind, "object": {"metadata": metadata, "spec": {"containers": [container]}, "status": status}}


def after(*events: tuple[dict[str, Any], float]) -> Containers:
    containers = Containers()
    for one, at in events:
        containers.observe(one, at)
    return containers


def test_a_pod_answers_once_it_is_ready() -> None:
    assert Containers().answer(ADDRESS_OF_A_POD, 0) is None
    waiting = event("ADDED", ready=False)
    assert after((waiting, 0)).answer(ADDRESS_OF_A_POD, 0) is None
    assert after((waiting, 0), (event("MODIFIED"), 1)).answer(ADDRESS_OF_A_POD, 1) == "v1 web-1"
    assert after((event("ADDED"), 0)).answer("10.244.0.8", 0) is None


@pytest.mark.parametrize("end", [event("MODIFIED", terminating=True), event("DELETED")])
def test_it_answers_until_its_prestop_sleep_is_over(end: dict[str, Any]) -> None:
    """KWOK removes a pod at once. A kubelet stops the container only after the sleep."""
    containers = after((event("ADDED"), 0), (end, 10), (event("DELETED", terminating=True), 11))
    assert containers.answer(ADDRESS_OF_A_POD, 14.9) == "v1 web-1"
    assert containers.answer(ADDRESS_OF_A_POD, 15) is None


def test_a_new_pod_takes_over_the_address() -> None:
    containers = after((event("ADDED"), 0), (event("DELETED"), 10), (event("ADDED", "web-2"), 11))
    assert containers.answer(ADDRESS_OF_A_POD, 12) == "v1 web-2"
    containers.observe(event("DELETED"), 13)
    assert containers.answer(ADDRESS_OF_A_POD, 99) == "v1 web-2", "the end of the earlier pod says nothing of it"


def test_a_namespace_needs_a_user_namespace_unless_one_is_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command = command_in_namespace(["pytest", "-k", "a b"])
    assert command[:3] == ["unshare", "--net", "--map-root-user"]
    assert command[-4:] == [ADDRESS, "pytest", "-k", "a b"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--map-root-user" not in command_in_namespace(["true"])
