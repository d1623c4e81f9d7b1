"""The semantics of resourceVersion for GET, LIST, paging and writes, as described in the API concepts page.

These tests do not use the operator or its client. They verify the assumptions of docs/mechanisms.md, row 9.
"""

from collections.abc import Callable

import pytest

from cluster import ControlPlane
from integration.collection import FAR, Answer, Collection

pytestmark = pytest.mark.semantics


@pytest.fixture
def versions(collection: Collection) -> list[int]:
    """The history of two objects: `a` created, `b` created, `a` changed twice, `b` deleted."""
    made = [collection.create("a"), collection.create("b"), collection.change("a", "2"), collection.change("a", "3")]
    assert collection.delete("b").status == 200
    return made


def test_list_unset_is_the_most_recent_state(collection: Collection, versions: list[int]) -> None:
    answer = collection.list()
    assert answer.contents == {"a": "3"}
    assert answer.version > versions[-1], "it includes the deletion"


def test_list_of_zero_is_any_state_from_the_cache(collection: Collection, versions: list[int]) -> None:
    """Only a test with etcd stopped shows its possible age: test_expired_versions.py."""
    collection.list()  # a consistent read brings the cache up to date
    answer = collection.list(resourceVersion="0")
    assert (answer.status, answer.contents) == (200, {"a": "3"})
    assert answer.version > versions[-1]


def test_list_of_zero_knows_no_pages(collection: Collection) -> None:
    """The cache returns all objects at once, regardless of the limit."""
    for name in "abc":
        collection.create(name)
    collection.list()
    answer = collection.list(resourceVersion="0", limit=1)
    assert (sorted(answer.contents), answer.token) == (["a", "b", "c"], "")


@pytest.mark.parametrize("match", [{}, {"resourceVersionMatch": "NotOlderThan"}], ids=["by default", "said"])
def test_list_not_older_than_a_version_may_be_newer(
    collection: Collection, versions: list[int], match: dict[str, str]
) -> None:
    for version in versions:
        answer = collection.list(resourceVersion=version, **match)
        assert answer.status == 200
        assert answer.version >= version
    newest = collection.list(resourceVersion=versions[-1], **match)
    assert newest.contents["a"] == "3", "it is not older"


def test_list_of_an_exact_version_returns_the_state_of_then(collection: Collection, versions: list[int]) -> None:
    then = {}
    for version in versions:
        answer = collection.list(resourceVersion=version, resourceVersionMatch="Exact")
        assert answer.version == version
        then[version] = answer.contents
    assert list(then.values()) == [{"a": "1"}, {"a": "1", "b": "1"}, {"a": "2", "b": "1"}, {"a": "3", "b": "1"}]


def test_list_with_a_version_and_a_limit_is_exact_unasked(collection: Collection, versions: list[int]) -> None:
    """For compatibility with old clients: with a limit, the default match is Exact."""
    answer = collection.list(resourceVersion=versions[1], limit=1)
    assert (answer.version, answer.contents) == (versions[1], {"a": "1"})


@pytest.mark.parametrize(
    ("parameters", "status", "why"),
    [
        ({"resourceVersionMatch": "Exact"}, 422, "forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422, 'forbidden for resourceVersion "0"'),
        ({"resourceVersion": "newest"}, 400, "invalid resource version"),
    ],
    ids=["match without version", "exactly any", "no number"],
)
def test_list_refuses_what_has_no_meaning(
    collection: Collection, parameters: dict[str, str], status: int, why: str
) -> None:
    answer = collection.list(**parameters)
    assert answer.status == status
    assert why in answer.body["message"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda collection, version: collection.list(resourceVersion=version),
        lambda collection, version: collection.list(resourceVersion=version, resourceVersionMatch="Exact"),
        lambda collection, version: collection.get("a", resourceVersion=version),
    ],
    ids=["list not older", "list exact", "get"],
)
def test_a_version_of_the_future_times_out_with_a_retry(
    collection: Collection, ask: Callable[[Collection, int], Answer]
) -> None:
    version = collection.create("a")
    answer = ask(collection, version + FAR)
    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert "Too large resource version" in answer.body["message"]
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.headers["Retry-After"] == str(answer.body["details"]["retryAfterSeconds"]) == "1"


