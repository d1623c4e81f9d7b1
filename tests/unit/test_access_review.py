"""Reviews of tokens: their cache, its limits, and the requests in flight."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from coxswain.kernel.api import access_review
from coxswain.kernel.api.access_review import (
    ALLOWED_SECONDS,
    NOT_AUTHENTICATED,
    REFUSED_SECONDS,
    Access,
    AccessReviewer,
    access_to,
    authenticated,
)
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Refused, RequestFailed, ShuttingDown, Unreachable
from coxswain.kernel.api.ttl_cache import TtlCache
from unit.reviewing_api import ACCESS_REVIEWS, SCRAPER, TENANT, TOKEN_REVIEWS, Reviews, reviewing


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def reviewer() -> AsyncIterator[tuple[AccessReviewer, Reviews, Clock]]:
    async with reviewing() as (reviews, client):
        clock = Clock()
        yield AccessReviewer(client, "/metrics", clock), reviews, clock


def running(body: Callable[[AccessReviewer, Reviews, Clock], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with reviewer() as parts, asyncio.timeout(20):
            await body(*parts)

    asyncio.run(whole())


def test_the_user_of_the_token_is_asked_for() -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        assert await reviewer.access("t-scraper") == Access(SCRAPER, allowed=True)
        spec = {"user": SCRAPER, "uid": "u-1", "groups": ["g"], "extra": {"k": ["v"]}}
        assert reviews.asked == [
            (TOKEN_REVIEWS, {"token": "t-scraper"}),
            (ACCESS_REVIEWS, {**spec, "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}),
        ]

    running(body)


def test_an_allowed_token_is_reviewed_once_in_a_minute() -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, clock: Clock) -> None:
        for _ in range(3):
            assert (await reviewer.access("t-scraper")).allowed
        assert len(reviews.asked) == 2
        clock.now += ALLOWED_SECONDS - 1
        reviews.allowed.clear()
        assert (await reviewer.access("t-scraper")).allowed, "from the cache"
        clock.now += 1
        assert await reviewer.access("t-scraper") == Access(SCRAPER, allowed=False)
        assert len(reviews.asked) == 4

    running(body)


@pytest.mark.parametrize(("token", "refusal"), [("t-tenant", Access(TENANT, allowed=False)), ("t", NOT_AUTHENTICATED)])
def test_a_granted_right_works_soon(token: str, refusal: Access) -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, clock: Clock) -> None:
        assert await reviewer.access(token) == refusal
        count = len(reviews.asked)
        reviews.users["t"] = TENANT
        reviews.allowed.add(TENANT)
        assert await reviewer.access(token) == refusal
        assert len(reviews.asked) == count, "from the cache"
        clock.now += REFUSED_SECONDS
        assert await reviewer.access(token) == Access(TENANT, allowed=True)

    running(body)


def test_invalid_tokens_are_forgotten_and_drop_no_valid_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_review, "_CACHED", 3)

    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        await reviewer.access("t-scraper")
        for number in range(10):
            assert await reviewer.access(f"t{number}") == NOT_AUTHENTICATED
        count = len(reviews.asked)
        await reviewer.access("t-scraper")
        await reviewer.access("t9")
        assert len(reviews.asked) == count, "both are in the cache"
        await reviewer.access("t6")
        assert len(reviews.asked) == count + 1, "the oldest are not"
        assert len(reviewer._refused._entries) == 3

    running(body)


def test_the_cache_has_no_token() -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:  # noqa: ARG001
        await reviewer.access("t-scraper")
        await reviewer.access("t-tenant")
        kept = [*reviewer._allowed._entries.items(), *reviewer._refused._entries.items()]
        assert len(kept) == 2
        assert not [entry for entry in kept if "t-scraper" in str(entry) or "t-tenant" in str(entry)]

    running(body)


def test_one_token_is_reviewed_once_and_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = most = 0
    review = Client.review

    async def counted(*arguments: Any) -> dict[str, Any]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        try:
            return await review(*arguments)
        finally:
            inside -= 1

    monkeypatch.setattr(Client, "review", counted)

    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        await asyncio.gather(*[reviewer.access("t-scraper") for _ in range(20)])
        assert len(reviews.asked) <= 2 * access_review._IN_FLIGHT
        await asyncio.gather(*[reviewer.access(f"t{number}") for number in range(30)])
        assert most == access_review._IN_FLIGHT

    running(body)


def test_a_review_continues_without_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client in a hurry would never get an answer: each of its requests would begin the review again."""

    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        begun = asyncio.Event()
        review = reviewer._review

        async def slow(token: str) -> Access:
            begun.set()
            await asyncio.sleep(0.05)
            return await review(token)

        monkeypatch.setattr(reviewer, "_review", slow)
        clients = [asyncio.create_task(reviewer.access("t-scraper")) for _ in range(access_review._IN_FLIGHT)]
        await begun.wait()
        for client in clients:
            client.cancel()
        await asyncio.wait(clients)
        assert reviewer._turns.locked(), "it keeps its turn"
        assert (await reviewer.access("t-scraper")).allowed
        assert len(reviews.asked) <= 2 * access_review._IN_FLIGHT, "no further review"
        assert not reviewer._reviews

    running(body)


