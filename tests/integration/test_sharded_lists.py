"""Server-side sharded LIST (KEP-5866, gate ShardedListAndWatch) on a real API server: why slots do not use it.

Decision 0039 has the conclusion. These tests notice a server that behaves differently.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from cluster import ControlPlane
from coxswain.kernel.election.slots import slot_number

pytestmark = pytest.mark.slow

COUNT = 6
SIMILAR = [f"team-{number:02}" for number in range(20)]
DIFFERENT = ["shop", "web", "payments", "billing", "search", "frontend", "backend", "data", "ml", "staging"]


@pytest.fixture(scope="module")
def sharded() -> Iterator[ControlPlane]:
    """An API server with the gate, and a ConfigMap in each of some namespaces."""
    with ControlPlane(feature_gates={"ShardedListAndWatch": True}, nodes=0) as plane:
        for namespace in (*SIMILAR, *DIFFERENT):
            _create(plane, namespace)
        yield plane


def _create(plane: ControlPlane, namespace: str) -> None:
    plane.kubectl("create", "namespace", namespace)
    plane.kubectl("create", "configmap", "web", "-n", namespace, "--from-literal=a=b")


def fnv1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash, as the server computes it."""
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return found


def selector(number: int, count: int = COUNT) -> str:
    """Return the selector of one of `count` equal ranges."""
    begin, end = (f"0x{2**64 * each // count:016x}" for each in (number, number + 1))
    return f"shardRange(object.metadata.namespace, '{begin}', '{end}')"


def listed(plane: ControlPlane, text: str) -> tuple[set[str], Mapping[str, Any]]:
    """Return the namespaces of the listed ConfigMaps called web, and the metadata of the LIST."""
    found = json.loads(plane.kubectl("get", "--raw", f"/api/v1/configmaps?shardSelector={quote(text)}"))
    return {item["metadata"]["namespace"] for item in found["items"] if item["metadata"]["name"] == "web"}, found[
        "metadata"
    ]


def test_the_server_selects_by_the_fnv_1a_hash_of_the_namespace(sharded: ControlPlane) -> None:
    everything = {*SIMILAR, *DIFFERENT}
    for number in range(COUNT):
        found, metadata = listed(sharded, selector(number))
        assert found == {name for name in everything if fnv1a(name) * COUNT >> 64 == number}
        assert metadata["shardInfo"]["selector"] == selector(number)


def test_similar_namespaces_are_in_one_range_of_the_server_but_in_several_slots(sharded: ControlPlane) -> None:
    [crowded] = [found for number in range(COUNT) if (found := listed(sharded, selector(number))[0] & set(SIMILAR))]
    assert crowded == set(SIMILAR)
    assert len({slot_number(name, COUNT) for name in SIMILAR}) >= 4


def test_a_server_without_the_gate_ignores_the_parameter(cluster: ControlPlane) -> None:
    _create(cluster, "team-00")
    try:
        found = [listed(cluster, selector(number)) for number in range(COUNT)]
        assert all("team-00" in namespaces for namespaces, _ in found)
        assert not any("shardInfo" in metadata for _, metadata in found)
    finally:
        cluster.kubectl("delete", "namespace", "team-00", "--wait=false")