def test_get_is_the_most_recent_any_or_not_older_but_never_an_old_one(
    collection: Collection, versions: list[int]
) -> None:
    unset = collection.get("a")
    assert (unset.body["spec"]["holderIdentity"], unset.version) == ("3", versions[-1])
    assert collection.get("a", resourceVersion="0").status == 200
    not_older = collection.get("a", resourceVersion=versions[2])
    assert not_older.version == versions[-1], "a past version is a lower bound, not an exact version"


def test_pages_are_one_moment(collection: Collection) -> None:
    """Changes between two pages are not visible in them; the relist depends on this."""
    for name in "abcde":
        collection.create(name)
    first = collection.page(2)
    assert first.body["metadata"]["remainingItemCount"] == 3
    collection.create("bb")
    collection.change("c", "2")
    collection.delete("d")
    second = collection.page(2, first.token)
    third = collection.page(2, second.token)
    assert [page.contents for page in (first, second, third)] == [
        {"a": "1", "b": "1"},
        {"c": "1", "d": "1"},
        {"e": "1"},
    ]
    assert {page.version for page in (first, second, third)} == {first.version}
    assert second.body["metadata"]["remainingItemCount"] == 1
    assert third.token == ""
    assert collection.page(10).contents == {"a": "1", "b": "1", "bb": "1", "c": "2", "e": "1"}


def test_pages_of_a_selection_do_not_say_how_many_remain(collection: Collection) -> None:
    """The server counts keys, and does not know how many of them match the selector."""
    for name in "abc":
        collection.create(name)
    answer = collection.list(limit=1, labelSelector="!absent")
    assert answer.token
    assert "remainingItemCount" not in answer.body["metadata"]


def test_versions_of_one_resource_grow_as_integers_across_its_namespaces(
    cluster: ControlPlane, collection: Collection, make_namespace: Callable[[], str]
) -> None:
    """The cache compares them as integers, also the DELETED of an object with the ADDED of its successor."""
    other = Collection(cluster, make_namespace())
    with other.session:
        history = [collection.create("a"), other.create("a"), collection.change("a", "2"), other.change("a", "2")]
        collection.delete("a")
        gone = collection.list().version
        history += [gone, collection.create("a"), other.change("a", "3")]
        assert history == sorted(set(history)), "the successor is newer than the deletion"
        assert other.list().version >= history[-1]


def test_a_write_with_a_stale_version_is_refused_and_one_without_is_not(
    collection: Collection, versions: list[int]
) -> None:
    stale = collection.list(resourceVersion=versions[2], resourceVersionMatch="Exact").body["items"][0]
    put = collection.put({**stale, "spec": {"holderIdentity": "put"}})
    metadata = {"resourceVersion": str(versions[2])}
    patch = collection.patch("a", {"metadata": metadata, "spec": {"holderIdentity": "patch"}})
    assert [(answer.status, answer.body["reason"]) for answer in (put, patch)] == [(409, "Conflict")] * 2
    assert collection.get("a").body["spec"]["holderIdentity"] == "3"
    assert collection.patch("a", {"spec": {"holderIdentity": "blind"}}).status == 200


def test_a_write_with_the_present_version_goes_through_once(collection: Collection) -> None:
    version = collection.create("a")
    patch = {"metadata": {"resourceVersion": str(version)}, "spec": {"holderIdentity": "2"}}
    assert [collection.patch("a", patch).status for _ in range(2)] == [200, 409]


def test_a_delete_with_preconditions_deletes_only_the_observed_object(collection: Collection) -> None:
    old = collection.create("a")
    uid = collection.get("a").body["metadata"]["uid"]
    present = collection.change("a", "2")
    assert collection.delete("a", resourceVersion=str(old)).status == 409
    assert collection.delete("a", uid="another").status == 409
    assert collection.delete("a", uid=uid, resourceVersion=str(present)).status == 200
    assert collection.get("a").status == 404