def test_a_failure_is_not_cached() -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        reviews.instead = lambda _: web.json_response({"reason": "Forbidden", "message": "no"}, status=403)
        with pytest.raises(Refused):
            await reviewer.access("t-scraper")
        reviews.instead = None
        assert (await reviewer.access("t-scraper")).allowed

    running(body)


def test_a_review_ends_before_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while it waits, for example for a pause that the API server asked for."""

    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        reviews.instead = lambda _: web.json_response({}, status=429, headers={"Retry-After": "30"})
        with pytest.raises(Refused):
            await reviewer.access("t-scraper")
        monkeypatch.setattr(access_review, "_TIMEOUT", 0.2)
        with pytest.raises(Unreachable, match=r"no review of the token within 0\.2 s"):
            await reviewer.access("t-scraper")
        assert len(reviews.asked) == 1, "the pause holds for reviews"
        throttle = reviewer._client._throttle
        paused = throttle._is_paused(writing=True), throttle._is_paused(writing=False)
        assert paused == (True, False), "the API server counts a POST among the writes"

    running(body)


def test_a_wait_for_a_turn_ends_before_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        monkeypatch.setattr(access_review, "_TIMEOUT", 0.1)
        await asyncio.gather(*(reviewer._turns.acquire() for _ in range(access_review._IN_FLIGHT)))
        async with asyncio.timeout(5):
            with pytest.raises(Unreachable, match=r"no review of the token within 0\.1 s"):
                await reviewer.access("t-scraper")
        assert reviews.asked == []

    running(body)


def test_a_review_without_its_client_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise clients in a hurry could take all turns while the API server is silent."""

    async def body(reviewer: AccessReviewer, _: Reviews, __: Clock) -> None:
        monkeypatch.setattr(access_review, "_TIMEOUT", 0.1)
        monkeypatch.setattr(reviewer, "_review", lambda _: asyncio.Event().wait())
        client = asyncio.create_task(reviewer.access("t-scraper"))
        await asyncio.sleep(0)
        client.cancel()
        await asyncio.wait([client])
        assert len(reviewer._reviews) == 1
        await asyncio.wait(reviewer._reviews, timeout=5)
        await asyncio.sleep(0)
        assert not reviewer._reviews
        assert reviewer._turns._value == access_review._IN_FLIGHT

    running(body)


def test_a_process_that_shuts_down_reviews_nothing() -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        reviewer._client.end()
        with pytest.raises(ShuttingDown):
            await reviewer.access("t-scraper")
        assert reviews.asked == []

    running(body)


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"authenticated": False, "user": {"username": "a"}},
        {"authenticated": "false", "user": {"username": "a"}},
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": True, "user": {"username": ""}},
        {"authenticated": True, "user": "a"},
    ],
)
def test_only_an_authenticated_user_counts(status: dict[str, Any]) -> None:
    assert authenticated(status) is None


def test_a_user_without_groups_is_asked_for_without_them() -> None:
    assert access_to("/a", {"username": "b", "groups": []}) == {
        "user": "b",
        "nonResourceAttributes": {"path": "/a", "verb": "get"},
    }


@pytest.mark.parametrize("allowed", ["true", "false", 1, {}])
def test_only_true_is_allowed(allowed: object) -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        reviews.verdict = allowed
        assert not (await reviewer.access("t-scraper")).allowed

    running(body)


def test_an_answer_without_a_status_allows_nothing() -> None:
    async def body(reviewer: AccessReviewer, reviews: Reviews, _: Clock) -> None:
        reviews.instead = lambda _: web.json_response({"status": "Success"}, status=201)
        assert await reviewer.access("t-scraper") == NOT_AUTHENTICATED
        reviews.instead = lambda _: web.Response(text="[]", status=201)
        with pytest.raises(RequestFailed):
            await reviewer.access("t-tenant")

    running(body)


def test_a_cached_value_is_renewed() -> None:
    clock = Clock()
    cache: TtlCache[str, int] = TtlCache(10, 2, clock)
    cache.put("a", 1)
    cache.put("b", 2)
    clock.now += 9
    cache.put("a", 3)
    cache.put("c", 4)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]
    clock.now += 9
    assert cache.get("a") == 3
    clock.now += 1
    assert cache.get("a") is None
