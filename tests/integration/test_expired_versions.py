"""Expired resourceVersions: a real compaction of etcd, and an API server with a watch cache that starts later.

A compaction alone takes effect late: since Kubernetes 1.34, snapshots of the watch cache serve old lists, and the
server checks every 15 seconds for compactions. So the test restarts the server. It uses a separate Kubernetes without
streamed lists, the default of 1.31 and 1.33.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from signal import SIGCONT, SIGSTOP

import pytest
import requests

from cluster import ControlPlane
from cluster.disasters import compact
from integration.collection import Collection

pytestmark = pytest.mark.semantics


@dataclass(frozen=True)
class Expired:
    """A collection with a history that begins at `compacted`."""

    collection: Collection
    versions: list[int]
    token: str
    """Continues after `a` and `b` in an expired list."""
    compacted: int


@pytest.fixture(scope="module")
def own() -> Iterator[ControlPlane]:
    with ControlPlane(nodes=0, feature_gates={"WatchList": False}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def expired(own: ControlPlane) -> Iterator[Expired]:
    collection = Collection(own, "default")
    with collection.session:
        versions = [collection.create(name) for name in "abcd"]
        token = collection.page(2).token
        compacted = collection.change("c", "2")
        own.stop_program("kube-apiserver")
        compact(own)
        own.start_program("kube-apiserver")
        yield Expired(collection, versions, token, compacted)


@pytest.mark.parametrize("parameters", [{"resourceVersionMatch": "Exact"}, {"limit": 2}], ids=["said", "by a limit"])
def test_an_exact_list_of_an_expired_version_is_410(expired: Expired, parameters: dict[str, object]) -> None:
    answer = expired.collection.list(resourceVersion=expired.versions[0], **parameters)
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    assert "too old" in answer.body["message"]


def test_not_older_than_an_expired_version_is_easily_had(expired: Expired) -> None:
    answer = expired.collection.list(resourceVersion=expired.versions[0])
    assert (answer.status, answer.contents["c"]) == (200, "2")
    assert expired.collection.get("a", resourceVersion=expired.versions[0]).status == 200


def test_an_expired_continue_token_is_410_with_a_token_for_the_rest_as_it_is_now(expired: Expired) -> None:
    """The operator ignores that token, because the list would mix two moments. Its relist starts again."""
    answer = expired.collection.page(2, expired.token)
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    assert "inconsistent" in answer.body["message"]
    rest = expired.collection.page(10, answer.token)
    assert (rest.status, rest.contents) == (200, {"c": "2", "d": "1"}), "`c` has its current state, not the old one"
    assert rest.version >= expired.compacted


def test_a_watch_from_an_expired_version_is_http_200_and_an_error_event_of_410(expired: Expired) -> None:
    """The response is not HTTP 410; the error event has the code, and Kopf lists again."""
    (error,) = expired.collection.watch(timeoutSeconds=5, resourceVersion=expired.versions[0])
    assert error.type == "ERROR"
    assert (error.object["code"], error.object["reason"]) == (410, "Expired")
    assert "too old resource version" in error.object["message"]


def test_a_watch_from_a_list_made_after_the_compaction_is_sound(expired: Expired) -> None:
    listed = expired.collection.list()
    version = expired.collection.change("d", "2")
    (event,) = expired.collection.watch(timeoutSeconds=1, resourceVersion=listed.version)
    assert (event.told, event.version) == (("MODIFIED", "d", "2"), version)


def test_zero_is_answered_from_the_cache_and_unset_is_not(own: ControlPlane, expired: Expired) -> None:
    """Tested with etcd stopped: a list at version 0 may have any age, and the operator's list must not."""
    assert expired.collection.list().status == 200
    impatient = Collection(own, "default", timeout=3)
    own.signal_program("etcd", SIGSTOP)
    try:
        assert impatient.list(resourceVersion="0").status == 200
        assert impatient.get("a", resourceVersion="0").status == 200
        with pytest.raises(requests.exceptions.ReadTimeout):
            impatient.list()
        with pytest.raises(requests.exceptions.ReadTimeout):
            impatient.get("a")
    finally:
        own.signal_program("etcd", SIGCONT)
        impatient.session.close()
    assert expired.collection.list().status == 200


def test_a_server_without_streamed_lists_refuses_them(expired: Expired) -> None:
    """So the operator cannot depend on them: an administrator may have disabled them."""
    answer = expired.collection.list(
        watch="true", sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )
    assert answer.status == 422
    assert "WatchList feature gate" in answer.body["message"]
