"""The semantics of resourceVersion for WATCH: the start of a stream, bookmarks, and streamed lists."""

import time
from collections.abc import Callable, Iterator

import pytest

from cluster import ControlPlane
from integration.collection import FAR, Collection

pytestmark = pytest.mark.semantics

STREAMED = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
BEFORE_THE_END = 2
"""Seconds before the end of a watch at which the server sends a bookmark, if there is a newer version."""


@pytest.fixture
def elsewhere(cluster: ControlPlane, make_namespace: Callable[[], str]) -> Iterator[Collection]:
    """The same resource in another namespace: changes there cause no event here, but increase the version."""
    found = Collection(cluster, make_namespace())
    with found.session:
        yield found


@pytest.fixture
def versions(collection: Collection) -> list[int]:
    """`a` created, `b` created, `a` changed, `b` deleted: the versions of the first three changes."""
    made = [collection.create("a"), collection.create("b"), collection.change("a", "2")]
    assert collection.delete("b").status == 200
    return made


@pytest.mark.parametrize("parameters", [{}, {"resourceVersion": "0"}], ids=["unset", "zero"])
def test_a_watch_from_no_version_begins_with_the_present_as_added(
    collection: Collection, versions: list[int], parameters: dict[str, str]
) -> None:
    """They look like real ADDED events, and no event marks their end, so the operator uses LIST."""
    collection.list()  # version 0 may be any state: a consistent read updates the cache
    stream = collection.watch(timeoutSeconds=5, **parameters)
    first = next(stream)
    assert (first.told, first.version) == (("ADDED", "a", "2"), versions[-1])
    version = collection.create("c")
    assert [(event.told, event.version) for event in stream] == [(("ADDED", "c", "1"), version)]


def test_a_watch_from_a_version_sends_only_later_events(collection: Collection, versions: list[int]) -> None:
    events = list(collection.watch(timeoutSeconds=1, resourceVersion=versions[0]))
    assert [event.told for event in events] == [("ADDED", "b", "1"), ("MODIFIED", "a", "2"), ("DELETED", "b", "1")]
    assert [event.version for event in events[:2]] == versions[1:]
    assert events[2].version > versions[-1], "a DELETED carries the version of the deletion, not the object's last"


def test_between_a_list_and_the_watch_from_its_version_nothing_is_lost(
    collection: Collection, versions: list[int]
) -> None:
    listed = collection.list()
    assert listed.version > versions[-1]
    collection.change("a", "3")
    collection.change("a", "4")
    events = collection.watch(timeoutSeconds=1, resourceVersion=listed.version)
    assert [event.told for event in events] == [("MODIFIED", "a", "3"), ("MODIFIED", "a", "4")]


def test_a_watch_from_the_future_is_open_and_silent(collection: Collection) -> None:
    """For this reason LISTs and responses detect a restored etcd, because no watch event does."""
    version = collection.create("a")
    stream = collection.watch(timeoutSeconds=4, resourceVersion=version + FAR, allowWatchBookmarks="true")
    collection.change("a", "2")
    assert list(stream) == [], "no event, no bookmark and no error"


@pytest.mark.parametrize("version", ["newest", "-1", "1.5"])
def test_a_watch_from_an_invalid_version_is_an_internal_error(collection: Collection, version: str) -> None:
    """A LIST with it gets 400. A client that retries each 500 would repeat such a watch forever."""
    answer = collection.list(watch="true", timeoutSeconds=1, resourceVersion=version)
    assert answer.status == 500
    assert f'resourceVersion: Invalid value: "{version}": strconv.ParseUint' in answer.body["message"]
    assert collection.list(resourceVersion=version).status == 400


def test_a_watch_ends_without_a_word_when_its_time_is_over(collection: Collection) -> None:
    started = time.monotonic()
    assert list(collection.watch(timeoutSeconds=1, resourceVersion=collection.list().version)) == []
    print(f"a watch with timeoutSeconds=1 lasted {time.monotonic() - started:.1f} s")


def test_a_bookmark_is_a_version_and_nothing_else(
    collection: Collection, elsewhere: Collection, versions: list[int]
) -> None:
    """So a watch of a quiet namespace can continue from a version that has not expired."""
    stream = collection.watch(
        timeoutSeconds=BEFORE_THE_END + 2, resourceVersion=collection.list().version, allowWatchBookmarks="true"
    )
    version = elsewhere.create("a")
    bookmarks = list(stream)
    for bookmark in bookmarks:
        assert bookmark.type == "BOOKMARK"
        assert bookmark.object["kind"] == "Lease"
        assert {name for name, value in bookmark.object["metadata"].items() if value} == {"resourceVersion"}
        assert not bookmark.object.get("spec")
    assert bookmarks[-1].version >= version > versions[-1]
    collection.change("a", "3")
    events = list(collection.watch(timeoutSeconds=1, resourceVersion=bookmarks[-1].version))
    assert [event.told for event in events] == [("MODIFIED", "a", "3")]


def test_without_being_asked_the_server_sends_no_bookmark(collection: Collection, elsewhere: Collection) -> None:
    stream = collection.watch(timeoutSeconds=BEFORE_THE_END + 2, resourceVersion=collection.list().version)
    elsewhere.create("a")
    assert list(stream) == []


def test_a_streamed_list_ends_with_a_bookmark_that_says_so(collection: Collection, versions: list[int]) -> None:
    collection.create("c")
    present = collection.list().version
    stream = collection.watch(timeoutSeconds=5, **STREAMED)
    initial = [next(stream), next(stream)]
    assert sorted(event.told for event in initial) == [("ADDED", "a", "2"), ("ADDED", "c", "1")]
    bookmark = next(stream)
    assert bookmark.type == "BOOKMARK"
    assert bookmark.object["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark.version >= present > versions[-1]
    collection.change("a", "3")
    assert next(stream).told == ("MODIFIED", "a", "3")


def test_a_streamed_list_without_bookmarks_has_no_end(collection: Collection, versions: list[int]) -> None:
    assert versions
    events = collection.watch(timeoutSeconds=2, **{**STREAMED, "allowWatchBookmarks": "false"})
    assert [event.told for event in events] == [("ADDED", "a", "2")]


def test_a_streamed_list_is_asked_for_with_its_match(collection: Collection) -> None:
    answer = collection.list(watch="true", sendInitialEvents="true", allowWatchBookmarks="true")
    assert answer.status == 422
    assert "requires setting resourceVersionMatch to NotOlderThan" in answer.body["message"]


def test_a_streamed_list_of_the_future_is_refused_where_a_plain_watch_is_silent(collection: Collection) -> None:
    version = collection.create("a")
    (error,) = collection.watch(timeoutSeconds=10, resourceVersion=version + FAR, **STREAMED)
    assert (error.type, error.object["code"]) == ("ERROR", 504)
    assert error.object["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
